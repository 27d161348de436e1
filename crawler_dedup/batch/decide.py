"""Decide about pages in a given order, as an index does."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

import numpy as np

from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.shard import StoredPages, decode_page
from crawler_dedup.decision import Match, Verdict
from crawler_dedup.index.decider import Decider, RunContext
from crawler_dedup.index.lmdb.storage import begin_scratch
from crawler_dedup.index.overrides import KnownOverrides
from crawler_dedup.index.profiles import FrozenProfiles, Snapshot
from crawler_dedup.index.records import Record
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import SignedPage

_NO_PLACE = -1
_NO_ROWS = np.empty(0, dtype=np.int64)


class PickedPages:
    """The pages of some rows, written to a file so that they can be read in any order.

    Attributes:
        rows: the rows, ascending.
        records: the numbers of their records in the inputs.

    Args:
        file: an empty file, open to write and read.
        picked: the rows with their pages, ascending.
    """

    def __init__(self, file: IO[bytes], picked: Iterable[StoredPages]) -> None:
        parts = [(_NO_ROWS, _NO_ROWS, _NO_ROWS)]
        for stored in picked:
            file.write(b"".join(stored.contents))
            lengths = np.fromiter(map(len, stored.contents), np.int64, len(stored.contents))
            parts.append((stored.rows, stored.records, lengths))
        file.flush()
        self._descriptor = file.fileno()
        self.rows, self.records, lengths = map(np.concatenate, zip(*parts, strict=True))
        self._starts = np.concatenate([[0], np.cumsum(lengths)])

    def read(self, place: int) -> SignedPage:
        """Return the page of the row at *place* in :attr:`rows`."""
        start, end = self._starts[place : place + 2].tolist()
        return decode_page(os.pread(self._descriptor, end - start, start))


class RememberingMatcher(RuleMatcher):
    """Remembers the kept page of the last decision."""

    kept: SignedPage | None = None

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        chosen = super().choose(new, kept, snapshot_of)
        self.kept = chosen[0] if chosen else None
        return chosen


class PlacedDecision(NamedTuple):
    """A decision about a page of :class:`PickedPages`.

    Attributes:
        place: place of the page among the picked pages.
        verdict: the verdict on the page.
        match: how the page agrees with its representative; ``None``: it is kept.
        representative: place of the representative; ``None``: the page is kept, or its representative was kept before.
        address: address of a representative that was kept before; ``""``: there is none.
    """

    place: int
    verdict: Verdict
    match: Match | None = None
    representative: int | None = None
    address: str = ""


def decide_pages(
    pages: PickedPages,
    order: Places,
    existing: Iterable[Record],
    matcher: RememberingMatcher,
    profiles: FrozenProfiles,
    folder: Path | None = None,
) -> Iterator[PlacedDecision]:
    """Decide about *pages* in *order*, comparing each with the pages kept so far, as :meth:`Deduplicator.decide` does.

    Args:
        order: places of the pages.
        existing: pages that are kept already.
        profiles: what is known about their sites.
        folder: where kept pages are stored meanwhile; ``None``: where the system has temporary files.

    Raises:
        IndexUnusable: the disk is full.
    """
    with TemporaryDirectory(dir=folder) as directory, begin_scratch(Path(directory)) as storage:
        txn = Transaction(storage, KnownOverrides(), profiles)
        decider = Decider(txn, matcher, RunContext(), now=1)
        for record in existing:
            txn.add(record, matcher)
        places = array("q")  # the place of each kept page, by the number of its record
        for place in order.tolist():
            page = pages.read(place)
            decision = decider.decide(page)
            is_kept = decision.verdict in (Verdict.NEW, Verdict.CHANGED)
            kept = page if is_kept else matcher.kept
            recorded = None if kept is None else txn.find(page.scope, kept.key)
            if recorded is None:
                yield PlacedDecision(place, decision.verdict)
                continue
            number, _ = recorded
            places.extend([_NO_PLACE] * (number + 1 - len(places)))
            if is_kept:
                places[number] = place
                yield PlacedDecision(place, decision.verdict)
            elif places[number] == _NO_PLACE:
                address = decision.duplicate_of or decision.url
                yield PlacedDecision(place, decision.verdict, decision.match, address=address)
            else:
                yield PlacedDecision(place, decision.verdict, decision.match, places[number])
