"""What the scheme `pinyin` is for: copies in other characters that sound alike."""

import random
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from crawler_dedup import ConfigError
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.initials import LETTERS
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.schemes.pinyin import MAX_LETTERS, MAX_PROBES, Layout, Pinyin, VectorIndex
from tests.support.chinese import chinese, with_homophones
from tests.support.prose import prose, sentences, text_of
from tests.support.reference import slow_mixed


@pytest.mark.parametrize(("classes", "largest", "bits"), [(26, 15, 104), (22, 7, 66), (5, 7, 15), (16, 1, 16)])
def test_counts_of_too_many_or_too_few_bits_are_refused_with_a_sentence(classes: int, largest: int, bits: int) -> None:
    with pytest.raises(ConfigError) as refused:
        scheme_of(f"pinyin classes={classes} largest={largest}")
    assert str(refused.value) == (
        f"classes={classes} is not allowed with largest={largest}: a window takes {bits} bits, and 20 to 64 are allowed."
    )


def test_other_characters_with_the_same_letters_have_the_same_signature() -> None:
    for seed in range(4):
        raw = prose(seed, 10, chinese=True)
        assert Pinyin().sign(text_of(raw)) == Pinyin().sign(text_of(with_homophones(raw)))


@pytest.mark.parametrize("count", [119, 3_001])
def test_too_short_and_too_long_texts_agree_with_equal_ones_only(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
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
    letters = [letter for letter in LETTERS if Pinyin().classes_of(letter)[0] >= 8]
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
