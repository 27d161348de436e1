"""The contents of an index: read in one transaction, or changed in transactions of some hundred rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from typing import TypeVar

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.header import Header
from crawler_dedup.index.jobs import WRITE_SECONDS, wait_for
from crawler_dedup.index.limits import MAX_CHANGED, MAX_EMPTIED_SITES, MAX_OVERRIDES
from crawler_dedup.index.overrides import KnownOverrides, Override
from crawler_dedup.index.profiles import FrozenProfiles, Snapshot, StoredSite, site_key
from crawler_dedup.index.protocols import Filing
from crawler_dedup.index.records import Record, in_batches
from crawler_dedup.index.runs import RunEntry, wall_clock
from crawler_dedup.index.storage import NO_NEEDS, Needs, Storage
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.callbacks import Advance, ignore_progress

_T = TypeVar("_T")
_Item = TypeVar("_Item")


class Contents(ABC):
    """What is in one open index: pages, sites and overrides.

    Attributes:
        changed_at_once: how many pages, sites or overrides one transaction of a command changes.
        merged_at_once: how many records should be merged at once.
        header: what the index is.
        name: name of the index in messages: its location, without user names and passwords.
        frozen: what decisions know about sites, instead of what the index knows; nothing is learned then.
    """

    changed_at_once = MAX_CHANGED
    merged_at_once = 1 << 13

    def __init__(self, header: Header, name: object) -> None:
        self.header = header
        self.name = str(name)
        self._known = KnownOverrides()
        self.frozen: FrozenProfiles | None = None

    @abstractmethod
    def _submit(self, job: Callable[[Transaction], _T], *, urgent: bool = True, needs: Needs = NO_NEEDS) -> Future[_T]:
        """Run *job* in the next write transaction; its future is done once that is stored.

        A job that is not *urgent* waits a moment for others with which it is written. It will read what it *needs*.
        """

    def _write(self, job: Callable[[Transaction], _T], timeout: float = WRITE_SECONDS, needs: Needs = NO_NEEDS) -> _T:
        """Run *job* in the next write transaction and wait until that is stored.

        Raises:
            IndexUnusable: the transaction did not begin within *timeout* seconds; *job* is not run then.
        """
        return wait_for(self._submit(job, needs=needs), timeout, self.name)

    @abstractmethod
    def _read(self) -> AbstractContextManager[Transaction]:
        """Begin a read transaction, which sees what is stored now."""

    def _make_transaction(self, storage: Storage) -> Transaction:
        return Transaction(storage, self._known, self.frozen)

    def _now(self) -> int:
        """Return the time by the clock of the index, in seconds since 1970."""
        return wall_clock()

    def forget(
        self,
        select: Callable[[Record], bool],
        filing: Filing,
        advance: Advance = ignore_progress,
        report: Callable[[SignedPage], object] = lambda _: None,
    ) -> int:
        """Forget every page whose record *select* picks, and return their number.

        This is done in transactions of a few hundred pages, so that a crawl can go on. What is known about a site is removed
        with its last page. *advance* is called with the number of records that were read, *report* with each forgotten page.
        """
        forgotten, sites = 0, set[bytes]()
        forget = partial(Transaction.forget, select=select, filing=filing)
        picked = self._pick(select, advance)
        for record in self._change_each(picked, forget, lambda numbers: Needs(filing, numbers=numbers)):
            if record is not None:
                forgotten += 1
                report(record.page)
                if len(sites) < MAX_EMPTIED_SITES:
                    sites.add(site_key(record.page.scope, record.page.url))
        self._remove_sites(sites - {b""})
        return forgotten

    def _pick(self, select: Callable[[Record], bool], advance: Advance) -> Iterator[int]:
        """Yield the numbers of the records that *select* picks."""
        with self._read() as txn:
            for number, record in txn.items():
                advance(1)
                if record is not None and select(record):
                    yield number

    def _remove_sites(self, sites: set[bytes]) -> None:
        """Remove those of *sites* of which no page is recorded, unless pages of them are counted meanwhile."""
        with self._read() as txn:
            counted = {key: txn.sites.count_counted(key) for key in sites}
            for _, record in txn.items():  # noqa: PERF102  (no dict)
                if not sites:
                    return
                if record is not None:
                    sites.discard(site_key(record.page.scope, record.page.url))

        def remove(txn: Transaction, key: bytes) -> bool:
            if is_unused := txn.sites.count_counted(key) == counted[key]:
                txn.sites.remove(key)
            return is_unused

        sum(self._change_each(sites, remove))

    def records(
        self,
        advance: Advance = ignore_progress,
        *,
        handled_only: bool = False,
        count_unreadable: Advance = ignore_progress,
    ) -> Generator[Record, None, None]:
        """Yield all records that can be read, in ascending order of their numbers.

        In a directory all records are from one state of the index. On a server every page that stays recorded
        during the call is yielded, in its state at some time during the call; a page that is filed again meanwhile may be
        yielded twice.

        Args:
            advance: called with 1 for each record.
            handled_only: yield only the records of pages that were handled, and not by a dead run that may have lost them.
            count_unreadable: called with 1 for each record that cannot be read.
        """
        dead = self._find_dead() if handled_only else {}

        def is_handled(record: Record) -> bool:
            return bool(record.settled) and not (record.run in dead and dead[record.run].may_have_lost(record))

        with self._read() as txn:
            for _, record in txn.items():  # noqa: PERF102  (no dict)
                advance(1)
                if record is None:
                    count_unreadable(1)
                elif not handled_only or is_handled(record):
                    yield record

    def find(self, scope: str, key: str) -> Record | None:
        """Return the record of the page with *key* in *scope*, or ``None``. *key* may be a shortened key."""
        with self._read() as txn:
            recorded = txn.find(scope, key)
        return recorded and recorded[1]

    def _find_dead(self) -> dict[int, RunEntry]:
        """Find the runs that have died, or ended and left claims behind, without writing."""
        with self._read() as txn:
            dead = txn.runs.find_dead()
        with self._read() as txn:
            return {number: run for number, run in dead.items() if txn.runs.read(number) == run}

    def latest_snapshot(self, scope: str, url: str) -> Snapshot:
        """Return what the rules know now about the site of an address."""
        with self._read() as txn:
            return txn.sites.snapshot(site_key(scope, url))

    def find_snapshot(self, scope: str, url: str, number: int, moment: float) -> Snapshot | None:
        """Return what the rules knew about the site of an address at a *moment*, by the number of the snapshot.

        Returns ``None`` if this snapshot is no longer kept.
        """
        with self._read() as txn:
            return txn.sites.find_snapshot(site_key(scope, url), number, moment)

    def sites(self) -> Generator[StoredSite, None, None]:
        """Yield what is stored about each site: in a directory in one state of the index, on a server as it is when read."""
        with self._read() as txn:
            yield from txn.sites.stored()

    def merge_sites(self, sites: Iterable[StoredSite]) -> None:
        """Replace what is known about each of *sites* if the new counts include more pages.

        This is done in transactions of a few hundred sites, so that a crawl can go on.
        """
        sum(self._change_each(sites, lambda txn, site: txn.sites.merge(site, wall_clock())))

    def _change_each(
        self,
        items: Iterable[_Item],
        change: Callable[[Transaction, _Item], _T],
        needs_of: Callable[[Sequence[_Item]], Needs] = lambda _: NO_NEEDS,
    ) -> Iterator[_T]:
        """Call *change* with each of *items*, some in a transaction, which has *needs_of* them; yield the results."""
        waiting = iter(items)
        while part := list(islice(waiting, self.changed_at_once)):
            yield from self._write(lambda txn, part=part: [change(txn, item) for item in part], needs=needs_of(part))  # type: ignore[misc]

    def list_overrides(self) -> list[Override]:
        """Return all overrides, the oldest first."""
        with self._read() as txn:
            return txn.list_overrides()

    def add_overrides(self, overrides: Sequence[Override]) -> int:
        """Store *overrides*, and return how many are new. They hold for all pages that are offered from now on.

        Raises:
            IndexUnusable: the index would have too many.
        """
        if len({override.name for override in (*overrides, *self.list_overrides())}) > MAX_OVERRIDES:
            raise IndexUnusable(
                f"The index in {self.name} would have more than {MAX_OVERRIDES:,} overrides; nothing was added."
                " `crawler-dedup keep --below` is one override for many pages, and --undo removes overrides."
            )
        return sum(self._change_each(overrides, Transaction.add_override))

    def change_overrides(self, change: Callable[[Override], Override]) -> None:
        """Replace each override by what *change* returns for it, which has the same kind and addresses."""
        self._write(lambda txn: txn.change_overrides(change))

    def remove_overrides(self, overrides: Sequence[Override]) -> int:
        """Remove *overrides*, and return how many there were."""
        return sum(self._change_each(overrides, Transaction.remove_override))

    def merge(self, records: Iterable[Record], filing: Filing) -> int:
        """File *records* as they are, except of pages that are recorded already, and return how many are new.

        They are not compared with each other or with the kept pages.
        """

        def merge(txn: Transaction, batch: Sequence[Record]) -> int:
            return sum(txn.merge(record, filing) for record in batch)

        return sum(
            self._write(partial(merge, batch=batch), needs=Needs(filing, [record.page for record in batch]))
            for batch in in_batches(records, self.merged_at_once)
        )

    def __len__(self) -> int:
        """Return how many pages are recorded."""
        with self._read() as txn:
            return txn.count()
