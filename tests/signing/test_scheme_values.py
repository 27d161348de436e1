"""Every scheme against a slow reference written from its description, bit by bit where it has bits."""

from __future__ import annotations

import math
import random
import struct
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest, xxh3_128_digest

from crawler_dedup import ConfigError
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.characters import simplify_han
from crawler_dedup.signing.features import normalise, split_units, tokenise
from crawler_dedup.signing.initials import LETTERS, find_initials, initial_of_each
from crawler_dedup.signing.lexicon import Lexicon, general
from crawler_dedup.signing.schemes import Agreement, scheme_of
from crawler_dedup.signing.schemes.checksums import Checksums
from crawler_dedup.signing.schemes.ddw import DDW
from crawler_dedup.signing.schemes.exact import Exact
from crawler_dedup.signing.schemes.imatch import IMatch
from crawler_dedup.signing.schemes.minhash import BINS, MinHash, estimate_resemblance, one_permutation
from crawler_dedup.signing.schemes.passages import Pieces
from crawler_dedup.signing.schemes.pinyin import MAX_LETTERS, MAX_PROBES, Pinyin
from crawler_dedup.signing.schemes.scheme import ValueScheme
from crawler_dedup.signing.schemes.sentences import Sentences
from crawler_dedup.signing.schemes.shingling import MAX_MOD, MODULUS, SMALLEST, Shingling
from crawler_dedup.signing.sketch import containment
from crawler_dedup.signing.tables import stop_words
from crawler_dedup.signing.text import Text
from crawler_dedup.spiders.demo_site import DEMO_TEXTS
from tests.support.chinese import exchange_alike
from tests.support.examples import examples
from tests.support.prose import ODD, SAMPLES, prose, sentences, text_of
from tests.support.reference import slow_mixed as mix

_MASK = (1 << 64) - 1
Numbers = NDArray[np.uint64]

VOCABULARY = "tram depot the honey lime roof bee lantern 茶馆 开门 老 船夫 茶館 た ชา don't 3 3.5".split()
TEXTS = st.lists(st.sampled_from([*VOCABULARY, ". ", "。", "\n", ", ", "！"]), max_size=60).map(" ".join)
"""Texts of few words, with repetitions in each text and between texts."""


def hash_of(word: str) -> int:
    return xxh3_64_intdigest(word.encode("utf-8", "replace"))


def shingles(words: list[str], width: int) -> set[int]:
    """Return the runs of *width* words, or a single shorter run, as mixed polynomials modulo 2^64."""
    hashes = [hash_of(word) for word in words]
    width = min(width, len(hashes))
    runs = [hashes[at : at + width] for at in range(len(hashes) - width + 1)] if hashes else []
    return {
        mix(sum(unit_hash * 0x9E3779B97F4A7C15 ** (width - 1 - at) for at, unit_hash in enumerate(run)) & _MASK)
        for run in runs
    }


def content_words(text: Text) -> set[str]:
    return set(text.tokens) - stop_words()


def words_in(packed: bytes, size: int) -> list[int]:
    """Return little-endian numbers of *size* bytes."""
    assert len(packed) % size == 0
    return [int.from_bytes(packed[at : at + size], "little") for at in range(0, len(packed), size)]


def array(numbers: Iterable[int]) -> Numbers:
    return np.array(sorted(numbers), dtype=np.uint64)


def expect(scheme: ValueScheme, text: Text, value: bytes, keys: Iterable[int]) -> None:
    """Hold a signature, its number and its keys against what they should be."""
    signature = scheme.sign(text)
    assert signature.value == value
    unit_hashes = b"".join(hash_of(unit).to_bytes(8, "little") for unit in text.units)
    assert signature.number == xxh3_64_intdigest(value or unit_hashes)
    assert list(scheme.keys(signature)) == (sorted(set(keys)) if value else [signature.number])


def members(count: int, seed: object) -> list[int]:
    """Return distinct numbers of 64 bits."""
    source = random.Random(str(seed))
    drawn: list[int] = np.frombuffer(source.randbytes(8 * count), dtype="<u8").tolist()
    assert len(set(drawn)) == count
    return drawn


def pair_of_sets(union: int, common: int, seed: int, *, only_new: float = 0.5) -> tuple[Numbers, Numbers]:
    """Return two random sets with these numbers of members in their union and in common."""
    union_members = members(union, f"{union} {common} {seed}")
    border = common + round(only_new * (union - common))
    return array(union_members[:border]), array(union_members[:common] + union_members[border:])


every_sample = pytest.mark.parametrize("name", SAMPLES)


# Golden values: if one changes, the behaviour changes, and signing.BEHAVIOUR must rise

GOLDEN_TEXTS = ("\n".join(DEMO_TEXTS.english[0].paragraphs), "\n".join(DEMO_TEXTS.chinese[0].paragraphs))
GOLDEN = {
    "simhash": (
        "a10293fb3dd3ed7c c4f838a3fefb2e2d",
        "841a997177f7cbd2 a082c2fe9d901a46",
    ),
    "exact": (
        "c30bee7b561a2002 7cb20eb3ec110df3",
        "f6fcf81be0dfad11 e168d71f9e1ef73b",
    ),
    "shingling": (
        "2df50f1b07230708 7b46b7e8af930247",
        "0d44ab1bb56c0bab 77fa127fb2eedee6",
    ),
    "minhash": (
        "8f228f642f6b6dfc b6272a15e824f879",
        "b5d62fa7f6938fcf 464786e4a0ec998e",
    ),
    "checksums": (
        "7753b8045a12ae16 a130948309fb4343",
        "34566eab6a941b21 cf6195064993a909",
    ),
    "imatch": (
        "760ce95664b479bd 6a3fe6de7d0fd017",
        "6abe693e87f8a7b9 64ee58f264fd520c",
    ),
    "ddw": (
        "2238060d3574e2ab b0abd0308fe0cd21",
        "7041265c22de8631 24cdd6cbe2e936a5",
    ),
    "sentences": (
        "a7e2f15c86f31460 b1b08d274d63780f",
        "20980c35ab2dd5c1 7cab9d69a5bd31af",
    ),
    "pinyin": (
        "d52863b1f532f534 332aafd99b12d15b",
        "973e722f05d3c03b ec9fe0ee35e3f0ae",
    ),
    "winnowing": (
        "8004221ce409a3cc c96d5e174452961a",
        "cffebab3fb3ac8ef 0e7bbebdf3ad18ec",
    ),
    "shingling lookup=minima": (
        "41855c51170fa263 1d9562d3cb4f2d6a",
        "7183157df9f67682 8d6c9708642ab1eb",
    ),
    "shingling lookup=mod": (
        "8d6282e67485f7e8 23b7c68a68db8ac5",
        "7ec8a615de99c27f 8c3d008e180e5bfc",
    ),
    "sentences unit=stops": (
        "ed85d2a665a0cac8 ff2506c190516956",
        "8f19baf561c9b2b0 2743f55e1a491650",
    ),
    "minhash rows=4": (
        "052f234372a6f59c cba9fc5a155d28e7",
        "f5a66f2b620337ca ba9b3aa3cebd7d57",
    ),
    "imatch lexica=0": (
        "02d1e612bed0949f 62a78e3894a8ca2f",
        "b1dddd3d3d1ef5fb 9d1297329642023b",
    ),
}


def summary(spec: str, raw: str) -> str:
    """Return the number of a text's signature, and a hash of its keys and probes."""
    scheme = scheme_of(spec)
    signature = scheme.sign(text_of(raw))
    numbers = [*scheme.keys(signature), *scheme.probes(signature)]
    return f"{signature.number:016x} {xxh3_64_hexdigest(b''.join(number.to_bytes(8, 'little') for number in numbers))}"


@pytest.mark.parametrize("spec", GOLDEN)
def test_values_and_keys_are_the_golden_ones(spec: str) -> None:
    assert tuple(summary(spec, raw) for raw in GOLDEN_TEXTS) == GOLDEN[spec]


# Exact


def expect_exact(raw: str) -> None:
    text = text_of(raw)
    value = xxh3_128_digest(b"".join(hash_of(unit).to_bytes(8, "little") for unit in text.units))
    expect(Exact(), text, value, [int.from_bytes(value[:8], "little")])


@given(TEXTS)
def test_exact_is_a_digest_of_the_hashes_of_all_units_in_order(raw: str) -> None:
    expect_exact(raw)


@every_sample
def test_exact_equals_its_reference_on_real_texts(name: str) -> None:
    expect_exact(SAMPLES[name])


@given(TEXTS, TEXTS)
def test_exact_agrees_only_if_the_units_are_equal(first: str, second: str) -> None:
    scheme, texts = Exact(), (text_of(first), text_of(second))
    agreed = scheme.compare(*(scheme.sign(text) for text in texts)) is not None
    assert agreed == (texts[0].units == texts[1].units)


# Min-wise numbers, minhash


def slow_one_permutation(hashes: Iterable[int], bins: int = BINS) -> list[int]:
    """Throw all members into the bins until no bin is empty; a bin keeps the least member of its first round."""
    width = bins.bit_length() - 1
    filled: dict[int, int] = {}
    number = 0
    while len(filled) < bins:
        seed = number * 0x9E3779B97F4A7C15 & _MASK
        thrown = [mix(mixed ^ seed) for mixed in hashes]
        least: dict[int, int] = {}
        for mixed_hash in thrown:
            into, order = mixed_hash >> 64 - width, mixed_hash >> 16 & (1 << 48 - width) - 1
            least[into] = min(order, least.get(into, order))
        filled = {**least, **filled}
        number += 1
    return [filled[at] for at in range(bins)]


@given(st.sets(st.integers(0, _MASK), min_size=1, max_size=40), st.sampled_from([1, 2, 16, 128, 256]))
def test_min_wise_numbers_equal_those_of_a_slow_reference(hashes: set[int], bins: int) -> None:
    assert one_permutation(array(hashes), bins).tolist() == slow_one_permutation(hashes, bins)


@pytest.mark.parametrize("size", [1, 2, 3, 100, 1_000, 1_024, 1_025, 3_000])
def test_min_wise_numbers_of_sets_of_every_size_equal_those_of_a_slow_reference(size: int) -> None:
    hashes = members(size, size)
    assert one_permutation(array(hashes), BINS).tolist() == slow_one_permutation(hashes)


def slow_rows(threshold: float) -> int:
    """Return the most rows with which 95 of 100 pairs at the threshold are found."""
    most_rows = 1
    for rows in range(1, BINS + 1):
        if 1 - (1 - threshold**rows) ** (BINS // rows) >= 0.95:
            most_rows = rows
    return most_rows


@pytest.mark.parametrize("threshold", [0.05, 0.1, 0.3, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99, 1.0])
def test_a_band_has_the_most_rows_that_find_95_of_100_pairs(threshold: float) -> None:
    assert MinHash(threshold=threshold).band_rows == slow_rows(threshold)


def expect_minhash(scheme: MinHash, raw: str, rows: int) -> None:
    text = text_of(raw)
    runs = shingles(text.units, scheme.shingle)
    if not runs:
        expect(scheme, text, b"", [])
        return
    minima = slow_one_permutation(runs)
    bands = []
    for band in range(BINS // rows):
        hashed = 0
        for minimum in minima[band * rows : (band + 1) * rows]:
            hashed = mix(hashed ^ minimum)
        bands.append(hashed & 0xFFFFFFFF)
    value = struct.pack(f"<I{len(bands)}I", len(runs), *bands) + bytes(minimum & 0xFF for minimum in minima)
    expect(scheme, text, value, [number << 32 | band for number, band in enumerate(bands)])


@settings(max_examples=examples(30))
@given(TEXTS, st.integers(1, 5), st.sampled_from([1, 3, 4, 6, 64, 100, 128]))
def test_minhash_equals_a_slow_reference(raw: str, width: int, rows: int) -> None:
    expect_minhash(MinHash(shingle=width, rows=rows), raw, rows)


@every_sample
def test_minhash_equals_its_reference_on_real_texts(name: str) -> None:
    expect_minhash(MinHash(), SAMPLES[name], slow_rows(MinHash.threshold))


def slow_containment(resemblance: float, size: int, other_size: int) -> float:
    """Compute |A∩B| / |A| by |A∩B| = R/(1+R) · (|A|+|B|), limited by the size of each set."""
    common = resemblance * (size + other_size) / (1 + resemblance)
    return min(common, size, other_size) / size


@given(st.floats(0, 1), st.integers(1, 10**6), st.integers(1, 10**6))
def test_containment_follows_from_resemblance_and_sizes(resemblance: float, size: int, other_size: int) -> None:
    assert containment(resemblance, size, other_size) == pytest.approx(slow_containment(resemblance, size, other_size))


def shares_of(agreement: Agreement | None) -> tuple[float, float] | None:
    """Return resemblance and coverage, rounded."""
    if agreement is None:
        return None
    assert agreement.resemblance is not None
    assert agreement.coverage is not None
    assert agreement.distance is None
    return near(agreement.resemblance, agreement.coverage)


def near(resemblance: float, coverage: float) -> tuple[float, float]:
    return round(resemblance, 7), round(coverage, 7)


@given(st.integers(1, 60), st.data(), st.floats(0.05, 1), st.floats(0, 1))
def test_minhash_agrees_by_the_share_of_equal_codes(
    union: int, data: st.DataObject, threshold: float, coverage: float
) -> None:
    common = data.draw(st.integers(0, union))
    new, kept = pair_of_sets(union, common, 0, only_new=data.draw(st.sampled_from([0, 0.5, 1])))
    scheme = MinHash(threshold=threshold, coverage=coverage, rows=4)
    if not len(new) or not len(kept):
        return
    ours, theirs = slow_one_permutation(new.tolist()), slow_one_permutation(kept.tolist())
    share = (
        sum(our_minimum & 0xFF == their_minimum & 0xFF for our_minimum, their_minimum in zip(ours, theirs, strict=True))
        / BINS
    )
    resemblance = max(0.0, (share - 1 / 256) / (255 / 256))
    covered = slow_containment(resemblance, len(new), len(kept))
    expected = near(resemblance, covered) if resemblance >= threshold and covered >= coverage else None
    assert shares_of(scheme.agree(scheme.of_shingles(new), scheme.of_shingles(kept))) == expected


SETS = [(5, 1), (6, 3), (5, 4), (50, 10), (50, 25), (50, 40), (500, 100), (500, 250), (500, 400)]
"""Members together, in common: resemblances .2, .5 and .8 of sets that do not fill the bins, nearly do, and do."""


@pytest.mark.parametrize(("union", "common"), SETS)
def test_minhash_estimates_resemblance_without_bias_and_as_well_as_independent_numbers(union: int, common: int) -> None:
    scheme, true = MinHash(), common / union
    values = [map(scheme.of_shingles, pair_of_sets(union, common, seed)) for seed in range(200)]
    estimates = [
        estimate_resemblance(*(np.frombuffer(value[-BINS:], dtype=np.uint8) for value in pair)) for pair in values
    ]
    mean, spread = float(np.mean(estimates)), float(np.std(estimates, ddof=1))
    assert abs(mean - true) < 4 * spread / math.sqrt(len(estimates))
    assert spread < 1.25 * math.sqrt(true * (1 - true) / BINS)


# Shingling

LOOKUPS = ("supershingles", "minima", "mod")
_SEEDS = [mix(number) for number in range(1, 169)]
_PERMUTATIONS = [(factor | 1, term) for factor, term in zip(_SEEDS[:84], _SEEDS[84:], strict=True)]


def slow_minima(hashes: Iterable[int]) -> list[int]:
    """Return the least member under each of 84 linear permutations."""
    known = list(hashes)
    return [min(number * factor + term & _MASK for number in known) for factor, term in _PERMUTATIONS]


def slow_shingling(hashes: set[int], lookup: str) -> tuple[bytes, list[int]]:
    """Return the value and the keys that the description gives."""
    if not hashes:
        return b"", []
    least = slow_minima(hashes)
    if lookup == "mod":
        keys = []
    elif lookup == "minima":
        keys = [number & 0xFFFFFFFF for number in least[:24]]
    else:
        keys = []
        for at in range(6):
            key = 0
            for number in least[14 * at : 14 * at + 14]:
                key = mix(key ^ number)
            keys.append(key & 0xFFFFFFFF)
    smallest = sorted(hashes)[:64]
    mod = [number for number in sorted(hashes) if number % 25 == 0][:400]
    value = struct.pack("<IBBH", len(hashes), len(keys), len(smallest), len(mod))
    value += struct.pack(f"<{len(keys)}I", *keys)
    value += b"".join(number.to_bytes(8, "big")[:5] for number in [*smallest, *mod])
    if lookup == "mod":  # those of the sketches, and of a short text without any the four smallest
        return value, [number >> 24 for number in [*mod, *smallest[:4]]]
    return value, [number << 32 | key for number, key in enumerate(keys)]


def slow_estimates(new: set[int], kept: set[int]) -> tuple[float, float]:
    """Return the resemblance from MOD_m if that has enough members, else from MIN_s, and the containment from both."""
    ours, theirs = (
        {number >> 24 for number in sorted(number for number in both if number % 25 == 0)[:400]} for both in (new, kept)
    )
    limits = [max(numbers) for numbers in (ours, theirs) if len(numbers) == 400]
    ours, theirs = (
        {number for number in numbers if number <= min(limits, default=number)} for numbers in (ours, theirs)
    )
    short = [{number >> 24 for number in sorted(both)[:64]} for both in (new, kept)]
    together = set(sorted(short[0] | short[1])[:64])
    resemblance = len(short[0] & short[1] & together) / len(together)
    if ours and len(ours | theirs) >= 48:
        resemblance = len(ours & theirs) / len(ours | theirs)
    # Whether the kept text has these is seen from its sketches.
    known = ours | {number for number in short[0] if len(short[1]) < 64 or number < max(short[1])}
    if len(known) >= 8:
        return resemblance, min(len(known & (theirs | short[1])) / len(known), len(kept) / len(new))
    return resemblance, slow_containment(resemblance, len(new), len(kept))


def test_the_parameters_of_shingling_are_those_of_the_description() -> None:
    assert (SMALLEST, MODULUS, MAX_MOD) == (64, 25, 400)
    assert Shingling().spec.startswith("shingling min=64 mod=25 most=400 shingle=5 lookup=supershingles")


@settings(max_examples=examples(30))
@given(TEXTS, st.integers(1, 6), st.sampled_from(LOOKUPS))
def test_shingling_equals_a_slow_reference(raw: str, width: int, lookup: str) -> None:
    text = text_of(raw)
    expect(Shingling(shingle=width, lookup=lookup), text, *slow_shingling(shingles(text.units, width), lookup))


@pytest.mark.parametrize("lookup", LOOKUPS)
@every_sample
def test_shingling_equals_its_reference_on_real_texts(name: str, lookup: str) -> None:
    text = text_of(SAMPLES[name])
    expect(Shingling(lookup=lookup), text, *slow_shingling(shingles(text.units, 5), lookup))


def test_at_most_400_fingerprints_of_a_long_text_are_kept() -> None:
    text = text_of(prose(0, 1_100))
    runs = shingles(text.units, 5)
    assert sum(run % 25 == 0 for run in runs) > 400
    value, keys = slow_shingling(runs, "supershingles")
    expect(Shingling(), text, value, keys)
    assert len(value) == 8 + 6 * 4 + 5 * (64 + 400)


_SIZES = [3, 40, 64, 100, 900, 2_000, 11_000]


@pytest.mark.parametrize("union", _SIZES)
@pytest.mark.parametrize("only_new", [0, 0.2, 0.5, 1])
def test_shingling_estimates_what_a_slow_reference_estimates(union: int, only_new: float) -> None:
    everything = Shingling(threshold=0.05, coverage=0)
    for common in (0, union // 4, union // 2, 9 * union // 10, union):
        new, kept = pair_of_sets(union, common, 1, only_new=only_new)
        if not len(new) or not len(kept):
            continue
        resemblance, covered = slow_estimates(set(new.tolist()), set(kept.tolist()))
        values = everything.of_shingles(new), everything.of_shingles(kept)
        assert shares_of(everything.agree(*values)) == (near(resemblance, covered) if resemblance >= 0.05 else None)
        strict = Shingling()
        expected = near(resemblance, covered) if resemblance >= 0.7 and covered >= 0.8 else None
        assert shares_of(strict.agree(*values)) == expected


@pytest.mark.parametrize(
    ("union", "sample"),
    [(400, SMALLEST), (5_000, 5_000 / MODULUS), (40_000, MAX_MOD)],
    ids=["MIN_s", "MOD_m", "MOD_m cut off"],
)
@pytest.mark.parametrize("true", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("only_new", [0, 0.5, 1])
def test_shingling_estimates_without_bias(union: int, sample: float, true: float, only_new: float) -> None:
    scheme, common = Shingling(threshold=0.05, coverage=0), round(true * union)
    estimated = []
    for seed in range(40 if union < 10_000 else 12):
        new, kept = pair_of_sets(union, common, seed, only_new=only_new)
        agreement = scheme.agree(scheme.of_shingles(new), scheme.of_shingles(kept))
        assert agreement is not None
        estimated.append((agreement.resemblance, agreement.coverage))
    covered = common / len(new)
    for estimates, exact in zip(zip(*estimated, strict=True), (true, covered), strict=True):
        error = math.sqrt(true * (1 - true) / (true * sample))  # the cut leaves less than the whole sample
        assert all(abs(estimate - exact) < 5 * error for estimate in estimates)
        assert abs(float(np.mean(estimates)) - exact) < 4 * error / math.sqrt(len(estimates))


@pytest.mark.parametrize("chinese", [False, True])
@pytest.mark.parametrize(("kept", "changed"), [(400, 40), (400, 200), (1_000, 100), (1_000, 500)])
def test_estimates_for_long_texts_are_near_the_true_shares(kept: int, changed: int, chinese: bool) -> None:
    scheme = Shingling(threshold=0.05, coverage=0)
    kept_sentences, new_sentences = (
        sentences(seed, count, chinese=chinese) for seed, count in ((0, kept), (1, changed))
    )
    texts = (
        text_of("".join([*kept_sentences[changed:], *new_sentences])),
        text_of("".join(kept_sentences[: kept - changed // 2])),
    )
    new, old = (shingles(text.units, 5) for text in texts)
    agreement = scheme.compare(*map(scheme.sign, texts))
    assert agreement is not None
    sample = min(len(new), len(old), MODULUS * MAX_MOD) / MODULUS
    for estimate, exact in (
        (agreement.resemblance, len(new & old) / len(new | old)),
        (agreement.coverage, len(new & old) / len(new)),
    ):
        assert estimate is not None
        assert abs(estimate - exact) < 4 * math.sqrt(exact * (1 - exact) / sample)


def is_found(scheme: ValueScheme, new: Signature, kept: Signature) -> bool:
    """Return whether a look-up of *new* finds *kept*."""
    common = set(scheme.probes(new)) & set(scheme.keys(kept))
    is_met = list(scheme.near(new, np.full(len(common), kept.number, dtype=np.uint64))) == [kept.number]
    assert scheme.finds(new, kept) == is_met
    return is_met


@pytest.mark.parametrize(
    ("scheme", "true", "least", "most"),
    [
        (Shingling(), 0.97, 0.93, 1),
        (Shingling(), 0.93, 0.6, 0.8),
        (Shingling(), 0.8, 0, 0.1),
        (Shingling(lookup="minima"), 0.3, 0.97, 1),
        (Shingling(lookup="minima"), 0.02, 0, 0.2),
        (MinHash(), 0.7, 0.95, 1),
        (MinHash(), 0.3, 0, 0.2),
        (MinHash(threshold=0.5), 0.5, 0.95, 1),
    ],
    ids=str,
)
def test_pairs_are_found_as_often_as_the_scheme_predicts(
    scheme: Shingling | MinHash, true: float, least: float, most: float
) -> None:
    tries, union = 150, 600
    hits = 0
    for seed in range(tries):
        new, kept = (
            Signature(number, scheme.of_shingles(members_of_set))
            for number, members_of_set in enumerate(pair_of_sets(union, round(true * union), seed))
        )
        hits += is_found(scheme, new, kept)
    for bound, sign in ((least, 1), (most, -1)):
        error = math.sqrt(max(bound * (1 - bound), 1 / tries) / tries)
        assert sign * (hits / tries - bound) > -3 * error


def test_common_shingles_are_left_out(tmp_path: Path) -> None:
    text = text_of(SAMPLES["English"])
    runs = shingles(text.units, 5)
    for common in (set(sorted(runs)[::3]), runs):
        nothing = np.zeros(0, dtype=np.uint64)
        path = tmp_path / str(len(common))
        Lexicon(10, nothing, nothing.astype(np.uint32), array(common | {5, 6}), np.zeros(26, dtype=np.uint64)).write(
            path
        )
        expect(Shingling(lexicon=str(path)), text, *slow_shingling(runs - common, "supershingles"))


# Checksums


def slow_checksums(words: set[str], lists: int) -> tuple[bytes, list[int]]:
    """Divide the words by their mixed hashes, and return a mixed sum of 32 bits for each list."""
    if not words:
        return b"", []
    sums = [0] * lists
    for word in words:
        spread = mix(hash_of(word))
        sums[spread % lists] += mix(spread)
    checksums = [mix(list_sum & _MASK) >> 32 for list_sum in sums]
    return struct.pack(f"<{lists}I", *checksums), [
        at << 32 | checksum for at, checksum in enumerate(checksums) if checksum
    ]


@given(TEXTS, st.sampled_from([2, 3, 16, 64]))
def test_checksums_equal_those_of_a_slow_reference(raw: str, lists: int) -> None:
    text = text_of(raw)
    expect(Checksums(lists=lists), text, *slow_checksums(content_words(text), lists))


@every_sample
def test_checksums_equal_their_reference_on_real_texts(name: str) -> None:
    text = text_of(SAMPLES[name])
    expect(Checksums(), text, *slow_checksums(content_words(text), 16))


@given(
    st.sets(st.integers(1, 200), min_size=1, max_size=60),
    st.sets(st.integers(1, 200), min_size=1, max_size=60),
    st.sampled_from([0.01, 0.3, 0.5, 0.6, 1]),
)
def test_checksums_agree_if_enough_of_the_used_lists_do_and_such_pairs_are_found(
    ours: set[int], theirs: set[int], least: float
) -> None:
    scheme = Checksums(least=least)
    new, kept = (Signature(at, scheme.of_words(array(sums))) for at, sums in enumerate((ours, theirs)))
    lists = list(zip(words_in(new.value, 4), words_in(kept.value, 4), strict=True))
    used, agreeing = (
        sum(pair != (0, 0) for pair in lists),
        sum(our_checksum == their_checksum != 0 for our_checksum, their_checksum in lists),
    )
    agreed = scheme.agree(new.value, kept.value)
    assert agreed == (Agreement() if agreeing >= max(1, least * used) else None)
    assert is_found(scheme, new, kept) or not agreed


@given(st.integers(0, 15), st.integers(0, 10**9))
def test_changed_words_change_at_most_twice_as_many_lists(changed: int, seed: int) -> None:
    words = members(300 + changed, seed)
    before, after = (words_in(Checksums().of_words(array(hashes)), 4) for hashes in (words[:300], words[changed:]))
    assert (
        sum(checksum_before != checksum_after for checksum_before, checksum_after in zip(before, after, strict=True))
        <= 2 * changed
    )


# Schemes with a lexicon

COUNTS = {"tram": 1, "depot": 3, "the": 990, "honey": 31, "lime": 250, "roof": 32, "bee": 5, "茶馆": 8, "老": 251}
"""Documents of 1,000 that have each word. The lexicon lacks the other words of :data:`VOCABULARY`."""


def slow_rarity(counts: dict[str, int], documents: int) -> dict[str, float]:
    return {word: round(1000 * (1 - math.log(count) / math.log(documents))) / 1000 for word, count in counts.items()}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a lexicon of few words, as the option ``lexicon`` names it."""
    words = sorted(COUNTS, key=hash_of)
    path = tmp_path_factory.mktemp("lexicon") / "small"
    Lexicon(
        1_000,
        array(map(hash_of, words)),
        np.array([COUNTS[word] for word in words], dtype=np.uint32),
        np.zeros(0, dtype=np.uint64),
        np.arange(26, dtype=np.uint64) * np.uint64(37) % np.uint64(11),
    ).write(path)
    return str(path)


def rarity_of(words: Iterable[str], *, small: bool) -> dict[str, float]:
    """Return the rarity of each word that the lexicon has."""
    if small:
        known = slow_rarity(COUNTS, 1_000)
        return {word: known[word] for word in words if word in known}
    rarities = {word: float(general().rarity(array([hash_of(word)]))[0]) for word in words}
    return {word: rarity for word, rarity in rarities.items() if not math.isnan(rarity)}


# I-Match


def slow_imatch(scheme: IMatch, rarity: dict[str, float]) -> tuple[bytes, list[int]]:
    """Return a digest of the words inside the band, and of those that each lexicon leaves."""
    hashes_in_band = [hash_of(word) for word, word_rarity in rarity.items() if scheme.low <= word_rarity <= scheme.high]
    digests = []
    for number in range(scheme.lexica + 1):
        seeded = [mix(word_hash ^ number) for word_hash in hashes_in_band]
        kept = [digest for digest in seeded if not number or mix(digest) >= int(scheme.drop * 2**64)]
        digests.append(mix(sum(kept) & _MASK) if len(kept) >= scheme.words else 0)
    return struct.pack(f"<{len(digests)}Q", *digests) if any(digests) else b"", [digest for digest in digests if digest]


@given(raw=TEXTS, lexica=st.integers(0, 5), drop=st.sampled_from([0, 0.3, 0.95]), words=st.integers(1, 6))
def test_imatch_equals_a_slow_reference(small: str, raw: str, lexica: int, drop: float, words: int) -> None:
    scheme = IMatch(low=0.2, high=0.84, lexica=lexica, drop=drop, words=words, lexicon=small)
    text = text_of(raw)
    expect(scheme, text, *slow_imatch(scheme, rarity_of(set(text.tokens), small=True)))


def test_both_limits_of_the_rarity_are_inclusive(small: str) -> None:
    text = text_of("tram lime roof honey bee lantern")
    for low, high, count in ((0.2, 0.5, 2), (0.199, 0.767, 4), (0.201, 0.498, 2), (0.202, 0.497, 0), (0.0, 1.0, 5)):
        rarities_in_band = [
            word_rarity for word_rarity in rarity_of(text.tokens, small=True).values() if low <= word_rarity <= high
        ]
        assert len(rarities_in_band) == count
        scheme = IMatch(low=low, high=high, words=count or 1, lexicon=small)
        assert bool(scheme.sign(text).value) == bool(count)
        assert not IMatch(low=low, high=high, words=count + 1, lexica=0, lexicon=small).sign(text).value


@every_sample
def test_imatch_equals_its_reference_on_real_texts(name: str) -> None:
    text, scheme = text_of(SAMPLES[name]), IMatch()
    value, keys = slow_imatch(scheme, rarity_of(set(text.tokens), small=False))
    expect(scheme, text, value, keys)
    assert len(value) == 168


@pytest.mark.parametrize("drop", [0.1, 0.5, 0.9])
def test_each_lexicon_lacks_a_different_set_of_words_of_the_chosen_share(drop: float) -> None:
    scheme = IMatch(low=0, high=1, lexica=5, drop=drop, words=1)
    # Of a text of a single word a lexicon that lacks it has no digest. What the whole lexicon lacks has no value.
    words = sorted({word for name in SAMPLES for word in text_of(SAMPLES[name]).tokens})
    values = [value for word in words if (value := scheme.value(text_of(word)))]
    lacks = np.frombuffer(b"".join(values), dtype="<u8").reshape(len(values), 6) == 0
    assert len(values) > 1000
    assert not lacks[:, 0].any()
    assert np.abs(lacks[:, 1:].mean(axis=0) - drop).max() < 0.03
    assert len({column.tobytes() for column in lacks.T}) == 6


@given(
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.integers(1, 64),
)
def test_imatch_agrees_if_enough_digests_do(ours: list[int], theirs: list[int], enough: int) -> None:
    if not any(ours):
        return
    common = sum(our_digest == their_digest != 0 for our_digest, their_digest in zip(ours, theirs, strict=True))
    expected = common >= min(enough, sum(digest > 0 for digest in ours))
    agreed = IMatch(lexica=4, enough=enough).agree(struct.pack("<5Q", *ours), struct.pack("<5Q", *theirs))
    assert agreed == (Agreement() if expected else None)


# DDW

_UNKNOWN = 0.5
"""Rarity of what the lexicon lacks."""


def slow_ddw(scheme: DDW, text: Text, rarity: dict[str, float]) -> list[tuple[str, float]]:
    """Return the heaviest words by tf-idf, each with its share of a vector of length 1; the rarest first."""
    counts = Counter(word for word in text.tokens if word not in stop_words())
    for word in set(tokenise(text.plain[: scheme.lead], text.cut_han)):
        counts[word] += word in counts
    counts = +counts
    weights = {word: count * rarity.get(word, _UNKNOWN) for word, count in counts.items()}
    heaviest = sorted(weights, key=lambda word: (-weights[word], hash_of(word)))[: scheme.terms]
    ordered = sorted(heaviest, key=lambda word: (-rarity.get(word, _UNKNOWN), hash_of(word)))
    length = math.sqrt(math.fsum(weights[word] ** 2 for word in ordered))
    return [(word, weights[word] / length) for word in ordered] if length else []


def expect_ddw(scheme: DDW, raw: str, *, small: bool) -> None:
    text = text_of(raw)
    vector = slow_ddw(scheme, text, rarity_of(set(text.tokens), small=small))
    value = b""
    if vector:
        value = struct.pack("<I", len(content_words(text)))
        value += b"".join(struct.pack("<IH", hash_of(word) >> 32, round(60_000 * weight)) for word, weight in vector)
    norms = [math.sqrt(sum(weight**2 for _, weight in vector[at:])) for at in range(len(vector))]
    # Weights are rounded when they are stored: the end of the prefix may be off by one term.
    for slack in (-1e-4, 1e-6, 1e-4):
        least = scheme.threshold - slack
        keys = {hash_of(word) >> 32 for (word, _), left in zip(vector, norms, strict=True) if left >= least}
        if sorted(keys) == list(scheme.keys(scheme.sign(text))):
            break
    expect(scheme, text, value, keys)


@given(raw=TEXTS, terms=st.sampled_from([1, 3, 20]), lead=st.sampled_from([0, 5, 100]), threshold=st.floats(0.1, 1))
def test_ddw_equals_a_slow_reference(small: str, raw: str, terms: int, lead: int, threshold: float) -> None:
    expect_ddw(DDW(terms=terms, lead=lead, threshold=threshold, lexicon=small), raw, small=True)


@every_sample
def test_ddw_equals_its_reference_on_real_texts(name: str) -> None:
    expect_ddw(DDW(), SAMPLES[name], small=False)
    assert len(DDW().sign(text_of(SAMPLES[name])).value) == 4 + 20 * 6


VECTORS = st.dictionaries(st.integers(1, 30), st.integers(1, 60_000), min_size=1, max_size=20)
"""Weights by term; the number of a term determines its rarity."""


def packed(vector: dict[int, int], size: int = 20) -> bytes:
    return struct.pack("<I", size) + b"".join(struct.pack("<IH", *term) for term in sorted(vector.items()))


def cosine(new: dict[int, int], kept: dict[int, int]) -> float:
    lengths = [math.sqrt(sum(weight**2 for weight in vector.values())) for vector in (new, kept)]
    return sum(weight * kept.get(term, 0) for term, weight in new.items()) / math.prod(lengths)


@settings(max_examples=examples(400))
@given(VECTORS, st.data(), st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0]))
def test_two_vectors_with_a_large_cosine_always_find_each_other(
    first: dict[int, int], data: st.DataObject, threshold: float
) -> None:
    second = {**first, **data.draw(VECTORS)} if data.draw(st.booleans()) else data.draw(VECTORS)
    scheme = DDW(threshold=threshold)
    new, kept = (Signature(at, packed(vector)) for at, vector in enumerate((first, second)))
    if cosine(first, second) >= threshold:
        assert is_found(scheme, new, kept)
        assert is_found(scheme, kept, new)


@given(VECTORS, VECTORS, st.sampled_from([0.1, 0.5, 0.9]), st.integers(1, 99), st.integers(1, 99))
def test_ddw_agrees_by_the_cosine_unless_the_new_text_has_many_more_words(
    our_vector: dict[int, int], their_vector: dict[int, int], threshold: float, size: int, other_size: int
) -> None:
    between = cosine(our_vector, their_vector)
    if abs(between - threshold) < 1e-5:
        return
    agreement = DDW(threshold=threshold).agree(packed(our_vector, size), packed(their_vector, other_size))
    assert (agreement is not None) == (between >= threshold and size <= 1.25 * other_size)
    if agreement is not None:
        length = sum(weight**2 for weight in our_vector.values())
        covered = sum(weight**2 for term, weight in our_vector.items() if term in their_vector) / length
        assert shares_of(agreement) == near(min(between, 1), covered)


def test_ddw_finds_every_pair_of_texts_that_agree() -> None:
    scheme, source = DDW(threshold=0.6), random.Random(1)
    words = prose(3, 40).replace(",", "").replace(".", "").split()
    signatures = [scheme.sign(text_of(" ".join(source.choices(words[:30], k=150)))) for _ in range(60)]
    agreeing = [(new, kept) for new in signatures for kept in signatures if scheme.compare(new, kept)]
    assert len(agreeing) > 3 * len(signatures)
    assert all(is_found(scheme, new, kept) for new, kept in agreeing)


# Sentences


def slow_longest(text: Text) -> list[int]:
    parts, part = [], ""
    raw = text.raw
    for at, character in enumerate(raw):
        ends = character == "." and (at + 1 == len(raw) or raw[at + 1].isspace())
        if character in "。！？!?…\n" or ends:
            parts.append(part)
            part = ""
        else:
            part += character
    lengths = {}
    for line in [*parts, part]:
        cut_up = split_units(normalise(line))
        if len(cut_up) >= 6:
            lengths[hash_of(" ".join(cut_up))] = sum(map(len, cut_up))
    return sorted(lengths, key=lambda digest: (-lengths[digest], digest))


def slow_stops(text: Text) -> list[int]:
    parts, part = [], ""
    raw = text.raw
    for at, character in enumerate(raw):
        if character in "。．｡" or (character == "." and (at + 1 == len(raw) or raw[at + 1].isspace())):
            parts.append(part)
            part = ""
        else:
            part += character
    plain = ["".join(filter(str.isalnum, normalise(line))) for line in [*parts, part]]
    around = {f"{before[-5:]}.{after[:5]}" for before, after in pairwise(plain)}
    return sorted(mix(hash_of(junction)) for junction in around if len(junction) == 11)


_SLOW: dict[str, Callable[[Text], list[int]]] = {"longest": slow_longest, "stops": slow_stops}


def expect_sentences(unit: str, raw: str, most: int = 10) -> None:
    text = text_of(raw)
    digests = sorted(_SLOW[unit](text)[:most])
    value = struct.pack(f"<I{len(digests)}Q", len(text.units), *digests) if digests else b""
    expect(Sentences(unit=unit, most=most), text, value, digests)


@pytest.mark.parametrize("unit", _SLOW)
@given(
    raw=TEXTS | st.text(st.sampled_from("ab1 茶馆館。．｡.!？\n\t_é\u0301…"), max_size=120),
    most=st.sampled_from([1, 3, 10]),
)
def test_sentences_equals_a_slow_reference(unit: str, raw: str, most: int) -> None:
    expect_sentences(unit, raw, most)


@pytest.mark.parametrize("unit", _SLOW)
@pytest.mark.parametrize("name", [*SAMPLES, *ODD])
def test_sentences_equals_its_reference_on_real_and_odd_texts(unit: str, name: str) -> None:
    raw = {**SAMPLES, **ODD}[name]
    if len(raw) < 50_000:
        expect_sentences(unit, raw)


@given(
    st.sets(st.integers(1, 30), min_size=1, max_size=12),
    st.sets(st.integers(1, 30), min_size=1, max_size=12),
    st.sampled_from([0.01, 0.34, 0.6, 1]),
    st.sampled_from([50, 100, 125, 126]),
)
def test_sentences_agrees_if_the_kept_text_has_most_of_the_new_ones_and_such_pairs_are_found(
    ours: set[int], theirs: set[int], least: float, words: int
) -> None:
    scheme = Sentences(least=least)
    new, kept = (
        Signature(at, struct.pack("<I", size) + array(digests).astype("<u8").tobytes())
        for at, (digests, size) in enumerate(((ours, words), (theirs, 100)))
    )
    common = len(ours & theirs)
    agreed = scheme.agree(new.value, kept.value)
    has_most = common >= max(1, least * len(ours))
    assert is_found(scheme, new, kept) == has_most
    assert (agreed is not None) == (has_most and words <= 125)  # a longer text is not covered
    if agreed is not None and min(len(ours), len(theirs)) < 3:
        assert agreed == Agreement()  # there are too few sentences: the sketches decide
    elif agreed is not None:
        assert shares_of(agreed) == near(common / len(ours | theirs), common / len(ours))


# Pinyin


CLASSES, LARGEST = 16, 15


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


def slow_keys(vectors: list[list[int]]) -> set[int]:
    """Return the halves of each vector, four bits a number, the first one the lowest."""
    return {
        half << 40 | sum(component << 4 * at for at, component in enumerate(vector[8 * half : 8 * half + 8]))
        for vector in vectors
        for half in (0, 1)
    }


def slow_stored(count: int, window: int, overlap: float = 0.5) -> list[int]:
    return sorted({*range(0, count - window + 1, max(1, int(window * (1 - overlap)))), count - window})


def slow_value(letters: list[int], lexicon: Lexicon, window: int) -> bytes:
    """Return whether the number of letters is odd, the expected counts, and four bits for the class of each letter."""
    classes = [slow_classes(lexicon)[letter] for letter in letters] + [0] * (len(letters) % 2)
    pairs = bytes(first << 4 | second for first, second in zip(classes[::2], classes[1::2], strict=True))
    return bytes([len(letters) % 2]) + bytes(slow_expected(lexicon, window)) + pairs


def unpacked(windows: Pieces) -> list[list[int]]:
    return [[vector >> 4 * at & 15 for at in range(16)] for vector in windows.numbers.tolist()]


@pytest.mark.parametrize("name", [*SAMPLES, "mixed scripts", "one line again and again", "numbers"])
def test_pinyin_equals_a_slow_reference(name: str) -> None:
    text, scheme = text_of({**SAMPLES, **ODD}[name]), Pinyin()
    letters = find_initials(text.plain).tolist()
    if len(letters) < 48:
        expect(scheme, text, b"", [])
        return
    stored = slow_stored(len(letters), 48)
    keys = slow_keys(slow_vectors(letters, stored, general(), 48))
    expect(scheme, text, slow_value(letters, general(), 48), keys)
    rolling = slow_vectors(letters, list(range(len(letters) - 47)), general(), 48)
    assert list(scheme.probes(scheme.sign(text))) == sorted(slow_keys(rolling))
    assert stored[1:-1] == list(range(24, stored[-1], 24))


@pytest.mark.parametrize("window", [16, 17, 48, 101])
def test_windows_are_stored_at_half_their_length_and_looked_up_at_every_letter(small: str, window: int) -> None:
    scheme, source = Pinyin(window=window, lexicon=small), random.Random(window)
    for count in (window, window + 1, 2 * window, 300):
        letters = source.choices(range(26), k=count)
        value = slow_value(letters, scheme.loaded_lexicon, window)
        stored, rolling = scheme.pieces_of_page(value), scheme.rolling(value)
        assert stored.starts.tolist() == slow_stored(count, window)
        assert rolling.starts.tolist() == list(range(count - window + 1))
        for windows in (stored, rolling):
            expected = slow_vectors(letters, windows.starts.tolist(), scheme.loaded_lexicon, window)
            assert unpacked(windows) == expected


def test_classes_are_about_equally_frequent_and_their_expected_count_is_the_middle() -> None:
    classes = slow_classes(general())
    assert set(classes) == set(range(CLASSES))
    sums = [
        sum(general().initial_counts[at] for at in range(26) if classes[at] == letter_class)
        for letter_class in range(CLASSES)
    ]
    assert max(sums) < 2 * sum(sums) / CLASSES
    letters = random.Random(1).choices(range(26), general().initial_counts.tolist(), k=16_000)
    vectors = np.array(unpacked(Pinyin().rolling(slow_value(letters, general(), 48))))
    assert vectors.max() <= LARGEST
    assert np.abs(vectors.mean(axis=0) - LARGEST // 2).max() < 0.75


SOURCES = [("20", "3"), ("20", "1"), ("16", "9"), ("21", "7"), ("26", "3"), ("5", "15"), ("10", "3")]
"""Classes and largest counts: those of the description, and odd ones."""


@pytest.mark.parametrize(("classes", "largest"), SOURCES)
@pytest.mark.parametrize("overlap", [0, 0.25, 0.75])
def test_classes_counts_and_overlap_are_those_of_the_options(classes: str, largest: str, overlap: float) -> None:
    scheme = scheme_of(f"pinyin classes={classes} largest={largest} overlap={overlap}")
    assert isinstance(scheme, Pinyin)
    letters = random.Random(classes + largest).choices(range(26), k=301)
    value = scheme.pack(
        np.array([slow_classes(general(), scheme.classes)[letter] for letter in letters], dtype=np.uint8)
    )
    kept, new = scheme.pieces_of_page(value), scheme.rolling(value)
    assert kept.starts.tolist() == slow_stored(len(letters), 48, overlap)
    bits = scheme.largest.bit_length()
    for windows in (kept, new):
        counts = slow_vectors(letters, windows.starts.tolist(), general(), 48, scheme.classes, scheme.largest)
        assert windows.numbers.tolist() == [
            sum(component << bits * at for at, component in enumerate(row)) for row in counts
        ]
    assert scheme.shares(value, value) == (1, 1)


@pytest.mark.parametrize(("classes", "largest", "bits"), [(26, 15, 104), (22, 7, 66), (5, 7, 15), (16, 1, 16)])
def test_counts_that_take_too_many_or_too_few_bits_are_refused_with_a_sentence(
    classes: int, largest: int, bits: int
) -> None:
    with pytest.raises(ConfigError) as refused:
        scheme_of(f"pinyin classes={classes} largest={largest}")
    assert str(refused.value) == (
        f"classes={classes} is not allowed with largest={largest}: a window takes {bits} bits, and 20 to 64 are allowed."
    )


@every_sample
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


def expect_agreement(scheme: Pinyin, new: list[int], kept: list[int]) -> tuple[float, float] | None:
    values = (slow_value(letters, scheme.loaded_lexicon, scheme.window) for letters in (new, kept))
    expected = slow_agree(scheme, new, kept)
    assert shares_of(scheme.agree(*values)) == expected
    return expected


LETTER_LISTS = st.lists(st.sampled_from([0, 1, 8, 18, 24, 25]), min_size=16, max_size=150)


@settings(max_examples=examples(40))
@given(kept=LETTER_LISTS, data=st.data(), apart=st.sampled_from([0, 4, 10]), coverage=st.sampled_from([0, 0.5, 0.8]))
def test_pinyin_agrees_as_a_comparison_of_all_pairs_of_windows(
    small: str, kept: list[int], data: st.DataObject, apart: int, coverage: float
) -> None:
    scheme = Pinyin(window=16, apart=apart, coverage=coverage, resemblance=0.1, lexicon=small)
    at, to = data.draw(st.integers(0, len(kept))), data.draw(st.integers(0, len(kept)))
    new = kept[:at] + data.draw(st.lists(st.integers(0, 25), max_size=20)) + kept[to:]
    if len(new) >= scheme.window:
        expect_agreement(scheme, new, kept)


@pytest.mark.parametrize("seed", range(3))
def test_pinyin_agrees_on_real_texts_as_a_comparison_of_all_pairs_of_windows(seed: int) -> None:
    scheme, raw = Pinyin(coverage=0.1, resemblance=0.1), prose(seed, 14, chinese=True)
    kept = find_initials(text_of(raw).plain).tolist()
    new = find_initials(text_of(raw[60:200] + prose(seed + 9, 2, chinese=True) + raw[230:]).plain).tolist()
    assert expect_agreement(scheme, new, kept) is not None


def test_an_excerpt_does_not_agree_with_a_book_unless_the_least_resemblance_allows_it() -> None:
    for seed in range(3):
        book, excerpt = (text_of(prose(seed, count, chinese=True)) for count in (40, 12))
        for least, agrees in ((0.5, False), (0.2, True)):
            scheme = Pinyin(resemblance=least)
            assert (scheme.compare(scheme.sign(excerpt), scheme.sign(book)) is not None) == agrees
            assert scheme.compare(scheme.sign(book), scheme.sign(excerpt)) is None


def exchanged(text: str, share: float, seed: int) -> str:
    """Exchange some Chinese characters for others whose reading begins with the same letter."""
    characters = [character for character in map(chr, range(0x4E00, 0x9FA6)) if simplify_han(character) == character]
    by_letter: dict[int, list[str]] = {}
    for character, letter in zip(characters, initial_of_each("".join(characters)).tolist(), strict=True):
        by_letter.setdefault(letter, []).append(character)
    return exchange_alike(text, by_letter, share, random.Random(seed))


@pytest.mark.parametrize("share", [0.2, 1])
def test_other_characters_with_the_same_letters_have_the_same_signature(share: float) -> None:
    scheme = Pinyin()
    for seed in range(4):
        raw = prose(seed, 10, chinese=True)
        exchanged_text = exchanged(raw, share, seed)
        assert sum(character != two for character, two in zip(raw, exchanged_text, strict=True)) > 0.15 * len(raw)
        assert scheme.sign(text_of(raw)) == scheme.sign(text_of(exchanged_text))


@pytest.mark.parametrize("length", [1, 7, 23, 24, 31])
def test_an_inserted_or_deleted_line_does_not_shift_the_windows_after_it(length: int) -> None:
    scheme, line = Pinyin(), prose(20, 4, chinese=True).replace("\n", "")[:length]
    for seed in range(4):
        raw = prose(seed, 24, chinese=True)
        middle = len(raw) // 2
        longer = raw[:middle] + line + raw[middle:]
        for new, kept in ((longer, raw), (raw, longer)):
            ours, theirs = scheme.sign(text_of(new)), scheme.sign(text_of(kept))
            assert is_found(scheme, ours, theirs)
            agreement = scheme.compare(ours, theirs)
            assert agreement is not None
            assert agreement.coverage is not None
            assert agreement.coverage > 0.9


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
    numbers = scheme.keys_of_pieces(scheme.rolling(signature.value).numbers).tolist()
    assert list(scheme.probes(signature)) == sorted(sorted(set(numbers), key=mix)[:MAX_PROBES])
    assert len(scheme.probes(signature)) == MAX_PROBES
    assert len(set(scheme.probes(signature)) & set(scheme.probes(longer))) > 0.9 * MAX_PROBES
    assert is_found(scheme, signature, longer)
    assert is_found(scheme, longer, signature)


def one_half(count: int) -> str:
    """Return letters of eight classes only, so that all windows have one half of their vectors in common."""
    letters = [
        LETTERS[at] for at, class_of_letter in enumerate(slow_classes(general())) if class_of_letter >= CLASSES // 2
    ]
    return " ".join(random.Random(1).choices(letters, k=count))


@pytest.mark.parametrize("raw", ["茶" * 12_000, one_half(12_000)], ids=["one letter", "one half"])
def test_windows_that_all_match_are_compared_in_bounded_memory(raw: str) -> None:
    scheme = Pinyin()
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
