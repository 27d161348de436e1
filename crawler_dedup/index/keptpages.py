"""The kept pages as a decision sees and changes them: within one transaction of an index, or in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.profiles import CountsReader, Snapshot
from crawler_dedup.index.records import Record
from crawler_dedup.signedpage import SignedPage

MAX_REPRESENTATIVES = 64
"""Pages that may stand under one signature. Further ones pass and are recorded, but stand for nothing: a spike (one
log-in text at a million addresses) stays one short bucket."""

MAX_UNDER_TITLE = 8
"""Texts that may stand under one title: where all pages of a site have one, a new page is compared with so many more."""


class Filing(Protocol):
    """Tells where the index files a page."""

    def keys(self, page: SignedPage) -> Sequence[int]:
        """Return the buckets under which *page* is filed. Two pages with the same signature have the same."""

    def title_key(self, page: SignedPage) -> int:
        """Return the key of the title under which *page* is filed, too: 64 bits that depend on it alone; 0: none."""


class KeptPages(Protocol):
    """Pages that are kept, each with a number, and what is known about their sites."""

    def find(self, scope: str, key: str) -> tuple[int, Record] | None:
        """Return the number and record of a page, or ``None``."""

    def get(self, number: int) -> Record | None:
        """Return the record with *number*, or ``None``."""

    def read_buckets(self, scope: str, probes: Iterable[int], limit: int | None) -> Numbers:
        """Return the signatures of *scope* in the buckets *probes*, of each bucket the first *limit* at least, or all."""

    def read_representatives(self, scope: str, signature: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages that stand under *signature*, the oldest first."""

    def read_under_title(self, scope: str, title: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages that stand under the key *title*, the oldest first, perhaps with others."""

    def add(self, record: Record, filing: Filing) -> int:
        """Store *record*, file it under its signature, and return its number."""

    def replace(self, number: int, record: Record) -> None:
        """Store *record*, which is of the same page, in the place of the one with *number*."""

    def remove(self, number: int, record: Record, filing: Filing) -> None:
        """Remove *record*, which has *number*. Its signature goes too, unless another page stands under it."""

    def add_alias(self, number: int, record: Record, key: str) -> Record:
        """Let *key* lead to *record*, which has *number*, unless it leads somewhere already; return the record to store."""

    def remove_alias(self, number: int, record: Record, key: str) -> Record:
        """Let *key*, an alias of *record*, which has *number*, lead nowhere; return the record to store."""

    def snapshot(self, key: bytes) -> Snapshot:
        """Return what is known about a site (:func:`~crawler_dedup.index.profiles.site_key`)."""

    def teach(self, page: SignedPage, reader: CountsReader, now: int) -> None:
        """Learn the site of *page*, which was handled, from it."""
