"""Responses that the filter does not check: what the log and ``why`` say of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.commandline import invoke, printed_text
from tests.support.crawling import WALK, Page, Site, article, crawl_pages, html, run_script

LONGER = "99999"  # than any page
LENIENT = {"DOWNLOAD_FAIL_ON_DATALOSS": False}


def asking(pages: Mapping[str, Page]) -> dict[str, dict[str, bool]]:
    """Return the meta of the requests of *pages*, of which some ask not to be checked."""
    return {path: {"dedup_skip": "asked" in path} for path in pages}


def pages(name: str, count: int, status: int = 200, **headers: str) -> dict[str, Page]:
    return {f"/{name}-{number}": html(article(f"{name} {number}"), status, **headers) for number in range(count)}


def test_responses_without_a_length_are_checked(tmp_path: Path) -> None:
    """An HTTP/1.0 server names none, and Scrapy flags each of its responses as partial."""
    copy = html(article("page 3", frame="copy"), Content_Length="")
    crawl = crawl_pages(tmp_path, pages("page", 12, Content_Length="") | {"/copy": copy})
    assert [crawl.counts()[name] for name in ("checked", "kept", "dropped")] == [13, 12, 1]
    assert "log_count/WARNING" not in crawl.stats


@pytest.mark.parametrize(
    ("skipped", "reason", "in_words"),
    [
        (pages("asked", 30), "asked", "dedup_skip"),
        (pages("cut-off", 30, Content_Length=LONGER), "incomplete", "incomplete"),
        (pages("gone", 30, 403), "status", "status is not 200"),
    ],
    ids=["asked", "incomplete", "status"],
)
def test_one_warning_names_the_reason_why_nearly_everything_was_skipped(
    tmp_path: Path, skipped: dict[str, Page], reason: str, in_words: str
) -> None:
    crawl = crawl_pages(tmp_path, skipped | pages("page", 1), settings=LENIENT, meta=asking(skipped))
    (warning,) = crawl.lines("WARNING", "has checked only")
    assert f"dedup/skipped/{reason}" in warning
    assert in_words in warning


def test_a_crawl_that_checks_some_pages_or_few_responses_logs_no_such_warning(tmp_path: Path) -> None:
    asked = pages("asked", 9)
    crawl = crawl_pages(tmp_path, asked | pages("page", 1), meta=asking(asked))
    assert crawl.lines("WARNING", "has checked only") == []


def test_why_says_that_a_page_was_skipped_or_never_fetched(tmp_path: Path) -> None:
    with Site(pages("asked", 1) | pages("cut-off", 1, Content_Length=LONGER)) as site:
        run_script(tmp_path, WALK, LENIENT, site=site.url, paths=[*site.pages], meta=asking(site.pages))

    def why(path: str, status: int = 0) -> str:
        return printed_text(invoke("why", site.url + path, tmp_path / "index", status=status))

    assert why("/asked-0").startswith(f"{site.url}/asked-0 passed without a check: dedup_skip.")
    assert why("/cut-off-0").startswith(f"{site.url}/cut-off-0 passed without a check: incomplete.")
    assert why("/no", status=1).startswith(f"{site.url}/no is not kept, and no journal names it: it was never fetched")
