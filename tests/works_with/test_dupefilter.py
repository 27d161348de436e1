"""With a DUPEFILTER_CLASS of one's own: it decides which requests are sent, and the filter which responses pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
FILTERS: dict[str, tuple[str, list[str], int]] = {
    "of one's own": ("script.WithoutQuery", ["/", "/page?session=1", "/copy"], 1),
    "none": (
        "scrapy.dupefilters.BaseDupeFilter",
        ["/", "/page?session=1", "/page?session=2", "/copy", "/page?session=1"],
        2,
    ),
}


@pytest.mark.parametrize("case", list(FILTERS))
def test_the_filter_judges_the_requests_that_the_dupefilter_lets_through(tmp_path: Path, case: str) -> None:
    name, asked, dropped = FILTERS[case]
    settings: dict[str, Any] = {"DUPEFILTER_CLASS": name}
    with Site(PAGES) as site:
        crawl = run_script(tmp_path, SPIDER, settings, site=site.url, paths=["/"])
        assert site.paths() == asked
    assert crawl.paths()[:2] == ["/", "/page?session=1"]
    assert (crawl.counts()["kept"], crawl.counts()["dropped"]) == (2, dropped)
    assert crawl.counts()["checked"] == len(asked)
