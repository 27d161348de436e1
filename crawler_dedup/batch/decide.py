"""Decide about pages in a given order, as an index does."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple

import msgspec
import numpy as np

from crawler_dedup.batch.certain import Certain
from crawler_dedup.batch.memory import format_memory
from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.rows import StoredPages
from crawler_dedup.batch.shard import decode_page
from crawler_dedup.config import Config
from crawler_dedup.decision import Decision, Match, Verdict
from crawler_dedup.deduplicator import RuleMatcher
from crawler_dedup.errors import DedupError
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.memorypages import MemoryPages
from crawler_dedup.index.profiles import FrozenProfiles, Snapshot
from crawler_dedup.index.records import Record
from crawler_dedup.index.runs import NO_RUNS
from crawler_dedup.index.verdicts import OfferTerms, Verdicts
from crawler_dedup.signedpage import Signature, SignedPage
from crawler_dedup.signing.schemes import Scheme

KEPT_BYTES = 500
"""What a kept page takes in memory, with four keys under which it is filed."""
FURTHER_KEY_BYTES = 150
"""What each further key takes."""

_KEYS = 4

_NO_PLACE = -1


class _Scoped(msgspec.Struct, array_like=True):
    """The first fields of a :class:`SignedPage`."""

    key: str
    url: str
    scope: str


_decode_scope = msgspec.msgpack.Decoder(_Scoped).decode


class PickedPages:
    """Pages of some rows in a file, to be read in any order.

    Attributes:
        rows: the rows, ascending.
        records: the numbers of their records in the inputs.
        signatures: the numbers of their signatures.
        titles: the keys of the titles under which they are filed.

    Args:
        file: an empty file, open to write and read.
        picked: the rows with their pages, ascending.
    """

    def __init__(self, file: IO[bytes], picked: Iterable[StoredPages]) -> None:
        parts = [_Written.of(stored, file) for stored in picked]
        file.flush()
        self._descriptor = file.fileno()
        self.rows, self.records, self.signatures, self.titles, lengths = map(
            np.concatenate, zip(_Written.of(_NOTHING, file), *parts, strict=True)
        )
        self._starts = np.concatenate([[0], np.cumsum(lengths)])  # of each identifier, and the content behind it

    def read(self, place: int) -> SignedPage:
        """Return the page of the row at *place* in :attr:`rows`."""
        return decode_page(self._read(2 * place + 1))

    def read_id(self, place: int) -> str:
        """Return the identifier of the row at *place* in :attr:`rows`."""
        return self._read(2 * place).decode()

    def read_scope(self, place: int) -> str:
        """Return the scope of the page of the row at *place* in :attr:`rows`."""
        return _decode_scope(self._read(2 * place + 1)).scope

    def _read(self, part: int) -> bytes:
        start, end = self._starts[part : part + 2].tolist()
        return os.pread(self._descriptor, end - start, start)


class _Written(NamedTuple):
    """Some pages that were written into a file: identifier and content of each behind the other, with these lengths."""

    rows: Places
    records: Places
    signatures: Numbers
    titles: Numbers
    lengths: Places

    @classmethod
    def of(cls, stored: StoredPages, file: IO[bytes]) -> _Written:
        """Write pages at the end of *file*."""
        parts = [part for page in zip(stored.ids, stored.contents, strict=True) for part in page]
        file.write(b"".join(parts))
        lengths = np.fromiter(map(len, parts), np.int64, len(parts))
        return cls(stored.rows, stored.records, stored.signatures, stored.titles, lengths)


_NO_ROWS, _NO_NUMBERS = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
_NOTHING = StoredPages(_NO_ROWS, _NO_ROWS, (), _NO_NUMBERS, _NO_NUMBERS, ())


class RememberingMatcher(RuleMatcher):
    """Remembers the kept page of the last decision."""

    kept: SignedPage | None = None

    @property
    def scheme(self) -> Scheme:
        """The scheme of the signatures."""
        return self._scheme

    @property
    def limits(self) -> Config:
        """The settings with the thresholds of the rules."""
        return self._config

    def keys_of_text(self, signature: int) -> Sequence[int]:
        """Return the buckets under which a text with this number as its signature is filed."""
        return self._scheme.keys(Signature(signature))

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        chosen = super().choose(new, kept, snapshot_of)
        self.kept = chosen[0] if chosen else None
        return chosen


@dataclass(frozen=True)
class PlacedDecision:
    """A decision about one of some picked pages.

    Attributes:
        place: of the page among the picked ones.
        decision: the decision.
        representative: place of the kept page that stands for it; ``None``: the page is kept, or one stands for it that was
            kept before.
    """

    place: int
    decision: Decision
    representative: int | None

    @property
    def is_left_out(self) -> bool:
        """Whether a kept page stands for it."""
        return self.decision.verdict in (Verdict.DUPLICATE, Verdict.UNCHANGED)


def decide_pages(
    pages: PickedPages,
    order: Places,
    certain: Certain,
    existing: Iterable[Record],
    matcher: RememberingMatcher,
    profiles: FrozenProfiles,
    file: IO[bytes],
    memory: int,
) -> Iterator[PlacedDecision]:
    """Decide about *pages* in *order*, each also by those before it, as :meth:`Deduplicator.decide` does.

    Args:
        order: places of the pages.
        certain: what is certain of them. Decisions about those that are new for certain are not yielded.
        existing: pages that are kept already.
        profiles: what is known of their sites.
        file: an empty file, open to write and read.
        memory: bytes that kept pages may take.

    Raises:
        DedupError: memory does not suffice.
    """
    kept_pages = MemoryPages(file, profiles, lambda place: verdicts.record_of(pages.read(place)))
    verdicts = Verdicts(kept_pages, matcher, OfferTerms(), now=1, runs=NO_RUNS)
    place_of = array("q", [_NO_PLACE])  # of each kept page by its number
    for record in existing:
        kept_pages.add(record, matcher)
        place_of.append(_NO_PLACE)
        _require_memory(kept_pages, memory)
    needed = np.flatnonzero(~certain.new | certain.compared)
    places = order[needed]
    columns = places, certain.new[needed], pages.signatures[places], pages.titles[places]
    for place, is_certain, signature, title in zip(*(column.tolist() for column in columns), strict=True):
        if is_certain:
            keys = matcher.keys_of_text(signature)
            kept_pages.announce(place, pages.read_scope(place), signature, keys, title)
            place_of.append(place)
            _require_memory(kept_pages, memory)
            continue
        page = pages.read(place)
        decision = verdicts.decide(page)
        if decision.verdict in (Verdict.NEW, Verdict.CHANGED):
            place_of.append(place)
            _require_memory(kept_pages, memory)
        representative = None
        if decision.verdict in (Verdict.DUPLICATE, Verdict.UNCHANGED) and matcher.kept is not None:
            number = kept_pages.number_of(page.scope, matcher.kept.key)
            representative = None if number is None or place_of[number] == _NO_PLACE else place_of[number]
        yield PlacedDecision(place, decision, representative)


def _require_memory(pages: MemoryPages, memory: int) -> None:
    """Raise :class:`DedupError` if *pages* take more than so many bytes."""
    count = pages.last_number
    if KEPT_BYTES * count + FURTHER_KEY_BYTES * max(0, pages.key_count - _KEYS * count) > memory:
        raise DedupError(
            f"More than {count - 1:,} pages are kept that another one is near to, which takes {format_memory(memory)} beside"
            " everything else: more memory is needed (--memory)."
        )
