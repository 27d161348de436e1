"""The native core normalises, weighs and signs texts as Python does."""

from __future__ import annotations

import sys
import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing.features import Features, cut_han_runs, normalise, weigh_text, weigh_tokens
from crawler_dedup.signing.schemes.simhash import simhash
from crawler_dedup.signing.segmentation import han_cutter
from crawler_dedup.signing.sketch import sketch
from crawler_dedup.signing.text import Text, hash_words
from tests.support.examples import examples
from tests.support.native import assert_equal

CUT_HAN = han_cutter("bigrams").load()
PIECES = [
    "word",
    "Straße",
    "CAFE\u0301",
    "ΣΊΣΥΦΟΣ",
    "İstanbul",
    "ｆｕｌｌ　ｗｉｄｔｈ",
    "。！？",
    "漢字汉字",
    "圖書館",
    "ひらがな",
    "か\u3099",
    "ｶﾞ",
    "한글",
    "\u1112\u1161\u11ab",
    "ภาษาไทย",
    "नमस्ते",
    "שָׁלוֹם",
    "ﷺ",
    "①②½",
    "👩\u200d👩\u200d👧",
    "❤\ufe0f",
    "\U00011935\U00011930",
    "\U0001d15e",
    "\u0f73",
    "1.5",
    "2019–2021",
    "3a:4b/5-6",
    "١٢٣",
    "the",
    "\n",
    " ",
    "\u00a0",
    "\ud800",
    "\0",
    "…",
    "\u0301" * 40,
    "\u0315\u0300" * 20,
]
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=())), max_size=30).map("".join),
    st.text(st.characters(exclude_categories=()), max_size=60),
)


def weighed_text(plain: str) -> list[Any]:
    return as_lists(weigh_text(plain, lambda: cut_han_runs(plain, CUT_HAN), CUT_HAN))


def weighed_tokens(tokens: list[str]) -> list[Any]:
    return as_lists(weigh_tokens(tokens))


def as_lists(features: Features) -> list[Any]:
    return [column.tolist() for column in (features.hashes, features.weights, features.telling, features.counts)]


def assert_signed_alike(raw: str) -> None:
    for fold_han in (True, False):
        assert_equal(normalise, raw, fold_han=fold_han)
    text = Text(raw, CUT_HAN)
    try:
        normalised = text.plain
    except BeyondLimits:
        normalised, text = "", Text("", CUT_HAN)
    for plain in (raw, normalised):  # not normalised, too
        assert_equal(weighed_text, plain)
    assert_equal(weighed_tokens, text.tokens)
    assert_equal(simhash, text.features)
    assert_equal(sketch, text.features.content)


@settings(max_examples=examples(3000))
@given(texts)
@example("")
@example("\n\né\n")
@example("㍻")  # becomes Chinese when it is normalised
@example("。。\n。é\u0301。")
def test_core_and_python_weigh_any_text_alike(raw: str) -> None:
    assert_signed_alike(raw)


def test_core_and_python_weigh_each_character_alike() -> None:
    for first in range(0, sys.maxunicode + 1, 64):
        characters = "\n".join(chr(code) for code in range(first, first + 64))
        assert_equal(normalise, characters)
        assert_equal(normalise, "a" + characters.replace("\n", "a\n가"))


def test_core_and_python_weigh_each_composing_pair_alike() -> None:
    decomposed = [unicodedata.normalize("NFD", chr(code)) for code in range(sys.maxunicode + 1)]
    pairs = [text for text in decomposed if len(text) > 1]
    for at in range(0, len(pairs), 50):
        assert_equal(normalise, "\n".join(pairs[at : at + 50]))
        assert_equal(normalise, "".join(pairs[at : at + 50]))


@pytest.mark.parametrize("size", [99, 100, 101, 102, 5000, 8191, 8192, 16383, 16384, 16385, 40_000])
@pytest.mark.parametrize(
    "piece", ["ﷺ", "ﷺ ", "é", "e\u0301", "é\n", "e\u0301 ", "漢", "圖。", "\u0301", "①\n", "x ", "コ\u3099\n"]
)
def test_core_and_python_weigh_long_texts_alike(piece: str, size: int) -> None:
    assert_signed_alike((piece * size)[:size])


@settings(max_examples=examples(500))
@given(st.lists(st.one_of(st.sampled_from(["", "?", "a?b", "a\ud800b", "\udfff", "the"]), texts), max_size=30))
def test_core_and_python_weigh_any_tokens_alike(tokens: list[str]) -> None:
    assert_equal(weighed_tokens, tokens)


@pytest.mark.parametrize("bits", [11, 22, 30])
def test_core_and_python_sort_words_alike_whose_hashes_begin_alike(bits: int) -> None:
    words = [f"w{number}" for number in range(300_000)]
    firsts = hash_words(words) >> np.uint64(64 - bits)
    values, counts = np.unique(firsts, return_counts=True)
    chosen = [words[place] for place in np.flatnonzero(np.isin(firsts, values[counts.argsort()[-20:]]))]
    assert_equal(weighed_tokens, chosen)
    assert_equal(weighed_tokens, chosen + words[:5000])


@settings(max_examples=examples(500))
@given(st.lists(st.integers(0, 2**64 - 1), max_size=200), st.integers(0, 3))
def test_core_and_python_make_the_same_signature_and_sketch_of_any_hashes(numbers: list[int], times: int) -> None:
    numbers += [number ^ 0x10000 for number in numbers] * times  # equal in the bits that a sketch looks at
    for kind in (np.sort, np.asarray):
        hashes = kind(np.array(numbers, dtype=np.uint64))
        assert_equal(sketch, hashes)
        weights = np.arange(len(hashes), dtype=np.float64)
        features = Features(hashes, weights, weights > 1, weights)
        assert_equal(simhash, features)
