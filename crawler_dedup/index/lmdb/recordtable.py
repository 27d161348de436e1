"""The records of an index, by number and by page key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

import lmdb
import msgspec

from crawler_dedup.index.decoding import decode_number
from crawler_dedup.index.dictionary import TRAINED_ON, Dictionary
from crawler_dedup.index.lmdb.dictionaries import Dictionaries
from crawler_dedup.index.lmdb.numbers import RecordNumbers
from crawler_dedup.index.packing import as_unpacked, joined_texts, pack, repack, unpack, unpack_beginning, unpack_head
from crawler_dedup.index.places import NUMBER_BYTES, place_of_name
from crawler_dedup.index.records import MAX_ALIASES, Record, name_page

_REMEMBERED = 128  # records that were read or written last; up to twice as many are kept
_MOST_REMEMBERED = 8_000  # bytes; larger records are not kept


class _RecentRecords:
    """A cache of the records that were read or written last, by their stored content: several threads read.

    A representative is read for each of its duplicates, and a claimed record is read again when it is settled.
    """

    def __init__(self) -> None:
        self._latest: dict[bytes, tuple[Record, Dictionary | None]] = {}
        self._before: dict[bytes, tuple[Record, Dictionary | None]] = {}

    def find(self, content: bytes) -> tuple[Record, Dictionary | None] | None:
        """Return the record that is stored as *content*, and the dictionary with which its texts were read."""
        latest = self._latest.get(content)
        if latest is None and (latest := self._before.get(content)) is not None:
            self.add(content, *latest)
        return latest

    def add(self, content: bytes, record: Record, dictionary: Dictionary | None) -> None:
        """Remember *record*, which is stored as *content*."""
        if len(content) > _MOST_REMEMBERED:
            return
        if len(self._latest) >= _REMEMBERED:
            self._before, self._latest = self._latest, {}
        self._latest[content] = record, dictionary


class Records:
    """Records by number and by page key. Numbers are given in ascending order, so that the database grows at its end.

    Attributes:
        dictionaries: the dictionaries that compress the texts of records.
    """

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None, numbers: RecordNumbers) -> None:
        self._records = env.open_db(b"records", txn)
        self._numbers = numbers
        self._recent = _RecentRecords()
        self.dictionaries = Dictionaries(env, txn)

    def find(self, txn: lmdb.Transaction, scope: str, key: str) -> tuple[int, Record] | None:
        """Return the number and record of a page, or ``None``."""
        return self._find(txn, name_page(scope, key))

    def _find(self, txn: lmdb.Transaction, name: bytes) -> tuple[int, Record] | None:
        for number in self._numbers.query(txn, place_of_name(name)):
            record = self.get(txn, number)
            if record is not None and (name in record.aliases or name == _name_of(record)):
                return number, record
        return None

    def get(self, txn: lmdb.Transaction, number: int) -> Record | None:
        """Return the record with *number*, or ``None``. Raises :class:`msgspec.DecodeError` if it is unreadable."""
        stored = txn.get(_number(number), db=self._records)
        if stored is None:
            return None
        content = bytes(stored)
        recent = self._recent.find(content)
        # Another process may have emptied the index and stored another dictionary with the same number.
        if recent is not None and (recent[1] is None or recent[1] is self.dictionaries.find(txn, recent[1].number)):
            return recent[0]
        packed = unpack_head(content)
        dictionary = self._find_dictionary(txn, packed.dictionary)
        record = unpack(packed, dictionary)
        self._recent.add(content, record, dictionary)
        return record

    def add(self, txn: lmdb.Transaction, record: Record) -> tuple[int, Record]:
        """Store *record* under a new number, without aliases that are taken; return the number and the stored record."""
        with txn.cursor(db=self._records) as cursor:
            number = decode_number(cursor.key(), NUMBER_BYTES) + 1 if cursor.last() else 1
        self._numbers.insert(txn, place_of_name(_name_of(record)), number)
        record = self._with_free_aliases(txn, number, record)
        dictionary = self.dictionaries.find_newest(txn)
        content = pack(record, dictionary)
        txn.put(_number(number), content, db=self._records, append=True)
        self._remember(txn, content, record)
        if dictionary is None:
            self._train(txn)
        return number, record

    def replace(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Replace the record with *number* by *record*, which is of the same page."""
        name = _number(number)
        content = repack(unpack_beginning(txn.get(name, b"", db=self._records)), record)
        txn.put(name, content, db=self._records)
        self._remember(txn, content, record)

    def _remember(self, txn: lmdb.Transaction, content: bytes, record: Record) -> None:
        """Remember *record*, which was stored as *content*, if it is certain that reading returns it unchanged."""
        unpacked = as_unpacked(record)
        if unpacked is not None:
            self._recent.add(content, unpacked, self._find_dictionary(txn, unpack_beginning(content).dictionary))

    def remove(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Remove *record*, which has *number*, its page key and its aliases."""
        txn.delete(_number(number), db=self._records)
        for name in (_name_of(record), *record.aliases):
            self._numbers.remove(txn, place_of_name(name), number)

    def add_alias(self, txn: lmdb.Transaction, number: int, record: Record, key: str) -> Record:
        """Make *key* lead to *record*, which has *number*, unless it leads to a record; return the record to store."""
        name = name_page(record.page.scope, key)
        if self._find(txn, name) is not None:
            return record
        for oldest in record.aliases[: -(MAX_ALIASES - 1)]:
            self._numbers.remove(txn, place_of_name(oldest), number)
        self._numbers.insert(txn, place_of_name(name), number)
        return msgspec.structs.replace(record, aliases=(*record.aliases[-(MAX_ALIASES - 1) :], name))

    def remove_alias(self, txn: lmdb.Transaction, number: int, record: Record, key: str) -> Record:
        """Remove the alias *key* of *record*, which has *number*; return the record to store."""
        name = name_page(record.page.scope, key)
        self._numbers.remove(txn, place_of_name(name), number)
        return msgspec.structs.replace(record, aliases=tuple(alias for alias in record.aliases if alias != name))

    def items(self, txn: lmdb.Transaction) -> Iterator[tuple[int, Record | None]]:
        """Yield (number, record) in ascending order; ``None`` for a record that cannot be read, or has no number."""
        with txn.cursor(db=self._records) as cursor:
            for name, content in cursor:
                has_number = len(name) == NUMBER_BYTES
                yield int.from_bytes(name, "big"), self._unpack_sound(txn, content) if has_number else None

    def places(self, record: Record) -> list[int]:
        """Return the places of the page key and of the aliases of *record*."""
        return [place_of_name(name) for name in (_name_of(record), *record.aliases)]

    def leads_to(self, txn: lmdb.Transaction, number: int, record: Record) -> bool:
        """Return whether the page key of *record* leads to *number*."""
        return number in self._numbers.query(txn, place_of_name(_name_of(record)))

    def count(self, txn: lmdb.Transaction) -> int:
        """Return how many records there are."""
        entries: int = txn.stat(self._records)["entries"]
        return entries

    def _with_free_aliases(self, txn: lmdb.Transaction, number: int, record: Record) -> Record:
        """Make the free aliases of *record* lead to *number*; return *record* without its other aliases."""
        free: list[bytes] = []
        for alias in record.aliases:
            if alias not in free and alias != _name_of(record) and self._find(txn, alias) is None:
                self._numbers.insert(txn, place_of_name(alias), number)
                free.append(alias)
        return msgspec.structs.replace(record, aliases=tuple(free)) if record.aliases else record

    def _train(self, txn: lmdb.Transaction) -> None:
        """Train the dictionary of the index with those of the newest :data:`TRAINED_ON` records that can be read.

        If that fails, try again each time the number of records has doubled.
        """
        count = self.count(txn)
        if count < TRAINED_ON or count & (count - 1):
            return
        with txn.cursor(db=self._records) as cursor:
            newest = [bytes(content) for _, content in islice(cursor.iterprev(), TRAINED_ON)]
        readable = (record for record in map(partial(self._unpack_sound, txn), newest) if record is not None)
        texts = (joined_texts(record.page) for record in readable)
        self.dictionaries.add(txn, [text for text in texts if text is not None])

    def _unpack_sound(self, txn: lmdb.Transaction, content: bytes | memoryview) -> Record | None:
        """Return a record, or ``None`` where it cannot be read."""
        try:
            return self._unpack(txn, content)
        except msgspec.DecodeError:
            return None

    def _unpack(self, txn: lmdb.Transaction, content: bytes | memoryview) -> Record:
        packed = unpack_head(content)
        return unpack(packed, self._find_dictionary(txn, packed.dictionary))

    def _find_dictionary(self, txn: lmdb.Transaction, number: int) -> Dictionary | None:
        return self.dictionaries.find(txn, number) if number else None


def _name_of(record: Record) -> bytes:
    return name_page(record.page.scope, record.page.key)


def _number(number: int) -> bytes:
    try:
        return number.to_bytes(NUMBER_BYTES, "big")
    except OverflowError as error:  # the number after the largest possible one
        raise msgspec.DecodeError(f"{number} is no number of a record") from error
