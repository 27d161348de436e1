"""A page that was dropped wrongly passes in a project as ``scrapy startproject`` makes it, once a person has said so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commandline import command
from tests.support.council import council, page
from tests.support.crawling import Site, html, run_scrapy

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
PAGES = {
    "/": page("News", '<a href="/approved">Council, morning</a>'),
    "/approved": council("approved", '<p><a href="/rejected">Next</a></p>'),
    "/rejected": council("rejected", '<p><a href="/speech">Next</a></p>'),
    "/speech": page(
        "The speech", "".join(f"<p>Sentence {number} of a speech in the council.</p>" for number in range(9))
    ),
}


def crawl(directory: Path, *, overrides: str = "") -> list[str]:
    """Return the paths of the pages that the spider gets, in the order in which it gets them."""
    done = run_scrapy(directory, "crawl", "news", "-O", "pages.jsonl")
    assert done.returncode == 0, done.stdout
    assert "dedup/unchecked/override" not in done.stdout
    assert re.findall(r"'dedup/overrides': (\d+)", done.stdout) == [overrides][: bool(overrides)]
    lines = (directory / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    return [re.sub(r"http://[^/]*", "", json.loads(line)["url"]) for line in lines]


@pytest.mark.parametrize("way", ["separate", "keep", "setting"])
def test_a_page_that_was_dropped_wrongly_passes_in_the_next_crawl(tmp_path: Path, way: str) -> None:
    assert run_scrapy(tmp_path, "startproject", "myproject", ".").returncode == 0
    with Site({path: html(text) for path, text in PAGES.items()}) as site:
        settings = tmp_path / "myproject/settings.py"
        (tmp_path / "myproject/spiders/news.py").write_text(SPIDER.format(site=site.url), encoding="utf-8")
        common = "ADDONS = {'crawler_dedup.Addon': 500}\nDOWNLOAD_DELAY = 0\nCONCURRENT_REQUESTS = 1\n"
        settings.write_text(settings.read_text(encoding="utf-8") + common, encoding="utf-8")
        assert crawl(tmp_path) == ["/approved"]
        urls = [f"{site.url}/approved", f"{site.url}/rejected"]
        if way == "setting":
            settings.write_text(f"{settings.read_text('utf-8')}DEDUP_NEVER_DROP = ['{site.url}/']\n", encoding="utf-8")
        else:
            done = command(tmp_path, way, *urls[way == "keep" :])
            assert (done.returncode, done.stdout) == (0, "1 override added.\n"), done.stderr
        assert crawl(tmp_path, overrides={"separate": "", "keep": "1", "setting": "2"}[way]) == [
            "/approved",
            "/rejected",
            "/speech",
        ]
        why = command(tmp_path, "why", urls[1]).stdout
        overrides = {"separate": f"separate {' '.join(urls)}", "keep": f"keep {urls[1]}", "setting": "DEDUP_NEVER_DROP"}
        assert f"An override applies to this page: {overrides[way]}" in why
        assert f"{urls[1]} is kept" in why
