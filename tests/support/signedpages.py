"""Signed pages made of numbers, for the tests of the rules."""

from typing import Any

import msgspec
import numpy as np

from crawler_dedup import Config, SignedPage
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.schemes import SimHash

SIMHASH = SimHash()
CONFIG = Config(max_distance=6)


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
    features=200,
    **links(1, 2, 3),
)


def kept(**fields: Any) -> SignedPage:
    return msgspec.structs.replace(PAGE, **fields)


def new(**fields: Any) -> SignedPage:
    """Return a page that differs from the kept page only in its address and its bytes."""
    return kept(**{"key": "new", "url": "http://example.com/new", "digest": b"b", **fields})


def hash_of(number: int) -> int:
    """Return the hash of the block with *number*."""
    return 8 * number


def block(number: int, traits: int = 0, size: int = 60) -> bytes:
    """Return a packed block with a hash that is made of *number* alone: kept pages do not keep the last bits of hashes."""
    return hash_of(number).to_bytes(4, "little") + bytes([traits, size // 4])


def thin(*blocks: bytes, **fields: Any) -> dict[str, Any]:
    """Return the fields of a page without main text that has *blocks* and names its own title."""
    nothing = {"features": 0, "chars": 0, "link_chars": 0}
    return {"kind": PageKind.THIN, **nothing, "named": 1, "blocks": b"".join(blocks), **fields}
