"""Links of dropped pages: ``DEDUP_ACTION = "follow"``, and kept pages that lead nowhere."""

from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.system.extras import has_extra
from tests.support.commandline import invoke, printed_text
from tests.support.crawling import (
    WALK,
    Answer,
    Crawl,
    Page,
    Site,
    article,
    crawl_pages,
    html,
    run_script,
    run_scripts,
    words,
)
from tests.support.sitepages import STORIES, listing

FOLLOW = {"DEDUP_ACTION": "follow"}
LENGTH = 8


def test_a_kept_page_without_links_does_not_represent_the_page_that_leads_on(tmp_path: Path) -> None:
    """Each article links to the next one and, before that, to its edition for printing without links."""
    pages: dict[str, Page] = {}
    for number in range(LENGTH):
        links = [f"/print/{number + 1}", f"/article/{number + 1}"] if number + 1 < LENGTH else []
        pages[f"/article/{number}"] = html(article(number, links=links))
        pages[f"/print/{number}"] = html(article(number, frame="Print"))
    crawl = crawl_pages(tmp_path, pages, paths=["/print/0", "/article/0"])
    leading_on = {f"/article/{number}" for number in range(LENGTH - 1)}
    assert {path for path in crawl.paths() if path.startswith("/article/")} == leading_on


@pytest.mark.parametrize(
    ("kept", "new", "verdict"), [(2, 3, "new"), (0, 1, "new"), (2, 2, "duplicate"), (3, 5, "duplicate")]
)
def test_a_page_with_more_than_two_links_represents_others(tmp_path: Path, kept: int, new: int, verdict: str) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as deduplicator:
        pages = [
            article("same", links=[f"/{number}" for number in range(count)], frame=str(count)) for count in (kept, new)
        ]
        deduplicator.check("http://a/kept", pages[0].encode())
        assert deduplicator.check("http://a/new", pages[1].encode() + b" ").verdict is Verdict(verdict)


# Action "follow"

SPIDERS = """
import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from tests.support.walker import Walker, path_of, seen

class Starts:
    def __init__(self, site, paths):
        super().__init__()
        self.start_urls = [site + path for path in paths]

class Coroutine(Starts, scrapy.Spider):
    name = "coroutine"

    async def parse(self, response):
        return [seen(response), *response.follow_all(css='a')]

class Generator(Walker):
    name = "generator"

    async def parse(self, response):
        self.notes.append([path_of(response.url), response.meta["dedup"].verdict])
        yield seen(response)
        for request in response.follow_all(css="a"):
            yield request

class Chooses(Generator):
    name = "chooses"
    custom_settings = {"DEDUP_ACTION": "drop"}

    def request(self, path):
        return super().request(path, meta={"dedup_action": "follow"})

class Rules(Starts, CrawlSpider):
    name = "rules"
    rules = (Rule(LinkExtractor(), callback="parse_item", follow=True),)

    def parse_start_url(self, response):
        return [seen(response)]

    def parse_item(self, response):
        yield seen(response)

class Sitemap(SitemapSpider):
    name = "sitemap"

    def __init__(self, site, paths):
        super().__init__()
        self.sitemap_urls = [site + "/robots.txt"]

    def parse(self, response):
        yield seen(response)
        yield from response.follow_all(css="a")
"""
PAGES: dict[str, Page] = {
    "/first": html(article("first", links=["/behind-first", "/a", "/b"])),
    "/copy": html(article("first", frame="copy", links=["/behind-copy", "/a", "/b"])),
    **{path: html(article(path)) for path in ("/behind-first", "/behind-copy", "/a", "/b")},
}
CONTENTS = ["/a", "/b", "/behind-copy", "/behind-first", "/first"]


def with_sitemap(site: Site) -> dict[str, Page]:
    locations = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in ("/first", "/copy"))
    sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>'
    return PAGES | {
        "/robots.txt": html(f"Sitemap: {site.url}/sitemap.xml"),
        "/sitemap.xml": html(sitemap, Content_Type="application/xml"),
    }


def test_requests_of_a_duplicate_are_followed_and_its_items_discarded(tmp_path: Path) -> None:
    with Site({}) as site:
        site.pages |= with_sitemap(site)
        crawls = run_scripts(tmp_path, SPIDERS, FOLLOW, site=site.url, paths=["/first", "/copy"])
    assert crawls.keys() == {"coroutine", "generator", "chooses", "rules", "sitemap"}
    for name, crawl in crawls.items():
        assert sorted(crawl.paths()) == CONTENTS
        counts, kinds = crawl.counts(), ("dropped", "items_discarded", "links_followed", "links_dropped")
        assert [counts[kind] for kind in kinds] == [1, 1, 3, 0]
        assert [drop["url"].rpartition("/")[2] for drop in crawl.drops] == ["copy"]
        # The test serves robots.txt as HTML, too.
        assert crawl.counts("handled/")["settled"] == len(CONTENTS) + (name == "sitemap")
        assert "log_count/WARNING" not in crawl.stats
    assert ["/copy", "duplicate"] in crawls["generator"].notes
    printed = printed_text(invoke("why", f"{site.url}/copy", tmp_path / "index"))
    assert printed.count(f"{site.url}/copy was dropped: a duplicate of {site.url}/first.") == len(crawls)


@pytest.mark.skipif(not has_extra("warc"), reason="needs the extra warc")
def test_links_make_another_list_only_where_they_would_be_lost_and_compare_agrees(tmp_path: Path) -> None:
    stories = [f"/story/{number}" for number in range(30)]

    def tags(visit: str, *more: str) -> Answer:
        return html(listing("Tags of the kettle", [*stories, *more], heading="Tags of the kettle", visit=f"?{visit}"))

    pages = {"/kept": tags("a"), "/dropping": tags("b"), "/follow": tags("c"), "/follow-more": tags("d", "/story/more")}
    settings = {"DEDUP_SCOPE": "global"}
    meta = {key: {"dedup_action": "follow"} for key in ["/follow", "/follow-more"]}
    crawl = crawl_pages(tmp_path, pages, settings=settings, meta=meta, follows=False)
    assert crawl.paths() == ["/kept", "/dropping", "/follow-more"]
    (drop,) = crawl.drops
    files = tmp_path / "follow.html", tmp_path / "kept.html"
    for file in files:
        file.write_bytes(pages[f"/{file.stem}"].body)
    addresses = ["--new-url", drop["url"], "--kept-url", drop["duplicate_of"]]
    compared = invoke("compare", *files, *addresses, "--index", tmp_path / "index", "--brief")
    assert "duplicate: alike" in compared.stdout


@pytest.mark.parametrize("size", [5, 40])
def test_an_entry_is_never_lost_however_short_and_followed_it_is(tmp_path: Path, size: int) -> None:
    def tags(*names: str) -> bytes:
        entries = "".join(f"<li><a href='/{name}'>{name}</a></li>" for name in names)
        return f"<title>Tags</title><a href=/>Start</a><h1>Tags</h1><ul>{entries}</ul>".encode()

    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", action="follow")) as deduplicator:
        for number in range(MIN_PAGES):
            deduplicator.check(f"http://h/{number}", article(number).encode())
        names = words("tags", size)
        assert deduplicator.check("http://h/kept", tags(*names)).verdict is Verdict.NEW
        assert deduplicator.check("http://h/more", tags(*names, "tea")).verdict is Verdict.NEW


def test_a_list_that_is_visited_again_with_other_links_has_changed_even_if_they_are_followed(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", action="follow")) as deduplicator:
        bodies = [listing("Tags", STORIES, heading="Tags", visit=f"?{visit}").encode() for visit in range(2)]
        for url in ("http://h/list", "http://h/other"):
            verdicts = [deduplicator.check(url, body).verdict for body in bodies]
            assert verdicts == [Verdict.NEW, Verdict.CHANGED] if url.endswith("list") else [Verdict.DUPLICATE] * 2


def test_a_page_that_was_followed_once_and_is_new_when_its_request_is_sent_again_is_stored(tmp_path: Path) -> None:
    source = """
from tests.support.walker import Walker, seen

class Spider(Walker):
    def parse(self, response):
        yield seen(response)
        if "copy" in response.url and not response.meta.get("again"):
            response.request.meta["again"] = True
            yield response.request
"""
    answers = iter([html(article("first", frame="copy"))])
    pages: dict[str, Page] = {
        "/first": html(article("first")),
        "/copy": lambda: next(answers, html(article("now new"))),
    }
    crawl = crawl_pages(tmp_path, pages, source, FOLLOW)
    assert crawl.paths() == ["/first", "/copy"]
    assert crawl.item("/copy")["verdict"] == "new"


def test_the_links_of_unchanged_pages_are_followed_on_the_second_day(tmp_path: Path) -> None:
    days: list[dict[str, Any]] = [{}, {"DEDUP_REVISIT": "drop"}, {"DEDUP_REVISIT": "drop", **FOLLOW}]
    pages = {
        "/": html(article("front", links=["/page/2", "/1", "/2", "/3"])),
        "/page/2": html(article("page 2", links=["/4", "/5", "/6"])),
        **{f"/{number}": html(article(number)) for number in range(1, 8)},
    }
    crawls: list[Crawl] = []
    with Site(pages) as site:
        for day, changed in enumerate(days):
            if day:
                site.pages[f"/{day + 3}"] = html(article(f"{day + 3}, rewritten"))
            crawls.append(run_script(tmp_path, WALK, changed, site=site.url, paths=["/"]))
    assert [sorted(crawl.paths()) for crawl in crawls[1:]] == [[], ["/4", "/5"]]
    assert crawls[2].counts()["unchanged_dropped"] == crawls[2].counts()["items_discarded"] == 6
    (summary,) = crawls[1].lines("INFO", "Near-duplicate filter: pages ")
    assert "duplicates dropped 0 (0.0 %), unchanged 1 (of which 1 dropped), changed 0, unchecked 0;" in summary
