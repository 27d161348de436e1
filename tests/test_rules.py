from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from crawler_dedup import Config, SignedPage
from crawler_dedup.rules import ROWS, Pair, compare, decide
from crawler_dedup.sketch import sketch

LIMITS = Config(max_distance=6, min_features=20, min_resemblance=0.65, min_coverage=0.85)


def words(first: int, last: int) -> bytes:
    generator = np.random.default_rng(1)
    return sketch(np.sort(generator.integers(0, 2**64, 1000, dtype=np.uint64)[first:last]))


PAGE = SignedPage(
    key="k",
    url="http://example.com/",
    scope="",
    digest=b"a",
    chars=1000,
    features=200,
    sketch=words(0, 200),
    link_chars=100,
    link_digest=b"l",
)


def changed(**fields: Any) -> SignedPage:
    return msgspec.structs.replace(PAGE, digest=b"b", **fields)


def kept(**fields: Any) -> SignedPage:
    return msgspec.structs.replace(PAGE, **fields)


@pytest.mark.parametrize(
    ("new", "kept", "row", "duplicate"),
    [
        (changed(features=19), PAGE, "too little text", False),
        (PAGE, changed(features=19), "too little text", False),
        (PAGE, PAGE, "same bytes", True),
        (msgspec.structs.replace(PAGE, link_digest=b"m"), PAGE, "same bytes", False),
        (changed(signature=0b1111111), PAGE, "signatures far apart", False),
        (changed(link_chars=500, link_digest=b"m"), kept(link_chars=500), "lists with other links", False),
        (changed(link_chars=500), kept(link_chars=500), "alike", True),
        (changed(link_chars=499, link_digest=b"m"), kept(link_chars=500), "alike", True),
        (changed(sketch=words(500, 700)), PAGE, "other words", False),
        (changed(features=270, sketch=words(0, 270)), PAGE, "not covered", False),
        (changed(signature=0b111111, link_digest=b"m"), PAGE, "alike", True),
    ],
)
def test_the_first_row_that_speaks_decides(new: SignedPage, kept: SignedPage, row: str, duplicate: bool) -> None:
    assert decide(Pair(new, kept, LIMITS)) == (row, duplicate)


def test_every_row_has_its_own_name() -> None:
    assert len({name for name, _ in ROWS}) == len(ROWS)


def test_an_excerpt_is_covered_by_the_whole_but_not_the_whole_by_it() -> None:
    excerpt, whole = changed(features=145, sketch=words(0, 145)), PAGE
    match = compare(excerpt, whole, LIMITS)
    assert match is not None
    assert match.rule == "alike"
    assert match.coverage > match.resemblance
    assert compare(whole, excerpt, LIMITS) is None
