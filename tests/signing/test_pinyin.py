"""The scheme `pinyin` against a slow reference, and what it is for: copies in other characters that sound alike."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_dedup import ConfigError
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.initials import LETTERS
from crawler_dedup.signing.lexicon import Lexicon, general
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.schemes.pinyin import MAX_LETTERS, MAX_PROBES, Pinyin
from crawler_dedup.signing.schemes.windowvectors import Layout, VectorIndex
from tests.support.chinese import chinese, with_homophones
from tests.support.examples import examples
from tests.support.prose import SAMPLES, prose, sentences, text_of
from tests.support.reference import slow_mixed
from tests.support.shares import near, shares_of

CLASSES, LARGEST = 16, 15
FREQUENCIES = [at * 37 % 11 for at in range(26)]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a lexicon with other counts of letters, as the option ``lexicon`` names it."""
    nothing = np.zeros(0, dtype=np.uint64)
    path = tmp_path_factory.mktemp("lexicon") / "small"
    Lexicon(1_000, nothing, nothing.astype(np.uint32), nothing, np.array(FREQUENCIES, dtype=np.uint64)).write(path)
    return str(path)


def slow_classes(lexicon: Lexicon, count: int = CLASSES) -> list[int]:
    """Put each letter, the most frequent first, into the class that is the least frequent so far."""
    counts = lexicon.initial_counts.tolist()
    sums = [0.0] * count
    classes = [0] * 26
    for letter in sorted(range(26), key=lambda at: (-counts[at], at)):
        lightest = sums.index(min(sums))
        classes[letter] = lightest
        sums[lightest] += max(1, counts[letter])
    return classes


def slow_expected(lexicon: Lexicon, window: int, count: int = CLASSES) -> list[int]:
    """Return how many letters of each class a window of the reference has."""
    classes, shares = slow_classes(lexicon, count), [0.0] * count
    for letter, times in enumerate(lexicon.initial_counts.tolist()):
        shares[classes[letter]] += times
    return [min(255, round(window * share / max(1.0, sum(shares)))) for share in shares]


def slow_vectors(
    letters: list[int], starts: list[int], lexicon: Lexicon, window: int, count: int = CLASSES, largest: int = LARGEST
) -> list[list[int]]:
    """Count the letters of each class in each window, relative to the expected count, which is the middle."""
    classes, expected = slow_classes(lexicon, count), slow_expected(lexicon, window, count)
    vectors = []
    for start in starts:
        counts = Counter(classes[letter] for letter in letters[start : start + window])
        vectors.append([min(largest, max(0, counts[at] - expected[at] + largest // 2)) for at in range(count)])
    return vectors


def slow_stored(count: int, window: int, overlap: float = 0.5) -> list[int]:
    return sorted({*range(0, count - window + 1, max(1, int(window * (1 - overlap)))), count - window})


def slow_value(letters: list[int], lexicon: Lexicon, window: int) -> bytes:
    """Return whether the number of letters is odd, the expected counts, and four bits for the class of each letter."""
    classes = [slow_classes(lexicon)[letter] for letter in letters] + [0] * (len(letters) % 2)
    pairs = bytes(first << 4 | second for first, second in zip(classes[::2], classes[1::2], strict=True))
    return bytes([len(letters) % 2]) + bytes(slow_expected(lexicon, window)) + pairs


@pytest.mark.parametrize(("classes", "largest", "bits"), [(26, 15, 104), (22, 7, 66), (5, 7, 15), (16, 1, 16)])
def test_counts_that_take_too_many_or_too_few_bits_are_refused_with_a_sentence(
    classes: int, largest: int, bits: int
) -> None:
    with pytest.raises(ConfigError) as refused:
        scheme_of(f"pinyin classes={classes} largest={largest}")
    assert str(refused.value) == (
        f"classes={classes} is not allowed with largest={largest}: a window takes {bits} bits, and 20 to 64 are allowed."
    )


@pytest.mark.parametrize("name", ["Chinese", "tea-house", "short"])
def test_keys_and_agreement_depend_on_the_value_alone_and_not_on_the_lexicon(small: str, name: str) -> None:
    made_with, at_hand = Pinyin(lexicon=small), Pinyin()
    signature = made_with.sign(text_of(SAMPLES[name]))
    longer = made_with.sign(text_of(SAMPLES[name] + SAMPLES[name][:20]))
    assert list(at_hand.keys(signature)) == list(made_with.keys(signature))
    assert list(at_hand.probes(signature)) == list(made_with.probes(signature))
    assert at_hand.compare(signature, longer) == made_with.compare(signature, longer)
    assert signature.value == b"" or at_hand.sign(text_of(SAMPLES[name])) != signature


def slow_agree(scheme: Pinyin, new: list[int], kept: list[int]) -> tuple[float, float] | None:
    """Compare every window of the new text with every window of the kept one."""
    starts, stored = list(range(len(new) - scheme.window + 1)), slow_stored(len(kept), scheme.window)
    ours = slow_vectors(new, starts, scheme.loaded_lexicon, scheme.window)
    theirs = slow_vectors(kept, stored, scheme.loaded_lexicon, scheme.window)
    matches = [
        (at, kept_start)
        for at, our_vector in zip(starts, ours, strict=True)
        for kept_start, their_vector in zip(stored, theirs, strict=True)
        if (our_vector[:8] == their_vector[:8] or our_vector[8:] == their_vector[8:])
        and sum(abs(a - b) for a, b in zip(our_vector, their_vector, strict=True)) <= scheme.apart
    ]
    covered = len({place for at, _ in matches for place in range(at, at + scheme.window)}) / len(new)
    resemblance = len({kept_start for _, kept_start in matches}) / len(stored)
    return (
        near(min(covered, resemblance), covered)
        if covered >= scheme.coverage and resemblance >= scheme.resemblance
        else None
    )


LETTER_LISTS = st.lists(st.sampled_from([0, 1, 8, 18, 24, 25]), min_size=16, max_size=150)


@settings(max_examples=examples(40))
@given(
    kept=LETTER_LISTS,
    data=st.data(),
    apart=st.sampled_from([0, 4, 10]),
    coverage=st.sampled_from([0, 0.5, 0.8]),
    least=st.sampled_from([0.1, 0.5]),
)
def test_pinyin_agrees_as_a_comparison_of_all_pairs_of_windows(
    small: str, kept: list[int], data: st.DataObject, apart: int, coverage: float, least: float
) -> None:
    scheme = Pinyin(window=16, apart=apart, coverage=coverage, resemblance=least, lexicon=small)
    at, to = data.draw(st.integers(0, len(kept))), data.draw(st.integers(0, len(kept)))
    new = kept[:at] + data.draw(st.lists(st.integers(0, 25), max_size=20)) + kept[to:]
    if len(new) >= scheme.window:
        values = (slow_value(letters, scheme.loaded_lexicon, scheme.window) for letters in (new, kept))
        assert shares_of(scheme.agree(*values)) == slow_agree(scheme, new, kept)


def test_other_characters_with_the_same_letters_have_the_same_signature() -> None:
    for seed in range(4):
        raw = prose(seed, 10, chinese=True)
        assert Pinyin().sign(text_of(raw)) == Pinyin().sign(text_of(with_homophones(raw)))


@pytest.mark.parametrize("count", [119, 3_001])
def test_texts_that_are_too_short_or_too_long_agree_with_equal_texts_only(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    scheme = Pinyin()
    assert MAX_LETTERS > 2_000_000, "longer than the longest novel"
    monkeypatch.setattr("crawler_dedup.signing.schemes.pinyin.MAX_LETTERS", 3_000)
    raw = "".join(random.Random(count).choices("茶馆门前老人听不到船夫的号子", k=count))
    signature, changed = scheme.sign(text_of(raw)), scheme.sign(text_of(raw[:-1] + "黄"))
    assert signature.value == changed.value == b""
    assert scheme.compare(signature, signature) is not None
    assert scheme.compare(signature, changed) is None
    fits = scheme.sign(text_of(raw + "茶" if count == 119 else raw[:-1]))
    assert fits.value != b""


def test_a_limited_number_of_windows_is_looked_up_and_always_the_same() -> None:
    scheme = Pinyin()
    raw = "".join(random.Random(1).choices([chr(code) for code in range(0x4E00, 0x9000)], k=9_000))
    signature, longer = (scheme.sign(text_of(text)) for text in (raw, "茶馆" * 50 + raw))
    numbers = scheme.layout.keys(scheme.rolling(signature.value).numbers).tolist()
    assert list(scheme.probes(signature)) == sorted(sorted(set(numbers), key=slow_mixed)[:MAX_PROBES])
    assert len(scheme.probes(signature)) == MAX_PROBES
    assert len(set(scheme.probes(signature)) & set(scheme.probes(longer))) > 0.9 * MAX_PROBES
    assert scheme.finds(signature, longer)
    assert scheme.finds(longer, signature)


def one_half(count: int) -> str:
    """Return letters of eight classes only, so that all windows have one half of their vectors in common."""
    letters = [
        LETTERS[at] for at, class_of_letter in enumerate(slow_classes(general())) if class_of_letter >= CLASSES // 2
    ]
    return " ".join(random.Random(1).choices(letters, k=count))


@pytest.mark.parametrize("make", [lambda: "茶" * 12_000, lambda: one_half(12_000)], ids=["one letter", "one half"])
def test_windows_that_all_match_are_compared_in_bounded_memory(make: Callable[[], str]) -> None:
    scheme, raw = Pinyin(), make()
    new, kept = (scheme.sign(text_of(text)) for text in (raw, raw[:-10]))
    tracemalloc.start()
    try:
        agreement = scheme.compare(new, kept)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert agreement is not None
    assert peak < 64 << 20


def test_random_short_texts_do_not_agree() -> None:
    """No two of 600 texts of 60 random words agree."""
    scheme, source = Pinyin(), random.Random(5)
    words = [word for seed in range(30) for line in sentences(seed, 30) for word in line.strip(". \n").split(" ")]
    signatures = [scheme.sign(text_of(" ".join(source.sample(words, 60)))) for _ in range(600)]
    by_key: dict[int, list[Signature]] = {}
    for signature in signatures:
        for key in scheme.keys(signature):
            by_key.setdefault(key, []).append(signature)
    candidates = {
        (new, kept) for new in signatures for key in scheme.probes(new) for kept in by_key.get(key, []) if kept != new
    }
    assert [pair for pair in sorted(candidates) if scheme.compare(*pair)] == []


@pytest.mark.parametrize("letters", [2_000, 20_000, 100_000])
@pytest.mark.parametrize("name", ["pinyin", "winnowing"])
def test_size_and_keys_grow_with_the_letters_and_probes_do_not(name: str, letters: int) -> None:
    scheme, source = scheme_of(name), random.Random(letters)
    text = text_of("".join(source.choices(sorted({*chinese(0, 300)} - {*"，。\n"}), k=letters)))
    signature = scheme.sign(text)
    bytes_of_letter, keys_of_letter = {"pinyin": (0.5, 1 / 12), "winnowing": (3 * 8 * 2 / 62, 3 * 2 / 62)}[name]
    assert len(signature.value) <= 1.1 * bytes_of_letter * letters + 50
    assert 0.8 * keys_of_letter * letters < len(scheme.keys(signature)) <= 1.1 * keys_of_letter * letters + 10
    assert len(scheme.probes(signature)) <= 8_192
    assert scheme.finds(signature, signature)


def test_equal_windows_match_however_many_have_the_same_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler_dedup.signing.schemes.windowvectors.MAX_PAIRS", 100)
    source = np.random.default_rng(2)
    vectors = np.unique(np.uint64(7) << np.uint64(32) | source.integers(0, 2**32, 5_000, dtype=np.uint64))
    index = VectorIndex(Layout(16, 15), vectors, 4)
    for theirs in (vectors, vectors[::7], vectors[100:101]):
        ours, partners = index.partners(theirs)
        assert set(theirs.tolist()) <= {
            int(vector) for vector, partner in zip(vectors[ours], theirs[partners], strict=True) if vector == partner
        }
        assert len(ours) <= 2 * 16 * len(theirs) + 200
