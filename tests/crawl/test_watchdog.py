from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from crawler_dedup import Decision, Match, Verdict
from crawler_dedup.crawl.watchdog import MAX_WATCHED, Usage, Watchdog
from tests.support.crawling import WALK, Site, article, html, run_script

MATCH = Match("alike", 0, 1.0, 1.0)


def duplicate(number: int, representative: str = "http://h/error", host: str = "http://h") -> Decision:
    url = f"{host}/{number}"
    return Decision(Verdict.DUPLICATE, url, url, "scope", duplicate_of=representative, match=MATCH)


def test_a_warning_is_logged_once_when_a_kept_page_has_more_duplicates_than_the_limit() -> None:
    watchdog = Watchdog(3)
    seen = [watchdog.count_duplicate(duplicate(number)) for number in range(10)]
    assert [number for number, usage in enumerate(seen) if usage.warning is not None] == [3]
    warning = seen[3].warning
    assert warning is not None
    assert warning.examples[:4] == [f"http://h/{number}" for number in range(4)]


def test_duplicates_beyond_the_limit_are_recognised() -> None:
    watchdog = Watchdog(2)
    seen = [watchdog.count_duplicate(duplicate(number)).is_beyond_limit for number in range(4)]
    assert seen == [False, False, True, True]


def test_kept_pages_and_sites_are_counted_separately() -> None:
    watchdog = Watchdog(1)
    for decision in (duplicate(1), duplicate(1, representative="http://h/other"), duplicate(1, host="http://mirror")):
        assert not watchdog.count_duplicate(decision).is_beyond_limit
    assert watchdog.count_duplicate(duplicate(2)).is_beyond_limit


def test_other_decisions_are_not_counted() -> None:
    watchdog = Watchdog(1)
    new = Decision(Verdict.NEW, "http://h/", "k", "scope")
    assert [watchdog.count_duplicate(new) for _ in range(3)] == [Usage(is_beyond_limit=False)] * 3


def test_only_the_most_recently_used_kept_pages_are_remembered() -> None:
    watchdog = Watchdog(1)
    watchdog.count_duplicate(duplicate(0))
    for number in range(MAX_WATCHED):
        watchdog.count_duplicate(duplicate(0, representative=f"http://h/{number}"))
    assert not watchdog.count_duplicate(duplicate(1)).is_beyond_limit
    assert watchdog.count_duplicate(duplicate(1, representative=f"http://h/{MAX_WATCHED - 1}")).is_beyond_limit
    assert len(pickle.dumps(watchdog)) < MAX_WATCHED * 100


def test_memory_stays_small_however_long_the_addresses_are() -> None:
    watchdog = Watchdog(50)
    for number in range(1_000):
        for time in range(2):
            decision = duplicate(
                time, representative=f"http://h/{number}/{'x' * 2_000}", host=f"http://h/{'y' * 2_000}"
            )
            watchdog.count_duplicate(decision)
            watchdog.dropped_too_often(replace(decision, key=f"{number} {'z' * 5_000}"))
    assert len(pickle.dumps(watchdog)) < 1_000 * 200


def test_the_examples_of_a_warning_are_shortened_and_not_kept_after_it() -> None:
    watchdog = Watchdog(50)
    seen = [watchdog.count_duplicate(duplicate(number, host=f"http://h/{'y' * 2_000}")) for number in range(60)]
    (warning,) = [usage.warning for usage in seen if usage.warning is not None]
    assert warning is seen[50].warning
    assert 0 < len(warning.examples) <= 5
    assert all(len(example) <= 500 for example in warning.examples)
    assert len(pickle.dumps(watchdog)) < 500


@pytest.mark.parametrize("passes", [False, True])
def test_a_crawl_reports_once_which_page_stands_for_too_many(tmp_path: Path, passes: bool) -> None:
    paths = [f"/{number}" for number in range(6)]
    pages = {path: html(article("error", frame=f"<!-- {path} -->")) for path in paths}
    settings = {"DEDUP_MAX_DUPLICATES": 2, "DEDUP_PASS_BEYOND_MAX_DUPLICATES": passes}
    with Site(pages) as site:
        crawl = run_script(tmp_path, WALK, settings, site=site.url, paths=paths)
    (line,) = crawl.lines("WARNING", "stands for more than 2 pages")
    assert all(f"{site.url}{path}" in line for path in paths[:4])
    assert ("further ones pass" in line) is passes
    assert crawl.counts()["watchdog"] == 1
    assert crawl.counts()["dropped"] == (2 if passes else 5)
    assert crawl.counts("unchecked/") == ({"too_many_duplicates": 3} if passes else {})
    assert crawl.paths() == ["/0", *(paths[3:] if passes else [])]
    for item in crawl.items[1:]:
        decision = item["decision"]
        assert (decision["verdict"], decision["reason"]) == ("unchecked", "too many duplicates")
        assert (decision["duplicate_of"], decision["match"]) == ("", None)
