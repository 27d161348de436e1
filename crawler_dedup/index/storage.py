"""Storage: one transaction on the rows and buckets of an index, which LMDB and a server implement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from crawler_dedup.hashes import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.layout import BucketTable, RowTable
from crawler_dedup.index.protocols import Filing, Matcher
from crawler_dedup.signedpage import SignedPage


class Needs(NamedTuple):
    """What a job will read, as far as that is known before it runs: a server is asked for it all at once.

    Attributes:
        filing: determines where its pages are filed.
        pages: pages that it decides about or files.
        matcher: finds the candidates for *pages*; ``None``: they are filed without a decision.
        names: pairs of the scope and the key of a page that it looks up.
        numbers: numbers of records that it looks up.
        with_counts: whether it counts pages for their sites.
    """

    filing: Filing | None = None
    pages: Sequence[SignedPage] = ()
    matcher: Matcher | None = None
    names: Sequence[tuple[str, str]] = ()
    numbers: Sequence[int] = ()
    with_counts: bool = False


NO_NEEDS = Needs()


class Storage(ABC):
    """One transaction. It reads one state of the index with its own changes, which are all stored at its end, or none."""

    @abstractmethod
    def read(self, table: RowTable, name: bytes) -> bytes | memoryview | None:
        """Return the content of a row, or ``None``."""

    @abstractmethod
    def write(self, table: RowTable, name: bytes, content: bytes, *, is_new: bool = False) -> None:
        """Create or replace a row. *is_new*: it is a record whose number was never used before."""

    @abstractmethod
    def delete(self, table: RowTable, name: bytes) -> None:
        """Delete a row, if there is one."""

    @abstractmethod
    def scan(self, table: RowTable) -> Iterator[tuple[bytes, bytes | memoryview]]:
        """Yield names and contents of the rows of *table*, but not of counts and snapshots.

        These are all that exist during the whole call, and perhaps others. Records come in ascending order.
        """

    @abstractmethod
    def read_buckets(self, table: BucketTable, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        """Return the payloads of all buckets *keys*: all, or at least the first *limit* of each."""

    @abstractmethod
    def append(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        """Append *payload*, which they do not contain, to the buckets *keys*."""

    @abstractmethod
    def take(self, table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> None:
        """Remove *payload* from those of the buckets *keys* that contain it. The last payload takes its place."""

    @abstractmethod
    def new_number(self) -> int:
        """Return a number for a new record that is higher than that of any record.

        So the latest page under a signature has the highest number, and a page that is filed again comes later in a scan.
        """

    @abstractmethod
    def count_records(self) -> int:
        """Return the number of records."""

    @abstractmethod
    def is_alive(self, run: int) -> bool | None:
        """Return whether a run is alive; ``None`` if this is not known."""

    @abstractmethod
    def header(self) -> Header | None:
        """Return the header as it is now; ``None`` if the index was deleted."""
