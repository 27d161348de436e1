"""One transaction of a backend, as the shared parts of the index see it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Protocol

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.keptpages import Filing, KeptPages
from crawler_dedup.index.profiles import SiteFigures, Snapshot, StoredSite
from crawler_dedup.index.records import Record
from crawler_dedup.index.runs import RunEntry, RunStates
from crawler_dedup.signedpage import SignedPage


class Probing(Filing, Protocol):
    """Tells where the index looks for a page."""

    def probes(self, page: SignedPage) -> Iterable[int]:
        """Return the buckets in which the candidates for *page* stand."""


class Transaction(KeptPages, Protocol):
    """Reads an index in one state, and changes it at once, or not at all."""

    def header(self) -> Header | None:
        """Return the header as it is now; ``None`` where there is none any more."""

    def choose_first(self, pages: Sequence[SignedPage]) -> Sequence[SignedPage]:
        """Return those of *pages*, the first of them at least, that this transaction can decide about."""

    def read_ahead(self, pages: Sequence[SignedPage], lookup: Probing) -> None:
        """Read at once what decisions about *pages* will ask for, where that is cheaper."""

    def count(self) -> int:
        """Return how many pages are recorded."""

    def items(self) -> Iterator[tuple[int, Record | None]]:
        """Yield (number, record) in ascending order; ``None`` for a record that cannot be read."""

    def sharing(
        self, probes: Sequence[Sequence[int]], choose: Callable[[Iterable[Numbers]], Iterable[int]]
    ) -> Iterator[Record]:
        """Yield the records, of every scope, under the signatures that *choose* picks of those in the buckets *probes*.

        The buckets come in blocks, and so does what *choose* gets.
        """

    def require_copies(self) -> None:
        """Let the answer wait until all copies of the index have the changes of this transaction.

        It takes something back: were that lost later, a page could stand for others that is not stored.
        """

    def touch_run(self, number: int, grace: int, now: int, *, stored_until: int | None) -> int:
        """Note that a run lives, and return the time that its records get. It never goes back, even if clocks do."""

    def end_run(
        self, number: int, last: int, *, has_finished: bool, is_tidy: bool, stored_until: int | None = None
    ) -> None:
        """End a run of which all is stored that it settled and that is recorded, but for what *stored_until* excepts."""

    def find_run(self, number: int) -> RunEntry | None:
        """Return the entry of a run, or ``None``."""

    def find_dead_runs(self) -> dict[int, RunEntry]:
        """Find the runs that are over and did not finish, or left something behind.

        A run that ends at this moment seems dead too, unless this transaction may write. The entry of such a run
        differs in the next transaction, that of a dead run does not.
        """

    def run_states(self) -> RunStates:
        """Return what has become of the runs, as of now; for a transaction that may write."""

    def run_states_in_reading(self, dead: Container[int]) -> RunStates:
        """Return what has become of the runs, for a transaction that may not write.

        Args:
            dead: the runs that had died before. What the transaction reads of another run is from while that lived.
        """

    def find_snapshot(self, key: bytes, number: int, moment: float) -> Snapshot | None:
        """Return the snapshot of a site that had *number* at a *moment*; ``None``: it is not there any more."""

    def sites(self) -> Iterator[StoredSite]:
        """Yield all sites of which pages were counted and that can be read."""

    def merge_site(self, site: StoredSite, now: int) -> None:
        """Let *site* take the place of what is known of it, if more of its pages were counted and any is recorded."""

    def measure_sites(self) -> SiteFigures:
        """Count the sites and what is stored of them."""
