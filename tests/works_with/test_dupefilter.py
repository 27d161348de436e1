"""With a DUPEFILTER_CLASS of one's own: it decides which requests are sent, and the filter which responses pass."""

from pathlib import Path

from tests.support.crawling import Site, article, html, run_script

PAGES = {
    "/": html(article("start", links=["/page?session=1", "/page?session=2", "/copy", "/page?session=1"])),
    "/page?session=1": html(article("page")),
    "/page?session=2": html(article("page", frame="2")),
    "/copy": html(article("page", frame="copy")),
}

SPIDER = """
from scrapy.dupefilters import RFPDupeFilter
from tests.support.walker import Walker

class WithoutQuery(RFPDupeFilter):
    def request_fingerprint(self, request):
        return super().request_fingerprint(request.replace(url=request.url.partition("?")[0]))

class Spider(Walker):
    pass
"""


def test_the_filter_judges_the_requests_that_the_dupefilter_lets_through(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        settings = {"DUPEFILTER_CLASS": "script.WithoutQuery"}
        crawl = run_script(tmp_path, SPIDER, settings, site=site.url, paths=["/"])
        assert site.paths() == ["/", "/page?session=1", "/copy"]
    assert crawl.paths() == ["/", "/page?session=1"]
    assert (crawl.counts()["checked"], crawl.counts()["kept"], crawl.counts()["dropped"]) == (3, 2, 1)
