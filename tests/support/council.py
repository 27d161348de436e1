"""Two pages of a council that say the opposite of each other, and are taken for duplicates: asides are not compared."""

from tests.support.crawling import article, paragraphs, words


def page(title: str, body: str) -> str:
    return f"<title>{title}</title><h1>{title}</h1>{body}"


def council(decided: str, link: str = "") -> str:
    text = paragraphs(words("The bridge at the old mill"))
    return page("The bridge at the old mill", f"{text}<aside>The plan was {decided}.</aside>{link}")


NEWS = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

class NewsSpider(CrawlSpider):
    name = "news"
    start_urls = ["{site}/"]
    rules = [
        Rule(LinkExtractor(allow="/private/"), callback="parse_private", cb_kwargs={{"kind": "private"}}),
        Rule(LinkExtractor(), callback="parse_page", follow=True),
    ]

    def parse_page(self, response):
        kind = getattr(self, "watch", "page")
        yield {{"url": response.url, "kind": kind, "depth": response.meta["depth"]}}

    def parse_private(self, response, kind):
        yield {{"url": response.url, "kind": kind, "depth": response.meta["depth"]}}
"""
LINKS = '<p><a href="{}">Next</a> <a href="{}">More</a></p>'
PAGES = {
    "/": page("News", '<a href="/approved">Council, morning</a>'),
    "/approved": council("approved", LINKS.format("/rejected", "/public")),
    "/rejected": council("rejected", LINKS.format("/private/1", "/private/2")),
    **{path: article(path) for path in ("/public", "/private/1", "/private/2")},
}
"""The pages of a site, on which the second page of the council is dropped wrongly, with the links to two private pages."""
