"""One transaction of an index: its pages, runs, sites and overrides, the same on every storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import msgspec

from crawler_dedup.hashes import Numbers
from crawler_dedup.index import layout
from crawler_dedup.index.limits import MAX_ALIASES, MAX_REPRESENTATIVES, MAX_UNDER_TITLE
from crawler_dedup.index.overrides import KnownOverrides, Override, Overrides
from crawler_dedup.index.profiles import FrozenProfiles, SiteStore
from crawler_dedup.index.protocols import Filing
from crawler_dedup.index.records import Record, decode, encode, hash_scope, name_page
from crawler_dedup.index.runs import Runs
from crawler_dedup.index.storage import Storage

OVERRIDES_VERSION = b"version"
"""Name of the row of overrides that changes with each of them."""
_VERSION_BYTES = 8
_decode_override = msgspec.msgpack.Decoder(Override).decode
_SCOPE = 0
"""The scope of the buckets of numbers: references are hashes that include a scope."""


class Transaction:
    """What is stored in an index, within one transaction.

    The number of a record is stored under the references of its page key and of its aliases, and, if the page is a
    representative, under that of its signature. The buckets of signatures contain each signature for which there is such a
    number.

    References are hashes of 64 bits (:mod:`crawler_dedup.index.layout`). Several records may share a reference, so the
    records are checked; but no page key has the reference of a signature.

    Args:
        known: the overrides that were read last.
        frozen: profiles of sites to use instead of those in the index, which are not changed then.

    Attributes:
        runs: the entries of runs.
        sites: what is known about sites.
    """

    def __init__(self, storage: Storage, known: KnownOverrides, frozen: FrozenProfiles | None = None) -> None:
        self.runs = Runs(storage)
        self.sites = SiteStore(storage, frozen)
        self._storage = storage
        self._known = known
        self.header = storage.header
        self.count = storage.count_records

    # Records

    def get(self, number: int) -> Record | None:
        """Return the record with *number*, or ``None``. Raises :class:`msgspec.DecodeError` if it is unreadable."""
        stored = self._storage.read(layout.RECORDS, number_name(number))
        return None if stored is None else decode(stored)

    def replace(self, number: int, record: Record) -> None:
        """Replace the record with *number* by *record*, which is of the same page."""
        self._storage.write(layout.RECORDS, number_name(number), encode(record))

    def items(self) -> Iterator[tuple[int, Record | None]]:
        """Yield (number, record) in ascending order; ``None`` for a record that cannot be read, or has no number."""
        for name, content in self._storage.scan(layout.RECORDS):
            record = None
            with suppress(msgspec.DecodeError):
                record = decode(content) if len(name) == layout.NUMBER_BYTES else None
            yield int.from_bytes(name, "big"), record

    # Pages

    def find(self, scope: str, key: str) -> tuple[int, Record] | None:
        """Return the number and record of a page, or ``None``."""
        return self._find(name_page(scope, key))

    def _find(self, name: bytes) -> tuple[int, Record] | None:
        for number, record in self._read_at(layout.reference_of_name(name)):
            if name in record.aliases or name == name_of(record):
                return number, record
        return None

    def read_buckets(self, scope: str, probes: Iterable[int], limit: int | None) -> Numbers:
        """Return the signatures of *scope* in the buckets *probes*: at least the first *limit* of each bucket, or all."""
        return self._storage.read_buckets(layout.SIGNATURES, hash_scope(scope), probes, limit)

    def read_filed(self, scope: str, key: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages filed under a signature or the key of a title, perhaps among other pages.

        The oldest come first.
        """
        for number, record in self._read_at(layout.reference_of_signature(hash_scope(scope), key)):
            if record.page.scope == scope:
                yield number, record

    def add(self, record: Record, filing: Filing) -> int:
        """Store *record*, file it under its signature, and return its number."""
        references = [layout.reference_of_name(name_of(record))]
        record = self._without_taken_aliases(record, references)
        record = self._represent(record, filing, references)
        number = self._storage.new_number()
        for reference in references:
            self._put(reference, number)
        self._storage.write(layout.RECORDS, number_name(number), encode(record), is_new=True)
        self.runs.count_claims(record, 1)
        return number

    def _without_taken_aliases(self, record: Record, references: list[int]) -> Record:
        """Return *record* with its free aliases only, and add their references to *references*."""
        free: list[bytes] = []
        for alias in record.aliases:
            if alias not in free and alias != name_of(record) and self._find(alias) is None:
                references.append(layout.reference_of_name(alias))
                free.append(alias)
        return msgspec.structs.replace(record, aliases=tuple(free)) if record.aliases else record

    def _represent(self, record: Record, filing: Filing, references: list[int]) -> Record:
        """Make the page a representative of its signature unless the limit is reached; return the record to store.

        The references of its signature and its title are added to *references*.
        """
        scope, signature = hash_scope(record.page.scope), record.page.signature
        reference = layout.reference_of_signature(scope, signature)
        is_filed = bool(numbers := self.numbers_at(reference)) and self._has_representative(scope, signature)
        is_representative = not is_filed or len(numbers) < MAX_REPRESENTATIVES
        if is_representative:
            references.append(reference)
        if not is_filed:
            self._storage.append(layout.SIGNATURES, scope, filing.keys(record.page), signature)
        if title := filing.title_key(record.page):
            reference = layout.reference_of_signature(scope, title)
            if len(self.numbers_at(reference)) < MAX_UNDER_TITLE:
                references.append(reference)
        return msgspec.structs.replace(record, is_representative=is_representative)

    def remove(self, number: int, record: Record, filing: Filing) -> None:
        """Remove *record*, which has *number*; remove its signature, too, unless another page has the same."""
        page, scope = record.page, hash_scope(record.page.scope)
        self._storage.delete(layout.RECORDS, number_name(number))
        self.runs.count_claims(record, -1)
        for reference in references_of(record):
            self._take(reference, number)
        self._take(layout.reference_of_signature(scope, page.signature), number)
        if title := filing.title_key(page):
            self._take(layout.reference_of_signature(scope, title), number)
        if not self._has_representative(scope, page.signature):
            self._storage.take(layout.SIGNATURES, scope, filing.keys(page), page.signature)

    def forget(self, number: int, select: Callable[[Record], bool], filing: Filing) -> Record | None:
        """Remove the record with *number* if *select* picks it now, and return it then."""
        record = self.get(number)
        if record is None or not select(record):
            return None
        self.remove(number, record, filing)
        return record

    def merge(self, record: Record, filing: Filing) -> bool:
        """Add *record* unless its page is recorded; return whether it was added."""
        is_new = self.find(record.page.scope, record.page.key) is None
        if is_new:
            self.add(record, filing)
        return is_new

    def add_alias(self, number: int, record: Record, key: str) -> Record:
        """Make *key* an alias of *record*, which has *number*, unless another page has it; return the record to store."""
        name = name_page(record.page.scope, key)
        if self._find(name) is not None:
            return record
        for oldest in record.aliases[: -(MAX_ALIASES - 1)]:
            self._take(layout.reference_of_name(oldest), number)
        self._put(layout.reference_of_name(name), number)
        return msgspec.structs.replace(record, aliases=(*record.aliases[-(MAX_ALIASES - 1) :], name))

    def remove_alias(self, number: int, key: str) -> None:
        """Remove the alias *key* of the record with *number*."""
        if (record := self.get(number)) is not None:
            name = name_page(record.page.scope, key)
            self._take(layout.reference_of_name(name), number)
            aliases = tuple(alias for alias in record.aliases if alias != name)
            self.replace(number, msgspec.structs.replace(record, aliases=aliases))

    def _has_representative(self, scope: int, signature: int) -> bool:
        """Return whether a page is filed under *signature*, so that the tables have it; true if a record is unreadable."""
        try:
            filed = self._read_at(layout.reference_of_signature(scope, signature))
            return any(is_under(record, scope, signature) for _, record in filed)
        except msgspec.DecodeError:
            return True

    def _read_at(self, reference: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages to which *reference* leads, the oldest first, and perhaps of other pages."""
        for number in self.numbers_at(reference):
            record = self.get(number)
            if record is not None:
                yield number, record

    def numbers_at(self, reference: int) -> list[int]:
        """Return the numbers to which *reference* leads, ascending, perhaps with numbers of other references."""
        key, first = layout.reference_entry(reference, 0)
        return layout.numbers_in(self._storage.read_buckets(layout.NUMBERS, _SCOPE, [key], None), first)

    def _put(self, reference: int, number: int) -> None:
        """Make *reference* lead to *number*; it must not do so already."""
        key, payload = layout.reference_entry(reference, number)
        self._storage.append(layout.NUMBERS, _SCOPE, [key], payload)

    def _take(self, reference: int, number: int) -> None:
        """Remove *number* from *reference*, if it is there."""
        key, payload = layout.reference_entry(reference, number)
        self._storage.take(layout.NUMBERS, _SCOPE, [key], payload)

    # Overrides

    def overrides(self) -> Overrides:
        """Return the overrides. They are read again when they have changed.

        Raises :class:`msgspec.DecodeError` if one of them cannot be read.
        """
        stored = self._storage.read(layout.OVERRIDES, OVERRIDES_VERSION)
        version = b"" if stored is None else bytes(stored)
        version_known, overrides = self._known.latest  # replaced in one step
        if version_known != version:
            contents = list(self._read_overrides())
            readable = [override for override in contents if override is not None]
            if len(readable) < len(contents):
                raise msgspec.DecodeError("an override cannot be read")
            overrides = Overrides(readable)
            self._known.latest = version, overrides
        return overrides

    def list_overrides(self) -> list[Override]:
        """Return all overrides that can be read, the oldest first."""
        overrides = [override for override in self._read_overrides() if override is not None]
        return sorted(overrides, key=lambda override: (override.since, override.kind, override.urls))

    def count_unreadable_overrides(self) -> int:
        """Count the overrides that cannot be read."""
        return sum(override is None for override in self._read_overrides())

    def _read_overrides(self) -> Iterator[Override | None]:
        for name, content in self._storage.scan(layout.OVERRIDES):
            if name != OVERRIDES_VERSION:
                try:
                    override = layout.decode_struct(_decode_override, content)
                except msgspec.DecodeError:
                    yield None
                else:
                    yield override if override.name == name else None

    def add_override(self, override: Override) -> bool:
        """Store *override*; replace a stored one only if *override* has restorations. Return whether none was stored."""
        is_new = self._storage.read(layout.OVERRIDES, override.name) is None
        if is_new or override.restorations:
            self._write_override(override)
        return is_new

    def change_overrides(self, change: Callable[[Override], Override]) -> None:
        """Replace each override by what *change* returns for it, which has the same name."""
        for override in self.list_overrides():
            changed = change(override)
            if changed is not override:
                self._write_override(changed)

    def _write_override(self, override: Override) -> None:
        self._storage.write(layout.OVERRIDES, override.name, msgspec.msgpack.encode(override))
        self._storage.write(layout.OVERRIDES, OVERRIDES_VERSION, os.urandom(_VERSION_BYTES))

    def remove_override(self, override: Override) -> bool:
        """Remove *override*; return whether it was stored."""
        if self._storage.read(layout.OVERRIDES, override.name) is None:
            return False
        self._storage.delete(layout.OVERRIDES, override.name)
        self._storage.write(layout.OVERRIDES, OVERRIDES_VERSION, os.urandom(_VERSION_BYTES))
        return True


def number_name(number: int) -> bytes:
    """Return the name of the record with *number*. Raises :class:`msgspec.DecodeError` after the largest possible one."""
    try:
        return number.to_bytes(layout.NUMBER_BYTES, "big")
    except OverflowError as error:
        raise msgspec.DecodeError(f"{number} is no number of a record") from error


def name_of(record: Record) -> bytes:
    """Return the name by which the index finds the page of *record*."""
    return name_page(record.page.scope, record.page.key)


def references_of(record: Record) -> list[int]:
    """Return the references of the page key and of the aliases of *record*."""
    return [layout.reference_of_name(name) for name in (name_of(record), *record.aliases)]


def is_under(record: Record, scope: int, signature: int) -> bool:
    """Return whether *record* has *signature*, and a scope with the hash *scope*: others may share the reference."""
    return record.page.signature == signature and hash_scope(record.page.scope) == scope
