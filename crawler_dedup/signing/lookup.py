"""Under which keys a page is filed and looked up: by its scheme, or, where only equals match, by its hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crawler_dedup.hamming import Numbers
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing.schemes import Scheme, scheme_of


class Lookup:
    """Says under which keys pages are filed and found, as a scheme does for their signatures."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme

    @property
    def bucket_limit(self) -> int | None:
        """How many of the pages under one key are looked at; ``None``: all."""
        return self._scheme.bucket_limit

    def keys(self, page: SignedPage) -> Sequence[int]:
        """Return the buckets under which *page* is filed."""
        return self._scheme.keys(page.signed) if page.kind is PageKind.TEXT else [page.signature]

    def probes(self, page: SignedPage) -> Sequence[int]:
        """Return the buckets in which candidates for *page* stand."""
        return self._scheme.probes(page.signed) if page.kind is PageKind.TEXT else [page.signature]

    def near(self, page: SignedPage, filed: Numbers) -> Sequence[int]:
        """Return those of the signatures *filed* in the probed buckets that are candidates for *page*, nearest first."""
        if page.kind is PageKind.TEXT:
            return self._scheme.near(page.signed, filed)
        return [page.signature] if page.signature in filed else []

    def finds(self, new: SignedPage, kept: SignedPage) -> bool:
        """Tell whether a look-up of *new* finds *kept*."""
        if new.kind is PageKind.TEXT and kept.kind is PageKind.TEXT:
            return self._scheme.finds(new.signed, kept.signed)
        return new.signature == kept.signature


def lookup_of(spec: Mapping[str, str]) -> Lookup:
    """Return the look-up of an index, from the spec in its header. Raises :class:`ConfigError` for an unknown scheme."""
    return Lookup(scheme_of(spec.get("scheme", "")))
