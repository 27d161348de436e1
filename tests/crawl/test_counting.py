import pickle
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Decision, Match, Verdict
from crawler_dedup.crawl import counting
from crawler_dedup.crawl.counting import MAX_DUPLICATES, MAX_WATCHED, DuplicateCounts, HeavyHitters
from tests.support.crawling import WALK, article, crawl_pages, html


def hitters_of(capacity: int) -> HeavyHitters[object, list[object]]:
    return HeavyHitters(capacity, list)


@given(st.lists(st.integers(0, 12)), st.integers(1, 6))
def test_no_key_is_counted_more_often_than_it_came(keys: list[int], capacity: int) -> None:
    hitters = hitters_of(capacity)
    for key in keys:
        hitters.add(key)
    truth = Counter(keys)
    counts = {key: count for key, count, _ in hitters.top(100)}
    assert len(counts) == len(hitters) == min(capacity, len(truth))
    for key, count in truth.items():
        assert count - len(keys) / capacity <= counts.get(key, 0) <= count
        assert key in counts or count <= len(keys) / capacity


@given(st.lists(st.integers(0, 5)))
def test_counts_are_exact_and_ordered_as_long_as_there_are_enough_counters(keys: list[int]) -> None:
    hitters = hitters_of(6)
    for key in keys:
        hitters.add(key)
    expected = sorted(Counter(keys).items(), key=lambda item: (-item[1], item[0]))
    assert [(key, count) for key, count, _ in hitters.top(6)] == expected
    assert [(key, count) for key, count, _ in hitters.top(2)] == expected[:2]


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_a_value_belongs_to_its_key_and_is_discarded_with_it(keys: list[int], capacity: int) -> None:
    hitters = hitters_of(capacity)
    for key in keys:
        hitters.add(key).append(key)
        assert hitters.get(key) is not None
    for hitter, count, value in hitters.top(10):
        assert value == [hitter] * count
        assert hitters.get(hitter) is value
    assert hitters.get("none") is None


def test_the_smallest_counter_is_replaced() -> None:
    hitters = hitters_of(2)
    for key in (1, 1, 2, 3):
        hitters.add(key)
    assert {key for key, _, _ in hitters.top(2)} == {1, 3}


# Duplicates by kept page and site

MATCH = Match("alike", 0, 1.0, 1.0)


def duplicate(number: int, representative: str = "http://h/error", host: str = "http://h") -> Decision:
    url = f"{host}/{number}"
    return Decision(Verdict.DUPLICATE, url, url, "scope", duplicate_of=representative, match=MATCH)


def test_kept_pages_and_sites_are_counted_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_DUPLICATES", 1)
    watching = DuplicateCounts()
    others = duplicate(1, representative="http://h/other"), duplicate(1, host="http://mirror")
    for decision in (duplicate(1), *others):
        assert watching.add(decision) is None
    assert watching.add(duplicate(2)) is not None


def test_only_the_most_recently_used_kept_pages_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MAX_DUPLICATES", 1)
    watching = DuplicateCounts()
    watching.add(duplicate(0))
    for number in range(MAX_WATCHED):
        watching.add(duplicate(0, representative=f"http://h/{number}"))
    assert watching.add(duplicate(1)) is None
    assert watching.add(duplicate(1, representative=f"http://h/{MAX_WATCHED - 1}")) is not None
    assert len(pickle.dumps(watching)) < MAX_WATCHED * 150


def test_memory_stays_small_however_long_the_addresses_are() -> None:
    watching = DuplicateCounts()
    for number in range(1_000):
        for time in range(2):
            decision = duplicate(
                time, representative=f"http://h/{number}/{'x' * 2_000}", host=f"http://h/{'y' * 2_000}"
            )
            watching.add(decision)
    assert len(pickle.dumps(watching)) < 1_000 * 200


def test_one_warning_names_shortened_examples() -> None:
    watching = DuplicateCounts()
    seen = [watching.add(duplicate(number, host=f"http://h/{'y' * 2_000}")) for number in range(60)]
    (warning,) = [overused for overused in seen if overused is not None]
    assert warning is seen[MAX_DUPLICATES]
    assert warning.count == len(seen)
    assert len(warning.examples) == 5
    assert all(len(example) <= 500 for example in warning.examples)


def test_a_crawl_reports_once_which_page_represents_too_many(tmp_path: Path) -> None:
    paths = [f"/{number}" for number in range(12)]
    pages = {path: html(article("error", frame=f"<!-- {path} -->")) for path in paths}
    crawl = crawl_pages(
        tmp_path, pages, f"from crawler_dedup.crawl import counting\ncounting.MAX_DUPLICATES = 8\n{WALK}"
    )
    (line,) = crawl.lines("WARNING", "9 pages of one site, such as ")
    url = crawl.items[0]["url"].removesuffix("/0")
    assert all(f"{url}{path}" in line for path in ["/0", *paths[-7:-2]])
    assert crawl.counts()["watchdog"] == 1
    assert crawl.counts()["dropped"] == len(paths) - 1
    assert crawl.paths() == ["/0"]
