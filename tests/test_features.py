from __future__ import annotations

import random
from pathlib import Path

import jieba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.features import bigrams, features, han_cutter, stop_words, tokenize

CHINESE = "停业两年之后，渡口旁边的老茶馆在立春那天重新开门。"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("ＡＢＣ ﬁne Straße", ["abc", "fine", "straße"]),
        ("हिन्दी में लिखा है", ["हिन्दी", "में", "लिखा", "है"]),
        ("مُحَمَّد", ["مُحَمَّد"]),
        ("ひらがな", ["ひら", "らが", "がな"]),
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("Python教程3版", ["python", "教程", "3", "版"]),
        ("", []),
        ("… — !", []),
    ],
)
def test_each_script_is_cut_by_its_own_rule(text: str, tokens: list[str]) -> None:
    assert tokenize(text, bigrams) == tokens


@given(st.text(st.characters(max_codepoint=0x24FF)))
def test_text_without_unspaced_scripts_is_cut_the_same_beside_them(text: str) -> None:
    alone = tokenize(text, bigrams)
    assert tokenize(text + "\n中", bigrams) == [*alone, "中"]


def test_rjieba_cuts_as_jieba_does(tmp_path: Path) -> None:
    ours, rust = han_cutter("jieba", tmp_path), han_cutter("rjieba", None)
    assert tokenize(CHINESE, ours) == tokenize(CHINESE, rust)


def test_words_added_to_the_global_jieba_change_nothing(tmp_path: Path) -> None:
    before = tokenize(CHINESE, han_cutter("jieba", tmp_path))
    jieba.add_word("老茶馆在立春", freq=10_000_000)
    assert "老茶馆在立春" in jieba.lcut(CHINESE)
    assert tokenize(CHINESE, han_cutter("jieba", tmp_path)) == before


def test_the_compiled_dictionary_stays_in_the_data_directory(tmp_path: Path) -> None:
    han_cutter("jieba", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["jieba.cache"]


def test_weights_are_the_roots_of_counts_in_whole_64ths() -> None:
    counted = features(["tram"] * 9 + ["depot"])
    assert sorted(counted.weights.tolist()) == [64, 192]


def test_stop_words_of_every_language_are_left_out() -> None:
    assert {"the", "的", "und", "les"} <= stop_words()
    assert len(features(["the", "的", "und", "tram"])) == 1


def test_features_do_not_depend_on_the_order_of_the_text() -> None:
    tokens = [f"word{number % 50}" for number in range(200)]
    shuffled = random.Random(1).sample(tokens, len(tokens))
    one, other = features(tokens), features(shuffled)
    assert np.array_equal(one.hashes, other.hashes)
    assert np.array_equal(one.weights, other.weights)


def test_lone_surrogates_do_not_stop_it() -> None:
    assert len(features(tokenize("tram \ud800 depot\udfff", bigrams))) == 2
