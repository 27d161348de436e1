from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from crawler_dedup import Decision, Match, Verdict
from crawler_dedup.crawl.watchdog import _MAX_WATCHED, Watchdog
from tests.support.crawling import WALK, Site, article, html, run_script

MATCH = Match("alike", 0, 1.0, 1.0)


def duplicate(number: int, of: str = "http://h/error", host: str = "http://h") -> Decision:
    url = f"{host}/{number}"
    return Decision(Verdict.DUPLICATE, url, url, "scope", duplicate_of=of, match=MATCH)


def test_a_kept_page_is_warned_of_once_when_it_has_stood_for_more_than_the_limit() -> None:
    watchdog = Watchdog(3, passes=False)
    seen = [watchdog.look(duplicate(number)) for number in range(10)]
    assert all(decision.verdict is Verdict.DUPLICATE for decision, _ in seen)
    warned = [number for number, (_, swallowed) in enumerate(seen) if swallowed is not None]
    assert warned == [3]
    swallowed = seen[3][1]
    assert swallowed is not None
    assert swallowed.examples[:4] == [f"http://h/{number}" for number in range(4)]


def test_pages_beyond_the_limit_pass_where_that_is_asked() -> None:
    watchdog = Watchdog(2, passes=True)
    decisions = [watchdog.look(duplicate(number))[0] for number in range(4)]
    assert [decision.passes for decision in decisions] == [False, False, True, True]
    passed = decisions[-1]
    assert (passed.verdict, passed.reason) == (Verdict.UNCHECKED, "too many duplicates")
    assert (passed.duplicate_of, passed.match) == ("", None)


def test_kept_pages_and_sites_are_counted_apart() -> None:
    watchdog = Watchdog(1, passes=True)
    for other in (duplicate(1), duplicate(1, of="http://h/other"), duplicate(1, host="http://mirror")):
        assert not watchdog.look(other)[0].passes
    assert watchdog.look(duplicate(2))[0].passes


def test_other_decisions_are_none_of_its_business() -> None:
    watchdog = Watchdog(1, passes=True)
    new = Decision(Verdict.NEW, "http://h/", "k", "scope")
    assert [watchdog.look(new) for _ in range(3)] == [(new, None)] * 3


def test_only_the_kept_pages_met_last_are_remembered() -> None:
    watchdog = Watchdog(1, passes=True)
    watchdog.look(duplicate(0))
    for number in range(_MAX_WATCHED):
        watchdog.look(duplicate(0, of=f"http://h/{number}"))
    assert not watchdog.look(duplicate(1))[0].passes
    assert len(watchdog._swallowed) == _MAX_WATCHED


def test_what_is_remembered_takes_little_memory_however_long_the_addresses_are() -> None:
    watchdog = Watchdog(50, passes=False)
    for number in range(1_000):
        for time in range(2):
            decision = duplicate(time, of=f"http://h/{number}/{'x' * 2_000}", host=f"http://h/{'y' * 2_000}")
            watchdog.look(decision)
            watchdog.insists(replace(decision, key=f"{number} {'z' * 5_000}"))
    assert len(watchdog._swallowed) == len(watchdog._drops) == 1_000
    assert len(pickle.dumps(watchdog)) < 1_000 * 200


def test_the_examples_of_a_warning_are_cut_and_not_kept_after_it() -> None:
    watchdog = Watchdog(50, passes=False)
    seen = [watchdog.look(duplicate(number, host=f"http://h/{'y' * 2_000}"))[1] for number in range(60)]
    (warning,) = filter(None, seen)
    assert warning is seen[50]
    assert 0 < len(warning.examples) <= 5
    assert all(len(example) <= 500 for example in warning.examples)
    assert not any(swallowed.examples for swallowed in watchdog._swallowed.values())


@pytest.mark.parametrize("passes", [False, True])
def test_a_crawl_says_once_which_page_stands_for_too_many(tmp_path: Path, passes: bool) -> None:
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
