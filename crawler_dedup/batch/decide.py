"""Decide about pages in a given order, as an index does."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import msgspec

from crawler_dedup.batch.memory import format_memory
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.rows import StoredPage
from crawler_dedup.batch.shard import decode_page
from crawler_dedup.decision import Decision, Match, Verdict
from crawler_dedup.deduplicator import RuleMatcher
from crawler_dedup.errors import DedupError
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

    def __init__(self, file: IO[bytes], picked: Iterable[StoredPage]) -> None:
        self._file = file
        self.rows = array("q")
        self.records = array("q")
        self.signatures, self.titles = array("Q"), array("Q")
        self._starts = array("Q", [0])  # of the identifier, behind which the content stands
        self._id_lengths = array("I")
        for stored in picked:
            identifier = stored.id.encode()
            self.rows.append(stored.row)
            self.records.append(stored.record)
            self.signatures.append(stored.signature)
            self.titles.append(stored.title)
            self._id_lengths.append(len(identifier))
            self._starts.append(self._starts[-1] + file.write(identifier) + file.write(stored.content))

    def read(self, place: int) -> SignedPage:
        """Return the page of the row at *place* in :attr:`rows`."""
        start = self._starts[place] + self._id_lengths[place]
        self._file.seek(start)
        return decode_page(self._file.read(self._starts[place + 1] - start))

    def read_id(self, place: int) -> str:
        """Return the identifier of the row at *place*."""
        self._file.seek(self._starts[place])
        return self._file.read(self._id_lengths[place]).decode()

    def read_scope(self, place: int) -> str:
        """Return the scope of the row at *place*."""
        start = self._starts[place] + self._id_lengths[place]
        self._file.seek(start)
        return _decode_scope(self._file.read(self._starts[place + 1] - start)).scope


class RememberingMatcher(RuleMatcher):
    """Remembers the kept page of the last decision."""

    kept: SignedPage | None = None

    @property
    def scheme(self) -> Scheme:
        """The scheme of the signatures."""
        return self._scheme

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
    certain: Flags,
    existing: Iterable[Record],
    matcher: RememberingMatcher,
    profiles: FrozenProfiles,
    file: IO[bytes],
    memory: int,
) -> Iterator[PlacedDecision]:
    """Decide about *pages* in *order*, each also by those before it, as :meth:`Deduplicator.decide` does.

    Args:
        order: places of the pages.
        certain: whether each of them is new whatever else there is
            (:func:`~crawler_dedup.batch.candidates.find_certain`). Decisions about these are not yielded.
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
    for place, is_certain in zip(order.tolist(), certain.tolist(), strict=True):
        if is_certain:
            signature = pages.signatures[place]
            keys = matcher.keys_of_text(signature)
            kept_pages.announce(place, pages.read_scope(place), signature, keys, pages.titles[place])
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
