"""The interfaces by which the shared parts of the index read and change the kept pages: in a transaction, or in memory."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Protocol

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.profiles import CountsReader, SiteFigures, Snapshot, StoredSite
from crawler_dedup.index.records import Record
from crawler_dedup.index.runs import RunEntry, RunStates
from crawler_dedup.signedpage import SignedPage


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

    def count_page(self, page: SignedPage, reader: CountsReader, now: int) -> None:
        """Count *page*, which was handled, for its site."""


class Probing(Filing, Protocol):
    """Returns the buckets in which the index looks for a page."""

    def probes(self, page: SignedPage) -> Iterable[int]:
        """Return the buckets that contain the candidates for *page*."""


class Transaction(KeptPages, Protocol):
    """Reads an index in one state, and makes all its changes at once, or none."""

    def header(self) -> Header | None:
        """Return the header as it is now; ``None`` if the index was deleted."""

    def choose_first(self, pages: Sequence[SignedPage]) -> Sequence[SignedPage]:
        """Return the first of *pages*, at least one, about which this transaction can decide."""

    def read_ahead(self, pages: Sequence[SignedPage], lookup: Probing) -> None:
        """Read in advance what decisions about *pages* will need, if that is cheaper."""

    def count(self) -> int:
        """Return how many pages are recorded."""

    def items(self) -> Iterator[tuple[int, Record | None]]:
        """Yield (number, record) in ascending order; ``None`` for a record that cannot be read."""

    def sharing(
        self, probes: Sequence[Sequence[int]], choose: Callable[[Iterable[Numbers]], Iterable[int]]
    ) -> Iterator[Record]:
        """Yield the records, of every scope, with the signatures that *choose* picks from the buckets *probes*.

        The buckets come in blocks, and so do the signatures that *choose* gets.
        """

    def touch_run(self, number: int, grace: int, now: int, *, stored_until: int | None) -> int:
        """Note that a run is alive, and return the time for its records, which never goes back, even if clocks do."""

    def end_run(
        self, number: int, last: int, *, has_finished: bool, is_tidy: bool, stored_until: int | None = None
    ) -> None:
        """End a run. All recorded pages that it settled are stored, except those settled after *stored_until*."""

    def find_run(self, number: int) -> RunEntry | None:
        """Return the entry of a run, or ``None``."""

    def find_dead_runs(self) -> dict[int, RunEntry]:
        """Find the runs that are over and did not finish, or left claims behind.

        A run that ends at this moment seems dead too, unless this transaction may write. The entry of such a run
        differs in the next transaction, that of a dead run does not.
        """

    def run_states(self) -> RunStates:
        """Return the states of the runs as they are now; for a transaction that may write."""

    def run_states_in_reading(self, dead: Container[int]) -> RunStates:
        """Return the states of the runs, for a transaction that may not write.

        Args:
            dead: the runs that had died before. What it reads of other runs is from a time when they were alive.
        """

    def find_snapshot(self, key: bytes, number: int, moment: float) -> Snapshot | None:
        """Return the snapshot of a site that had *number* at a *moment*; ``None`` if it is no longer kept."""

    def sites(self) -> Iterator[StoredSite]:
        """Yield all sites of which pages were counted and that can be read."""

    def merge_site(self, site: StoredSite, now: int) -> None:
        """Replace what is known about a site by *site*, if that counts more pages and any page of it is recorded."""

    def measure_sites(self) -> SiteFigures:
        """Count the sites, and measure what is stored about them."""
