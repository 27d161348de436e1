"""Values, keys and agreement of every scheme: golden values, and what the descriptions of the schemes promise."""

import dataclasses
import math
import random
import struct
from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from xxhash import xxh3_64_hexdigest

from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.lexicon import Lexicon
from crawler_dedup.signing.schemes import Agreement, ValueScheme, scheme_of
from crawler_dedup.signing.schemes.ddw import DDW
from crawler_dedup.signing.schemes.minhash import BINS, MinHash
from crawler_dedup.signing.schemes.scheme import containment
from crawler_dedup.signing.schemes.sentences import Sentences
from crawler_dedup.signing.schemes.shingling import Shingling
from crawler_dedup.signing.schemes.simhash import simhash
from crawler_dedup.spiders.demo import DEMO_TEXTS
from tests.support.cases import read_cases
from tests.support.chinese import chinese
from tests.support.examples import examples
from tests.support.prose import ODD, SAMPLES, prose, sentences, text_of
from tests.support.reference import hash_of, slow_shingles

Numbers = NDArray[np.uint64]

VOCABULARY = "tram depot the honey lime roof bee lantern 茶馆 开门 老 船夫 茶館 た ชา don't 3 3.5".split()


def array(numbers: Iterable[int]) -> Numbers:
    return np.array(sorted(numbers), dtype=np.uint64)


def pair_of_sets(union: int, common: int, seed: int) -> tuple[Numbers, Numbers]:
    """Return two random sets with these numbers of members in their union and in common."""
    members = np.frombuffer(random.Random(f"{union} {common} {seed}").randbytes(8 * union), dtype="<u8").tolist()
    border = (union + common) // 2
    return array(members[:border]), array(members[:common] + members[border:])


# Golden values

GOLDEN = read_cases(__file__, "golden")
GOLDEN_TEXTS = ("\n".join(DEMO_TEXTS.english[0].paragraphs), "\n".join(DEMO_TEXTS.chinese[0].paragraphs))


def summary(spec: str, raw: str) -> str:
    """Return the number of a text's signature, and a hash of its keys and probes."""
    scheme = scheme_of(spec)
    signature = scheme.sign(text_of(raw, raw[:30]))
    numbers = [*scheme.keys(signature), *scheme.probes(signature)]
    return f"{signature.number:016x} {xxh3_64_hexdigest(b''.join(number.to_bytes(8, 'little') for number in numbers))}"


def test_values_and_keys_are_the_golden_ones() -> None:
    """Each run of the tests has another order of sets and dictionaries of strings, too."""
    for spec, expected in GOLDEN["keys"].items():
        summaries = [summary(spec, raw) for raw in GOLDEN_TEXTS]
        odd = xxh3_64_hexdigest("".join(summary(spec, raw) for raw in ODD.values()).encode())
        assert " ".join([*summaries, odd]) == expected


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
    letters = np.array([at * 37 % 11 for at in range(26)], dtype=np.uint64)
    Lexicon(1_000, array(map(hash_of, words)), counts, array(COMMON), letters).write(path)
    return str(path)


def with_lexicon(spec: str, path: str) -> str:
    return f"{spec} lexicon={path}" if spec.startswith(("shingling", "imatch", "ddw", "pinyin")) else spec


def drawn_text(number: int) -> str:
    """Return a text of few words, with repetitions in it and in other texts."""
    source = random.Random(number)
    return " ".join(source.choices([*VOCABULARY, ". ", "。", "\n", ", ", "！"], k=source.randrange(60)))


def test_values_and_keys_with_options_are_the_golden_ones(small: str) -> None:
    texts = [*map(drawn_text, range(60)), *SAMPLES.values(), prose(0, 1_100), chinese(0, 300)]
    for spec, expected in GOLDEN["options"].items():
        summaries = "".join(summary(with_lexicon(spec, small), raw) for raw in texts)
        assert xxh3_64_hexdigest(summaries.encode()) == expected


def test_a_simhash_does_not_depend_on_the_slices_in_which_features_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simhash(text_of(SAMPLES["both"]).features)
    for features_at_a_time in (1, 7, 100):
        monkeypatch.setattr("crawler_dedup.signing.schemes.simhash._SLICE", features_at_a_time)
        assert simhash(text_of(SAMPLES["both"]).features) == whole


def test_a_band_has_the_most_rows_that_find_95_of_100_pairs() -> None:
    for threshold in (0.05, 0.1, 0.3, 0.5, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95, 1):
        most = max(rows for rows in range(1, BINS + 1) if 1 - (1 - threshold**rows) ** (BINS // rows) >= 0.95)
        assert MinHash(threshold=threshold).band_rows == most


# Look-ups


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
def test_pairs_are_found_as_predicted(scheme: Shingling | MinHash, true: float, least: float, most: float) -> None:
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


EXACT = ("checksums", "ddw", "sentences")
"""Schemes whose look-up finds every text that agrees."""


def revised(chinese: bool) -> list[str]:
    """Return a text, and texts that lack some of its sentences or have others."""
    lines, others = sentences(0, 40, chinese=chinese), sentences(1, 25, chinese=chinese)
    return ["".join(lines[left_out:] + others[:added]) for left_out in range(0, 40, 8) for added in (0, 2, 10, 25)]


def test_texts_agree_by_the_golden_shares_and_are_found(small: str) -> None:
    groups = [revised(False), revised(True), [*map(drawn_text, range(20))], [prose(0, count) for count in (900, 1_100)]]
    digests = {}
    for spec in GOLDEN["agreements"]:
        scheme, said = scheme_of(with_lexicon(spec, small)), ""
        for signatures in ([scheme.sign(text_of(raw)) for raw in group] for group in groups):
            for new, kept in product(signatures, repeat=2):
                agreement = scheme.compare(new, kept)
                said += f"{shown(agreement)} {shown(scheme.measure(new, kept))}\n"
                assert agreement is None or scheme.name not in EXACT or scheme.finds(new, kept)
        digests[spec] = xxh3_64_hexdigest(said.encode())
    assert digests == GOLDEN["agreements"]


def shown(agreement: Agreement | None) -> str:
    shares = () if agreement is None else dataclasses.astuple(agreement)
    return " ".join("-" if share is None else f"{share:.6f}" for share in shares)


VECTORS = st.dictionaries(st.integers(1, 30), st.integers(1, 60_000), min_size=1, max_size=20)
"""Weights by term; the number of a term determines its rarity."""


def packed(vector: dict[int, int], size: int = 20) -> bytes:
    return struct.pack("<I", size) + b"".join(struct.pack("<IH", *term) for term in sorted(vector.items()))


def cosine(new: dict[int, int], kept: dict[int, int]) -> float:
    lengths = [math.sqrt(sum(weight**2 for weight in vector.values())) for vector in (new, kept)]
    return sum(weight * kept.get(term, 0) for term, weight in new.items()) / math.prod(lengths)


@settings(max_examples=examples(400))
@given(VECTORS, st.data(), st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0]))
def test_vectors_with_a_large_cosine_are_found(first: dict[int, int], data: st.DataObject, threshold: float) -> None:
    second = {**first, **data.draw(VECTORS)} if data.draw(st.booleans()) else data.draw(VECTORS)
    scheme = DDW(threshold=threshold)
    new, kept = (Signature(at, packed(vector)) for at, vector in enumerate((first, second)))
    if cosine(first, second) >= threshold:
        assert is_found(scheme, new, kept)
        assert is_found(scheme, kept, new)


def test_the_order_of_sentences_has_no_effect_on_ddw_unless_a_place_counts() -> None:
    for paragraphs in (article.paragraphs for article in (DEMO_TEXTS.english[0], DEMO_TEXTS.chinese[0])):
        text, reversed_text = (text_of("\n".join(order)) for order in (paragraphs, paragraphs[::-1]))
        assert DDW().value(text) == DDW().value(reversed_text)
        assert DDW(lead=100).value(text) != DDW(lead=100).value(reversed_text)


def test_a_text_with_over_five_quarters_of_the_words_is_not_covered() -> None:
    def sentences_of(size: int) -> bytes:
        return struct.pack("<I", size) + array([1, 2, 3]).astype("<u8").tobytes()

    for size, is_covered in ((125, True), (126, False)):
        assert (DDW().agree(packed({1: 5, 2: 7}, size), packed({1: 5, 2: 7}, 100)) is not None) is is_covered
        assert (Sentences().agree(sentences_of(size), sentences_of(100)) is not None) is is_covered


# Containment


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300))
def test_containment_is_exact_where_resemblance_is(new_alone: int, kept_alone: int, common: int) -> None:
    size, kept_size, union = new_alone + common, kept_alone + common, new_alone + kept_alone + common
    if size:
        assert containment(common / union, size, kept_size) == pytest.approx(common / size)


@given(st.floats(0, 1), st.integers(1, 10**6), st.integers(0, 10**6))
def test_no_more_is_contained_than_either_set_has(estimate: float, size: int, kept_size: int) -> None:
    assert 0 <= containment(estimate, size, kept_size) <= min(size, kept_size) / size
    assert containment(estimate, 0, kept_size) == 1
