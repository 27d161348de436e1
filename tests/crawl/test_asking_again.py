"""A callback that asks for its page again has not handled it: ban pages with status 200."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.support.crawling import Answer, Page, Site, article, crawl_pages, html, redirect, run_scripts

PRODUCTS = [f"/product/{number}" for number in range(6)]
MARK = "Just a moment"
LONG_BAN = article("ban", count=120).replace("<h1>", f"<h1>{MARK} ")
TINY_BAN = f"<title>{MARK}</title><h1>{MARK}</h1><p>Checking your browser. This takes a few seconds.</p>"

SPIDERS = """
from scrapy.downloadermiddlewares.retry import get_retry_request
from tests.support.walker import Walker, seen

MARK = "Just a moment"


def replaced(response):
    return response.request.replace(dont_filter=True)


class Banned:
    def request(self, path, **options):
        return super().request(f"/{self.name}{path}", **options)

    def parse(self, response):
        yield from self.handle_ban(response) if MARK in response.text else [seen(response)]

    def handle_ban(self, response):
        yield from filter(None, [get_retry_request(response.request, spider=self)])


class OfALongPage(Banned, Walker):
    name = "long"


class AfterTheLastAttempt(Banned, Walker):
    name = "last"
    custom_settings = {"RETRY_TIMES": 2, "RETRY_PRIORITY_ADJUST": 1}

    def handle_ban(self, response):
        yield self.request(f"/log?{response.url}", callback=lambda response: None)
        yield from super().handle_ban(response)


class OfATinyPage(Banned, Walker):
    name = "tiny"


class AtAnotherAddress(Banned, Walker):
    name = "elsewhere"

    def handle_ban(self, response):
        yield get_retry_request(response.request, spider=self).replace(url=response.url + "?again=1")


class AtTheFirstAddress(Banned, Walker):
    name = "redirected"

    def handle_ban(self, response):
        yield response.request.replace(url=response.meta["redirect_urls"][0], dont_filter=True)


class ByReplace(Banned, Walker):
    name = "replaced"

    async def parse(self, response):
        yield replaced(response) if MARK in response.text else seen(response)


class WithMiddleware(Banned):
    def handle_ban(self, response):
        return []

    @classmethod
    def update_settings(cls, settings):
        settings.set("SPIDER_MIDDLEWARES", {cls.Middleware: 600}, priority="spider")

    def failed(self, failure):
        yield replaced(failure.value.response)


class InTheOutputOfAMiddleware(WithMiddleware, Walker):
    name = "output"

    class Middleware:
        async def process_spider_output(self, response, result, spider=None):
            async for output in result:
                yield output
            if MARK in response.text:
                yield replaced(response)


class InAMiddlewareForAnException(WithMiddleware, Walker):
    name = "exception"

    def handle_ban(self, response):
        raise ValueError

    class Middleware:
        def process_spider_exception(self, response, exception, spider=None):
            return [replaced(response)]


class InTheErrback(WithMiddleware, Walker):
    name = "errback"

    class Middleware:
        def process_spider_input(self, response, spider=None):
            if MARK in response.text:
                error = ValueError("a ban")
                error.response = response
                raise error
"""
NAMES = ("long", "last", "tiny", "elsewhere", "redirected", "replaced", "output", "exception", "errback")


NEVER_THERE = f"/last{PRODUCTS[0]}"
"""A page that is banned at each attempt."""


def banned_at_first(path: str, ban: str, times: int) -> Callable[[], Answer]:
    """Return a page that answers with *ban* for some *times*."""
    answers = iter([html(ban)] * times)
    return lambda: next(answers, html(article(path)))


def test_a_ban_page_that_is_asked_for_again_in_any_way_represents_no_other_even_after_the_last_attempt(
    tmp_path: Path,
) -> None:
    pages: dict[str, Page] = {}
    for path in (f"/{name}{product}" for name in NAMES for product in PRODUCTS):
        ban = TINY_BAN if path.startswith("/tiny") else LONG_BAN
        banned = banned_at_first(path, ban, times=10 if path == NEVER_THERE else 1)
        is_redirected = path.startswith("/redirected")
        pages |= {path: redirect(f"{path}/final"), f"{path}/final": banned} if is_redirected else {path: banned}
        pages[f"{path}?again=1"] = html(article(path))
    settings = {"CONCURRENT_REQUESTS": 8, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    with Site(pages) as site:
        crawls = run_scripts(tmp_path, SPIDERS, settings, site=site.url, paths=PRODUCTS)
    assert crawls.keys() == {*NAMES}
    for name, crawl in crawls.items():
        paths = [path.partition("?")[0].removesuffix("/final") for path in crawl.paths()]
        wanted = [path for path in (f"/{name}{product}" for product in PRODUCTS) if path != NEVER_THERE]
        assert sorted(paths) == wanted
        counts = crawl.counts("handled/")
        assert counts["well"] == counts["settled"] == len(wanted)
        assert counts["badly"] == len(PRODUCTS) + 2 * (name == "last")  # the attempts for the page that is never there


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
