"""Kept pages outside of an index: buckets and numbers are in memory, the records in a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

import msgspec
import numpy as np

from crawler_dedup.hamming import Numbers
from crawler_dedup.index import records
from crawler_dedup.index.keptpages import Filing
from crawler_dedup.index.layout import limit_payloads
from crawler_dedup.index.limits import MAX_ALIASES, MAX_REPRESENTATIVES, MAX_UNDER_TITLE
from crawler_dedup.index.profiles import CountsReader, FrozenProfiles, Snapshot
from crawler_dedup.index.records import Record, hash_scope, name_page, shorten_key
from crawler_dedup.signedpage import SignedPage

_PAYLOAD = np.dtype("<u8")
_KEY_BITS = 64


class MemoryPages:
    """Kept pages of one process (:class:`~crawler_dedup.index.keptpages.KeptPages`), which are lost when it ends.

    Args:
        file: an empty file, open to write and read; records are appended to it.
        profiles: what is known about sites. Nothing is learned.

    Attributes:
        key_count: total number of keys under which signatures were filed.
    """

    def __init__(self, file: IO[bytes], profiles: FrozenProfiles) -> None:
        self._file = file
        self._profiles = profiles
        self._buckets: dict[int, bytearray] = {}  # by scope and key
        self._representatives: dict[int, list[int]] = {}  # by scope and signature, the oldest first
        self._under_title: dict[int, list[int]] = {}  # by scope and key of a title, the oldest first
        self._numbers: dict[bytes, int] = {}  # by name of a page or alias
        self._places = array("Q")  # by number - 1: where the record begins in the file
        self._lengths = array("I")  # by number - 1: length of the record; 0: removed
        self._end = 0
        self.key_count = 0

    @property
    def last_number(self) -> int:
        """The number of the page that was added last; 0 if none was."""
        return len(self._places)

    def number_of(self, scope: str, key: str) -> int | None:
        """Return the number of a page, or ``None``."""
        return self._numbers.get(name_page(scope, key))

    def find(self, scope: str, key: str) -> tuple[int, Record] | None:
        number = self.number_of(scope, key)
        record = None if number is None else self.get(number)
        return None if number is None or record is None else (number, record)

    def get(self, number: int) -> Record | None:
        length = self._lengths[number - 1]
        if not length:
            return None
        self._file.seek(self._places[number - 1])
        return records.decode(self._file.read(length))

    def read_buckets(self, scope: str, probes: Iterable[int], limit: int | None) -> Numbers:
        base = hash_scope(scope) << _KEY_BITS
        buckets = [self._buckets.get(base | key, b"") for key in probes]
        if limit is not None:
            end = _PAYLOAD.itemsize * limit_payloads(limit)
            buckets = [bucket[:end] for bucket in buckets]
        return np.frombuffer(b"".join(buckets), dtype=_PAYLOAD)

    def read_representatives(self, scope: str, signature: int) -> Iterator[tuple[int, Record]]:
        yield from self._read(scope, self._representatives.get(_place(scope, signature), ()))

    def read_under_title(self, scope: str, title: int) -> Iterator[tuple[int, Record]]:
        yield from self._read(scope, self._under_title.get(_place(scope, title), ()))

    def _read(self, scope: str, numbers: Sequence[int]) -> Iterator[tuple[int, Record]]:
        for number in tuple(numbers):
            record = self.get(number)
            if record is not None and record.page.scope == scope:
                yield number, record

    def add(self, record: Record, filing: Filing) -> int:
        page = record.page
        page = msgspec.structs.replace(page, key=shorten_key(page.key))
        representatives = self._representatives.setdefault(_place(page.scope, page.signature), [])
        is_representative = len(representatives) < MAX_REPRESENTATIVES
        self._places.append(0)
        self._lengths.append(0)
        number = self.last_number
        self._numbers[name_page(page.scope, page.key)] = number
        aliases = tuple(name for name in dict.fromkeys(record.aliases) if name not in self._numbers)
        self._numbers.update(dict.fromkeys(aliases, number))
        self.replace(
            number, msgspec.structs.replace(record, page=page, is_representative=is_representative, aliases=aliases)
        )
        if not representatives:
            self._fill_buckets(self._bucket_keys(page, filing), page.signature)
        if is_representative:
            representatives.append(number)
        if title := filing.title_key(page):
            under_title = self._under_title.setdefault(_place(page.scope, title), [])
            if len(under_title) < MAX_UNDER_TITLE:
                under_title.append(number)
        return number

    def replace(self, number: int, record: Record) -> None:
        content = records.encode(record)
        self._file.seek(self._end)
        self._file.write(content)
        self._places[number - 1], self._lengths[number - 1] = self._end, len(content)
        self._end += len(content)

    def remove(self, number: int, record: Record, filing: Filing) -> None:
        page = record.page
        self._lengths[number - 1] = 0
        for name in (name_page(page.scope, page.key), *record.aliases):
            if self._numbers.get(name) == number:
                del self._numbers[name]
        place = _place(page.scope, page.signature)
        representatives = self._representatives.get(place, [])
        if number in representatives:
            representatives.remove(number)
        if not representatives:
            self._representatives.pop(place, None)
            self._remove_signature(page, filing)
        title = filing.title_key(page)
        under_title = self._under_title.get(_place(page.scope, title), [])
        if number in under_title:
            under_title.remove(number)
        if not under_title:
            self._under_title.pop(_place(page.scope, title), None)

    def _remove_signature(self, page: SignedPage, filing: Filing) -> None:
        """Remove a signature from its buckets. The last signature of each bucket takes its place, as in an index."""
        for key in self._bucket_keys(page, filing):
            bucket = self._buckets.get(key, bytearray())
            at = np.flatnonzero(np.frombuffer(bytes(bucket), dtype=_PAYLOAD) == page.signature)
            if len(at):
                first = 8 * int(at[0])
                bucket[first : first + 8] = bucket[-8:]
                del bucket[-8:]

    def add_alias(self, number: int, record: Record, key: str) -> Record:
        name = name_page(record.page.scope, key)
        if name in self._numbers:
            return record
        kept = record.aliases[-(MAX_ALIASES - 1) :]
        for oldest in set(record.aliases) - set(kept):
            del self._numbers[oldest]
        self._numbers[name] = number
        return msgspec.structs.replace(record, aliases=(*kept, name))

    def remove_alias(self, number: int, record: Record, key: str) -> Record:  # noqa: ARG002  (an index needs the number)
        name = name_page(record.page.scope, key)
        self._numbers.pop(name, None)
        return msgspec.structs.replace(record, aliases=tuple(alias for alias in record.aliases if alias != name))

    def snapshot(self, key: bytes) -> Snapshot:
        return self._profiles.snapshot(key)

    def count_page(self, page: SignedPage, reader: CountsReader, now: int) -> None:
        """Learn nothing: profiles stay as they are."""

    def _fill_buckets(self, keys: Sequence[int], signature: int) -> None:
        payload = signature.to_bytes(8, "little")
        for key in keys:
            self._buckets.setdefault(key, bytearray()).extend(payload)
        self.key_count += len(keys)

    @staticmethod
    def _bucket_keys(page: SignedPage, filing: Filing) -> list[int]:
        base = hash_scope(page.scope) << _KEY_BITS
        return [base | key for key in filing.keys(page)]


def _place(scope: str, signature: int) -> int:
    return hash_scope(scope) << _KEY_BITS | signature
