"""A callback that asks for its page again has not handled it: ban pages with status 200."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.crawling import Answer, Crawl, Page, article, crawl_pages, html, redirect

PRODUCTS = [f"/product/{number}" for number in range(6)]
MARK = "Just a moment"
LONG_BAN = article("ban", count=120).replace("<h1>", f"<h1>{MARK} ")
TINY_BAN = f"<title>{MARK}</title><h1>{MARK}</h1><p>Checking your browser. This takes a few seconds.</p>"

SPIDER = f"""
from scrapy.downloadermiddlewares.retry import get_retry_request
from tests.support.walker import Walker, seen

MARK = "{MARK}"


def replaced(response):
    return response.request.replace(dont_filter=True)


class Spider(Walker):
    def parse(self, response):
        yield from self.handle_ban(response) if MARK in response.text else [seen(response)]

    def handle_ban(self, response):
        yield from filter(None, [get_retry_request(response.request, spider=self)])
"""
AT_ANOTHER_ADDRESS = """
    def handle_ban(self, response):
        yield get_retry_request(response.request, spider=self).replace(url=response.url + "?again=1")
"""
BY_REPLACE = """
    async def parse(self, response):
        if MARK in response.text:
            yield replaced(response)
        else:
            yield seen(response)
"""
AT_THE_FIRST_ADDRESS = """
    def handle_ban(self, response):
        yield response.request.replace(url=response.meta["redirect_urls"][0], dont_filter=True)
"""
WITH_MIDDLEWARE = """
    handle_ban = lambda self, response: {ban}

    @classmethod
    def update_settings(cls, settings):
        settings.set("SPIDER_MIDDLEWARES", {{Middleware: 600}}, priority="spider")

    def failed(self, failure):
        yield replaced(failure.value.response)


class Middleware:
{method}
"""
IN_OUTPUT = """
    async def process_spider_output(self, response, result, spider=None):
        async for output in result:
            yield output
        if MARK in response.text:
            yield replaced(response)
"""
FOR_AN_EXCEPTION = """
    def process_spider_exception(self, response, exception, spider=None):
        return [replaced(response)]
"""
IN_INPUT = """
    def process_spider_input(self, response, spider=None):
        if MARK in response.text:
            error = ValueError("a ban")
            error.response = response
            raise error
"""
WAYS = {
    "get_retry_request": "",
    "another address": AT_ANOTHER_ADDRESS,
    "replace": BY_REPLACE,
    "the output of a middleware": WITH_MIDDLEWARE.format(ban="[]", method=IN_OUTPUT),
    "a middleware for an exception": WITH_MIDDLEWARE.format(ban="[1 / 0]", method=FOR_AN_EXCEPTION),
    "the errback": WITH_MIDDLEWARE.format(ban="[]", method=IN_INPUT),
}


def banned_at_first(path: str, ban: str, times: int = 1) -> Callable[[], Answer]:
    """Return a page that answers with *ban* for some *times*."""
    answers = iter([html(ban)] * times)
    return lambda: next(answers, html(article(path)))


def crawl_products(tmp_path: Path, way: str, pages: Mapping[str, Page], **settings: object) -> Crawl:
    again = {f"{path}?again=1": html(article(path)) for path in pages}
    concurrent = {"CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8, **settings}
    return crawl_pages(tmp_path, {**pages, **again}, SPIDER + way, concurrent, paths=PRODUCTS)


@pytest.mark.parametrize(("way", "ban"), [("get_retry_request", TINY_BAN), *((way, LONG_BAN) for way in WAYS)])
def test_a_ban_page_that_is_asked_for_again_represents_no_other(tmp_path: Path, way: str, ban: str) -> None:
    crawl = crawl_products(tmp_path, WAYS[way], {path: banned_at_first(path, ban) for path in PRODUCTS})
    assert sorted(path.partition("?")[0] for path in crawl.paths()) == sorted(PRODUCTS)
    counts = crawl.counts("handled/")
    assert counts["badly"] == counts["well"] == counts["settled"] == len(PRODUCTS)


def test_a_ban_page_behind_a_redirection_is_asked_for_again_at_its_first_address(tmp_path: Path) -> None:
    pages: dict[str, Page] = {}
    for path in PRODUCTS:
        pages |= {path: redirect(f"{path}/final"), f"{path}/final": banned_at_first(path, LONG_BAN)}
    crawl = crawl_products(tmp_path, AT_THE_FIRST_ADDRESS, pages)
    assert sorted(crawl.paths()) == sorted(f"{path}/final" for path in PRODUCTS)


ALSO_OTHER_REQUESTS = """
    def handle_ban(self, response):
        yield self.request(f"/log?{response.url}", callback=lambda response: None)
        yield from filter(None, [get_retry_request(response.request, spider=self)])
"""


def test_a_ban_page_after_the_last_attempt_represents_no_other(tmp_path: Path) -> None:
    pages = {path: banned_at_first(path, LONG_BAN, times=1 + 9 * (path == PRODUCTS[0])) for path in PRODUCTS}
    settings = {"CONCURRENT_REQUESTS": 1, "RETRY_TIMES": 2, "RETRY_PRIORITY_ADJUST": 1}
    crawl = crawl_products(tmp_path, ALSO_OTHER_REQUESTS, pages, **settings)
    assert sorted(crawl.paths()) == sorted(PRODUCTS[1:])


def test_a_page_that_links_to_itself_or_asks_for_it_again_with_an_item_was_handled(tmp_path: Path) -> None:
    source = """
from scrapy import Request
from tests.support.walker import Walker, seen

class Spider(Walker):
    def parse(self, response):
        if "hub" in response.url:
            yield from response.follow_all(css="a")
        else:
            yield seen(response)
            if not response.meta.get("again"):
                yield response.request.replace(dont_filter=True, meta={"again": True})
"""
    pages = {
        "/hub": html(article("hub", links=["/hub", "/item", "/other"])),
        "/hub-copy": html(article("hub", frame="copy", links=["/hub", "/item", "/other"])),
        "/item": html(article("item")),
        "/other": html(article("other")),
    }
    crawl = crawl_pages(tmp_path, pages, source, paths=["/hub", "/hub-copy"])
    assert Counter(crawl.paths()) == {"/item": 2, "/other": 2}
    assert [drop["url"].rpartition("/")[2] for drop in crawl.drops] == ["hub-copy"]
    assert "released" not in crawl.counts("handled/")
