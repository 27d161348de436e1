"""Broken and hostile responses in real crawls: every page that Scrapy delivers reaches the callback and is counted."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from tests.support.crawling import Answer, Crawl, Page, Site, run_script
from tests.support.hostile_pages import PAGES, chinese, traditional

# Items have the size of a page instead of the page, because some have 50 MB.
SPIDER = """
from dataclasses import asdict
from tests.support.walker import Walker, path_of

class Spider(Walker):
    def request(self, path):
        return super().request(path, meta={"dedup_scope": path.split("/")[1]})

    def parse(self, response):
        yield {
            "path": path_of(response.url),
            "bytes": len(response.body),
            "decision": asdict(response.meta["dedup"]),
        }
"""
MOST = 64 << 20
"""The greatest size of a response for Scrapy."""


def answer(body: bytes, charset: str = "", **headers: str) -> Answer:
    """Return *body* as HTML, with the charset in the header if one is given."""
    kind = f"text/html; charset={charset}" if charset else "text/html"
    return Answer(
        body, headers=(("Content-Type", kind), *((name.replace("_", "-"), header) for name, header in headers.items()))
    )


def bomb(megabytes: int) -> Answer:
    """Return this number of MB compressed to a few KB."""
    return answer(gzip.compress(b"words and words " * (megabytes << 16), 1), Content_Encoding="gzip")


def in_charsets(scope: str, text: str, charset: str) -> dict[str, Page]:
    """Return one text in UTF-8 and in *charset*, labelled correctly, wrongly and not at all."""
    body = text.encode(charset)
    labelled = text.replace("<head>", f"<head><meta charset={charset}>").encode(charset)
    return {
        f"/{scope}/utf-8": answer(text.encode(), "utf-8"),
        f"/{scope}/header": answer(body, charset),
        f"/{scope}/meta": answer(labelled),
        f"/{scope}/nothing": answer(body),
        f"/{scope}/unknown": answer(body, "x-klingon"),
        f"/{scope}/as-utf-8": answer(body, "utf-8"),
        f"/{scope}/as-latin-1": answer(body, "latin-1"),
    }


ALIKE = ("header", "meta", "nothing", "unknown")
WRONG = ("as-utf-8", "as-latin-1")
CODECS = ("hex", "undefined", "idna", "zlib")


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    whole = chinese().encode()
    pages = {
        **in_charsets("gbk", chinese(), "gbk"),
        **in_charsets("big5", traditional(), "big5"),
        **{f"/codecs-{name}/": answer(b"<meta charset=" + name.encode() + b">" + whole) for name in CODECS},
        "/large/text": answer(PAGES["50 MB of text"].make()),
        "/large/tags": answer(PAGES["50 MB of tags"].make()),
        "/bomb/within": bomb(48),
        "/bomb/beyond": bomb(200),
        "/binary/png": answer(PAGES["PNG"].make()),
        "/binary/random": answer(PAGES["8 MB at random"].make()),
        "/empty/": answer(b""),
        "/deep/": answer(PAGES["nested <div>"].make()),
        "/cut/": answer(whole, Content_Length=str(len(whole) + 1000)),
        "/last/": answer(whole),
    }
    # Where it looks for a redirection in the page, Scrapy loses pages whose charset it cannot read, before they are ours.
    settings = {"DEDUP_ACTION": "mark", "DOWNLOAD_MAXSIZE": MOST, "LOG_LEVEL": "INFO", "METAREFRESH_ENABLED": False}
    with Site(pages) as site:
        return run_script(tmp_path_factory.mktemp("hostile"), SPIDER, settings, site=site.url, paths=list(pages))


def decision(crawl: Crawl, path: str) -> dict[str, Any]:
    recorded: dict[str, Any] = crawl.item(path)["decision"]
    return recorded


def test_every_page_that_scrapy_delivers_reaches_the_callback(crawl: Crawl) -> None:
    lost = {note["path"]: note["error"] for note in crawl.notes}
    assert lost == {"/bomb/beyond": "IgnoreRequest", "/cut/": "ResponseDataLossError"}
    assert crawl.stats["finish_reason"] == "finished"
    assert len(crawl.items) == crawl.stats["item_scraped_count"] == crawl.counts()["checked"]
    assert "spider_exceptions/count" not in crawl.stats


def test_every_page_is_counted_once(crawl: Crawl) -> None:
    counts = crawl.counts()
    assert counts["checked"] == sum(counts[name] for name in ("kept", "marked", "unchanged", "changed", "unchecked"))
    assert counts["unchecked"] == sum(crawl.counts("unchecked/").values())


@pytest.mark.parametrize("charset", ["gbk", "big5"])
@pytest.mark.parametrize("path", ALIKE)
def test_a_text_in_another_charset_is_a_duplicate_of_itself(crawl: Crawl, charset: str, path: str) -> None:
    recorded = decision(crawl, f"/{charset}/{path}")
    assert (recorded["verdict"], recorded["match"]["distance"], recorded["match"]["coverage"]) == ("duplicate", 0, 1)
    assert recorded["duplicate_of"].endswith(f"/{charset}/utf-8")


@pytest.mark.parametrize("charset", ["gbk", "big5"])
@pytest.mark.parametrize("path", WRONG)
def test_a_text_with_the_wrong_charset_is_not_a_duplicate(crawl: Crawl, charset: str, path: str) -> None:
    assert decision(crawl, f"/{charset}/{path}")["verdict"] in ("new", "unchecked")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/large/text", "too many bytes"),
        ("/large/tags", "too many bytes"),
        ("/bomb/within", "too many bytes"),
        ("/empty/", "too little text"),
        ("/deep/", "nested too deep"),
    ],
)
def test_a_page_beyond_a_limit_passes_with_the_reason(crawl: Crawl, path: str, reason: str) -> None:
    assert decision(crawl, path)["reason"] == reason


def test_pages_beyond_the_limits_are_counted(crawl: Crawl) -> None:
    reasons = [item["decision"]["reason"] for item in crawl.items]
    counts = crawl.counts("unchecked/")
    assert counts["too_many_bytes"] == 3
    for reason in ("nested too deep", "too little text", "error"):
        assert counts[reason.replace(" ", "_")] == reasons.count(reason)


def test_a_large_page_reaches_the_callback_complete(crawl: Crawl) -> None:
    assert crawl.item("/large/text")["bytes"] == 50 << 20
    assert crawl.item("/bomb/within")["bytes"] == 48 << 20


@pytest.mark.parametrize("path", ["/binary/png", "/binary/random"])
def test_a_response_without_text_gets_a_verdict(crawl: Crawl, path: str) -> None:
    assert decision(crawl, path)["verdict"] in ("new", "unchecked")
    assert decision(crawl, path)["reason"] != "error"


@pytest.mark.parametrize("name", CODECS)
def test_an_unknown_charset_costs_no_page(crawl: Crawl, name: str) -> None:
    # Scrapy's selectors cannot read such a page either: an error in the filter, which lets it pass.
    assert decision(crawl, f"/codecs-{name}/")["verdict"] in ("new", "unchecked")
