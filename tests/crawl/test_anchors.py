"""Real crawls in which the text of links comes into signatures (``DEDUP_SCHEME = "simhash anchors=yes"``)."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.http import HtmlResponse, Request

from crawler_dedup import Config
from crawler_dedup.crawl.anchors import AnchorNotes, noted_anchors
from crawler_dedup.index import maintenance
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import Site, article, html, run_script

SCHEME = "simhash anchors=yes"
LINKS = (
    "<p>Here stands <a href='/a'>a lighthouse in the fog</a>, and nothing else.</p>"
    "<p>There is <a href='/hop'>honey of limes</a> too.</p>"
)
SITE = {
    "/": html(article("start", count=40).replace("<footer>", f"<footer>{LINKS}")),
    "/a": html(article("a", count=40)),
    "/b": html(article("b", count=40)),
    "/hop": html(article("hop", count=40)),
}
SPIDER = """
from tests.support.walker import Walker

class Spider(Walker):
    def parse(self, response, **_):
        if response.url.endswith("/a"):  # what it has copied says nothing of the page that nobody links to
            yield response.follow("/b", meta=response.meta, callback=self.parse)
        else:
            yield from (response.follow(link, callback=self.parse) for link in response.css("footer p a"))
"""


@pytest.mark.parametrize("job", [False, True], ids=["in memory", "in a queue on disk"])
def test_a_page_is_signed_with_the_link_text_of_the_page_that_led_to_it(tmp_path: Path, job: bool) -> None:
    settings = {"DEDUP_SCHEME": SCHEME, **({"JOBDIR": str(tmp_path / "job")} if job else {})}
    with Site(SITE) as site:
        run_script(tmp_path, SPIDER, settings, site=site.url, paths=["/"])
        assert sorted(site.paths()) == ["/", "/a", "/b", "/hop"]
    signer = Signer(Config(scheme=SCHEME, tokenizer="bigrams"))
    leading_text = "Here stands a lighthouse in the fog, and nothing else. There is honey of limes too."
    pages = maintenance.open_pages(tmp_path / "index")
    try:
        kept = {record.page.url: record.page.signature for block in pages.records(10) for record in block}
    finally:
        pages.close()
    assert len(kept) == 4
    for path, answer in SITE.items():
        url = f"{site.url}{path}"
        signatures = [
            signer.sign(url, answer.body, encoding=None, key=None, scope="", anchors=anchors)[0].signature
            for anchors in ("", leading_text)
        ]
        assert signatures[0] != signatures[1]
        if path in ("/", "/b"):
            assert kept[url] == signatures[0]
        else:
            assert kept[url] != signatures[0]


def test_without_the_option_requests_carry_no_link_texts(tmp_path: Path) -> None:
    spider = SPIDER.replace("if response", "self.notes.append(sorted(response.meta))\n        if response")
    with Site(SITE) as site:
        noted = {
            scheme: run_script(tmp_path / scheme, spider, {"DEDUP_SCHEME": scheme}, site=site.url, paths=["/"]).notes
            for scheme in ("simhash", SCHEME)
        }
    assert [("_dedup_anchors" in keys) for keys in noted[SCHEME]] == [False, True, True, False]
    assert not any("_dedup_anchors" in keys for keys in noted["simhash"])


def test_links_that_cannot_be_read_cost_no_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("crawler_dedup.crawl.anchors.tree_of", fail)
    notes = AnchorNotes(HtmlResponse("http://a.org/", body=b"<a href='/b'>b</a>"), Config())
    requests = [Request("http://a.org/b", meta={"_dedup_anchors": "of another page"}), Request("http://a.org/c")]
    for request in requests:
        notes.note(request)
    assert [noted_anchors(request) for request in requests] == ["", ""]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
