"""The native core cuts Chinese as jieba does."""

from __future__ import annotations

import math
from typing import Any

import jieba
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler_dedup.signing import native, segmentation
from crawler_dedup.signing.characters import HAN
from crawler_dedup.signing.features import cut_han_runs, normalise, weigh_text
from crawler_dedup.signing.segmentation import CoreCutter, CutHan, CutOnDemand, han_cutter, read_dictionary
from crawler_dedup.signing.text import Text
from tests.support.examples import examples
from tests.support.native import assert_equal

RARE = "\u3005\u3007\u3400\u4dbf\u4dff\u4e00\u9fd5\u9fd6\u9fff\uf900\ufaff\U00020000\U0003347f"
COMMON = "的一是不了在人有我他这中大来上国和说们为子教程版本茶馆立春"


@pytest.fixture(scope="module", params=["jieba", "rjieba"])
def cutter(request: pytest.FixtureRequest) -> CoreCutter:
    loaded = han_cutter(request.param).load()
    assert isinstance(loaded, CoreCutter)
    return loaded


def entries() -> list[tuple[str, int]]:
    rows = (line.split(" ")[:2] for line in segmentation.jieba_file().read_text(encoding="utf-8").splitlines())
    return [(word, int(count)) for word, count in rows]


WORDS = [word for word, count in entries() if count and all(map(HAN.match, word))]

texts = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(WORDS).map(lambda word: word[:2]),
        st.text(st.sampled_from(COMMON + RARE), max_size=8),
        st.sampled_from(["a", " ", "\n", "か", "漢字", "1.5", "é", "\ud800"]),
    ),
    max_size=30,
).map("".join)


def weighed(plain: str, cut: CutHan) -> list[Any]:
    features = weigh_text(plain, lambda: cut_han_runs(plain, cut), cut)
    return [column.tolist() for column in (features.hashes, features.weights, features.telling, features.counts)]


@settings(max_examples=examples(2000))
@given(texts)
@example("")
@example("茶馆" * 2499 + "茶" + "馆子" * 3000)
@example("々" * 5001)
def test_core_and_python_cut_any_text_alike(cutter: CoreCutter, text: str) -> None:
    for plain in (text, normalise(text)):
        assert_equal(lambda text: Text(text, cutter).tokens, plain)
        assert_equal(weighed, plain, cutter)


def test_core_and_python_cut_each_word_alike(cutter: CoreCutter) -> None:
    for at in range(0, len(WORDS), 50_000):
        words = WORDS[at : at + 50_000]
        assert_equal(cutter, words)
        assert_equal(cutter, ["".join(words[first : first + 9]) for first in range(0, len(words), 9)])


@settings(max_examples=examples(1000))
@given(
    st.lists(
        st.tuples(
            st.text(st.sampled_from("甲乙丙a\u3007"), min_size=1, max_size=4), st.sampled_from([0, 1, 1, 2, 4, 999])
        ),
        min_size=1,
        max_size=20,
    ),
    st.lists(st.text(st.sampled_from("甲乙丙丁\u3007"), max_size=12), max_size=3),
)
@example([("甲", 1), ("甲甲", 1), ("乙", 1)], ["甲甲甲甲"])  # ways that are equally probable
@example(
    [("甲" * 20, 9), ("甲" * 18 + "乙", 9), ("甲" * 17, 9), ("甲" * 17, 2)], ["甲" * 20, "甲" * 18 + "乙甲" + "甲" * 17]
)
def test_core_and_python_cut_alike_with_any_dictionary(words: list[tuple[str, int]], runs: list[str]) -> None:
    rows = [f"{word} {count} n\n" for word, count in [*words, ("丙", 1)]]
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = read_dictionary(rows)
    tokenizer.initialized = True
    dictionary: Any = native.make("HanDictionary", revision=1, pieces=[row.encode() for row in rows], log=math.log)
    assert dictionary.cut(runs) == [word for run in runs for word in tokenizer.cut(run, HMM=False)]


def test_a_dictionary_of_an_unknown_version_that_cuts_differently_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(segmentation, "_load_rjieba", lambda: lambda runs: [word for run in runs for word in run])
    monkeypatch.setattr(segmentation, "version", lambda name: {"jieba": "0.42.1", "rjieba": "99.0"}[name])
    loaded = han_cutter.__wrapped__("rjieba").load()
    assert loaded(["茶馆"]) == ["茶", "馆"]


def test_rjieba_of_a_known_version_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> CutHan:
        raise AssertionError("rjieba was loaded")

    monkeypatch.setattr(segmentation, "_load_rjieba", refuse)
    loaded = han_cutter.__wrapped__("rjieba").load()
    assert loaded(["茶馆立春"]) == ["茶馆", "立", "春"]


def test_without_the_core_none_of_its_dictionaries_is_made() -> None:
    with native.switched_off():
        assert not isinstance(han_cutter.__wrapped__("jieba").load(), CoreCutter)


def test_another_segmenter_than_that_of_the_core_is_called(cutter: CoreCutter) -> None:
    pairs = han_cutter("bigrams")
    for cut in (pairs.load(), CutOnDemand(pairs, load=True), lambda runs: [run[::-1] for run in runs]):
        assert_equal(weighed, "茶馆 tea 立春", cut)
    on_demand = CutOnDemand(han_cutter("jieba"), load=True)
    assert weighed("茶馆 tea 立春", on_demand) == weighed("茶馆 tea 立春", cutter)
