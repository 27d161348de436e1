"""The databases of an index of pages in LMDB, and one transaction of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import lmdb
import msgspec

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.filedpages import FiledPages, is_under
from crawler_dedup.index.header import Header
from crawler_dedup.index.keptpages import Probing
from crawler_dedup.index.layout import count_chunks, place_of_signature
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.recordtable import RecordNumbers, Records
from crawler_dedup.index.lmdb.runtable import Runs, RunsInTransaction
from crawler_dedup.index.lmdb.sitetable import Profiles
from crawler_dedup.index.profiles import CountsReader, FrozenProfiles, SiteFigures, Snapshot, StoredSite
from crawler_dedup.index.records import Record
from crawler_dedup.signedpage import SignedPage


class Catalogue:
    """The databases of an index. All methods work within one transaction.

    Attributes:
        environment: the environment that has the databases.
        numbers: from page keys and signatures to the numbers of the records that are filed under them.
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
        self.records = environment.make_databases(Records)

    def find_representatives(self, txn: lmdb.Transaction, scope: int, signature: int) -> list[int]:
        """Return the numbers of the records that can be read and are filed under *signature*, ascending."""
        representatives = []
        for number in self.numbers.query(txn, place_of_signature(scope, signature)):
            with suppress(msgspec.DecodeError):
                record = self.records.get(txn, number)
                if record is not None and is_under(record, scope, signature):
                    representatives.append(number)
        return representatives


class PagesInTransaction(RunsInTransaction, FiledPages):
    """One transaction of LMDB (:class:`~crawler_dedup.index.keptpages.Transaction`).

    Args:
        frozen: profiles to use instead of those in the index, which are not changed then.
    """

    def __init__(self, catalogue: Catalogue, txn: lmdb.Transaction, frozen: FrozenProfiles | None) -> None:
        super().__init__(catalogue.runs, txn)
        self._catalogue = catalogue
        self._records = catalogue.records
        self._frozen = frozen

    def get(self, number: int) -> Record | None:
        return self._records.get(self._txn, number)

    def replace(self, number: int, record: Record) -> None:
        self._records.replace(self._txn, number, record)

    def _new_number(self) -> int:
        return self._records.last_number(self._txn) + 1

    def _store(self, number: int, record: Record) -> None:
        self._records.append(self._txn, number, record)
        self._catalogue.profiles.add_record(self._txn, record.page)

    def _delete(self, number: int, page: SignedPage) -> None:
        self._records.delete(self._txn, number)
        self._catalogue.profiles.remove_record(self._txn, page)

    def _numbers_at(self, place: int) -> list[int]:
        return self._catalogue.numbers.query(self._txn, place)

    def _put(self, place: int, number: int) -> None:
        self._catalogue.numbers.insert(self._txn, place, number)

    def _take(self, place: int, number: int) -> None:
        self._catalogue.numbers.remove(self._txn, place, number)

    def _scopes(self) -> Iterator[int]:
        return self._catalogue.tables.scopes(self._txn)

    def _read_signatures(self, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        return self._catalogue.tables.query(self._txn, scope, keys, None if limit is None else count_chunks(limit))

    def _add_signature(self, scope: int, keys: Sequence[int], signature: int) -> None:
        self._catalogue.tables.insert(self._txn, scope, keys, signature)

    def _remove_signature(self, scope: int, keys: Sequence[int], signature: int) -> None:
        self._catalogue.tables.remove(self._txn, scope, keys, signature)

    def snapshot(self, key: bytes) -> Snapshot:
        if self._frozen is not None:
            return self._frozen.snapshot(key)
        return self._catalogue.profiles.snapshot(self._txn, key)

    def count_page(self, page: SignedPage, reader: CountsReader, now: int) -> None:
        if self._frozen is None:
            self._catalogue.profiles.count_page(self._txn, page, reader, now)

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

    def find_snapshot(self, key: bytes, number: int, moment: float) -> Snapshot | None:
        return self._catalogue.profiles.find_snapshot(self._txn, key, number, moment)

    def sites(self) -> Iterator[StoredSite]:
        return self._catalogue.environment.iterate_checked(self._catalogue.profiles.read_all(self._txn))

    def merge_site(self, site: StoredSite, now: int) -> None:
        self._catalogue.profiles.merge(self._txn, site, now)

    def measure_sites(self) -> SiteFigures:
        return self._catalogue.profiles.measure(self._txn)
