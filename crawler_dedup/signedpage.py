"""The data that is kept of a page: made by signing, stored in the index, read by the rules."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Annotated, NamedTuple

import msgspec

from crawler_dedup.urls import identifier_without_credentials, without_credentials

Count = Annotated[int, msgspec.Meta(ge=0)]

KEY_BYTES = 8
"""Length of each key under which a thin page is filed, in bytes."""
COVER_IS_NEW = 0x8000
"""Bit in the number of the packed blocks of a text: the names that a kept block must have follow."""
COVER_SET_END = 0x80
"""Bit in the byte of a member of a set: it is the last one."""
LONGEST_FACT = 15
"""Code of the size of the longest block of a text that is a fact (:mod:`crawler_dedup.signing.cover`)."""
_SIZES_OF_FACTS, _NO_ENDS = bytes(range(LONGEST_FACT + 1)), bytes(range(COVER_SET_END))
BLOCK_BYTES = 6
"""Length of each packed block of a page, in bytes."""
MAX_KEYS = 7
"""Maximum number of keys under which a thin page is filed: three of its title, and four of its blocks."""


class Trait(IntFlag):
    """Properties of a block besides its text."""

    ENTRY = 1
    """It is mainly a link."""
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
    """It is not text, but a picture, a frame, a button or the like, or data of a script beside a text."""
    LINKED = 128
    """It is a link as a whole. Only blocks of a cover have this trait."""


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
        key: identity of the page; for a kept page 40 hexadecimal digits
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
        features: number of different features of the main text, stop words not counted; for a thin page 0, and the next two
            are empty.
        sketch: sketch of these features (:mod:`crawler_dedup.signing.sketch`).
        feature_digest: BLAKE2b of the set of features, 8 bytes.
        cover: its blocks in the form by which text pages are compared (:mod:`crawler_dedup.signing.cover`). Once the page is
            settled, without those that its site has on many pages. Empty for a thin page.
        link_count: number of different outlinks.
        link_chars: size of the text inside links, in Latin letters, without elements for navigation and footers.
        inner_link_chars: the part of *link_chars* that is in the element that holds the main text.
        link_digest: BLAKE2b of the set of outlinks, 8 bytes.
        links: 32 bits of each outlink (:attr:`crawler_dedup.signing.links.Links.packed`). Once the page is settled, they are
            kept only if a rule uses them.
        text: the main text in UTF-8, compressed with Zstandard, if ``Config.store_text`` is on.
        unsigned: why the page could not be signed, in a few words; ``""`` if it was.
        blocks: its blocks of text (:attr:`crawler_dedup.signing.blocks.PageBlocks.packed`). Once the page is settled, and
            counted for its site, they are kept only if a rule uses them.
        heading: 32 bits of the main text's ``<h1>``, if that has nothing in common with the title, else 0
            (:attr:`crawler_dedup.signing.blocks.PageBlocks.heading`).
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
    sketch: bytes = b""
    feature_digest: bytes = b""
    cover: bytes = b""
    link_count: Count = 0
    link_chars: Count = 0
    inner_link_chars: Count = 0
    link_digest: bytes = b""
    links: bytes = b""
    text: bytes = b""
    unsigned: str = ""
    blocks: bytes = b""
    heading: Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)] = 0
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
        key=clean_identifier(key) if key else url,
        url=url,
        scope=clean_identifier(scope),
        size=size,
        links_followed=links_followed,
    )


def clean_identifier(identifier: str) -> str:
    """Return the key of a page, or a scope, without user names and passwords, so that it can be stored."""
    return escape_surrogates(identifier_without_credentials(identifier))


def escape_surrogates(text: str) -> str:
    """Return *text* with its lone surrogates written as escapes: UTF-8 cannot encode them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def is_well_formed(page: SignedPage) -> bool:
    """Return whether the parts of a page that was read from disk have possible lengths."""
    are_lists = len(page.links) % 4 == 0 and len(page.blocks) % BLOCK_BYTES == 0
    is_cover = not page.cover or split_cover(page.cover) is not None
    are_keys = page.kind is PageKind.TEXT or (
        len(page.value) % KEY_BYTES == 0 and len(page.value) <= MAX_KEYS * KEY_BYTES
    )
    return _is_sketch(page.sketch) and are_lists and is_cover and are_keys and 0 <= page.signature < 1 << 64


_COVERS = 64  # the cover of a page is split when it is read, compared, trimmed and written


class CoverParts(NamedTuple):
    """The packed blocks of a text, by column (:mod:`crawler_dedup.signing.cover`).

    Attributes:
        is_new: whether all traits, and the names that a kept block must have, are there.
        sizes: a byte for each block.
        traits: a byte for each block, or a bit.
        facts: 2 bytes for each short block.
        sketches: 3 bytes for each longer block.
        flags: a bit for each set: whether it has members.
        members: the members of the sets that have any, a byte each.
    """

    is_new: bool
    sizes: bytes
    traits: bytes
    facts: bytes
    sketches: bytes
    flags: bytes
    members: bytes


def is_new_cover(content: bytes) -> bool:
    """Return whether packed blocks of a text are those of a page that may be compared as the new one."""
    return bool(int.from_bytes(content[:2], "little") & COVER_IS_NEW)


@lru_cache(maxsize=_COVERS)
def split_cover(content: bytes) -> CoverParts | None:
    """Return the parts of the packed blocks of a text; ``None`` if *content* has a length that it cannot have."""
    is_new, count = is_new_cover(content), int.from_bytes(content[:2], "little") & ~COVER_IS_NEW
    texts = len(content[2 : 2 + count].translate(None, _SIZES_OF_FACTS))
    lengths = (
        count,
        count if is_new else -(-count // 8),
        2 * (count - texts),
        3 * texts,
        -(-(2 + is_new) * texts // 8),
    )
    ends = [*accumulate(lengths, initial=2)]
    sizes, traits, facts, sketches, flags = [content[start:end] for start, end in pairwise(ends)]
    parts = CoverParts(is_new, sizes, traits, facts, sketches, flags, members=content[ends[-1] :])
    is_ended = parts.members[-1:] >= bytes([COVER_SET_END]) or not parts.members
    sets = int.from_bytes(parts.flags, "big").bit_count()
    is_whole = len(content) >= ends[-1] and is_ended and len(parts.members.translate(None, _NO_ENDS)) == sets
    return parts if is_whole else None


def _is_sketch(content: bytes) -> bool:
    return len(content) == 64 or (len(content) <= 192 and len(content) % 3 == 0)
