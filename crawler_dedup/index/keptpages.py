"""The interface by which a decision reads and changes the kept pages: in a transaction of an index, or in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.profiles import CountsReader, Snapshot
from crawler_dedup.index.records import Record
from crawler_dedup.signedpage import SignedPage

MAX_REPRESENTATIVES = 64
"""Maximum number of pages under one signature. Further pages pass and are recorded, but stand for no others: a spike (one
log-in text at a million addresses) stays one short bucket."""

MAX_UNDER_TITLE = 8
"""Maximum number of pages under one title: even if all pages of a site have it, no more are compared because of it."""


class Filing(Protocol):
    """Determines where the index files a page."""

    def keys(self, page: SignedPage) -> Sequence[int]:
        """Return the buckets under which *page* is filed. They are the same for pages with the same signature."""

    def title_key(self, page: SignedPage) -> int:
        """Return the 64-bit key of the title under which *page* is also filed; 0 if none. Only the page determines it."""


class KeptPages(Protocol):
    """Pages that are kept, each with a number, and what is known about their sites."""

    def find(self, scope: str, key: str) -> tuple[int, Record] | None:
        """Return the number and record of a page, or ``None``."""

    def get(self, number: int) -> Record | None:
        """Return the record with *number*, or ``None``."""

    def read_buckets(self, scope: str, probes: Iterable[int], limit: int | None) -> Numbers:
        """Return the signatures of *scope* in the buckets *probes*: at least the first *limit* of each bucket, or all."""

    def read_representatives(self, scope: str, signature: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the representatives with *signature*, the oldest first."""

    def read_under_title(self, scope: str, title: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages filed under the key *title*, the oldest first, perhaps among other pages."""

    def add(self, record: Record, filing: Filing) -> int:
        """Store *record*, file it under its signature, and return its number."""

    def replace(self, number: int, record: Record) -> None:
        """Replace the record with *number* by *record*, which is of the same page."""

    def remove(self, number: int, record: Record, filing: Filing) -> None:
        """Remove *record*, which has *number*; remove its signature, too, unless another page has the same."""

    def add_alias(self, number: int, record: Record, key: str) -> Record:
        """Make *key* an alias of *record*, which has *number*, unless another page has it; return the record to store."""

    def remove_alias(self, number: int, record: Record, key: str) -> Record:
        """Remove the alias *key* of *record*, which has *number*; return the record to store."""

    def snapshot(self, key: bytes) -> Snapshot:
        """Return what is known about a site (:func:`~crawler_dedup.index.profiles.site_key`)."""

    def teach(self, page: SignedPage, reader: CountsReader, now: int) -> None:
        """Count *page*, which was handled, for its site."""
