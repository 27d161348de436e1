"""Broken and hostile responses in real crawls: every page that Scrapy delivers reaches the callback and is counted."""

import gzip
from collections import Counter
from pathlib import Path

from tests.support.crawling import Answer, Page, crawl_pages
from tests.support.hostile_pages import PAGES, chinese, traditional

# Items have the size of a page instead of the page, because some have 50 MB.
SPIDER = """
from dataclasses import asdict
from tests.support.walker import Walker, path_of

class Spider(Walker):
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


CODECS = ("hex", "undefined", "idna", "zlib")
REASONS = {
    "/large/text": "more bytes than DEDUP_MAX_BYTES",
    "/bomb/within": "more bytes than DEDUP_MAX_BYTES",
    "/empty/": "too little text",
    "/deep/": "nested too deep",
}


def test_every_page_that_scrapy_delivers_gets_a_verdict_and_reaches_the_callback(tmp_path: Path) -> None:
    whole = chinese().encode()
    others = [*(f"/codecs-{name}/" for name in CODECS), "/binary/png", "/binary/random", "/last/"]
    pages = {
        **in_charsets("gbk", chinese(), "gbk"),
        **in_charsets("big5", traditional(), "big5"),
        **{f"/codecs-{name}/": answer(b"<meta charset=" + name.encode() + b">" + whole) for name in CODECS},
        "/large/text": answer(PAGES["50 MB of text"].make()),
        "/bomb/within": bomb(24),
        "/bomb/beyond": bomb(80),
        "/binary/png": answer(PAGES["PNG"].make()),
        "/binary/random": answer(PAGES["8 MB at random"].make()),
        "/empty/": answer(b""),
        "/deep/": answer(PAGES["nested <div>"].make()),
        "/cut/": answer(whole, Content_Length=str(len(whole) + 1000)),
        "/last/": answer(whole),
    }
    # Where it looks for a redirection in the page, Scrapy loses pages whose charset it cannot read, before they are ours.
    settings = {"DEDUP_ACTION": "mark", "DOWNLOAD_MAXSIZE": MOST, "LOG_LEVEL": "INFO", "METAREFRESH_ENABLED": False}
    meta = {path: {"dedup_scope": path.split("/")[1]} for path in pages}
    crawl = crawl_pages(tmp_path, pages, SPIDER, settings, meta=meta)
    lost = {note["path"]: note["error"] for note in crawl.notes}
    assert lost == {"/bomb/beyond": "IgnoreRequest", "/cut/": "ResponseDataLossError"}
    assert crawl.stats["finish_reason"] == "finished"
    counts = crawl.counts()
    assert len(crawl.items) == crawl.stats["item_scraped_count"] == counts["checked"]
    assert "spider_exceptions/count" not in crawl.stats
    assert counts["checked"] == sum(counts[name] for name in ("kept", "marked", "unchanged", "changed", "unchecked"))
    assert crawl.item("/large/text")["bytes"] == 50 << 20
    assert crawl.item("/bomb/within")["bytes"] == 24 << 20
    decisions = {item["path"]: item["decision"] for item in crawl.items}
    for charset in ("gbk", "big5"):
        for path in ("header", "meta", "nothing", "unknown"):
            alike = decisions[f"/{charset}/{path}"]
            assert (alike["verdict"], alike["match"]["distance"]) == ("duplicate", 0)
            assert alike["duplicate_of"].endswith(f"/{charset}/utf-8")
        others += [f"/{charset}/{path}" for path in ("as-utf-8", "as-latin-1")]
    # Scrapy's selectors cannot read pages of some codecs either: an error in the filter, which lets them pass.
    assert {decisions[path]["verdict"] for path in others} <= {"new", "unchecked"}
    assert "error" not in {decisions[path]["reason"] for path in others if "binary" in path}
    assert {path: decisions[path]["reason"] for path in REASONS} == REASONS
    reasons = Counter(decision["reason"].replace(" ", "_") for decision in decisions.values() if decision["reason"])
    assert crawl.counts("unchecked/") == reasons
