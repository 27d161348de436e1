from __future__ import annotations

import math
import random
from collections import Counter

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.hamming import distance
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.features import weigh_tokens
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.signing.schemes.simhash import simhash
from crawler_dedup.signing.segmentation import han_cutter
from crawler_dedup.signing.tables import stop_words
from crawler_dedup.signing.text import Text

# Another signature for one of these texts is another behaviour: raise signing.BEHAVIOUR.
GOLDEN = {
    "": 0,
    "lighthouse": 0xC518DB3D6562186A,
    "honey honey from the tram depot tastes of lime": 0x4ED223524C61CC34,
    "老茶馆又开门了 tea": 0x597B71CFA0511672,
}


def reference(tokens: list[str]) -> int:
    """Compute Charikar's construction bit by bit with integers."""
    counts = Counter(tokens)
    signature = 0
    for bit in range(64):
        total = 0
        for token, count in counts.items():
            weight = round(math.sqrt(count * math.sqrt(count)) * (32 if token in stop_words() else 64))
            total += weight if xxhash.xxh3_64(token.encode()).intdigest() >> bit & 1 else -weight
        signature |= (total > 0) << bit
    return signature


def sign(text: str) -> int:
    signature = SimHash().sign(Text(text, han_cutter("bigrams")))
    assert signature == Signature(signature.number)
    return signature.number


@given(st.lists(st.sampled_from(["tram", "depot", "the", "honey", "lime", "roof", "茶馆", "bee", "track"])))
def test_signatures_equal_those_of_a_slow_reference(tokens: list[str]) -> None:
    assert simhash(weigh_tokens(tokens)) == reference(tokens)


@pytest.mark.parametrize("seed", range(5))
def test_signatures_of_long_texts_equal_those_of_a_slow_reference(seed: int) -> None:
    source = random.Random(seed)
    tokens = [f"word{int(source.paretovariate(0.7))}" for _ in range(3000)]
    assert simhash(weigh_tokens(tokens)) == reference(tokens)


@pytest.mark.parametrize(("text", "signature"), GOLDEN.items())
def test_signatures_are_the_golden_ones(text: str, signature: int) -> None:
    assert f"{sign(text):016x}" == f"{signature:016x}"


def test_a_small_edit_changes_few_bits_and_another_text_about_half_of_them() -> None:
    source = random.Random(7)
    vocabulary = [f"term{number}" for number in range(2000)]
    text, other_text = source.choices(vocabulary, k=600), source.choices(vocabulary[::-1], k=600)
    edited = [*text[:590], *source.choices(vocabulary, k=10)]
    assert distance(sign(" ".join(text)), sign(" ".join(edited))) <= 8
    assert distance(sign(" ".join(text)), sign(" ".join(other_text))) >= 15
