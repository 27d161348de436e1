"""Passages are found where they are: places are those of the characters of both texts as they are."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.works import comparison
from crawler_dedup.works.comparison import find_scheme, read_letters
from crawler_dedup.works.library import FoundWork, Library
from tests.support.chinese import chinese, in_other_writing, with_homophones
from tests.support.prose import ODD, prose
from tests.support.works import COPY, FROM_NOVEL, NOVEL, OTHER, TRAM, make_library

SLACK = 18
"""Characters at an end of a passage that may be equal by chance, or be left out."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with closing(Library(make_library(tmp_path_factory.mktemp("works")))) as opened:
        yield opened


def assert_is_at(found: FoundWork, start: int, end: int, work_start: int, work_end: int) -> None:
    (passage,) = found.comparison.passages
    assert np.abs(np.array(passage) - (start, end, work_start, work_end)).max() <= SLACK, passage


MARKS = st.text("，。 \n\u3000…—！“”", max_size=6)


@given(before=st.integers(0, 40), length=st.integers(200, 900), start=st.integers(0, 1_500), marks=MARKS)
def test_a_passage_in_homophones_is_found(library: Library, before: int, length: int, start: int, marks: str) -> None:
    copied = with_homophones(NOVEL[start : start + length], 0.4)
    opening = chinese(7, before) + marks if before else marks
    (found,) = library.compare(opening + copied + marks + chinese(8, 10))
    assert found.work.title == "novel"
    assert_is_at(found, len(opening), len(opening) + length, start, start + length)


@given(
    length=st.integers(120, 900), start=st.integers(0, 4_000), upper=st.booleans(), gap=st.sampled_from([" ", "\n\n "])
)
def test_a_passage_in_another_case_and_with_other_spaces_is_reported_at_its_places(
    library: Library, length: int, start: int, upper: bool, gap: str
) -> None:
    copied = TRAM[start : start + length].replace(" ", gap)
    opening = prose(5, 8)
    (found,) = library.compare(opening + (copied.upper() if upper else copied) + prose(6, 8))
    assert found.work.title == "tram"
    assert_is_at(found, len(opening), len(opening) + len(copied), start, start + length)


def test_a_passage_in_traditional_characters_is_found(library: Library) -> None:
    written = in_other_writing(FROM_NOVEL)
    (found,) = library.compare(chinese(7, 10) + written)
    assert_is_at(found, len(chinese(7, 10)), len(chinese(7, 10)) + len(written), 1_000, 1_600)


def test_the_shares_are_those_of_letters_and_the_work_with_most_comes_first(library: Library) -> None:
    text = OTHER[:300] + COPY
    novel, other = library.compare(text)
    assert (novel.work.title, other.work.title) == ("novel", "另一本")
    assert novel.comparison.share_of_text == pytest.approx(600 / 900, abs=0.03)
    assert other.comparison.share_of_text == pytest.approx(300 / 900, abs=0.03)
    assert novel.comparison.share_of_work == pytest.approx(600 / len(NOVEL), abs=0.03)
    passage = novel.comparison.passages[0]
    assert novel.work_texts == [NOVEL[passage.work_start : passage.work_end]]


def test_paragraphs_in_another_order_are_passages_of_their_own(library: Library) -> None:
    parts = [NOVEL[at : at + 300] for at in range(1_200, -1, -300)]
    (found,) = library.compare("".join(parts))
    assert len(found.comparison.passages) == len(parts)
    assert found.comparison.share_of_text > 0.95


def test_texts_without_a_common_passage_have_none(library: Library) -> None:
    for text in [chinese(9, 200), prose(9, 200), FROM_NOVEL[:25], *ODD.values()]:
        assert library.compare(text) == []


def test_a_text_that_repeats_a_line_of_a_work_is_compared_in_bounded_time(library: Library) -> None:
    (found,) = library.compare(NOVEL[:200] * 300)
    assert found.comparison.share_of_text > 0.95


def test_the_cost_of_a_text_does_not_grow_with_more_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = NOVEL[:37]
    library = make_library(tmp_path, {f"{number}.txt": (line * 200).encode() for number in range(20)})
    compared, compare_region = [], comparison._compare_region

    def compare_and_note(*arguments: Any) -> Any:
        compared.append(arguments)
        return compare_region(*arguments)

    monkeypatch.setattr(comparison, "_compare_region", compare_and_note)
    with closing(Library(library)) as opened:
        assert len(opened.compare(line * 3)) == 20
    assert len(compared) < 2_500


@given(st.text(st.sampled_from("aZé\u0301ｶﾞか茶館ﷺ\u00ad ,。\u0e01\u0e31กŒ\ud800\0"), max_size=200))
def test_letters_have_ascending_positions_in_the_text(text: str) -> None:
    for letters in read_letters(text, ["pinyin", "winnowing"]):
        positions = letters.positions
        assert len(positions) == len(letters.codes)
        assert (np.diff(positions) >= 0).all()
        assert not len(positions) or 0 <= positions[0] <= positions[-1] < len(text)
        assert all(not text[position].isspace() for position in positions)


def test_the_scheme_is_that_of_most_words() -> None:
    for text in (NOVEL, "Tea 茶館老人", "在 Debian GNU/Linux 系统"):
        assert find_scheme(text) == "pinyin"
    for text in (TRAM, "", "茶 is tea", "日本語の文章を書くときは、漢字とかなを使います"):
        assert find_scheme(text) == "winnowing"


def test_homophones_are_marked_also_beside_other_white_space() -> None:
    parts = comparison.align_passages("擎注意，\n你油 auto", "请注意，你有    auto")
    assert [part.text for part in parts if part.kind == "homophone"] == ["擎", "油 "]
