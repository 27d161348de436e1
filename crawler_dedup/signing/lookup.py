"""Keys under which a page is filed and looked up: those of the scheme or, for a thin page, of title and largest blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest, xxh32_intdigest

from crawler_dedup.config import Config
from crawler_dedup.hashes import Numbers
from crawler_dedup.signedpage import PageKind, SignedPage, Trait
from crawler_dedup.signing.blocks import unpack_blocks
from crawler_dedup.signing.schemes import Scheme, scheme_of
from crawler_dedup.signing.titles import letters_of, split_title
from crawler_dedup.urls import site_of

_BLOCKS = 4
_CANDIDATES = 64
_THIN_BUCKET = 1_000  # pages under one title that are read
_REMEMBERED = 256  # pages whose parts are cached; the title of a hostile page takes 20 KB
_KEY = np.dtype("<u4")
_NO_KEY = int(Trait.NAME | Trait.EMBEDDED)


def named_parts(page: SignedPage) -> frozenset[str]:
    """Return the parts of the title that the page itself names (:attr:`SignedPage.named`).

    Parts that are in the name of the page's host are left out, unless the page names no other parts.
    """
    return _find_named_parts(page.title, page.named, site_of(page.url)) if page.named else frozenset()


@lru_cache(maxsize=_REMEMBERED)
def _find_named_parts(title: str, named_bits: int, site: str) -> frozenset[str]:
    named = [part for bit, part in enumerate(sorted(split_title(title))) if named_bits >> bit & 1]
    host = letters_of(site)
    return frozenset([part for part in named if part not in host] or named)


def title_key(page: SignedPage) -> int:
    """Return a 64-bit hash of the title's parts that the page itself names; 0 if there are none, and for a thin page.

    The page is filed under it, too, and other texts are found by it. It depends on the page alone, not on the profile of its
    site.
    """
    parts = named_parts(page) if page.named and page.kind is PageKind.TEXT else ()
    return xxh3_64_intdigest("\n".join(sorted(parts)).encode("utf-8", "replace")) if parts else 0


def with_keys(page: SignedPage, titles: Sequence[Collection[str]], not_own: Collection[int]) -> SignedPage:
    """Return a thin page with the keys under which it is filed and looked up.

    Args:
        page: the page as it was signed, without keys.
        titles: sets of parts of its title, each of which makes a key.
        not_own: hashes of the blocks that many pages of its site have; the largest of the other blocks make keys.
    """
    own = [block for block in unpack_blocks(page.blocks) if block.hash not in not_own and not block.traits & _NO_KEY]
    own.sort(key=lambda block: -block.size)  # stable: the first of blocks of equal size
    names = ["\n".join(sorted(parts)) for parts in titles if parts]
    names += [f"{block.hash}" for block in own[:_BLOCKS]]
    keys = dict.fromkeys(xxh32_intdigest(name.encode("utf-8", "replace")) for name in names)
    value = np.array([*keys], dtype=_KEY).tobytes()
    # Pages with one signature are filed under the same keys.
    return msgspec.structs.replace(page, value=value, signature=xxh3_64_intdigest(value, page.signature))


class Lookup:
    """Keys and candidates of pages, as a scheme returns them for signatures.

    Attributes:
        scheme: the scheme of the signatures.
    """

    title_key = staticmethod(title_key)

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme

    def bucket_limit(self, page: SignedPage) -> int | None:
        """Return the maximum number of pages under one key that are read; ``None``: all."""
        return self.scheme.bucket_limit if page.kind is PageKind.TEXT else _THIN_BUCKET

    def keys(self, page: SignedPage) -> Sequence[int]:
        """Return the buckets under which *page* is filed."""
        return self.scheme.keys(page.signed) if page.kind is PageKind.TEXT else _keys_of(page)

    def probes(self, page: SignedPage) -> Sequence[int]:
        """Return the buckets that contain the candidates for *page*."""
        return self.scheme.probes(page.signed) if page.kind is PageKind.TEXT else _keys_of(page)

    def near(self, page: SignedPage, filed: Numbers) -> Sequence[int]:
        """Return the candidates for *page* among the signatures *filed* in the probed buckets, nearest first."""
        if page.kind is PageKind.TEXT:
            return self.scheme.near(page.signed, filed)
        signatures, times = np.unique(filed, return_counts=True)
        nearest = np.lexsort((signatures, -times, signatures != page.signature))[:_CANDIDATES]
        return [*signatures[nearest].tolist()]

    def finds(self, new: SignedPage, kept: SignedPage) -> bool:
        """Return whether a look-up of *new* finds *kept*."""
        if new.kind is PageKind.TEXT and kept.kind is PageKind.TEXT:
            return self.scheme.finds(new.signed, kept.signed) or title_key(new) == title_key(kept) != 0
        return not {*_keys_of(new)}.isdisjoint(_keys_of(kept)) if new.kind is kept.kind else False


def _keys_of(page: SignedPage) -> list[int]:
    return [*np.frombuffer(page.value, dtype=_KEY).tolist()]


def lookup_of(spec: Mapping[str, str]) -> Lookup:
    """Return the :class:`Lookup` of an index, given the spec in its header.

    Raises:
        ConfigError: there is no such scheme.
    """
    return Lookup(scheme_of(spec.get("scheme", ""), Config(max_distance=0)))  # allowed with every number of tables
