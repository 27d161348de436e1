"""Two pages of a council that say the opposite of each other, and are taken for duplicates: asides are not compared."""

from __future__ import annotations

from tests.support.crawling import article

TEXT = """
<p>The council has decided about the plan for a new bridge over the river at the old mill, after a debate that lasted for
more than four hours on Thursday evening in the large hall of the school.</p>
<p>The bridge is meant to connect the station with the northern quarter, where about three thousand people live, and where
the next crossing is more than two kilometres away.</p>
<p>Engineers from the county have estimated that the work begins in the spring, that it takes about eighteen months, and
that the road along the bank stays closed to lorries for that time.</p>
<p>Residents of the lower town had collected signatures, because they expect more traffic in the narrow streets around the
market, and had asked for a second study of noise and of parking.</p>
<p>The mayor said that the decision was not an easy one, that everybody had been heard, and that the council is going to
look at the matter again as soon as the county publishes its figures.</p>
<aside>The plan was {decided}.</aside>
"""


def page(title: str, body: str) -> str:
    return f"<title>{title}</title><h1>{title}</h1>{body}"


def council(decided: str, link: str = "") -> str:
    return page("The bridge at the old mill", f"{TEXT.format(decided=decided)}{link}")


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
