"""Every scheme against a slow reference written from its description, bit by bit where it has bits."""

from __future__ import annotations

import math
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest, xxh3_128_digest

from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.features import normalise, split_units, tokenise, weigh_tokens
from crawler_dedup.signing.lexicon import Lexicon, general
from crawler_dedup.signing.schemes import Agreement, ValueScheme, scheme_of
from crawler_dedup.signing.schemes.checksums import Checksums
from crawler_dedup.signing.schemes.ddw import DDW
from crawler_dedup.signing.schemes.imatch import IMatch
from crawler_dedup.signing.schemes.minhash import BINS, MinHash, one_permutation
from crawler_dedup.signing.schemes.sentences import Sentences
from crawler_dedup.signing.schemes.shingling import Shingling
from crawler_dedup.signing.schemes.simhash import simhash
from crawler_dedup.signing.tables import stop_words
from crawler_dedup.signing.text import Text
from crawler_dedup.spiders.demo_site import DEMO_TEXTS
from tests.support.examples import examples
from tests.support.prose import ODD, SAMPLES, prose, text_of
from tests.support.reference import hash_of, slow_shingles
from tests.support.reference import slow_mixed as mix
from tests.support.shares import near, shares_of

_MASK = (1 << 64) - 1
Numbers = NDArray[np.uint64]
Signed = tuple[bytes, Iterable[int]]
"""A value and its keys."""

VOCABULARY = "tram depot the honey lime roof bee lantern 茶馆 开门 老 船夫 茶館 た ชา don't 3 3.5".split()
TEXTS = st.lists(st.sampled_from([*VOCABULARY, ". ", "。", "\n", ", ", "！"]), max_size=60).map(" ".join) | st.text(
    st.sampled_from("ab1 茶馆館。．｡.!？\n\t_é\u0301…"), max_size=120
)
"""Texts of few words, with repetitions in each text and between texts."""


def array(numbers: Iterable[int]) -> Numbers:
    return np.array(sorted(numbers), dtype=np.uint64)


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


# Golden values: if one changes, the behaviour changes, and signing.BEHAVIOUR must rise

GOLDEN_TEXTS = ("\n".join(DEMO_TEXTS.english[0].paragraphs), "\n".join(DEMO_TEXTS.chinese[0].paragraphs))
GOLDEN = {
    "simhash": "a10293fb3dd3ed7c c4f838a3fefb2e2d 841a997177f7cbd2 a082c2fe9d901a46 733b18fcb6bdab7e",
    "exact": "c30bee7b561a2002 7cb20eb3ec110df3 f6fcf81be0dfad11 e168d71f9e1ef73b def80168e46e9ac2",
    "shingling": "2df50f1b07230708 7b46b7e8af930247 0d44ab1bb56c0bab 77fa127fb2eedee6 5eca6d33ed258ef2",
    "minhash": "8f228f642f6b6dfc b6272a15e824f879 b5d62fa7f6938fcf 464786e4a0ec998e fc14686474a0f420",
    "checksums": "7753b8045a12ae16 a130948309fb4343 34566eab6a941b21 cf6195064993a909 92f9abde62d4bb1c",
    "imatch": "760ce95664b479bd 6a3fe6de7d0fd017 6abe693e87f8a7b9 64ee58f264fd520c ddc1c96b42c3944f",
    "ddw": "2238060d3574e2ab b0abd0308fe0cd21 7041265c22de8631 24cdd6cbe2e936a5 54a793737dfcdb73",
    "sentences": "a7e2f15c86f31460 b1b08d274d63780f 20980c35ab2dd5c1 7cab9d69a5bd31af e63bc0e8720ef492",
    "pinyin": "d52863b1f532f534 332aafd99b12d15b 973e722f05d3c03b ec9fe0ee35e3f0ae d8b08a522b8b0bd0",
    "winnowing": "8004221ce409a3cc c96d5e174452961a cffebab3fb3ac8ef 0e7bbebdf3ad18ec 541c30b40a540e5a",
    "shingling lookup=minima": "41855c51170fa263 1d9562d3cb4f2d6a 7183157df9f67682 8d6c9708642ab1eb a88abfaa56ff4b76",
    "shingling lookup=mod": "8d6282e67485f7e8 23b7c68a68db8ac5 7ec8a615de99c27f 8c3d008e180e5bfc c84c681c7a3df340",
    "sentences unit=stops": "ed85d2a665a0cac8 ff2506c190516956 8f19baf561c9b2b0 2743f55e1a491650 a26f6c5e7f50ec17",
    "minhash rows=4": "052f234372a6f59c cba9fc5a155d28e7 f5a66f2b620337ca ba9b3aa3cebd7d57 ab8a09df16f59b11",
    "imatch lexica=0": "02d1e612bed0949f 62a78e3894a8ca2f b1dddd3d3d1ef5fb 9d1297329642023b 04d02be229d47a82",
}


def summary(spec: str, raw: str) -> str:
    """Return the number of a text's signature, and a hash of its keys and probes."""
    scheme = scheme_of(spec)
    signature = scheme.sign(text_of(raw))
    numbers = [*scheme.keys(signature), *scheme.probes(signature)]
    return f"{signature.number:016x} {xxh3_64_hexdigest(b''.join(number.to_bytes(8, 'little') for number in numbers))}"


@pytest.mark.parametrize("spec", GOLDEN)
def test_values_and_keys_are_the_golden_ones(spec: str) -> None:
    """Each run of the tests has another order of sets and dictionaries of strings, too."""
    summaries = [summary(spec, raw) for raw in GOLDEN_TEXTS]
    odd = xxh3_64_hexdigest("".join(summary(spec, raw) for raw in ODD.values()).encode())
    assert " ".join([*summaries, odd]) == GOLDEN[spec]


SIMHASHES = {
    "": 0,
    "lighthouse": 0xC518DB3D6562186A,
    "honey honey from the tram depot tastes of lime": 0x4ED223524C61CC34,
    "老茶馆又开门了 tea": 0x597B71CFA0511672,
}


def test_short_texts_have_the_golden_simhashes() -> None:
    numbers = {raw: Signature(number) for raw, number in SIMHASHES.items()}
    assert {raw: scheme_of("simhash").sign(text_of(raw)) for raw in SIMHASHES} == numbers


def slow_simhash(tokens: list[str]) -> int:
    """Compute Charikar's construction bit by bit with integers."""
    signature, counts = 0, Counter(tokens)
    for bit in range(64):
        total = 0
        for token, count in counts.items():
            weight = round(math.sqrt(count * math.sqrt(count)) * (32 if token in stop_words() else 64))
            total += weight if hash_of(token) >> bit & 1 else -weight
        signature |= (total > 0) << bit
    return signature


WORDS = st.sampled_from(["tram", "depot", "the", "honey", "lime", "roof", "茶馆", "bee", "track"])


@given(st.lists(WORDS, max_size=200), st.integers(1, 9))
def test_simhashes_equal_those_of_a_slow_reference(tokens: list[str], features_at_a_time: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crawler_dedup.signing.schemes.simhash._SLICE", features_at_a_time)
        assert simhash(weigh_tokens(tokens)) == slow_simhash(tokens)


# Values and keys


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


def slow_rows(threshold: float) -> int:
    """Return the most rows with which 95 of 100 pairs at the threshold are found."""
    most_rows = 1
    for rows in range(1, BINS + 1):
        if 1 - (1 - threshold**rows) ** (BINS // rows) >= 0.95:
            most_rows = rows
    return most_rows


def slow_exact(_: object, text: Text) -> Signed:
    value = xxh3_128_digest(b"".join(hash_of(unit).to_bytes(8, "little") for unit in text.units))
    return value, [int.from_bytes(value[:8], "little")]


def slow_minhash(scheme: MinHash, text: Text) -> Signed:
    runs, rows = slow_shingles(text.units, scheme.shingle), scheme.rows or slow_rows(scheme.threshold)
    if not runs:
        return b"", []
    minima = slow_one_permutation(runs)
    bands = []
    for band in range(BINS // rows):
        hashed = 0
        for minimum in minima[band * rows : (band + 1) * rows]:
            hashed = mix(hashed ^ minimum)
        bands.append(hashed & 0xFFFFFFFF)
    value = struct.pack(f"<I{len(bands)}I", len(runs), *bands) + bytes(minimum & 0xFF for minimum in minima)
    return value, [number << 32 | band for number, band in enumerate(bands)]


_SEEDS = [mix(number) for number in range(1, 169)]
_PERMUTATIONS = [(factor | 1, term) for factor, term in zip(_SEEDS[:84], _SEEDS[84:], strict=True)]


def slow_shingling(scheme: Shingling, text: Text) -> Signed:
    hashes, lookup = slow_shingles(text.units, scheme.shingle), scheme.lookup
    if scheme.needs_lexicon:
        hashes -= set(COMMON)
    if not hashes:
        return b"", []
    least = [min(number * factor + term & _MASK for number in hashes) for factor, term in _PERMUTATIONS]
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


def slow_checksums(scheme: Checksums, text: Text) -> Signed:
    """Divide the words by their mixed hashes, and return a mixed sum of 32 bits for each list."""
    words, sums = set(text.tokens) - stop_words(), [0] * scheme.lists
    if not words:
        return b"", []
    for word in words:
        spread = mix(hash_of(word))
        sums[spread % scheme.lists] += mix(spread)
    checksums = [mix(list_sum & _MASK) >> 32 for list_sum in sums]
    keys = [at << 32 | checksum for at, checksum in enumerate(checksums) if checksum]
    return struct.pack(f"<{len(sums)}I", *checksums), keys


COUNTS = {"tram": 1, "depot": 3, "the": 990, "honey": 31, "lime": 250, "roof": 32, "bee": 5, "茶馆": 8, "老": 251}
"""Documents of 1,000 that have each word. The lexicon lacks the other words of :data:`VOCABULARY`."""
COMMON = sorted(slow_shingles(text_of(SAMPLES["English"]).units, 5))[::3]
"""Shingles that the lexicon calls frequent."""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a lexicon of few words, as the option ``lexicon`` names it."""
    words = sorted(COUNTS, key=hash_of)
    path = tmp_path_factory.mktemp("lexicon") / "small"
    counts = np.array([COUNTS[word] for word in words], dtype=np.uint32)
    Lexicon(1_000, array(map(hash_of, words)), counts, array(COMMON), np.zeros(26, dtype=np.uint64)).write(path)
    return str(path)


def rarity_of(scheme: IMatch | DDW, text: Text) -> dict[str, float]:
    """Return the rarity of each word that the lexicon has."""
    words = set(text.tokens)
    if scheme.lexicon == "general":
        rarities = {word: float(general().rarity(array([hash_of(word)]))[0]) for word in words}
        return {word: rarity for word, rarity in rarities.items() if not math.isnan(rarity)}
    known = {word: round(1000 * (1 - math.log(count, 1_000))) / 1000 for word, count in COUNTS.items()}
    return {word: known[word] for word in words if word in known}


def slow_imatch(scheme: IMatch, text: Text) -> Signed:
    """Return a digest of the words inside the band, and of those that each lexicon leaves."""
    rarities = rarity_of(scheme, text).items()
    hashes_in_band = [hash_of(word) for word, rarity in rarities if scheme.low <= rarity <= scheme.high]
    digests = []
    for number in range(scheme.lexica + 1):
        seeded = [mix(word_hash ^ number) for word_hash in hashes_in_band]
        kept = [digest for digest in seeded if not number or mix(digest) >= int(scheme.drop * 2**64)]
        digests.append(mix(sum(kept) & _MASK) if len(kept) >= scheme.words else 0)
    return struct.pack(f"<{len(digests)}Q", *digests) if any(digests) else b"", [digest for digest in digests if digest]


_UNKNOWN = 0.5
"""Rarity of what the lexicon lacks."""


def slow_ddw(scheme: DDW, text: Text) -> Signed:
    """Return the heaviest words by tf-idf, each with its share of a vector of length 1; the rarest first."""
    rarity = rarity_of(scheme, text)
    counts = Counter(word for word in text.tokens if word not in stop_words())
    size = len(counts)
    for word in set(tokenise(text.plain[: scheme.lead], text.cut_han)):
        counts[word] += word in counts
    weights = {word: count * rarity.get(word, _UNKNOWN) for word, count in (+counts).items()}
    heaviest = sorted(weights, key=lambda word: (-weights[word], hash_of(word)))[: scheme.terms]
    ordered = sorted(heaviest, key=lambda word: (-rarity.get(word, _UNKNOWN), hash_of(word)))
    length = math.sqrt(math.fsum(weights[word] ** 2 for word in ordered))
    if not length:
        return b"", []
    vector = [(hash_of(word) >> 32, weights[word] / length) for word in ordered]
    value = struct.pack("<I", size) + b"".join(struct.pack("<IH", term, round(60_000 * part)) for term, part in vector)
    left = [math.sqrt(sum(part**2 for _, part in vector[at:])) for at in range(len(vector))]
    # Weights are rounded when they are stored: the end of the prefix may be off by one term.
    for slack in (-1e-4, 1e-6, 1e-4):
        keys = sorted({term for (term, _), norm in zip(vector, left, strict=True) if norm >= scheme.threshold - slack})
        if keys == list(scheme.keys(scheme.sign(text))):
            break
    return value, keys


def split_at(raw: str, ends: str) -> list[str]:
    """Split at *ends*, and at each full stop before white space."""
    parts = [""]
    for character, following in zip(raw, [*raw[1:], " "], strict=False):
        if character in ends or (character == "." and following.isspace()):
            parts.append("")
        else:
            parts[-1] += character
    return parts


def slow_longest(text: Text) -> list[int]:
    lengths = {}
    for line in split_at(text.raw, "。！？!?…\n"):
        cut_up = split_units(normalise(line))
        if len(cut_up) >= 6:
            lengths[hash_of(" ".join(cut_up))] = sum(map(len, cut_up))
    return sorted(lengths, key=lambda digest: (-lengths[digest], digest))


def slow_stops(text: Text) -> list[int]:
    plain = ["".join(filter(str.isalnum, normalise(line))) for line in split_at(text.raw, "。．｡")]
    around = {f"{before[-5:]}.{after[:5]}" for before, after in pairwise(plain)}
    return sorted(mix(hash_of(junction)) for junction in around if len(junction) == 11)


def slow_sentences(scheme: Sentences, text: Text) -> Signed:
    chosen = slow_longest(text) if scheme.unit == "longest" else slow_stops(text)
    digests = sorted(chosen[: scheme.most])
    return struct.pack(f"<I{len(digests)}Q", len(text.units), *digests) if digests else b"", digests


_SLOW: dict[str, Any] = {
    "exact": slow_exact,
    "minhash": slow_minhash,
    "shingling": slow_shingling,
    "checksums": slow_checksums,
    "imatch": slow_imatch,
    "ddw": slow_ddw,
    "sentences": slow_sentences,
}


def expect(spec: str, text: Text, lexicon: str = "general") -> None:
    """Compare a signature, its number and its keys with those of the slow reference."""
    uses_lexicon = spec.startswith(("shingling", "imatch", "ddw")) and lexicon != "general"
    scheme = scheme_of(f"{spec} lexicon={lexicon}" if uses_lexicon else spec)
    signature = scheme.sign(text)
    reference = cast("Callable[[object, Text], Signed]", _SLOW[scheme.name])
    value, keys = reference(scheme, text)
    assert signature.value == value
    unit_hashes = b"".join(hash_of(unit).to_bytes(8, "little") for unit in text.units)
    assert signature.number == xxh3_64_intdigest(value or unit_hashes)
    assert list(scheme.keys(signature)) == (sorted(set(keys)) if value else [signature.number])


SPECS = [
    "exact",
    *[f"minhash shingle={width} rows={rows}" for width, rows in ((1, 1), (2, 0), (3, 3), (5, 100), (2, 128))],
    *[f"shingling shingle=5 lookup={lookup}" for lookup in ("supershingles", "minima", "mod")],
    *[f"checksums lists={lists}" for lists in (2, 3, 16, 64)],
    *[
        f"imatch low=0.2 high=0.84 lexica={lexica} drop={drop} words=2"
        for lexica, drop in ((0, 0), (5, 0.3), (3, 0.95))
    ],
    *[f"imatch low={low} high={high} words=1 lexica=0" for low, high in ((0.201, 0.498), (0.202, 0.497))],
    *[f"ddw terms={terms} lead={lead}" for terms, lead in ((1, 0), (3, 5), (20, 100))],
    *[f"ddw threshold={threshold}" for threshold in (0.1, 0.5, 1)],
    *[f"sentences unit={unit} most={most}" for unit in ("longest", "stops") for most in (1, 3, 10)],
]


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=examples(30))
@given(raw=TEXTS)
def test_every_text_has_the_value_and_the_keys_of_a_slow_reference(small: str, spec: str, raw: str) -> None:
    expect(spec, text_of(raw), small)


@pytest.mark.parametrize("spec", [*_SLOW, "shingling lookup=minima", "shingling lookup=mod", "sentences unit=stops"])
def test_real_and_odd_texts_have_the_values_and_the_keys_of_a_slow_reference(spec: str) -> None:
    for raw in {**SAMPLES, **ODD}.values():
        if len(raw) < 50_000:
            expect(spec, text_of(raw))


def test_at_most_400_fingerprints_of_a_long_text_are_kept_and_common_ones_left_out(small: str) -> None:
    text = text_of(prose(0, 1_100))
    expect("shingling", text)
    assert len(scheme_of("shingling").sign(text).value) == 8 + 6 * 4 + 5 * (64 + 400)
    expect("shingling", text_of(SAMPLES["English"]), small)


# Min-wise numbers


@pytest.mark.parametrize("size", [1, 2, 3, 40, 1_000, 1_024, 1_025, 3_000])
@pytest.mark.parametrize("bins", [1, 16, 128, 256])
def test_min_wise_numbers_equal_those_of_a_slow_reference(size: int, bins: int) -> None:
    hashes = members(size, size)
    assert one_permutation(array(hashes), bins).tolist() == slow_one_permutation(hashes, bins)


@pytest.mark.parametrize("threshold", [0.05, 0.1, 0.3, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99, 1.0])
def test_a_band_has_the_most_rows_that_find_95_of_100_pairs(threshold: float) -> None:
    assert MinHash(threshold=threshold).band_rows == slow_rows(threshold)


def slow_containment(resemblance: float, size: int, other_size: int) -> float:
    """Compute |A∩B| / |A| by |A∩B| = R/(1+R) · (|A|+|B|), limited by the size of each set."""
    common = resemblance * (size + other_size) / (1 + resemblance)
    return min(common, size, other_size) / size


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


# Shingling


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


@pytest.mark.parametrize("union", [3, 40, 64, 100, 900, 2_000, 11_000])
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
        (MinHash(), 0.7, 0.95, 1),
        (MinHash(), 0.3, 0, 0.2),
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


# Agreement


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
    lists = list(zip(*(struct.unpack("<16I", page.value) for page in (new, kept)), strict=True))
    used, agreeing = (
        sum(pair != (0, 0) for pair in lists),
        sum(our_checksum == their_checksum != 0 for our_checksum, their_checksum in lists),
    )
    agreed = scheme.agree(new.value, kept.value)
    assert agreed == (Agreement() if agreeing >= max(1, least * used) else None)
    assert is_found(scheme, new, kept) or not agreed


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


@given(VECTORS, VECTORS, st.sampled_from([0.01, 0.1, 0.5]), st.sampled_from([1, 99, 125, 126]))
def test_ddw_agrees_by_the_cosine_unless_the_new_text_has_many_more_words(
    our_vector: dict[int, int], their_vector: dict[int, int], threshold: float, size: int
) -> None:
    between = cosine(our_vector, their_vector)
    if abs(between - threshold) < 1e-5:
        return
    agreement = DDW(threshold=threshold).agree(packed(our_vector, size), packed(their_vector, 100))
    assert (agreement is not None) == (between >= threshold and size <= 125)
    if agreement is not None:
        length = sum(weight**2 for weight in our_vector.values())
        covered = sum(weight**2 for term, weight in our_vector.items() if term in their_vector) / length
        assert shares_of(agreement) == near(min(between, 1), covered)


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
