"""Whole works: copies of long texts are dropped, and passages from anywhere in them are traced to their place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crawler_dedup import Deduplicator, Verdict
from crawler_dedup.index.index import Index
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.inspection.trace import Source, find_sources
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.schemes.passages import PassageScheme
from crawler_dedup.signing.schemes.pinyin import Layout, VectorIndex
from tests.support.chinese import alike as homophones
from tests.support.chinese import chinese, exchange_alike, in_other_writing
from tests.support.prose import config, html, text_of

SCHEMES = ("pinyin", "winnowing")
WORK = "\n".join(chinese(seed, 300) for seed in range(4))
URL = "http://novel.org/whole"


def with_changed_characters(text: str, count: int) -> str:
    source = random.Random(count)
    characters = list(text)
    for at in source.sample(range(len(text)), count):
        characters[at] = source.choice("龙凤龟麟")
    return "".join(characters)


@pytest.fixture(scope="module", params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> PassageScheme:
    passage_scheme = scheme_of(str(request.param))
    assert isinstance(passage_scheme, PassageScheme)
    return passage_scheme


@pytest.fixture(scope="module")
def index(scheme: PassageScheme, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp(scheme.name) / "index"
    with Deduplicator.open(directory, config(scheme.name)) as crawl:
        assert crawl.check(URL, html(WORK), encoding="utf-8").verdict is Verdict.NEW
        for seed in range(20, 24):
            crawl.check(f"http://novel.org/{seed}", html(chinese(seed, 60)), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def store(index: Path) -> Iterator[Index]:
    pages = open_pages(index)
    yield pages
    pages.close()


def traced(store: Index, scheme: PassageScheme, text: str) -> Source:
    sources = find_sources(normalise(text), scheme, store)
    assert sources
    assert sources[0].page.url == URL
    return sources[0]


def test_a_copy_of_a_work_with_a_dozen_changed_characters_is_a_duplicate(index: Path, scheme: PassageScheme) -> None:
    assert len(WORK) > 20_000
    with Deduplicator.open(index, config(scheme.name)) as crawl:
        decision = crawl.check("http://copy.org/", html(with_changed_characters(WORK, 12)), encoding="utf-8")
        assert (decision.verdict, decision.duplicate_of) == (Verdict.DUPLICATE, URL)


def test_a_passage_from_anywhere_is_traced_to_its_place(store: Index, scheme: PassageScheme) -> None:
    plain = normalise(WORK)
    letters = scheme.find_letters(plain)
    for start in range(0, len(plain) - 200, 4_001):
        source = traced(store, scheme, plain[start : start + 200])
        longest = max(source.passages, key=lambda passage: passage.end - passage.start)
        begin, end = np.searchsorted(letters, (start, start + 200)).tolist()
        # A window is much like those that begin a few letters before and after it.
        assert abs(longest.at - longest.start - begin) <= (3 if scheme.name == "pinyin" else 0)
        assert end - begin - (longest.end - longest.start) <= 2 * scheme.reach
        assert source.share_of_page < 0.02


def test_what_remains_of_a_copy_is_found_however_it_was_changed(store: Index, scheme: PassageScheme) -> None:
    lines = WORK.split("\n")
    random.Random(1).shuffle(lines)
    damaged = {
        "changed": (with_changed_characters(WORK, 60), 0.9),
        "Traditional": (in_other_writing(WORK), 0.9),
        "paragraphs in another order": ("\n".join(lines), 0.75),
        "lines between": ("\n".join(f"{line}\n请支持正版阅读" for line in WORK.split("\n")), 0.6),
    }
    if scheme.name == "pinyin":
        damaged["30 % homophones"] = exchange_alike(WORK, homophones(), 0.3, random.Random(1)), 0.95
    for name, (text, least) in damaged.items():
        assert traced(store, scheme, text).share_of_text > least, name


@pytest.mark.parametrize("letters", [2_000, 20_000, 100_000])
def test_size_and_keys_grow_with_the_letters_and_probes_do_not(scheme: PassageScheme, letters: int) -> None:
    source = random.Random(letters)
    text = text_of("".join(source.choices(sorted({*WORK} - {*"，。\n"}), k=letters)))
    signature = scheme.sign(text)
    bytes_of_letter, keys_of_letter = {"pinyin": (0.5, 1 / 12), "winnowing": (3 * 8 * 2 / 62, 3 * 2 / 62)}[scheme.name]
    assert len(signature.value) <= 1.1 * bytes_of_letter * letters + 50
    assert 0.8 * keys_of_letter * letters < len(scheme.keys(signature)) <= 1.1 * keys_of_letter * letters + 10
    assert len(scheme.probes(signature)) <= 8_192
    assert scheme.finds(signature, signature)


def test_windows_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    layout, source = Layout(16, 15), np.random.default_rng(1)
    letters = source.integers(0, 16, 500).astype(np.uint8)
    expected = np.full(16, 3, dtype=np.int32)
    for starts in (np.arange(453), np.arange(0, 453, 24)):
        whole = layout.count(letters, expected, 48, starts)
        for together in (1, 7, 200):
            monkeypatch.setattr("crawler_dedup.signing.schemes.pinyin._TOGETHER", together)
            assert layout.count(letters, expected, 48, starts).tolist() == whole.tolist()
        monkeypatch.undo()


def test_equal_windows_match_however_many_have_the_same_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler_dedup.signing.schemes.pinyin.MAX_PAIRS", 100)
    source = np.random.default_rng(2)
    vectors = np.unique(np.uint64(7) << np.uint64(32) | source.integers(0, 2**32, 5_000, dtype=np.uint64))
    index = VectorIndex(Layout(16, 15), vectors, 4)
    for theirs in (vectors, vectors[::7], vectors[100:101]):
        ours, partners = index.partners(theirs)
        assert set(theirs.tolist()) <= {
            int(vector) for vector, partner in zip(vectors[ours], theirs[partners], strict=True) if vector == partner
        }
        assert len(ours) <= 2 * 16 * len(theirs) + 200
