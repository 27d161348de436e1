"""Pairs that are ruled out in bulk are those that the rules tell apart, and never count as variants."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, SignedPage
from crawler_dedup.rules.bounds import Measures, may_be_covered
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.table import OTHER_LINKS, SAME_BYTES, decide
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.sketch import resemblance, resemblances, set_digest, sketch

SIGNER = Signer(Config(tokenizer="bigrams"))
SEEN: Counter[tuple[bool, str]] = Counter()


@st.composite
def texts(draw: st.DrawFn) -> SignedPage:
    """Return a page that has some of the same 300 features, mostly all but few."""
    least = draw(st.sampled_from([0, 0, 5, 30, 100]))
    most = draw(st.sampled_from([30, 64, 65, 200, 280, 299, 300]))
    hashes = np.random.default_rng(1).integers(0, 1 << 64, 300, dtype=np.uint64)
    members = np.sort(hashes[min(least, most - 1) : most])
    url = draw(st.sampled_from(["http://a/1", "http://a/2", "http://b/1", ""]))
    return SignedPage(
        url,
        url,
        "global",
        title=draw(st.sampled_from(["A story of the river"] * 4 + ["A story of the river | Site", "Another"])),
        digest=draw(st.sampled_from([b"%08d" % number for number in range(12)])),
        chars=draw(st.sampled_from([0, 1_000, 1_250, 1_251, 3_000])),
        signature=draw(st.sampled_from([0, 0, 1, 7, 0xFFFF])),
        features=len(members),
        sketch=sketch(members),
        feature_digest=set_digest(members),
        link_chars=draw(st.sampled_from([0, 4_000])),
        link_count=draw(st.sampled_from([0, 40])),
        link_digest=draw(st.sampled_from([b"", b"12345678"])),
        named=draw(st.sampled_from([0, 1])),
    )


@given(
    pages=st.lists(texts(), min_size=6, max_size=10),
    limits=st.sampled_from([Config(), Config(min_resemblance=0.9, min_coverage=0.5), Config(min_coverage=1.0)]),
)
def test_pairs_that_are_ruled_out_are_different_by_the_rules(pages: list[SignedPage], limits: Config) -> None:
    measures = Measures.of([msgspec.msgpack.encode(page) for page in pages])
    pairs = [(new, kept) for new in range(len(pages)) for kept in range(len(pages)) if new != kept]
    new, kept = (np.array(places) for places in zip(*pairs, strict=True))
    possible = may_be_covered(measures, new, kept, limits)
    for (place, kept_place), may_be in zip(pairs, possible.tolist(), strict=True):
        rule, covered = decide(Pair(pages[place], pages[kept_place], limits, SIGNER.scheme))
        SEEN[may_be, rule] += 1
        assert may_be or not (covered or rule in (SAME_BYTES, OTHER_LINKS))


def test_the_examples_contain_pairs_ruled_out_for_each_reason() -> None:
    if not SEEN:
        pytest.skip("runs behind the test that makes the examples")
    ruled_out = {rule for may_be, rule in SEEN if not may_be}
    assert {"signatures far apart", "not covered"} <= ruled_out
    assert SEEN[True, "alike"]


@given(pages=st.lists(texts().filter(lambda page: len(page.sketch) == 64), min_size=1, max_size=8))
def test_resemblances_of_many_pairs_equal_those_of_each_pair(pages: list[SignedPage]) -> None:
    bins = np.frombuffer(b"".join(page.sketch for page in pages), np.uint8).reshape(-1, 64)
    expected = [resemblance(pages[0].sketch, page.sketch) for page in pages]
    assert resemblances(np.repeat(bins[:1], len(bins), axis=0), bins).tolist() == expected


def test_damaged_pages_are_not_measured() -> None:
    with pytest.raises(msgspec.DecodeError):
        Measures.of([b"\x91\x01"])
    assert len(Measures.join([]).features) == 0
