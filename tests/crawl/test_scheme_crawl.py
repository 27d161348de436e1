"""Real crawls with another scheme than simhash: what is dropped, counted and logged, and what stops them."""

from __future__ import annotations

from pathlib import Path

from tests.support.chinese import chinese, with_homophones
from tests.support.crawling import WALK, Site, article, html, run_script


def tea(text: str, frame: str = "") -> str:
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    return f"<html><head><title>茶馆</title></head><body><nav>{frame}</nav><main>{paragraphs}</main></body></html>"


def untitled(page: str) -> str:
    """Return a page without title and heading, because pages are also found by these."""
    return page.replace("title>", "b>").replace("h1>", "p>")


SITE = {
    "/0": html(article(0)),
    "/0-copy": html(article(0, frame="copy")),
    "/1": html(untitled(article(1))),
    "/1-part": html(untitled(article(1, shortened=1))),
    "/2": html(article(2)),
    "/tea": html(tea(chinese(0))),
    "/tea-copy": html(tea(chinese(0), "copy")),
    "/tea-homophones": html(tea(with_homophones(chinese(0)))),
    "/train": html(tea(chinese(1))),
}
DROPPED = {"/0-copy": "/0", "/1-part": "/1", "/tea-copy": "/tea"}


def test_a_crawl_and_its_second_run_drop_duplicates_by_the_scheme(tmp_path: Path) -> None:
    settings = {"DEDUP_SCHEME": "minhash"}
    kept = [path for path in SITE if path not in DROPPED]
    with Site(SITE) as site:
        first, second = (run_script(tmp_path, WALK, settings, site=site.url, paths=list(SITE)) for _ in range(2))
    for crawl, pages, verdict in ((first, 0, "new"), (second, len(kept), "unchanged")):
        assert crawl.dropped() == DROPPED
        assert crawl.paths() == kept
        assert {item["verdict"] for item in crawl.items} == {verdict}
        (line,) = crawl.lines("INFO", "Near-duplicate filter: index ")
        assert f" holds {pages} pages; " in line
        assert ", scheme minhash, tokenizer bigrams, scope spider, action drop" in line
        assert crawl.lines("WARNING", "") == crawl.lines("ERROR", "") == []
        assert not crawl.counts("distance/")
        assert {drop["match"]["distance"] for drop in crawl.drops} == {None}
        assert all(0.6 < drop["match"]["resemblance"] <= 1 for drop in crawl.drops)
        counts = crawl.counts()
        assert (counts["checked"], counts["dropped"], counts["unchecked"]) == (len(SITE), len(DROPPED), 0)
        assert counts["bytes_dropped"] == sum(len(SITE[path].body) for path in DROPPED)
