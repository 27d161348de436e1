"""The databases of an index of pages: its records, and the signatures under which they stand."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress

import lmdb
import msgspec

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.header import Header
from crawler_dedup.index.keptpages import MAX_REPRESENTATIVES, MAX_UNDER_TITLE, Filing
from crawler_dedup.index.layout import count_chunks, place_of_signature
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.recordtable import RecordNumbers, Records
from crawler_dedup.index.lmdb.runtable import Runs
from crawler_dedup.index.lmdb.sitetable import Profiles
from crawler_dedup.index.profiles import CountsReader, FrozenProfiles, SiteFigures, Snapshot, StoredSite
from crawler_dedup.index.records import Record, hash_scope
from crawler_dedup.index.runs import RunEntry, RunStates
from crawler_dedup.index.transaction import Probing
from crawler_dedup.signedpage import SignedPage

_SHARED = 4_000  # number of payloads of a bucket that are read


class Catalogue:
    """The databases of an index. All methods work within one transaction.

    Attributes:
        environment: the environment that has the databases.
        numbers: from page keys and signatures to the numbers of the records that stand under them.
        records: every page, by number and by page key.
        tables: from the scheme's keys to signatures.
        runs: the runs that have filed the pages.
        profiles: the profiles of the pages' sites.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.numbers, self.tables, self.runs, self.profiles = environment.make_databases(
            lambda env, txn: (
                RecordNumbers(env, txn),
                Buckets(env, txn, b"tables"),
                Runs(env, txn, environment.directory, readonly=environment.readonly),
                Profiles(env, txn, environment.deferred),
            )
        )
        self.records = environment.make_databases(lambda env, txn: Records(env, txn, self.numbers))

    def read_buckets(self, txn: lmdb.Transaction, scope: str, probes: Iterable[int], limit: int | None) -> Numbers:
        """Return the signatures of *scope* in the buckets *probes*: all, or at least the first *limit* of each bucket."""
        return self.tables.query(txn, hash_scope(scope), probes, None if limit is None else count_chunks(limit))

    def read_representatives(self, txn: lmdb.Transaction, scope: str, signature: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages that stand under *signature*, the oldest first."""
        for number, record in self._read_at(txn, place_of_signature(hash_scope(scope), signature)):
            if record.page.signature == signature and record.page.scope == scope:
                yield number, record

    def read_under_title(self, txn: lmdb.Transaction, scope: str, title: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages under the key *title*, the oldest first, and perhaps of other pages."""
        for number, record in self._read_at(txn, place_of_signature(hash_scope(scope), title)):
            if record.page.scope == scope:
                yield number, record

    def _read_standing(self, txn: lmdb.Transaction, scope: int, signature: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages under *signature* in the scopes with the hash *scope*, the oldest first."""
        for number, record in self._read_at(txn, place_of_signature(scope, signature)):
            if _is_under(record, scope, signature):
                yield number, record

    def _read_at(self, txn: lmdb.Transaction, place: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages to which *place* leads, the oldest first, and perhaps of other pages."""
        for number in self.numbers.query(txn, place):
            record = self.records.get(txn, number)
            if record is not None:
                yield number, record

    def find_standing(self, txn: lmdb.Transaction, scope: int, signature: int) -> list[int]:
        """Return the numbers of the records that can be read and stand under *signature*, ascending."""
        standing = []
        for number in self.numbers.query(txn, place_of_signature(scope, signature)):
            with suppress(msgspec.DecodeError):
                record = self.records.get(txn, number)
                if record is not None and _is_under(record, scope, signature):
                    standing.append(number)
        return standing

    def sharing(
        self,
        txn: lmdb.Transaction,
        probes: Sequence[Sequence[int]],
        choose: Callable[[Iterable[Numbers]], Iterable[int]],
    ) -> Iterator[Record]:
        """Yield the records, of every scope, under the signatures that *choose* picks from the buckets *probes*.

        *probes* are blocks of buckets; *choose* gets one array of signatures for each block.
        """
        limit = count_chunks(_SHARED)
        for scope in self.tables.scopes(txn):
            for signature in choose(self.tables.query(txn, scope, block, limit) for block in probes):
                yield from (record for _, record in self._read_standing(txn, scope, signature))

    def add(self, txn: lmdb.Transaction, record: Record, filing: Filing) -> int:
        """Store *record*, file it under its signature, and return its number."""
        number, record = self.records.add(txn, record)
        self.profiles.add_record(txn, record.page)
        self._stand(txn, number, record, filing)
        return number

    def remove(self, txn: lmdb.Transaction, number: int, record: Record, filing: Filing) -> None:
        """Remove *record*, which has *number*. Remove its signature too, unless another page stands under it."""
        page, scope = record.page, hash_scope(record.page.scope)
        self.records.remove(txn, number, record)
        self.profiles.remove_record(txn, page)
        self.numbers.remove(txn, place_of_signature(scope, page.signature), number)
        if title := filing.title_key(page):
            self.numbers.remove(txn, place_of_signature(scope, title), number)
        if not self._has_standing(txn, scope, page.signature):
            self.tables.remove(txn, scope, filing.keys(page), page.signature)

    def _stand(self, txn: lmdb.Transaction, number: int, record: Record, filing: Filing) -> None:
        """Make the page a representative of its signature unless the limit is reached."""
        scope, signature = hash_scope(record.page.scope), record.page.signature
        place = place_of_signature(scope, signature)
        is_filed = self._has_standing(txn, scope, signature)
        may_stand = not is_filed or len(self.numbers.query(txn, place)) < MAX_REPRESENTATIVES
        if may_stand:
            self.numbers.insert(txn, place, number)
        if not is_filed:
            self.tables.insert(txn, scope, filing.keys(record.page), signature)
        if title := filing.title_key(record.page):
            place = place_of_signature(scope, title)
            if len(self.numbers.query(txn, place)) < MAX_UNDER_TITLE:
                self.numbers.insert(txn, place, number)
        if record.stands != may_stand:
            self.records.replace(txn, number, msgspec.structs.replace(record, stands=may_stand))

    def _has_standing(self, txn: lmdb.Transaction, scope: int, signature: int) -> bool:
        """Return whether a page stands under *signature*, so that this is in the tables; true if a record is unreadable."""
        try:
            return any(True for _ in self._read_standing(txn, scope, signature))
        except msgspec.DecodeError:
            return True


class PagesInTransaction:
    """One transaction of LMDB (:class:`~crawler_dedup.index.transaction.Transaction`).

    Args:
        frozen: profiles to use instead of those in the index, which are not changed then.
    """

    def __init__(self, catalogue: Catalogue, txn: lmdb.Transaction, frozen: FrozenProfiles | None) -> None:
        self._catalogue = catalogue
        self._records = catalogue.records
        self._txn = txn
        self._frozen = frozen

    def find(self, scope: str, key: str) -> tuple[int, Record] | None:
        return self._records.find(self._txn, scope, key)

    def get(self, number: int) -> Record | None:
        return self._records.get(self._txn, number)

    def read_buckets(self, scope: str, probes: Iterable[int], limit: int | None) -> Numbers:
        return self._catalogue.read_buckets(self._txn, scope, probes, limit)

    def read_representatives(self, scope: str, signature: int) -> Iterator[tuple[int, Record]]:
        return self._catalogue.read_representatives(self._txn, scope, signature)

    def read_under_title(self, scope: str, title: int) -> Iterator[tuple[int, Record]]:
        return self._catalogue.read_under_title(self._txn, scope, title)

    def add(self, record: Record, filing: Filing) -> int:
        return self._catalogue.add(self._txn, record, filing)

    def replace(self, number: int, record: Record) -> None:
        self._records.replace(self._txn, number, record)

    def remove(self, number: int, record: Record, filing: Filing) -> None:
        self._catalogue.remove(self._txn, number, record, filing)

    def add_alias(self, number: int, record: Record, key: str) -> Record:
        return self._records.add_alias(self._txn, number, record, key)

    def remove_alias(self, number: int, record: Record, key: str) -> Record:
        return self._records.remove_alias(self._txn, number, record, key)

    def snapshot(self, key: bytes) -> Snapshot:
        if self._frozen is not None:
            return self._frozen.snapshot(key)
        return self._catalogue.profiles.snapshot(self._txn, key)

    def teach(self, page: SignedPage, reader: CountsReader, now: int) -> None:
        if self._frozen is None:
            self._catalogue.profiles.teach(self._txn, page, reader, now)

    def header(self) -> Header | None:
        return self._catalogue.environment.header_in(self._txn)

    def choose_first(self, pages: Sequence[SignedPage]) -> Sequence[SignedPage]:
        return pages  # no other process changes the index meanwhile

    def read_ahead(self, pages: Sequence[SignedPage], lookup: Probing) -> None:
        """Do nothing: look-ups read from LMDB's map."""

    def count(self) -> int:
        return self._records.count(self._txn)

    def items(self) -> Iterator[tuple[int, Record | None]]:
        return self._catalogue.environment.iterate_checked(self._records.items(self._txn))

    def sharing(
        self, probes: Sequence[Sequence[int]], choose: Callable[[Iterable[Numbers]], Iterable[int]]
    ) -> Iterator[Record]:
        return self._catalogue.sharing(self._txn, probes, choose)

    def touch_run(self, number: int, grace: int, now: int, *, stored_until: int | None) -> int:
        return self._catalogue.runs.touch(self._txn, number, grace, now, stored_until=stored_until)

    def end_run(
        self, number: int, last: int, *, has_finished: bool, is_tidy: bool, stored_until: int | None = None
    ) -> None:
        self._catalogue.runs.end(
            self._txn, number, last, has_finished=has_finished, is_tidy=is_tidy, stored_until=stored_until
        )

    def find_run(self, number: int) -> RunEntry | None:
        return self._catalogue.runs.find(self._txn, number)

    def find_dead_runs(self) -> dict[int, RunEntry]:
        return self._catalogue.runs.find_dead(self._txn)

    def run_states(self) -> RunStates:
        return self._catalogue.runs.states(self._txn)

    def run_states_in_reading(self, dead: Container[int]) -> RunStates:
        return self._catalogue.runs.states_in_reading(self._txn, dead)

    def find_snapshot(self, key: bytes, number: int, moment: float) -> Snapshot | None:
        return self._catalogue.profiles.find_snapshot(self._txn, key, number, moment)

    def sites(self) -> Iterator[StoredSite]:
        return self._catalogue.environment.iterate_checked(self._catalogue.profiles.read_all(self._txn))

    def merge_site(self, site: StoredSite, now: int) -> None:
        self._catalogue.profiles.merge(self._txn, site, now)

    def measure_sites(self) -> SiteFigures:
        return self._catalogue.profiles.measure(self._txn)


def _is_under(record: Record, scope: int, signature: int) -> bool:
    """Return whether *record* has *signature*, and a scope with the hash *scope*: other records may be at the same place."""
    return record.page.signature == signature and hash_scope(record.page.scope) == scope
