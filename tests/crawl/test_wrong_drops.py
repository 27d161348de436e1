"""A page that was dropped wrongly is let pass in a project as ``scrapy startproject`` makes it, as the documents say."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.support.crawling import Site, html, run_scrapy

ROOT = Path(__file__).parents[2]
SPIDER = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

class NewsSpider(CrawlSpider):
    name = "news"
    start_urls = ["{site}/"]
    rules = [Rule(LinkExtractor(), callback="parse_page", follow=True)]

    def parse_page(self, response):
        yield {{"url": response.url}}
"""
TEXT = """
<p>The council has {decided} the plan for a new bridge over the river at the old mill, after a debate that lasted for more
than four hours on Thursday evening in the large hall of the school.</p>
<p>The bridge is meant to connect the station with the northern quarter, where about three thousand people live, and where
the next crossing is more than two kilometres away.</p>
<p>Engineers from the county have estimated that the work {begins} in the spring, that it takes about eighteen months, and
that the road along the bank stays closed to lorries for that time.</p>
<p>Residents of the lower town had collected signatures, because they expect more traffic in the narrow streets around the
market, and had asked for a second study of noise and of parking.</p>
<p>The mayor said that the decision was not an easy one, that everybody had been heard, and that the council is going to
look at the matter again as soon as the county publishes its figures.</p>
"""


def page(title: str, body: str) -> str:
    return f"<title>{title}</title><h1>{title}</h1>{body}"


def council(decided: str, begins: str, link: str = "") -> str:
    return page("The bridge at the old mill", TEXT.format(decided=decided, begins=begins) + link)


PAGES = {
    "/": page("News", '<a href="/approved">Council, morning</a>'),
    "/approved": council("approved", "begins", '<p><a href="/rejected">Next</a></p>'),
    "/rejected": council("rejected", "ends", '<p><a href="/speech">Next</a></p>'),
    "/speech": page(
        "The speech", "".join(f"<p>Sentence {number} of a speech in the council.</p>" for number in range(9))
    ),
}


def documented() -> tuple[str, str]:
    """Return the middleware and the setting of the page for operators."""
    text = (ROOT / "docs/operating.md").read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (middleware,) = (block for block in blocks if "def process_request" in block)
    (setting,) = (block for block in blocks if "DOWNLOADER_MIDDLEWARES" in block)
    return middleware, setting


def crawl(directory: Path) -> list[str]:
    """Return the paths of the pages that the spider gets, in the order in which it gets them."""
    done = run_scrapy(directory, "crawl", "news", "-O", "pages.jsonl")
    assert done.returncode == 0, done.stdout
    lines = (directory / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    return [re.sub(r"http://[^/]*", "", json.loads(line)["url"]) for line in lines]


def test_a_page_that_was_dropped_wrongly_passes_with_the_documented_middleware(tmp_path: Path) -> None:
    assert run_scrapy(tmp_path, "startproject", "myproject", ".").returncode == 0
    with Site({path: html(text) for path, text in PAGES.items()}) as site:
        settings = tmp_path / "myproject/settings.py"
        (tmp_path / "myproject/spiders/news.py").write_text(SPIDER.format(site=site.url), encoding="utf-8")
        common = "ADDONS = {'crawler_dedup.Addon': 500}\nDOWNLOAD_DELAY = 0\nCONCURRENT_REQUESTS = 1\n"
        settings.write_text(settings.read_text(encoding="utf-8") + common, encoding="utf-8")
        assert crawl(tmp_path) == ["/approved"]
        middleware, setting = documented()
        middleware = re.sub(r'"https://[^"]*"', f'"{site.url}/rejected"', middleware)
        (tmp_path / "myproject/middlewares.py").write_text(middleware, encoding="utf-8")
        settings.write_text(settings.read_text(encoding="utf-8") + setting, encoding="utf-8")
        assert crawl(tmp_path) == ["/approved", "/rejected", "/speech"]
