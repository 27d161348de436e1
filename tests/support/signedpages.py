"""Signed pages made of numbers, for the tests of the rules."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from crawler_dedup import SignedPage
from crawler_dedup.signedpage import PageKind, Trait
from crawler_dedup.signing.blocks import unpack_blocks
from crawler_dedup.signing.cover import LONG, CoverBlock, encode_cover, key_of_fact, keys_of_texts
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.signing.sketch import set_digest, sketch

SIMHASH = SimHash()
MAX_DISTANCE = 6
HASHES = np.random.default_rng(1).integers(0, 2**64, 1000, dtype=np.uint64)


def words(first: int, last: int) -> dict[str, Any]:
    """Return the fields of a page whose text has the different words number *first* to *last* - 1."""
    digest = set_digest(np.sort(HASHES[first:last]))
    return {"features": last - first, "sketch": sketch(HASHES[first:last]), "feature_digest": digest}


def links(*targets: int) -> dict[str, Any]:
    """Return the fields of a page with outlinks to *targets*."""
    packed = np.array(sorted(targets), dtype="<u4").tobytes()
    return {"link_count": len(targets), "link_digest": repr(sorted(targets)).encode(), "links": packed}


PAGE = SignedPage(
    key="kept",
    url="http://example.com/kept",
    scope="",
    title="How to steep leaves | Tea House",
    digest=b"a",
    chars=1000,
    link_chars=100,
    **words(0, 200),
    **links(1, 2, 3),
)


def kept(**fields: Any) -> SignedPage:
    page = msgspec.structs.replace(PAGE, **fields)
    return page if page.kind is PageKind.THIN else msgspec.structs.replace(page, cover=cover(page.blocks))


def new(**fields: Any) -> SignedPage:
    """Return a page that differs from the kept page only in its address and its bytes."""
    return kept(**{"key": "new", "url": "http://example.com/new", "digest": b"b", **fields})


def block(number: int, traits: int = 0, size: int = 60) -> bytes:
    """Return a packed block with the hash *number*, as pages keep it."""
    return number.to_bytes(4, "little") + bytes([traits, size // 4])


def cover(blocks: bytes) -> bytes:
    """Return packed *blocks* in the form by which texts are compared. A block of more than 60 letters has a text."""
    rows = unpack_blocks(blocks)
    texts = keys_of_texts([(HASHES[8 * row.hash :][:8].tobytes(), [str(row.hash)], 0) for row in rows])
    return encode_cover(
        [
            CoverBlock(
                text if row.size > LONG else key_of_fact(row.hash),
                row.traits | (Trait.LINKED if row.traits & Trait.ENTRY else 0),
                row.size,
            )
            for row, text in zip(rows, texts, strict=True)
        ],
        is_new=True,
    )


def thin(*blocks: bytes, **fields: Any) -> dict[str, Any]:
    """Return the fields of a page without main text that has *blocks* and names its own title."""
    nothing = {"features": 0, "sketch": b"", "feature_digest": b"", "chars": 0, "link_chars": 0}
    return {"kind": PageKind.THIN, **nothing, "named": 1, "blocks": b"".join(blocks), **fields}
