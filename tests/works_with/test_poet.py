"""With scrapy-poet: page objects are built from responses that the filter judges like any others."""

from pathlib import Path

from tests.support.crawling import ADDONS, Site, article, crawl_pages, html, run_script
from tests.support.packages import needs_package

pytestmark = needs_package("scrapy_poet")

SETTINGS = {"ADDONS": {**ADDONS, "scrapy_poet.Addon": 300}}
PAGES = {
    "/page": html(article("page", links=["/copy", "/other"])),
    "/copy": html(article("page", frame="copy")),
    "/other": html(article("other")),
}

PAGE_OBJECTS = """
from scrapy_poet import DummyResponse
from tests.support.walker import Walker, path_of
from web_poet import HttpResponse, WebPage, field

class Article(WebPage):
    @field
    def path(self):
        return path_of(str(self.response.url))

    @field
    def title(self):
        return self.css("h1::text").get()

    @field
    def links(self):
        return self.css("a::attr(href)").getall()

class Spider(Walker):
    async def parse(self, response: DummyResponse, page: Article):
        self.notes.append(type(response).__name__)
        item = await page.to_item()
        yield item
        for link in item["links"]:
            yield response.follow(link, callback=self.parse_response, errback=self.failed)

    async def parse_response(self, response, body: HttpResponse):
        yield {"path": path_of(str(body.url)), "title": body.css("h1::text").get()}
"""


def test_page_objects_get_their_pages_and_a_duplicate_goes_to_the_errback(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        crawl = run_script(tmp_path, PAGE_OBJECTS, SETTINGS, site=site.url, paths=["/page"])
    assert [(item["path"], item["title"]) for item in crawl.items] == [
        ("/page", "Article page"),
        ("/other", "Article other"),
    ]
    (response, note) = crawl.notes
    assert response == "HtmlResponse"
    assert (note["path"], note["error"], note["decision"]["duplicate_of"]) == (
        "/copy",
        "NearDuplicate",
        f"{site.url}/page",
    )
    assert (crawl.counts()["kept"], crawl.counts()["dropped"]) == (2, 1)
    assert crawl.counts("handled/") == {"well": 2, "settled": 2}


NO_RESPONSE = """
from scrapy_poet import DummyResponse
from tests.support.walker import Walker, path_of
from web_poet import HttpClient, ItemPage, RequestUrl
import attrs

@attrs.define
class Fetched(ItemPage):
    url: RequestUrl
    http: HttpClient

    async def to_item(self):
        response = await self.http.get(str(self.url) + "/data")
        return {"path": path_of(str(self.url)), "title": response.css("h1::text").get()}

class Spider(Walker):
    async def parse(self, response: DummyResponse, page: Fetched):
        self.notes.append([type(response).__name__, "dedup" in response.meta])
        yield await page.to_item()
"""


def test_a_page_that_is_not_downloaded_is_not_judged(tmp_path: Path) -> None:
    pages = {"/a/data": html(article("same")), "/b/data": html(article("same"))}
    with Site(pages) as site:
        crawl = run_script(tmp_path, NO_RESPONSE, SETTINGS, site=site.url, paths=["/a", "/b"])
        assert sorted(site.paths()) == ["/a/data", "/b/data"]
    assert crawl.notes == [["DummyResponse", False]] * 2
    assert [item["title"] for item in crawl.items] == ["Article same"] * 2
    assert crawl.counts("skipped/") == {"not_html": 2, "no_callback": 2}
    assert not crawl.counts()["checked"]


RETRY = """
from scrapy_poet import DummyResponse
from tests.support.walker import Walker, path_of
from web_poet import WebPage
from web_poet.exceptions import Retry

class Article(WebPage):
    async def to_item(self):
        if not self.css("h2"):
            raise Retry("incomplete")
        return {"path": path_of(str(self.response.url)), "title": self.css("h1::text").get()}

class Spider(Walker):
    async def parse(self, response: DummyResponse, page: Article):
        yield await page.to_item()
"""


def test_a_page_that_a_page_object_asks_for_again_is_judged_again(tmp_path: Path) -> None:
    answers = iter([html(article("page")), html(article("page", frame="<h2>All</h2>"))])
    crawl = crawl_pages(tmp_path, {"/page": answers.__next__}, RETRY, SETTINGS | {"RETRY_ENABLED": True})
    assert crawl.paths() == ["/page"]
    # The first answer was not handled, and is forgotten.
    assert (crawl.counts()["kept"], crawl.counts()["unchanged"], crawl.counts("handled/")["released"]) == (2, 0, 1)
