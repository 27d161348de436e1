from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.difference.text import Omission, compare_lines, compare_words, omit_equal, split_lines

LINES = st.lists(st.sampled_from("abcd"), max_size=25)
WORDS = st.lists(st.sampled_from(["one", "two ", "茶", "馆 ", "-", " "]) | st.text(max_size=4), max_size=12).map(
    "".join
)


@given(st.text())
def test_lines_have_single_spaces_and_none_is_empty(text: str) -> None:
    lines = split_lines(text)
    assert all(line and line == " ".join(line.split()) for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(LINES, LINES)
def test_every_line_of_both_pages_is_there_once_and_in_order(new: list[str], kept: list[str]) -> None:
    pairs = list(compare_lines(new, kept))
    assert [pair.new for pair in pairs if pair.new] == new
    assert [pair.kept for pair in pairs if pair.kept] == kept
    assert all(pair.new or pair.kept for pair in pairs)


@given(WORDS.filter(lambda text: "\n" not in text), WORDS.filter(lambda text: "\n" not in text))
def test_the_words_of_a_line_joined_are_the_line(new: str, kept: str) -> None:
    new, kept = " ".join(new.split()), " ".join(kept.split())
    words = list(compare_words(new, kept))
    assert "".join(run.new for run in words) == new
    assert "".join(run.kept for run in words) == kept


def test_only_the_words_that_differ_are_reported_as_different() -> None:
    words = compare_words("the red tram goes", "the blue tram stops")
    assert [(run.new, run.kept) for run in words if not run.is_equal] == [("red ", "blue "), ("goes", "stops")]
    assert [(run.new, run.kept) for run in compare_words("立春开门", "立夏开门") if not run.is_equal] == [("春", "夏")]


def test_equal_texts_have_no_differences() -> None:
    lines = list(compare_lines(["a", "b"], ["a", "b"]))
    assert all(line.is_equal for line in lines)
    assert list(omit_equal(lines)) == [Omission(2)]
    assert list(omit_equal([])) == []


@given(LINES, LINES)
def test_only_equal_lines_are_omitted_and_counted(new: list[str], kept: list[str]) -> None:
    whole = list(compare_lines(new, kept))
    at = 0
    for line in omit_equal(whole):
        if isinstance(line, Omission):
            assert all(omitted.is_equal for omitted in whole[at : at + line.lines])
            at += line.lines
        else:
            assert line == whole[at]
            at += 1
    assert at == len(whole)


@pytest.mark.parametrize("count", [1_001, 30_000])
def test_lines_that_are_too_long_to_align_are_wholly_different(count: int) -> None:
    source = random.Random(count)
    lines = [f"{source.random()}" for _ in range(count)]
    assert not any(line.is_equal for line in compare_lines(lines, lines[1:]))
    (words,) = compare_words(" ".join(lines), " ".join(lines[1:]))
    assert not words.is_equal
