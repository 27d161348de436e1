"""One transaction of an index on a server: it reads the cells and collects the changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import msgspec
import numpy as np

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.filedpages import FiledPages
from crawler_dedup.index.header import Header
from crawler_dedup.index.keptpages import Probing
from crawler_dedup.index.layout import (
    NUMBER_BYTES,
    limit_payloads,
    numbers_in,
    place_entry,
)
from crawler_dedup.index.packing import pack, unpack, unpack_sound
from crawler_dedup.index.profiles import CountsReader, FrozenProfiles, SiteFigures, Snapshot, StoredSite
from crawler_dedup.index.records import Record, shorten_key
from crawler_dedup.index.redis.cells import PAYLOAD_BYTES, Row
from crawler_dedup.index.redis.changes import ChangedBucket, Changes
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.readahead import Offers, ReadAhead
from crawler_dedup.index.redis.runs import RunsInTransaction
from crawler_dedup.index.redis.sites import SitesInTransaction
from crawler_dedup.signedpage import SignedPage

_PAYLOAD = np.dtype("<u8")
UNDIVIDED = 16
"""Number of pages up to which an offer is always decided in one transaction."""
_FIRST_NEW = 1 << 39  # temporary numbers of new records, which get their own when the transaction is stored
_NUMBER = (1 << 8 * NUMBER_BYTES) - 1
_READ_RECORDS = 500
_MOST_SCOPES = 1_000  # in one command: a script cannot pass on 8,000 arguments


class PagesOnServer(RunsInTransaction, FiledPages):
    """One transaction (:class:`~crawler_dedup.index.keptpages.Transaction`). Its changes are collected, not made.

    Args:
        client: the client by which it reads. What was read is checked when the changes are made.
        header: the header of the index.
        frozen: what decisions know about sites, instead of what the index knows; nothing is learned then.
        offers: the offers about which this transaction or a later one decides.

    Attributes:
        most_pages: maximum number of pages of an offer that are decided, but at least :data:`UNDIVIDED`.
    """

    def __init__(
        self, client: Client, header: Header, frozen: FrozenProfiles | None = None, offers: Offers | None = None
    ) -> None:
        super().__init__(client, Changes())
        self._cells = client.cells
        self._header = header
        self._frozen = frozen
        self._ahead = ReadAhead(client, offers or Offers(0))
        self._sites = SitesInTransaction(client, self._changes)
        self._buckets: dict[bytes, ChangedBucket] = {}
        self._records: dict[int, Record | None] = {}  # the changed records; None: removed
        self.most_pages = UNDIVIDED
        self._next_number = count(_FIRST_NEW).__next__

    # Pages

    def get(self, number: int) -> Record | None:
        if number in self._records:
            return self._records[number]
        return self._decode(self._cells.read_row(self._changes, self._keys.record(number)))

    def _read_signatures(self, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        contents = self._read(self._keys.bucket_names(scope, keys))
        if limit is not None:
            end = PAYLOAD_BYTES * limit_payloads(limit)
            contents = [content[:end] for content in contents]
        return np.frombuffer(b"".join(contents), dtype=_PAYLOAD)

    def _new_number(self) -> int:
        return self._next_number()

    def _store(self, number: int, record: Record) -> None:
        page = record.page
        self._changes.count += 1
        self._sites.add_record(page)
        page = msgspec.structs.replace(page, key=shorten_key(page.key))
        self._records[number] = msgspec.structs.replace(record, page=page)

    def _delete(self, number: int, page: SignedPage) -> None:
        self._records[number] = None
        self._changes.count -= 1
        self._sites.remove_record(page)

    def _scopes(self) -> Iterator[int]:
        scopes = self.client.call(b"SMEMBERS", self._keys.scopes)
        for scope in sorted(int.from_bytes(scope, "big") for scope in scopes):
            yield scope
            self._changes.buckets.clear()  # there may be any number of scopes

    def _add_signature(self, scope: int, keys: Sequence[int], signature: int) -> None:
        self._changes.scopes.add(scope)
        for name in self._keys.bucket_names(scope, keys):
            self._change(name).add(signature.to_bytes(PAYLOAD_BYTES, "little"))

    def _remove_signature(self, scope: int, keys: Sequence[int], signature: int) -> None:
        for name in self._keys.bucket_names(scope, keys):
            self._change(name).take(signature.to_bytes(PAYLOAD_BYTES, "little"))

    def replace(self, number: int, record: Record) -> None:
        self._records[number] = record

    def snapshot(self, key: bytes) -> Snapshot:
        return self._sites.snapshot(key) if self._frozen is None else self._frozen.snapshot(key)

    def count_page(self, page: SignedPage, reader: CountsReader, now: int) -> None:
        if self._frozen is None:
            self._sites.count_page(page, reader, now)

    # The index

    def header(self) -> Header | None:
        return self._header

    def choose_first(self, pages: Sequence[SignedPage]) -> Sequence[SignedPage]:
        most = max(self.most_pages, UNDIVIDED)
        return pages if len(pages) <= most else pages[:most]

    def read_ahead(self, pages: Sequence[SignedPage], lookup: Probing) -> None:
        self._ahead.read(pages, lookup)

    def count(self) -> int:
        return self.client.read_state().records

    def items(self) -> Iterator[tuple[int, Record | None]]:
        first = 1
        while (last := self.client.read_state().last) >= first:  # also pages that are filed again meanwhile
            numbers = range(first, min(first + _READ_RECORDS, last + 1))
            contents = self.client.call(b"MGET", *map(self._keys.record, numbers))
            for number, content in zip(numbers, contents, strict=True):
                if content is not None:
                    yield number, unpack_sound(content)
            first = numbers.stop

    # Sites

    def find_snapshot(self, key: bytes, number: int, moment: float) -> Snapshot | None:
        return self._sites.find_snapshot(key, number, moment)

    def sites(self) -> Iterator[StoredSite]:
        yield from self._sites.read_all()
        self.client.read_state()  # raises an error if the index was emptied meanwhile

    def merge_site(self, site: StoredSite, now: int) -> None:
        self._sites.merge(site, now)

    def measure_sites(self) -> SiteFigures:
        return self._sites.measure()

    # What is changed

    def what_was_read(self) -> Changes:
        """Return what was read, without the changes."""
        read = self._changes
        return Changes(read.buckets, read.rows, read.counts, read.assumed)

    def collect(self) -> Changes:
        """Return what was read, and the changes."""
        changes, commands = self._changes, self._changes.commands
        new = {
            number: at for at, number in enumerate((n for n, r in self._records.items() if n >= _FIRST_NEW and r), 1)
        }
        for number, record in self._records.items():
            content = b"" if record is None else pack(record)
            if number in new:
                changes.new.append(content)
                changes.new_decoded.append(record)
            elif number < _FIRST_NEW:
                key = self._keys.record(number)
                if content:
                    changes.written[key] = content
                    changes.decoded[key] = record
                else:
                    commands.append((b"DEL", key))
        for key, bucket in self._buckets.items():
            bucket.collect(key, new if key.startswith(self._keys.numbers) else {}, changes)
        scopes = [scope.to_bytes(4, "big") for scope in sorted(self.client.find_new_scopes(changes.scopes))]
        for start in range(0, len(scopes), _MOST_SCOPES):
            commands.append((b"SADD", self._keys.scopes, *scopes[start : start + _MOST_SCOPES]))
        self._sites.collect()
        return changes

    def _numbers_at(self, place: int) -> list[int]:
        key, first = place_entry(place, 0)
        return numbers_in(self._read_bucket(self._keys.number_bucket(key)), first)

    def _put(self, place: int, number: int) -> None:
        key, payload = place_entry(place, number)
        self._change(self._keys.number_bucket(key)).add(payload.to_bytes(PAYLOAD_BYTES, "little"))

    def _take(self, place: int, number: int) -> None:
        key, payload = place_entry(place, number)
        self._change(self._keys.number_bucket(key)).take(payload.to_bytes(PAYLOAD_BYTES, "little"))

    def _change(self, key: bytes) -> ChangedBucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = ChangedBucket(self._cells.read_bucket(self._changes, key))
        return bucket

    def _read_bucket(self, key: bytes) -> bytes:
        bucket = self._buckets.get(key)
        return self._cells.read_bucket(self._changes, key) if bucket is None else bucket.content

    def _read(self, keys: list[bytes]) -> list[bytes]:
        """Return the contents of buckets."""
        contents = self._cells.read_buckets(self._changes, keys)
        if not self._buckets:
            return contents
        changed = self._buckets
        return [changed[key].content if key in changed else known for key, known in zip(keys, contents, strict=True)]

    @staticmethod
    def _decode(row: Row) -> Record | None:
        if not row.content:
            return None
        if row.decoded is None:
            row.decoded = unpack(row.content)
        assert isinstance(row.decoded, Record)
        return row.decoded
