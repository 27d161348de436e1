from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.hamming import mix_bits
from crawler_dedup.signing.segmentation import han_cutter
from crawler_dedup.signing.text import Text
from tests.support.reference import slow_mixed

SCRIPTS = "abé Ünıñ_3٣ б кот مُحَمَّ हिन्दी 한국 茶馆館々〇 かなー ｶﾞ ไทย့က ភា བོད …，！-?😀\n\u0301\u200d"
SAMPLES = st.text(st.sampled_from(SCRIPTS), max_size=60)
WIDTHS = st.integers(1, 9)
bigrams = han_cutter("bigrams")


def text_of(raw: str) -> Text:
    return Text(raw, bigrams)


# Units

_UNSPACED = ("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "COMBINING KATAKANA", "THAI", "TIBETAN", "MYANMAR", "KHMER")


def slow_units(plain: str) -> list[str]:
    """Split character by character, by Unicode names and categories."""
    units, word = [], ""
    for character in [*plain, "\n"]:
        alone = unicodedata.name(character, "").startswith(_UNSPACED)
        is_mark = unicodedata.category(character).startswith("M") and bool(word)
        if not alone and (character.isalnum() or character == "_" or is_mark):
            word += character
            continue
        units += [word] * bool(word) + [character] * alone
        word = ""
    return units


@given(SAMPLES)
def test_units_equal_those_of_a_slow_reference(raw: str) -> None:
    text = text_of(raw)
    assert text.units == slow_units(text.plain)


@given(st.text())
def test_no_letter_of_any_text_is_left_out(raw: str) -> None:
    text = text_of(raw)
    assert re.findall(r"\w", "".join(text.units)) == re.findall(r"\w", text.plain)


@given(SAMPLES, SAMPLES)
def test_a_text_below_another_has_the_units_of_both(above: str, below: str) -> None:
    assert text_of(f"{above}\n{below}").units == text_of(above).units + text_of(below).units


@given(st.text(st.sampled_from("tea 茶馆館 dépôt 3é，।हिन्दी"), max_size=60))
def test_units_are_the_tokens_without_a_dictionary(raw: str) -> None:
    text = Text(raw, "".join)
    assert Counter(text.units) == Counter(text.tokens)


def test_units_and_shingles_need_no_dictionary() -> None:
    def refuse(runs: list[str]) -> Iterable[str]:
        raise AssertionError(runs)

    text = Text("老茶馆又开门了 tea", refuse)
    assert len(text.units) == len(text.unit_hashes) == 8
    assert len(text.shingles(3)) == 6
    with pytest.raises(AssertionError):
        _ = text.tokens


# Shingles

_MASK = (1 << 64) - 1


def slow_shingles(units: list[str], width: int) -> list[int]:
    """Run by run: the hashes of its units as the coefficients of a polynomial, modulo 2^64, mixed."""
    hashes = [xxh3_64_intdigest(unit.encode("utf-8", "replace")) for unit in units]
    width = min(width, len(hashes))
    values = set()
    for at in range(len(hashes) - width + 1 if hashes else 0):
        value = sum(
            unit_hash * 0x9E3779B97F4A7C15**power for power, unit_hash in enumerate(reversed(hashes[at : at + width]))
        )
        values.add(slow_mixed(value & _MASK))
    return sorted(values)


@given(st.lists(st.integers(0, _MASK)))
def test_numbers_are_mixed_as_by_a_slow_reference_and_not_in_place(numbers: list[int]) -> None:
    given_ = np.array(numbers, dtype=np.uint64)
    assert mix_bits(given_).tolist() == [slow_mixed(number) for number in numbers]
    assert given_.tolist() == numbers


def test_a_mixed_number_is_the_published_one() -> None:
    assert mix_bits(np.array([0, 1], dtype=np.uint64)).tolist() == [0, 0xB456BCFC34C2CB2C]


@given(SAMPLES, WIDTHS)
def test_shingles_equal_those_of_a_slow_reference(raw: str, width: int) -> None:
    text = text_of(raw)
    hashes = text.shingles(width)
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == slow_shingles(slow_units(text.plain), width)


def test_shingles_of_one_unit_are_the_distinct_units() -> None:
    text = text_of("the tram, the tram and the 茶馆 茶館")
    assert len(text.shingles(1)) == len({"the", "tram", "and", "茶", "馆"})
    assert set(text.shingles(1)) == set(mix_bits(text.unit_hashes))


def test_the_order_of_units_matters_within_a_shingle_and_not_between_shingles() -> None:
    def overlap(first: str, second: str) -> int:
        return len(np.intersect1d(text_of(first).shingles(2), text_of(second).shingles(2)))

    assert overlap("tram depot", "depot tram") == 0
    assert overlap("茶馆", "馆茶") == 0
    assert overlap("a b c, d e f", "d e f; a b c") == 4  # of 5: only where the halves meet they differ


@given(st.lists(st.sampled_from("tram depot lime roof 茶 馆 か".split()), min_size=1), WIDTHS, st.data())
def test_a_changed_unit_changes_only_the_shingles_that_contain_it(
    units: list[str], width: int, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(units) - 1))
    changed = [*units[:at], "bee", *units[at + 1 :]]
    before, after = (text_of(" ".join(words_of_text)).shingles(width) for words_of_text in (units, changed))
    assert len(np.setdiff1d(after, before)) <= width
    assert len(np.setdiff1d(before, after)) <= width


def test_a_text_that_repeats_itself_has_few_shingles() -> None:
    assert len(text_of("tram depot " * 1000).shingles(5)) == 2


def test_shingles_of_a_text_do_not_depend_on_earlier_calls() -> None:
    def asked(text: Text, widths: Iterable[int]) -> list[NDArray[np.uint64]]:
        return [text.shingles(width) for width in widths]

    raw, widths = "the old 茶馆 at the ferry opens again", [1, 3, 5, 9]
    in_order = asked(text_of(raw), widths)
    in_reverse = asked(text_of(raw), reversed(widths))[::-1]
    assert all(np.array_equal(*pair) for pair in zip(in_order, in_reverse, strict=True))


def test_lone_surrogates_raise_no_error() -> None:
    text = text_of("tram \ud800 depot\udfff 茶馆\ud800")
    assert text.units == ["tram", "depot", "茶", "馆"]
    assert len(text.shingles(2)) == 3
