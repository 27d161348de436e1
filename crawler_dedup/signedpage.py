"""What is kept of a page: written by the signing wing, held by the index wing, read by the rules."""

from __future__ import annotations

import msgspec


class SignedPage(msgspec.Struct, frozen=True, array_like=True):
    """All that the index keeps of a page and the rules look at: a few hundred bytes.

    Attributes:
        key: identity of the page.
        url: its address.
        scope: what it is compared with.
        title: at most 200 characters.
        digest: BLAKE2b of the body, 8 bytes.
        size: bytes of the body.
        chars: characters of the main text.
        signature: 64 bits of the scheme.
        features: number of different features.
        sketch: of the features, 64 bytes.
        link_count: number of different outlinks.
        link_chars: characters of the text inside links.
        link_digest: BLAKE2b of the set of outlinks, 8 bytes.
        unsigned: why the page could not be signed, in a few words; ``""`` if it was.
    """

    key: str
    url: str
    scope: str
    title: str = ""
    digest: bytes = b""
    size: int = 0
    chars: int = 0
    signature: int = 0
    features: int = 0
    sketch: bytes = b""
    link_count: int = 0
    link_chars: int = 0
    link_digest: bytes = b""
    unsigned: str = ""
