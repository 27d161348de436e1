"""The browser page that scrapy-playwright leaves open for the callback of a page that is dropped then."""

from pathlib import Path

from tests.support.crawling import article, crawl_pages, html

SPIDER = """
import asyncio
from tests.support.walker import Walker, path_of

class BrowserPage:
    def __init__(self, path, closed):
        self.path, self.closed = path, closed

    async def close(self):
        if "broken" in self.path:
            raise RuntimeError("no browser")
        if "cancelled" in self.path:
            raise asyncio.CancelledError
        self.closed.append(self.path)

class Browser:
    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_response(self, request, response, spider=None):
        request.meta["playwright_page"] = BrowserPage(path_of(request.url), self.crawler.spider.notes)
        return response

class Spider(Walker):
    def request(self, path):
        return super().request(path, errback=self.failed if "errback" in path else None)

    def failed(self, failure):
        self.notes.append("errback")
"""
PAGES = {
    "/page": html(article("page")),
    **{
        path: html(article("page", frame=path))
        for path in ("/copy", "/broken-copy", "/cancelled-copy", "/copy-with-errback", "/last-copy")
    },
}


def test_the_browser_page_of_a_drop_is_closed_without_an_errback_and_an_error_changes_nothing(tmp_path: Path) -> None:
    crawl = crawl_pages(tmp_path, PAGES, SPIDER, {"DOWNLOADER_MIDDLEWARES": {"script.Browser": 900}})
    assert crawl.paths() == ["/page"]
    assert crawl.counts()["dropped"] == 5
    assert sorted(crawl.notes) == ["/copy", "/last-copy", "errback"]
    assert crawl.lines("ERROR", "") == []
    (warning,) = crawl.lines("WARNING", "")
    assert "The browser page of a dropped page cannot be closed: RuntimeError('no browser')" in warning
