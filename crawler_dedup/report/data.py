"""The contents of a report: plain data, independent of how it is collected and drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from crawler_dedup.journal.runs import RunPeriod


class Period(NamedTuple):
    """A period of time: when it begins, in seconds since 1970, and the pages in it."""

    start: int
    kept: int
    duplicates: int


@dataclass
class PageCounts:
    """Numbers of pages by what became of them.

    Attributes:
        kept: pages that the index holds.
        dropped: duplicates that were dropped.
        marked: duplicates that passed, because the action was "mark".
        unchanged: pages that came again as they were, whether they passed then or not.
        unchecked: pages that could not be judged.
    """

    kept: int = 0
    dropped: int = 0
    marked: int = 0
    unchanged: int = 0
    unchecked: int = 0

    @property
    def duplicates(self) -> int:
        """Duplicates, dropped or marked."""
        return self.dropped + self.marked

    @property
    def all_pages(self) -> int:
        """All of them, whatever became of them."""
        return self.kept + self.duplicates + self.unchanged + self.unchecked

    @property
    def duplicate_share(self) -> float:
        """The share of duplicates among all pages."""
        return self.duplicates / self.all_pages if self.all_pages else 0.0

    def __sub__(self, other: PageCounts) -> PageCounts:
        return PageCounts(**{name: value - getattr(other, name) for name, value in vars(self).items()})

    def __add__(self, other: PageCounts) -> PageCounts:
        return PageCounts(**{name: value + getattr(other, name) for name, value in vars(self).items()})


@dataclass
class RunSummary(RunPeriod):
    """A run: its time, and its pages."""

    pages: PageCounts = field(default_factory=PageCounts)


@dataclass
class DuplicateGroup:
    """The duplicates of a kept page.

    Attributes:
        size: number of duplicates.
        first: when the first of them was found, in seconds since 1970.
        examples: addresses of some of them.
        title: the title of the kept page, as the index has it.
        is_kept: whether the index still has the kept page.
    """

    size: int = 0
    first: float = math.inf
    examples: list[str] = field(default_factory=list)
    title: str = ""
    is_kept: bool = False


@dataclass
class CrossHostDuplicates:
    """Duplicates on one host whose kept pages stand on another: how many, and the address of the first."""

    count: int = 0
    example: str = ""


class HostPair(NamedTuple):
    """Two hosts, one with duplicates whose kept pages stand on the other, or each with such duplicates.

    Attributes:
        duplicates_of_first: duplicates on the first host whose kept page stands on the second.
        duplicates_of_second: duplicates on the second host whose kept page stands on the first.
        share_of_first: ``duplicates_of_first`` as a share of all pages of the first host.
        share_of_second: ``duplicates_of_second`` as a share of all pages of the second host.
        example_of_first: the address of one of the duplicates on the first host.
        example_of_second: the address of one of the duplicates on the second host.
    """

    first: str
    second: str
    duplicates_of_first: int
    duplicates_of_second: int
    share_of_first: float
    share_of_second: float
    example_of_first: str
    example_of_second: str


class WatchdogCase(NamedTuple):
    """A kept page that stood for suspiciously many: when, in which run, the latest duplicate, and the page itself."""

    time: str
    run: str
    url: str
    duplicate_of: str


class PruningTrial(NamedTuple):
    """What would have come of it if the parts that had no duplicate at a moment had been left out of the index from then on.

    Attributes:
        moment: in seconds since 1970; half of the duplicates were found before.
        part_count: how many parts would have been left out.
        not_filed: kept pages of them since then, which would not stand in the index.
        filed: all kept pages since then.
        missed: duplicates since then that might not have been found: they or their kept pages are in these parts.
        duplicates: all duplicates since then.
    """

    moment: float
    part_count: int
    not_filed: int
    filed: int
    missed: int
    duplicates: int


class PartsWithoutDuplicates(NamedTuple):
    """The hosts, or depths of addresses, or kinds of pages that never had a duplicate, and whose pages were never one.

    Attributes:
        name: what the parts are.
        largest: the name of a part, and its kept pages; those with most come first.
        part_count: how many such parts there are.
        pages: kept pages of all of them.
        trial: what would have come of it in the second half of the history.
    """

    name: str
    largest: Sequence[tuple[str, int]]
    part_count: int
    pages: int
    trial: PruningTrial


@dataclass(frozen=True)
class Savings:
    """The saved cost of duplicates: bytes of their bodies, and outlinks."""

    bytes: int = 0
    links: int = 0

    def plus(self, bytes_: int, links: int) -> Savings:
        """Return these savings and those of another page."""
        return Savings(self.bytes + bytes_, self.links + links)


@dataclass(frozen=True)
class SignatureDistribution:
    """The distribution of the signatures of kept texts in their space.

    Attributes:
        kept: how many texts are kept.
        sampled: of how many of them the signatures were looked at.
        nearest: of ``compared`` texts, how many have the nearest other one of their scope at each distance, 0 to 64.
        compared: how many texts were compared with all that were sampled.
        intervals: signatures in each of 128 equal parts of the 64-bit space.
        first_different_bits: neighbours in sorted order that differ first in each of the 64 bits, the most significant
            first.
        equal: neighbours in sorted order with the same signature.
    """

    kept: int
    sampled: int
    nearest: Sequence[int]
    compared: int
    intervals: Sequence[int]
    first_different_bits: Sequence[int]
    equal: int


@dataclass(frozen=True)
class IndexInfo:
    """The index itself: where it is, what its header says, and the bytes it takes on disk."""

    name: str
    spec: Mapping[str, str]
    libraries: Mapping[str, str]
    bytes: int

    @property
    def scheme(self) -> str:
        """The name of the scheme."""
        return self.spec.get("scheme", "").split(" ")[0]


@dataclass(frozen=True)
class ReportData:
    """Everything that a report shows.

    Attributes:
        index: the index itself.
        run: the only run that is reported, 8 hexadecimal digits; ``""``: all runs.
        total: all pages.
        open_claims: kept pages of which it is not known that they were handled.
        dropped: what was saved by dropping duplicates.
        marked: what would have been saved by dropping those that were marked.
        hosts: the hosts with most pages.
        other_hosts: the pages of all other hosts.
        host_count: how many hosts there are in all.
        is_incomplete: whether there were too many hosts, groups or pairs of hosts to count them all.
        period_seconds: length of each of ``periods``.
        periods: pages over time.
        distances: duplicates by the distance of the signatures.
        resemblances: duplicates by resemblance in per cent, rounded down.
        coverages: duplicates by coverage in per cent, rounded down.
        rules: duplicates by the rule that decided.
        reasons: unchecked pages by reason.
        groups: (address of the kept page, its duplicates) of those with several duplicates, largest first.
        group_count: how many kept pages have duplicates.
        several_count: how many kept pages have more than one duplicate.
        host_pairs: pairs of hosts with most duplicates between them.
        without_duplicates: what never had a duplicate, by host, depth and kind; empty if one run is reported, or if the
            journal has no duplicate.
        watchdog_cases: the latest cases of the watchdog.
        watchdog_count: how many cases of the watchdog there are.
        runs: (number, summary) of the latest runs.
        run_count: how many runs there are, all of which the figures add up.
        span: the first and the last time known of them, in seconds since 1970; 0: none is known.
        distribution: how the signatures of all kept texts lie; ``None``: signatures of this scheme are hashes, or no text
            is kept.
        files: the files of the journal.
        entries: how many journal entries were read, of whatever run.
        damaged: how many lines could not be read, by file.
    """

    index: IndexInfo
    run: str
    total: PageCounts
    open_claims: int
    dropped: Savings
    marked: Savings
    hosts: Sequence[tuple[str, PageCounts]]
    other_hosts: PageCounts
    host_count: int
    is_incomplete: bool
    period_seconds: int
    periods: Sequence[Period]
    distances: Counter[int]
    resemblances: Counter[int]
    coverages: Counter[int]
    rules: Sequence[tuple[str, int]]
    reasons: Sequence[tuple[str, int]]
    groups: Sequence[tuple[str, DuplicateGroup]]
    group_count: int
    several_count: int
    host_pairs: Sequence[HostPair]
    without_duplicates: Sequence[PartsWithoutDuplicates]
    watchdog_cases: Sequence[WatchdogCase]
    watchdog_count: int
    runs: Sequence[tuple[str, RunSummary]]
    run_count: int
    span: tuple[float, float]
    distribution: SignatureDistribution | None
    files: Sequence[Path]
    entries: int
    damaged: Mapping[Path, int]
