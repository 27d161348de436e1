from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from crawler_dedup import Decision, Match, Verdict
from crawler_dedup.crawl import suspicions
from crawler_dedup.crawl.suspicions import MAX_DUPLICATES, MAX_WATCHED, Suspicions
from tests.support.crawling import article, crawl_pages, html

MATCH = Match("alike", 0, 1.0, 1.0)


def duplicate(number: int, representative: str = "http://h/error", host: str = "http://h") -> Decision:
    url = f"{host}/{number}"
    return Decision(Verdict.DUPLICATE, url, url, "scope", duplicate_of=representative, match=MATCH)


def test_kept_pages_and_sites_are_counted_separately_and_other_decisions_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suspicions, "MAX_DUPLICATES", 1)
    watching = Suspicions()
    new = Decision(Verdict.NEW, "http://h/", "k", "scope")
    others = duplicate(1, representative="http://h/other"), duplicate(1, host="http://mirror")
    for decision in (new, new, new, duplicate(1), *others):
        assert watching.count_duplicate(decision) is None
    assert watching.count_duplicate(duplicate(2)) is not None


def test_only_the_most_recently_used_kept_pages_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspicions, "MAX_DUPLICATES", 1)
    watching = Suspicions()
    watching.count_duplicate(duplicate(0))
    for number in range(MAX_WATCHED):
        watching.count_duplicate(duplicate(0, representative=f"http://h/{number}"))
    assert watching.count_duplicate(duplicate(1)) is None
    assert watching.count_duplicate(duplicate(1, representative=f"http://h/{MAX_WATCHED - 1}")) is not None
    assert len(pickle.dumps(watching)) < MAX_WATCHED * 150


def test_memory_stays_small_however_long_the_addresses_are() -> None:
    watching = Suspicions()
    for number in range(1_000):
        for time in range(2):
            decision = duplicate(
                time, representative=f"http://h/{number}/{'x' * 2_000}", host=f"http://h/{'y' * 2_000}"
            )
            watching.count_duplicate(decision)
            watching.dropped_too_often(decision, f"{number} {'z' * 5_000}")
    assert len(pickle.dumps(watching)) < 1_000 * 200


def test_one_warning_names_shortened_examples() -> None:
    watching = Suspicions()
    seen = [watching.count_duplicate(duplicate(number, host=f"http://h/{'y' * 2_000}")) for number in range(60)]
    (warning,) = [overused for overused in seen if overused is not None]
    assert warning is seen[MAX_DUPLICATES]
    assert warning.count == len(seen)
    assert len(warning.examples) == 5
    assert all(len(example) <= 500 for example in warning.examples)


def test_a_crawl_reports_once_which_page_represents_too_many(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(MAX_DUPLICATES + 4)]
    pages = {path: html(article("error", frame=f"<!-- {path} -->")) for path in paths}
    crawl = crawl_pages(tmp_path, pages)
    (line,) = crawl.lines("WARNING", f"{MAX_DUPLICATES + 1} pages of one site are duplicates of ")
    url = crawl.items[0]["url"].removesuffix("/0")
    assert all(f"{url}{path}" in line for path in ["/0", *paths[-7:-2]])
    assert crawl.counts()["watchdog"] == 1
    assert crawl.counts()["dropped"] == len(paths) - 1
    assert crawl.paths() == ["/0"]
