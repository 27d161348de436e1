"""The pages of an index within one transaction: how they are found, filed and removed, the same on every backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from crawler_dedup.hamming import Numbers
from crawler_dedup.index.keptpages import Filing
from crawler_dedup.index.layout import place_of_name, place_of_signature
from crawler_dedup.index.limits import MAX_ALIASES, MAX_REPRESENTATIVES, MAX_UNDER_TITLE
from crawler_dedup.index.records import Record, hash_scope, name_page
from crawler_dedup.signedpage import SignedPage

_SHARED = 4_000
"""Number of payloads of a long bucket that :meth:`FiledPages.sharing` reads, at least."""


class FiledPages(ABC):
    """Finds, files and removes pages. A backend defines how rows and buckets are read and changed.

    The number of a record is at the places of its page key and of its aliases, and, if the page is a representative,
    at that of its signature. The tables contain each signature for which there is such a number.
    """

    # What a backend defines

    @abstractmethod
    def get(self, number: int) -> Record | None:
        """Return the record with *number*, or ``None``. Raises :class:`msgspec.DecodeError` if it is unreadable."""

    @abstractmethod
    def _new_number(self) -> int:
        """Return a number for a record that is added."""

    @abstractmethod
    def _store(self, number: int, record: Record) -> None:
        """Store *record* under a new *number*, and count it for its site."""

    @abstractmethod
    def _delete(self, number: int, page: SignedPage) -> None:
        """Delete the record of *page*, and discount it for its site."""

    @abstractmethod
    def _numbers_at(self, place: int) -> list[int]:
        """Return the numbers at *place*, ascending, perhaps with numbers of other places."""

    @abstractmethod
    def _put(self, place: int, number: int) -> None:
        """Make *place* lead to *number*; it must not do so already."""

    @abstractmethod
    def _take(self, place: int, number: int) -> None:
        """Remove *number* from *place*, if it is there."""

    @abstractmethod
    def _scopes(self) -> Iterator[int]:
        """Yield the hashes of the scopes that have signatures in the tables."""

    @abstractmethod
    def _read_signatures(self, scope: int, keys: Iterable[int], limit: int | None) -> Numbers:
        """Return the signatures in the buckets *keys* of a scope: all, or at least the first *limit* of each bucket."""

    @abstractmethod
    def _add_signature(self, scope: int, keys: Sequence[int], signature: int) -> None:
        """Add *signature* to the buckets *keys* of a scope."""

    @abstractmethod
    def _remove_signature(self, scope: int, keys: Sequence[int], signature: int) -> None:
        """Remove *signature* from the buckets *keys* of a scope."""

    # What all backends have in common

    def find(self, scope: str, key: str) -> tuple[int, Record] | None:
        return self._find(name_page(scope, key))

    def _find(self, name: bytes) -> tuple[int, Record] | None:
        for number, record in self._read_at(place_of_name(name)):
            if name in record.aliases or name == name_of(record):
                return number, record
        return None

    def read_buckets(self, scope: str, probes: Iterable[int], limit: int | None) -> Numbers:
        return self._read_signatures(hash_scope(scope), probes, limit)

    def read_representatives(self, scope: str, signature: int) -> Iterator[tuple[int, Record]]:
        for number, record in self._read_at(place_of_signature(hash_scope(scope), signature)):
            if record.page.signature == signature and record.page.scope == scope:
                yield number, record

    def read_under_title(self, scope: str, title: int) -> Iterator[tuple[int, Record]]:
        for number, record in self._read_at(place_of_signature(hash_scope(scope), title)):
            if record.page.scope == scope:
                yield number, record

    def sharing(
        self, probes: Sequence[Sequence[int]], choose: Callable[[Iterable[Numbers]], Iterable[int]]
    ) -> Iterator[Record]:
        for scope in self._scopes():
            for signature in choose(self._read_signatures(scope, block, _SHARED) for block in probes):
                yield from (record for _, record in self._read_representatives(scope, signature))

    def add(self, record: Record, filing: Filing) -> int:
        number = self._new_number()
        self._put(place_of_name(name_of(record)), number)
        self._store(number, self._represent(number, self._with_free_aliases(number, record), filing))
        return number

    def _with_free_aliases(self, number: int, record: Record) -> Record:
        """Make the free aliases of *record* lead to *number*; return *record* without its other aliases."""
        free: list[bytes] = []
        for alias in record.aliases:
            if alias not in free and alias != name_of(record) and self._find(alias) is None:
                self._put(place_of_name(alias), number)
                free.append(alias)
        return msgspec.structs.replace(record, aliases=tuple(free)) if record.aliases else record

    def _represent(self, number: int, record: Record, filing: Filing) -> Record:
        """Make the page a representative of its signature unless the limit is reached; return the record to store."""
        scope, signature = hash_scope(record.page.scope), record.page.signature
        place = place_of_signature(scope, signature)
        is_filed = bool(numbers := self._numbers_at(place)) and self._has_representative(scope, signature)
        is_representative = not is_filed or len(numbers) < MAX_REPRESENTATIVES
        if is_representative:
            self._put(place, number)
        if not is_filed:
            self._add_signature(scope, filing.keys(record.page), signature)
        if title := filing.title_key(record.page):
            place = place_of_signature(scope, title)
            if len(self._numbers_at(place)) < MAX_UNDER_TITLE:
                self._put(place, number)
        return (
            record
            if record.is_representative is is_representative
            else msgspec.structs.replace(record, is_representative=is_representative)
        )

    def remove(self, number: int, record: Record, filing: Filing) -> None:
        page, scope = record.page, hash_scope(record.page.scope)
        self._delete(number, page)
        for place in places_of(record):
            self._take(place, number)
        self._take(place_of_signature(scope, page.signature), number)
        if title := filing.title_key(page):
            self._take(place_of_signature(scope, title), number)
        if not self._has_representative(scope, page.signature):
            self._remove_signature(scope, filing.keys(page), page.signature)

    def add_alias(self, number: int, record: Record, key: str) -> Record:
        name = name_page(record.page.scope, key)
        if self._find(name) is not None:
            return record
        for oldest in record.aliases[: -(MAX_ALIASES - 1)]:
            self._take(place_of_name(oldest), number)
        self._put(place_of_name(name), number)
        return msgspec.structs.replace(record, aliases=(*record.aliases[-(MAX_ALIASES - 1) :], name))

    def remove_alias(self, number: int, record: Record, key: str) -> Record:
        name = name_page(record.page.scope, key)
        self._take(place_of_name(name), number)
        return msgspec.structs.replace(record, aliases=tuple(alias for alias in record.aliases if alias != name))

    def _has_representative(self, scope: int, signature: int) -> bool:
        """Return whether a page is filed under *signature*, so that this is in the tables; true if one is unreadable."""
        try:
            return any(True for _ in self._read_representatives(scope, signature))
        except msgspec.DecodeError:
            return True

    def _read_representatives(self, scope: int, signature: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages under *signature* in the scopes with the hash *scope*, the oldest first."""
        for number, record in self._read_at(place_of_signature(scope, signature)):
            if is_under(record, scope, signature):
                yield number, record

    def _read_at(self, place: int) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages to which *place* leads, the oldest first, and perhaps of other pages."""
        for number in self._numbers_at(place):
            record = self.get(number)
            if record is not None:
                yield number, record


def name_of(record: Record) -> bytes:
    """Return the name by which the index finds the page of *record*."""
    return name_page(record.page.scope, record.page.key)


def places_of(record: Record) -> list[int]:
    """Return the places of the page key and of the aliases of *record*."""
    return [place_of_name(name) for name in (name_of(record), *record.aliases)]


def is_under(record: Record, scope: int, signature: int) -> bool:
    """Return whether *record* has *signature*, and a scope with the hash *scope*: other records may be at the same place."""
    return record.page.signature == signature and hash_scope(record.page.scope) == scope
