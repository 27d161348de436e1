"""Check that decisions do not depend on how often an index is closed and opened again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.decision import Decision
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.evaluation.pairs import PairResult, mix
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.callbacks import Advance, Start


@dataclass(frozen=True)
class Reopening:
    """Decisions about the same pages in the same order, in an index that is opened once and in an index that is reopened.

    Attributes:
        every: pages after which the second index is closed and opened again.
        openings: how often the second index was opened.
        pages: how many pages were offered to each index.
        dropped: how many pages are duplicates in the first index.
        differing: for how many pages the decisions differ.
    """

    every: int
    openings: int
    pages: int
    dropped: int
    differing: int


def compare_reopened(results: Iterable[PairResult], config: Config, every: int, start: Start) -> Reopening:
    """Offer the pages of all pairs, in the same mixed order, to an index that is opened once and to one that is reopened."""
    pages = mix(_distinct_pages(results))
    advance = start("reopening", 2 * len(pages))
    config = replace(config, fresh=False)  # ``fresh`` would empty the index at each opening
    batches = [pages[first : first + every] for first in range(0, len(pages), every)]
    whole = _decide([batches], config, advance)
    parts = _decide([[batch] for batch in batches], config, advance)
    return Reopening(
        every,
        len(batches),
        len(pages),
        sum(not decision.passes for decision in whole),
        sum(first != second for first, second in zip(whole, parts, strict=True)),
    )


def _distinct_pages(results: Iterable[PairResult]) -> list[SignedPage]:
    pages = {}
    for result in results:
        for identifier, document in ((result.labelled.id_a, result.a), (result.labelled.id_b, result.b)):
            key = f"{result.set_name} {identifier}"  # two sets may use one identifier
            pages[key] = msgspec.structs.replace(document.page, key=key)
    return list(pages.values())


def _decide(openings: Sequence[Sequence[Sequence[SignedPage]]], config: Config, advance: Advance) -> list[Decision]:
    """Return the decisions of a new index that is opened for each of *openings* and decides about its batches of pages."""
    decisions = []
    with tempfile.TemporaryDirectory() as folder:
        for batches in openings:
            with Deduplicator.open(folder, config) as deduplicator:
                for batch in batches:
                    decisions += deduplicator.decide(batch)
                    advance(len(batch))
    return decisions
