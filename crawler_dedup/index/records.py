"""The records of kept pages, by number and by page key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import lmdb
import msgspec
from xxhash import xxh3_128_digest

from crawler_dedup.index.decoding import decode_number, decode_struct
from crawler_dedup.signedpage import Count, SignedPage, is_well_formed
from crawler_dedup.urls import without_credentials

MAX_ALIASES = 4
"""Further keys under which a page is known. A site that redirects each visit to an address of its own makes many."""

_NAME_BYTES = 12
_NUMBER_BYTES = 5


class Record(msgspec.Struct, frozen=True, array_like=True):
    """A page that is kept. Times are in seconds since 1970; one that was imported may say anything.

    Attributes:
        run: number of the run that filed it.
        claim: number of its claim in that run, 0 if it was settled at once.
        filed: when it was filed.
        seen: when it was visited last.
        settled: when it was handled; 0 while that is open. Only a settled one stands for duplicates.
        stands: whether it may stand for others; if not, there was no room for more under its signature.
        aliases: names of other keys that lead to it (:func:`hash_page_key`).
    """

    page: SignedPage
    run: Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)] = 0
    claim: Count = 0
    filed: int = 0
    seen: int = 0
    settled: int = 0
    stands: bool = True
    aliases: Annotated[tuple[bytes, ...], msgspec.Meta(max_length=MAX_ALIASES)] = ()


encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


def decode(content: bytes | memoryview) -> Record:
    """Decode a record that :func:`encode` made; raise :class:`msgspec.DecodeError` for anything else."""
    record = decode_struct(_decode, content)
    if not is_well_formed(record.page) or any(len(name) != _NAME_BYTES for name in record.aliases):
        raise msgspec.DecodeError("The signature has not 64 bits, or a part has a length that it cannot have.")
    url = without_credentials(record.page.url)  # an older version left more of them
    if url != record.page.url:
        record = msgspec.structs.replace(record, page=msgspec.structs.replace(record.page, url=url))
    return record


class Records:
    """Records by number and by page key. Numbers are given in ascending order, so that the database grows at its end."""

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None) -> None:
        self._records = env.open_db(b"records", txn)
        self._numbers = env.open_db(b"numbers", txn)

    def find(self, txn: lmdb.Transaction, scope: str, key: str) -> tuple[int, Record] | None:
        """Return the number and record of a page, or ``None``."""
        number = self._number_of(txn, hash_page_key(scope, key))
        record = None if number is None else self.get(txn, number)
        return None if number is None or record is None else (number, record)

    def get(self, txn: lmdb.Transaction, number: int) -> Record | None:
        """Return the record with *number*, or ``None``. Raises :class:`msgspec.DecodeError` for one that cannot be read."""
        if number >> 8 * _NUMBER_BYTES:  # a damaged bucket may say anything
            return None
        content = txn.get(_number(number), db=self._records)
        return None if content is None else decode(content)

    def add(self, txn: lmdb.Transaction, record: Record) -> int:
        """Store *record* under a new number and return that."""
        with txn.cursor(db=self._records) as cursor:
            number = decode_number(cursor.key(), _NUMBER_BYTES) + 1 if cursor.last() else 1
        name = _number(number)
        txn.put(hash_page_key(record.page.scope, record.page.key), name, db=self._numbers)
        txn.put(name, encode(self._with_free_aliases(txn, number, record)), db=self._records, append=True)
        return number

    def replace(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Store *record* in the place of the one with *number*, whose page key it has."""
        txn.put(_number(number), encode(record), db=self._records)

    def remove(self, txn: lmdb.Transaction, number: int, record: Record) -> None:
        """Forget *record*, which has *number*."""
        txn.delete(_number(number), db=self._records)
        for name in (hash_page_key(record.page.scope, record.page.key), *record.aliases):
            if self._number_of(txn, name) == number:
                txn.delete(name, db=self._numbers)

    def add_alias(self, txn: lmdb.Transaction, number: int, record: Record, key: str) -> Record:
        """Let *key* lead to *record*, which has *number*, unless it leads somewhere already; return the record to store."""
        name = hash_page_key(record.page.scope, key)
        if txn.get(name, db=self._numbers) is not None:
            return record
        for oldest in record.aliases[: -(MAX_ALIASES - 1)]:
            txn.delete(oldest, db=self._numbers)
        txn.put(name, _number(number), db=self._numbers)
        return msgspec.structs.replace(record, aliases=(*record.aliases[-(MAX_ALIASES - 1) :], name))

    def remove_alias(self, txn: lmdb.Transaction, record: Record, key: str) -> Record:
        """Let *key*, which is an alias of *record*, lead nowhere; return the record to store."""
        name = hash_page_key(record.page.scope, key)
        txn.delete(name, db=self._numbers)
        return msgspec.structs.replace(record, aliases=tuple(alias for alias in record.aliases if alias != name))

    def has(self, txn: lmdb.Transaction, scope: str, key: str) -> bool:
        """Return whether a page is recorded."""
        return txn.get(hash_page_key(scope, key), db=self._numbers) is not None

    def items(self, txn: lmdb.Transaction) -> Iterator[tuple[int, Record | None]]:
        """Yield (number, record) in ascending order; ``None`` for a record that cannot be read.

        Raises:
            msgspec.DecodeError: what stands there is no number.
        """
        with txn.cursor(db=self._records) as cursor:
            for name, content in cursor:
                try:
                    record = decode(content)
                except msgspec.DecodeError:
                    record = None
                yield decode_number(name, _NUMBER_BYTES), record

    def leads_to(self, txn: lmdb.Transaction, number: int, record: Record) -> bool:
        """Return whether the page key of *record* leads to *number*."""
        return self._number_of(txn, hash_page_key(record.page.scope, record.page.key)) == number

    def count_keys(self, txn: lmdb.Transaction) -> int:
        """Return how many page keys there are: as many as records and their aliases."""
        entries: int = txn.stat(self._numbers)["entries"]
        return entries

    def rebuild_numbers(self, txn: lmdb.Transaction) -> None:
        """Build the page keys anew from the records. Remove what cannot be read, and of two records of a page the older."""
        txn.drop(self._numbers, delete=False)
        self._remove_nameless(txn)
        unreadable = []
        for number, record in self.items(txn):
            if record is None:
                unreadable.append(number)
                continue
            name = hash_page_key(record.page.scope, record.page.key)
            older = self._number_of(txn, name)
            if older is not None:
                unreadable.append(older)
            txn.put(name, _number(number), db=self._numbers)
        for number in unreadable:
            txn.delete(_number(number), db=self._records)
        self._rebuild_aliases(txn)

    def _remove_nameless(self, txn: lmdb.Transaction) -> None:
        """Remove what stands under no number."""
        with txn.cursor(db=self._records) as cursor:
            nameless = [bytes(name) for name in cursor.iternext(values=False) if len(name) != _NUMBER_BYTES]
        for name in nameless:
            txn.delete(name, db=self._records)

    def _rebuild_aliases(self, txn: lmdb.Transaction) -> None:
        aliased = [(number, record) for number, record in self.items(txn) if record is not None and record.aliases]
        for number, record in aliased:
            self.replace(txn, number, self._with_free_aliases(txn, number, record))

    def _with_free_aliases(self, txn: lmdb.Transaction, number: int, record: Record) -> Record:
        """Return *record* with those of its aliases that can lead to *number* from now on: they led nowhere before."""
        if not record.aliases:
            return record
        name = _number(number)
        free = tuple(alias for alias in record.aliases if txn.put(alias, name, overwrite=False, db=self._numbers))
        return msgspec.structs.replace(record, aliases=free)

    def count(self, txn: lmdb.Transaction) -> int:
        """Return how many records there are."""
        entries: int = txn.stat(self._records)["entries"]
        return entries

    def _number_of(self, txn: lmdb.Transaction, name: bytes) -> int | None:
        number = txn.get(name, db=self._numbers)
        return None if number is None else decode_number(number, _NUMBER_BYTES)


def _number(number: int) -> bytes:
    try:
        return number.to_bytes(_NUMBER_BYTES, "big")
    except OverflowError as error:  # the one after the last that can be
        raise msgspec.DecodeError(f"{number} is no number of a record") from error


def hash_page_key(scope: str, key: str) -> bytes:
    """Return 96 bits that stand for a page key: of 10^9 pages two have the same with a chance of 10^-11."""
    # The length keeps ("a", "bc") and ("ab", "c") apart.
    return xxh3_128_digest(f"{len(scope)}:{scope}{key}".encode("utf-8", "replace"))[:_NAME_BYTES]
