"""The data that is kept of a page: made by signing, stored in the index, read by the rules."""

from __future__ import annotations

import hashlib
from enum import IntEnum, IntFlag
from typing import Annotated, NamedTuple

import msgspec

from crawler_dedup.urls import escape_surrogates, identifier_without_credentials, without_credentials

Count = Annotated[int, msgspec.Meta(ge=0)]

KEY_BYTES = 4
"""Length of each key under which a thin page is filed, in bytes."""
BLOCK_BYTES = 6
"""Length of each packed block of a page, in bytes."""
MAX_KEYS = 7
"""Maximum number of keys under which a thin page is filed: three of its title, and four of its blocks."""


class Trait(IntFlag):
    """Properties of a block besides its text."""

    ENTRY = 1
    """It is mainly a link, or several, without words beside them."""
    HEADING = 2
    NUMBER = 4
    """It has a digit."""
    NAME = 8
    """It only repeats the title, or parts of it."""
    MAIN = 16
    """It belongs to the main text."""
    HIDDEN = 32
    """It is not shown, or a part of it is not."""
    EMBEDDED = 64
    """It is not text, but a picture, a frame, an aside or the like, or data of a script beside a text."""
    LINKED = 128
    """It is a link as a whole, and leads to another page. If it is no entry: the same words join its links as in the lines
    beside it."""


class Signature(NamedTuple):
    """The signature of a text, as a scheme makes it.

    Attributes:
        number: 64 bits: the signature itself if it is that small, else the hash of *value*. Two texts with the same
            signature have the same number.
        value: what the scheme compares, if it does not fit 64 bits.
    """

    number: int
    value: bytes = b""


class PageKind(IntEnum):
    """The part of a page that is signed, and by which the page is compared."""

    TEXT = 0
    """The main text."""
    THIN = 1
    """Too little main text: the page's own blocks, and the title."""


class SignedPage(msgspec.Struct, frozen=True, array_like=True):
    """All that the index keeps of a page and the rules look at: a few hundred bytes.

    Attributes:
        key: identity of the page; for a kept page 24 hexadecimal digits
            (:func:`crawler_dedup.index.records.shorten_key`).
        url: its address, without user name and password.
        scope: the scope within which it is compared.
        title: at most 400 characters; normalised, its first 200 count.
        digest: BLAKE2b of the body, 8 bytes.
        size: bytes of the body.
        kind: the part of the page that the signature is made of.
        chars: size of the main text (:attr:`crawler_dedup.signing.maintext.MainBlocks.size`), in Latin letters
            (:func:`crawler_dedup.signing.features.size_in_letters`).
        signature: the number of the scheme's signature (:class:`Signature`); for a thin page a hash of title and blocks.
        value: the value of the scheme's signature; for a thin page the keys under which it is filed
            (:func:`crawler_dedup.signing.lookup.with_keys`).
        features: number of different features of the main text, stop words not counted; for a thin page 0.
        cover: of a kept page, its blocks in the form in which it is compared (:mod:`crawler_dedup.signing.cover`). Empty
            until the page is settled.
        link_count: number of different outlinks.
        link_chars: size of the text inside links, in Latin letters, without elements for navigation and footers.
        inner_link_chars: the part of *link_chars* that is in the element that holds the main text.
        link_digest: BLAKE2b of the set of outlinks, 8 bytes.
        links: 32 bits of each outlink (:attr:`crawler_dedup.signing.links.Links.packed`). Once the page is settled, they are
            kept only if a rule uses them.
        text: the main text in UTF-8, compressed with Zstandard, if ``Config.store_text`` is on.
        unsigned: why the page could not be signed, in a few words; ``""`` if it was.
        blocks: its blocks (:attr:`crawler_dedup.signing.blocks.PageBlocks.packed`). Empty once the page is settled, and
            counted for its site.
        named: a bit for each part of the title, whether it is also in a heading or the main text; the lowest for the first
            part in alphabetical order.
        links_followed: whether a crawl follows its links even if it is dropped, so that other links make no other page. Not
            stored.

    >>> with Deduplicator.open("index") as deduplicator:
    ...     page = deduplicator.sign("https://example.com/", b"<title>Rain</title><p>It rains again.")
    >>> page.title, page.size, page.unsigned
    ('Rain', 37, 'too little text')
    """

    key: str
    url: str
    scope: str
    title: str = ""
    digest: bytes = b""
    size: Count = 0
    kind: PageKind = PageKind.TEXT
    chars: Count = 0
    signature: int = 0
    value: bytes = b""
    features: Count = 0
    cover: bytes = b""
    link_count: Count = 0
    link_chars: Count = 0
    inner_link_chars: Count = 0
    link_digest: bytes = b""
    links: bytes = b""
    text: bytes = b""
    unsigned: str = ""
    blocks: bytes = b""
    named: Count = 0
    links_followed: bool = False

    @property
    def signed(self) -> Signature:
        """The signature as its scheme made it."""
        return Signature(self.signature, self.value)


def identify_page(url: str, *, key: str | None, scope: str, size: int, links_followed: bool) -> SignedPage:
    """Return a page that is not signed yet, without the user names and passwords in its address, key and scope.

    Args:
        key: identity of the page; ``None``: its address.
        size: bytes of the body.
    """
    url = escape_surrogates(without_credentials(url))
    return SignedPage(
        key=identifier_without_credentials(key) if key else url,
        url=url,
        scope=identifier_without_credentials(scope),
        size=size,
        links_followed=links_followed,
    )


def digest_of(content: bytes) -> bytes:
    """Return the BLAKE2b digest of *content*, 8 bytes."""
    return hashlib.blake2b(content, digest_size=8).digest()


def is_well_formed(page: SignedPage) -> bool:
    """Return whether the parts of a page that was read from disk have possible lengths."""
    if page.kind is not PageKind.TEXT and (len(page.value) % KEY_BYTES or len(page.value) > MAX_KEYS * KEY_BYTES):
        return False
    are_lists = len(page.links) % 4 == 0 and len(page.blocks) % BLOCK_BYTES == 0 and len(page.cover) % 4 == 0
    return are_lists and 0 <= page.signature < 1 << 64
