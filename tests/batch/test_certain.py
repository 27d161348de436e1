"""A certain decision about a page is its decision in any collection."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup import Config
from crawler_dedup.batch import certain as certain_module
from crawler_dedup.batch import find as find_module
from crawler_dedup.batch.candidates import Candidates
from crawler_dedup.batch.certain import Certain, find_certain
from crawler_dedup.batch.find import PROFILES
from crawler_dedup.batch.membership import is_repeated
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.rows import Rows
from crawler_dedup.hamming import Numbers
from crawler_dedup.rules.bounds import Measures
from crawler_dedup.signing.schemes import SimHash
from tests.support.collections import Page, answer_of, answers, decide, find, sign, write_pages
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import page

LIMITS = Config(tokenizer="bigrams", max_distance=7)
SCHEME = SimHash(max_distance=7)
SEEN: Counter[str] = Counter()


# Long texts, whose resemblance is estimated: many pairs are ruled out


def long_page(number: int, changed: int, *, address: str = "", text: int = 0, title: int = 0, size: int = 200) -> Page:
    """Return a page of ``size`` words, of which the first ``changed`` are others."""
    content = words(text, 200)
    content[:changed] = words(f"changed {number % 3}", changed)
    name = f"What the ferrymen told each other {title}"
    body = f"<article><h1>{name}</h1>{paragraphs(content[:size])}</article><p>{number}</p>"
    return Page(address or f"http://a.example/{number}", page(name, body))


@st.composite
def collections(draw: st.DrawFn) -> list[Page]:
    """Return pages with few different texts and titles, whose texts have changed words and different lengths."""
    return [
        long_page(
            number,
            draw(st.sampled_from([0, 1, 4, 8, 22, 30, 60])),
            address=f"http://{draw(st.sampled_from('ab'))}.example/{draw(st.integers(0, 3) | st.just(number))}",
            text=draw(st.integers(0, 1)),
            title=draw(st.integers(0, 2)),
            size=draw(st.sampled_from([100, 150, 195, 200])),
        )
        for number in range(draw(st.integers(1, 40)))
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pages=collections(),
    most_near=st.sampled_from([0, 2, 16]),
    most=st.sampled_from([1, 64]),
    piece=st.sampled_from([5, 1_000]),
)
@example(  # One of each kind: whatever else is drawn, the next test sees them.
    pages=[long_page(0, 0), long_page(1, 4), long_page(2, 22), long_page(3, 60), long_page(4, 0, text=1)],
    most_near=16,
    most=64,
    piece=1_000,
)
def test_long_texts_are_decided_as_in_a_crawl(
    tmp_path: Path, pages: list[Page], most_near: int, most: int, piece: int
) -> None:
    def spy(*arguments: object) -> Certain:
        certain = find_certain(*arguments)  # type: ignore[arg-type]
        SEEN["ruled out"] += int(np.count_nonzero(certain.new))
        SEEN["not filed"] += int(np.count_nonzero(~certain.filed))
        SEEN["paired"] += int(np.count_nonzero(certain.paired))
        return certain

    folder = tmp_path / "example"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certain_module, "_MOST_NEAR", most_near)
        patch.setattr(certain_module, "_MOST_PAIRS", 1)
        patch.setattr(certain_module, "_PIECE", piece)
        patch.setattr(certain_module, "MAX_REPRESENTATIVES", most)
        patch.setattr(find_module, "find_certain", spy)
        try:
            source = write_pages(folder / "pages.jsonl", pages)
            sign([source], folder / "signed", LIMITS)
            find(folder / "signed", folder / "out", LIMITS)
            decided = answers(folder / "out")
            expected = [
                answer_of(answer) for answer in decide(folder / "index", folder / "out" / PROFILES, pages, LIMITS)
            ]
            assert [decided[str(source), number] for number in range(len(pages))] == expected
            SEEN.update(answer.rule for answer in expected)
        finally:
            shutil.rmtree(folder)


def test_the_examples_have_pages_of_each_kind() -> None:
    if not SEEN:
        pytest.skip("runs behind the test that makes the examples")
    assert {"ruled out", "not filed", "paired", "alike"} <= {name for name, count in SEEN.items() if count}


# What is certain


class Known(NamedTuple):
    """What is certain of texts."""

    new: list[bool]
    filed: list[bool]
    earlier: list[list[int] | None]


def certain_of(
    signatures: list[int],
    features: list[int],
    *,
    titles: list[int] | None = None,
    names: list[int] | None = None,
    existing: tuple[int, ...] = (),
) -> Known:
    """Return what is certain of texts whose sketches are the same."""
    count = len(signatures)
    places: Places = np.arange(count)
    none = np.zeros(count, dtype=np.uint64)
    all_places: Flags = np.ones(count, dtype=bool)
    named = np.array(range(count) if names is None else names, dtype=np.uint64)
    filed: Numbers = none if titles is None else np.array(titles, dtype=np.uint64)
    rows = Rows(
        (), places[:0], np.array(signatures, dtype=np.uint64), named, filed, none, all_places, ~all_places, None
    )
    candidates = Candidates(all_places, is_repeated(named), all_places[:0], np.array(existing, dtype=np.uint64))
    digests = places.astype(np.uint64)
    measures = Measures(all_places, digests, np.array(features), np.ones((count, 64), dtype=np.uint8))
    certain = find_certain(rows, places, places, candidates, SCHEME, measures, LIMITS)
    earlier = [certain.earlier[start:end].tolist() for start, end in pairwise(certain.starts.tolist())]
    paired = [known if is_paired else None for known, is_paired in zip(earlier, certain.paired.tolist(), strict=True)]
    return Known(certain.new.tolist(), certain.filed.tolist(), paired)


def test_a_text_that_is_much_longer_than_all_near_ones_is_new() -> None:
    assert certain_of([0, 1, 3], [100, 200, 400]) == ([True] * 3, [False] * 3, [None] * 3)
    assert certain_of([0, 1, 3], [100, 200, 90]) == ([True, True, False], [False] * 3, [None, None, [1, 0]])


def test_earlier_texts_are_ordered_by_distance_with_those_under_the_same_title_last() -> None:
    far = (1 << 64) - 1
    known = certain_of([7, far, 3, 0, far - 1, 1], [100] * 6, titles=[0, 5, 0, 0, 5, 5])
    assert known.earlier == [None, None, [0], [2, 0], [1], [3, 2, 0, 1, 4]]
    assert known.new == [True, True, False, False, False, False]


def test_texts_under_one_title_are_compared_whatever_their_signatures() -> None:
    far = [0, (1 << 64) - 1]
    assert certain_of(far, [100, 100], titles=[5, 5]).earlier == [None, [0]]
    assert certain_of(far, [100, 100], titles=[5, 6]).new == [True, True]
    assert certain_of(far, [100, 200], titles=[5, 5]).new == [True, True]
    # If there are many texts under one title, only the first ones are looked up.
    many = [place << 32 for place in range(9)]
    growing = [100 << place for place in range(9)]
    assert certain_of(many, growing, titles=[5] * 9) == ([True] + [False] * 8, [True] * 9, [None] * 9)


def test_pages_that_are_looked_up_are_compared_with_the_filed_ones() -> None:
    assert certain_of([0, 1 << 63], [100, 1000], existing=(1,)) == ([False] * 2, [False] * 2, [None] * 2)
    # A page that comes again, and one that may be covered by it, are looked up.
    assert certain_of([0, 1, 3], [100] * 3, names=[0, 1, 0]) == ([False] * 3, [True, True, False], [None] * 3)
    assert certain_of([0, 1, 3], [100, 100, 110], names=[0, 1, 2]) == (
        [True, False, False],
        [False] * 3,
        [None, [0], [1, 0]],
    )


def test_if_the_index_limits_candidates_all_of_them_are_filed(monkeypatch: pytest.MonkeyPatch) -> None:
    growing = [100 << place for place in range(12)]
    assert certain_of([0] * 12, growing) == ([True] * 12, [False] * 12, [None] * 12)
    monkeypatch.setattr(certain_module, "MAX_REPRESENTATIVES", 11)
    assert certain_of([0] * 12, growing) == ([True] * 12, [True] * 12, [None] * 12)
    monkeypatch.setattr(certain_module, "MAX_REPRESENTATIVES", 64)
    monkeypatch.setattr(certain_module, "MAX_COMPARED", 8 + 10)
    assert certain_of([0] * 12, growing) == ([True] * 12, [True] * 11 + [False], [None] * 12)


def test_a_text_with_many_near_ones_is_looked_up() -> None:
    count = 40
    known = certain_of([0] * count, [100 << place for place in range(count)])
    assert known.new == [True] * 17 + [False] * (count - 17)
    assert known.filed[: count - 17] == [True] * (count - 17)
    assert known.earlier == [None] * count


def test_at_most_a_limited_number_of_pairs_is_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certain_module, "_MOST_PAIRS", 0)
    monkeypatch.setattr(certain_module, "_PIECE", 1)
    assert certain_of([0, 1, 3], [100] * 3).earlier == [None, [0], None]
