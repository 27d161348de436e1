"""What is certain of a page is what is decided about it, whatever else there is."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
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


@st.composite
def collections(draw: st.DrawFn) -> list[Page]:
    """Pages of few texts, of which many words, or none, are others, which are longer or shorter, under few titles."""
    pages = []
    for number in range(draw(st.integers(1, 40))):
        text = words(draw(st.integers(0, 1)), 200)
        changed = draw(st.sampled_from([0, 1, 10, 30, 60]))
        text[:changed] = words(f"changed {draw(st.integers(0, 2))}", changed)
        text = text[: draw(st.sampled_from([100, 150, 195, 200]))]
        name = f"Article {draw(st.integers(0, 2))}"
        address = (
            f"http://{draw(st.sampled_from('ab'))}.example/{draw(st.integers(0, 3)) if draw(st.booleans()) else number}"
        )
        pages.append(Page(address, page(name, f"<article><h1>{name}</h1>{paragraphs(text)}</article><p>{number}</p>")))
    return pages


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pages=collections(), most_near=st.sampled_from([0, 2, 16]), most=st.sampled_from([1, 64]))
def test_long_texts_are_decided_as_in_a_crawl(tmp_path: Path, pages: list[Page], most_near: int, most: int) -> None:
    def spy(*arguments: object) -> Certain:
        certain = find_certain(*arguments)  # type: ignore[arg-type]
        SEEN["ruled out"] += int(np.count_nonzero(certain.new))
        SEEN["not compared"] += int(np.count_nonzero(~certain.compared))
        return certain

    folder = tmp_path / "example"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certain_module, "_MOST_NEAR", most_near)
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
    assert {"ruled out", "not compared", "alike"} <= {name for name, count in SEEN.items() if count}


# What is certain


def certain_of(
    signatures: list[int], chars: list[int], *, titles: list[int] | None = None, existing: tuple[int, ...] = ()
) -> tuple[list[bool], list[bool]]:
    """Return what is certain of texts with the same words."""
    count = len(signatures)
    none = np.zeros(count, dtype=np.uint64)
    every: Flags = np.ones(count, dtype=bool)
    names = np.arange(count).astype(np.uint64)
    filed: Numbers = none if titles is None else np.array(titles, dtype=np.uint64)
    places: Places = np.arange(count)
    rows = Rows((), places[:0], np.array(signatures, dtype=np.uint64), names, filed, none, every, ~every, None)
    candidates = Candidates(every, is_repeated(names), every[:0], np.array(existing, dtype=np.uint64))
    measures = Measures(every, names, np.array(chars), np.full(count, 300), np.ones((count, 64), dtype=np.uint8))
    certain = find_certain(rows, places, places, candidates, SCHEME, measures, LIMITS)
    return certain.new.tolist(), certain.compared.tolist()


def test_a_text_that_says_more_than_all_near_ones_is_new_and_stands_for_shorter_ones() -> None:
    assert certain_of([0, 1, 3], [100, 200, 90]) == ([True, True, False], [True, True, False])
    assert certain_of([0, 1, 3], [100, 200, 400]) == ([True, True, True], [False, False, False])


def test_texts_under_one_title_are_compared_whatever_their_signatures_are() -> None:
    far = [0, (1 << 64) - 1]
    assert certain_of(far, [100, 100], titles=[5, 5]) == ([True, False], [True, False])
    assert certain_of(far, [100, 100], titles=[5, 6]) == ([True, True], [False, False])
    assert certain_of(far, [100, 200], titles=[5, 5]) == ([True, True], [False, False])
    # Of so many texts under one title only the first ones are looked up.
    many = [place << 32 for place in range(9)]
    assert certain_of(many, [100 << place for place in range(9)], titles=[5] * 9) == ([True] + [False] * 8, [True] * 9)


def test_nothing_is_certain_of_a_text_near_an_existing_one() -> None:
    assert certain_of([0, 1 << 63], [100, 1000], existing=(1,)) == ([False, False], [False, False])


def test_where_the_index_cuts_candidates_off_all_of_them_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    growing = [100 << place for place in range(12)]
    assert certain_of([0] * 12, growing) == ([True] * 12, [False] * 12)
    monkeypatch.setattr(certain_module, "MAX_REPRESENTATIVES", 11)
    assert certain_of([0] * 12, growing) == ([True] * 12, [True] * 12)
    monkeypatch.setattr(certain_module, "MAX_REPRESENTATIVES", 64)
    monkeypatch.setattr(certain_module, "MAX_COMPARED", 8 + 10)
    assert certain_of([0] * 12, growing) == ([True] * 12, [True] * 11 + [False])


def test_a_text_with_many_near_ones_is_not_compared_with_all_of_them_here() -> None:
    count = 40
    growing = [100 << place for place in range(count)]
    new, compared = certain_of([0] * count, growing)
    assert new == [True] * 17 + [False] * (count - 17)
    assert compared[: count - 17] == [True] * (count - 17)
