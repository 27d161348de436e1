"""Responses that the filter does not check: what the log and ``why`` say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_dedup.crawl.gate import find_cause
from tests.support.commandline import invoke, printed_text
from tests.support.crawling import WALK, Page, Site, article, html, run_script


@pytest.mark.parametrize(
    ("checked", "reason", "skipped", "words"),
    [
        (1, "asked", 30, "dedup_skip"),
        (1, "incomplete", 30, "incomplete"),
        (1, "status", 30, "status is not 200"),
        (0, "asked", 9, ""),
        (30, "asked", 30, ""),
    ],
)
def test_a_warning_names_the_reason_why_nearly_everything_was_skipped(
    checked: int, reason: str, skipped: int, words: str
) -> None:
    warning = find_cause(checked, {"asked": 0, "inline": 0, reason: skipped})
    assert bool(warning) == bool(words)
    assert words in warning
    assert not words or f"dedup/skipped/{reason}" in warning


def test_a_crawl_that_skips_nearly_everything_warns_once_and_why_names_the_reason_of_each_page(tmp_path: Path) -> None:
    asked: dict[str, Page] = {f"/asked-{number}": html(article(number)) for number in range(30)}
    pages = asked | {"/cut-off": html(article("cut off"), Content_Length="99999")}
    settings = {"DOWNLOAD_FAIL_ON_DATALOSS": False}
    with Site(pages) as site:
        meta = {path: {"dedup_skip": True} for path in asked}
        crawl = run_script(tmp_path, WALK, settings, site=site.url, paths=list(pages), meta=meta)
    (warning,) = crawl.lines("WARNING", "has checked only")
    assert "dedup/skipped/asked" in warning

    def why(path: str, status: int = 0) -> str:
        return printed_text(invoke("why", site.url + path, tmp_path / "index", status=status))

    assert why("/asked-0").startswith(f"{site.url}/asked-0 passed without a check: dedup_skip.")
    assert why("/cut-off").startswith(f"{site.url}/cut-off passed without a check: incomplete.")
    assert why("/no", status=1).startswith(f"{site.url}/no is not kept, and no journal names it: it was never fetched")
