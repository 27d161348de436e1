import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from unicodedata import combining, normalize

import jieba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing.characters import WIDE_PUNCTUATION_RANGES, simplify_han
from crawler_dedup.signing.features import normalise, weigh_tokens
from crawler_dedup.signing.segmentation import CutHan, han_cutter
from crawler_dedup.signing.text import Text
from crawler_dedup.signing.wordtables import stop_words
from tests.support.cases import read_cases
from tests.support.examples import examples
from tests.support.reference import slow_shingles

CASES = read_cases(__file__)["text"]

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


def test_units_and_shingles_need_no_dictionary() -> None:
    def refuse(runs: list[str]) -> Iterable[str]:
        raise AssertionError(runs)

    text = Text("老茶馆又开门了 tea", refuse)
    assert len(text.units) == len(text.unit_hashes) == 8
    assert len(text.shingles(3)) == 6
    with pytest.raises(AssertionError):
        _ = text.tokens


# Shingles


@given(SAMPLES, WIDTHS, WIDTHS)
def test_shingles_equal_those_of_a_slow_reference(raw: str, other_width: int, width: int) -> None:
    text = text_of(raw)
    text.shingles(other_width)
    hashes = text.shingles(width)
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == sorted(slow_shingles(slow_units(text.plain), width))


# Tokens


CHINESE = "停业两年之后，渡口旁边的老茶馆在立春那天重新开门。"


def tokenize(text: str, cut_han: CutHan = bigrams) -> list[str]:
    return Text(text, cut_han).tokens


def test_each_script_is_tokenised_by_its_own_rule() -> None:
    for text, tokens in CASES["tokens"]:
        assert tokenize(text) == tokens


@given(st.one_of(st.text(), st.text(st.sampled_from("aZé1_ß÷’“\u0301\u093f中か\xa0\x1c\n -"))))
def test_words_are_tokenised_the_same_beside_another_alphabet(text: str) -> None:
    for kind in ("tokens", "units"):
        alone, with_letter = (Counter(getattr(Text(variant, bigrams), kind)) for variant in (text, f"{text} ж"))
        assert with_letter == alone + Counter(["ж"])


@given(st.text())
def test_compatibility_forms_are_tokenised_as_the_characters_they_stand_for(text: str) -> None:
    assert tokenize(text) == tokenize(unicodedata.normalize("NFKC", text))


def test_full_width_characters_are_tokenised_as_narrow_ones() -> None:
    for mark in ("…", "\u3000", *map(chr, range(0xFF01, 0xFF65))):
        texts = [f"a{written}b 中{written}文 か{written}な" for written in (mark, unicodedata.normalize("NFKC", mark))]
        assert tokenize(texts[0]) == tokenize(texts[1])


@pytest.fixture(scope="module")
def jieba_cut() -> CutHan:
    return han_cutter("jieba")


RARE = "\u3005\u3007\u3400\u9fff\uf900\ufaff\U00020000\U0003347f"


@given(st.text(st.sampled_from(CHINESE + RARE + "教程版本 \nab3かな")))
def test_rjieba_segments_as_jieba_does(jieba_cut: CutHan, text: str) -> None:
    assert tokenize(text, jieba_cut) == tokenize(text, han_cutter("rjieba"))


@pytest.mark.parametrize("name", ["jieba", "rjieba", "bigrams"])
@given(runs=st.lists(st.text(st.sampled_from(CHINESE + RARE), min_size=1)))
def test_no_token_crosses_the_end_of_a_run(jieba_cut: CutHan, name: str, runs: list[str]) -> None:
    cut = jieba_cut if name == "jieba" else han_cutter(name)
    one_by_one = [token for run in runs for token in cut([run])]
    assert list(cut(runs)) == one_by_one
    if name != "bigrams":
        assert "".join(one_by_one) == "".join(runs)


def test_words_that_are_not_in_the_dictionary_are_not_guessed(jieba_cut: CutHan) -> None:
    assert jieba_cut(["杭研"]) == ["杭", "研"]
    assert "杭研" in jieba.lcut("他来到了网易杭研大厦")


def test_words_added_to_the_global_jieba_change_nothing(jieba_cut: CutHan) -> None:
    before = tokenize(CHINESE, jieba_cut)
    jieba.add_word("老茶馆在立春", freq=10_000_000)
    assert "老茶馆在立春" in jieba.lcut(CHINESE)
    assert tokenize(CHINESE, jieba_cut) == before
    loaded_later = han_cutter.__wrapped__("jieba")
    assert tokenize(CHINESE, loaded_later) == before


@given(st.lists(st.sampled_from(["tram", "depot", "the", "und", "lime", "茶馆", "的"])))
def test_each_token_is_one_feature_in_ascending_order(tokens: list[str]) -> None:
    counted = weigh_tokens(tokens)
    assert counted.hashes.tolist() == sorted({xxh3_64_intdigest(token.encode()) for token in tokens})
    assert counted.content.tolist() == sorted(
        {xxh3_64_intdigest(token.encode()) for token in tokens if token not in stop_words()}
    )
    assert len(counted.weights) == len(counted.is_content) == len(counted.hashes)


def test_lone_surrogates_in_tokens_count_as_question_marks() -> None:
    weighed, expected = weigh_tokens(["a\ud800b", "a?b", "\udfff"]), weigh_tokens(["a?b", "a?b", "?"])
    for name in ("hashes", "weights", "is_content", "counts"):
        assert getattr(weighed, name).tolist() == getattr(expected, name).tolist()


@cache
def non_starters() -> list[str]:
    """Return all characters whose full decomposition begins with a combining mark."""
    return [
        character for character in map(chr, range(sys.maxunicode + 1)) if combining(normalize("NFKD", character)[0])
    ]


def longest_row_of_marks(text: str) -> int:
    """Return the length of the longest row of combining marks that is sorted when *text* is normalised."""
    rows = "".join("m" if combining(character) else " " for character in normalize("NFKD", text)).split()
    return max(map(len, rows), default=0)


def test_every_combining_character_is_cut_off_where_it_is_repeated() -> None:
    for character in non_starters():
        assert longest_row_of_marks(normalise(character * 200)) < 100


MARKED = st.deferred(lambda: st.sampled_from([*non_starters(), "a", "\u00e9", "\u1eb7"]))


@given(st.text(MARKED, min_size=50, max_size=300))
def test_no_sequence_of_marks_is_long_enough_to_make_normalisation_slow(text: str) -> None:
    assert longest_row_of_marks(normalise(text)) < 100


# The hexadecimal numbers of Default_Ignorable_Code_Point in Unicode's file DerivedCoreProperties.txt
DEFAULT_IGNORABLE = """
    AD 34F 61C 115F..1160 17B4..17B5 180B..180F 200B..200F 202A..202E 2060..206F 3164 FE00..FE0F FEFF FFA0 FFF0..FFF8
    1BCA0..1BCA3 1D173..1D17A E0000..E001F E0080..E0FFF
"""
IGNORABLE = {
    chr(code)
    for first, _, last in (piece.partition("..") for piece in DEFAULT_IGNORABLE.split())
    for code in range(int(first, 16), int(last or first, 16) + 1)
}


LETTER_MAKERS = ("ARABIC MADDAH ABOVE", "ARABIC HAMZA ABOVE", "ARABIC HAMZA BELOW")


def is_arabic_sign(character: str) -> bool:
    """Return whether *character* is tatweel or a mark for reading Arabic, and does not make another letter."""
    name = unicodedata.name(character, "")
    is_mark = unicodedata.category(character) == "Mn" and "ARABIC" in name
    return name == "ARABIC TATWEEL" or (is_mark and name not in LETTER_MAKERS)


def is_sign_alone(character: str) -> bool:
    """Return whether *character* is such a sign, or the form of it that stands alone, on a space or on tatweel."""
    parts = [part for part in normalize("NFKD", character) if part != " "]
    return bool(parts) and all(map(is_arabic_sign, parts))


def slow_normalise(text: str) -> str:
    """Normalise *text*, apart from Traditional characters, by Unicode's properties of each character."""
    return slow_compose(text).lower().replace("ي", "ی").replace("ك", "ک")


def slow_compose(text: str) -> str:
    composed = normalize("NFKC", "".join(c for c in text if c not in IGNORABLE and not is_sign_alone(c)))
    return "".join(c for c in composed if not is_arabic_sign(c))


def test_marks_are_counted_in_a_row_without_the_characters_that_are_dropped() -> None:
    for between in ["\u034f", "\u200d", "\u0640", "\ufe71", "\U000e0100"]:
        assert longest_row_of_marks(normalise(("\u0301" * 30 + between) * 20)) < 100


def assert_normalised(text: str) -> None:
    """Check that *text* is normalised as a whole, or refused if composing makes it much longer."""
    if len(slow_compose(text)) <= 2 * len(text) + 100:
        assert normalise(text) == simplify_han(slow_normalise(text))
    else:
        with pytest.raises(BeyondLimits, match="too many characters"):
            normalise(text)


def test_every_character_is_normalised_as_its_properties_in_unicode_say() -> None:
    for character in map(chr, [*range(0x20000), *range(0xE0000, 0xE1000)]):
        is_known = unicodedata.category(character) != "Cn" or character in IGNORABLE  # to this version of Unicode
        # "…" and the like become a space, as all full-width punctuation does.
        if is_known and not re.match(f"[{WIDE_PUNCTUATION_RANGES}]", character):
            assert normalise(f"a{character}b") == simplify_han(slow_normalise(f"a{character}b"))


@given(st.text(st.characters(categories=["L", "M", "N", "Zs"]), max_size=200))
def test_text_with_few_marks_in_a_row_is_normalised_and_not_cut_off(text: str) -> None:
    if longest_row_of_marks(text) <= 30:
        assert_normalised(text)


# Ligatures of many characters, composing ones, a capital whose small letter depends on what stands around it, and ASCII.
LINES = st.lists(
    st.one_of(st.text(st.sampled_from("\ufdfaİΣς\u0301\u1100\u1161ｶﾞéaB1 ")), st.sampled_from(["Tea", "A1 " * 60]))
)


@given(LINES, st.sampled_from([1, 1, 40]))
@example(["1111", "1" * 8, "1" * 8, "1" * 18 + "İ\ufdfa", "1" * 17 + "가" + "\ufdfa" * 3, "Tea"], 40)
def test_lines_are_normalised_as_if_they_were_one_text(lines: list[str], times: int) -> None:
    text = "\n".join([line * times for line in lines])
    if longest_row_of_marks(text) <= 30:
        assert_normalised(text)


@settings(max_examples=examples(20))
@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=20), min_size=1, max_size=20))
def test_a_long_text_is_normalised_as_if_it_were_one_piece(words: list[str]) -> None:
    text = " ".join(words * (40_000 // sum(map(len, words)) + 1)) + "\u00e9"
    assert_normalised(text)
