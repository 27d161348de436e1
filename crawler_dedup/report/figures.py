"""What is shown: plain figures, without how they were gathered or are drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Bucket(NamedTuple):
    """An interval of time: when it begins, in seconds since 1970, and the pages in it."""

    start: int
    kept: int
    duplicates: int


@dataclass
class Count:
    """A number of pages."""

    number: int = 0


@dataclass
class Crossing:
    """Duplicates on one host whose kept pages stand on another: how many, and the address of the first."""

    number: int = 0
    example: str = ""


@dataclass
class Pages:
    """Pages by what became of them.

    Attributes:
        kept: that the index holds.
        dropped: duplicates that were dropped.
        marked: duplicates that passed, because the action was "mark".
        unchanged: met again as they were, whether they passed then or not.
        unchecked: that could not be judged.
    """

    kept: int = 0
    dropped: int = 0
    marked: int = 0
    unchanged: int = 0
    unchecked: int = 0

    @property
    def duplicates(self) -> int:
        return self.dropped + self.marked

    @property
    def number(self) -> int:
        """Of pages that were checked."""
        return self.kept + self.duplicates + self.unchanged + self.unchecked

    @property
    def share(self) -> float:
        """Of duplicates."""
        return self.duplicates / self.number if self.number else 0.0

    def __sub__(self, other: Pages) -> Pages:
        return Pages(**{name: value - getattr(other, name) for name, value in vars(self).items()})

    def __add__(self, other: Pages) -> Pages:
        return Pages(**{name: value + getattr(other, name) for name, value in vars(self).items()})


@dataclass
class Run:
    """A run: its pages, the first and last time known of it (seconds since 1970, 0: none), and its spiders."""

    pages: Pages = field(default_factory=Pages)
    first: float = 0
    last: float = 0
    spiders: set[str] = field(default_factory=set)

    @property
    def number(self) -> int:
        return self.pages.number

    def meet(self, seconds: float) -> None:
        """Something happened at that time."""
        if seconds > 0:
            self.first = min(self.first or seconds, seconds)
            self.last = max(self.last, seconds)


@dataclass
class Group:
    """The duplicates of a kept page.

    Attributes:
        number: of duplicates.
        examples: addresses of some.
        title: of the kept page, as the index has it.
        is_kept: whether the index still has it.
    """

    number: int = 0
    examples: list[str] = field(default_factory=list)
    title: str = ""
    is_kept: bool = False


class Pair(NamedTuple):
    """Two hosts of which one stands for the other, or each for the other.

    Attributes:
        by_second: duplicates on the first host whose kept page stands on the second.
        by_first: the other way round.
        share_of_first: ``by_second`` of all checked pages of the first host.
        share_of_second: likewise.
        example_of_first: the address of one of the duplicates on the first host.
        example_of_second: likewise.
    """

    first: str
    second: str
    by_second: int
    by_first: int
    share_of_first: float
    share_of_second: float
    example_of_first: str
    example_of_second: str


class Swallowing(NamedTuple):
    """A case of the watchdog: when, in which run, the kept page, and the page at which it barked."""

    time: str
    run: str
    kept_url: str
    url: str


@dataclass(frozen=True)
class Saved:
    """What duplicates would have cost: bytes of their bodies, and outlinks."""

    bytes: int = 0
    links: int = 0

    def plus(self, bytes_: int, links: int) -> Saved:
        return Saved(self.bytes + bytes_, self.links + links)


@dataclass(frozen=True)
class Spread:
    """How the signatures of kept texts lie.

    Attributes:
        kept: how many texts are kept.
        drawn: of how many the signatures were looked at.
        nearest: of ``asked`` kept texts, how many have the nearest other one of their scope at each distance, 0 to 64.
        asked: that were compared with all that were drawn.
        intervals: signatures in each of 128 equal parts of the 64-bit space.
        leading: neighbours in sorted order that differ first in each of the 64 bits, the most significant first.
        equal: neighbours with the same signature.
    """

    kept: int
    drawn: int
    nearest: Sequence[int]
    asked: int
    intervals: Sequence[int]
    leading: Sequence[int]
    equal: int


@dataclass(frozen=True)
class Place:
    """The index itself: where it is, what its header says, and the bytes it takes on disk."""

    directory: Path
    spec: Mapping[str, str]
    libraries: Mapping[str, str]
    bytes: int

    @property
    def scheme(self) -> str:
        """The name of the scheme."""
        return self.spec.get("scheme", "").split(" ")[0]


@dataclass(frozen=True)
class Figures:
    """All of it.

    Attributes:
        index: what the index is.
        run: the only run that was asked for, 8 hexadecimal digits; ``""``: all.
        total: all pages.
        open_claims: kept pages of which it is not known that they were handled.
        dropped: bytes and links of what was dropped.
        marked: those of what would have been.
        hosts: those with most pages.
        other_hosts: the pages of the rest.
        host_count: how many hosts there are in all.
        is_cut: whether there were too many hosts, groups or pairs to count them all.
        bucket_seconds: length of each of ``buckets``.
        distances: duplicates by the distance of the signatures.
        resemblances: duplicates by resemblance in per cent, rounded down.
        coverages: likewise.
        rules: duplicates by the row that decided.
        reasons: unchecked pages by reason.
        groups: (address of the kept page, its duplicates) of those with several, largest first.
        group_count: how many kept pages have duplicates, ``several_count`` of them more than one.
        watchdog: the latest cases, and ``watchdog_count`` altogether.
        runs: the latest, (number, figures), and ``run_count`` altogether.
        spread: ``None``: signatures of this scheme are hashes, or no text is kept.
        files: of the journal.
        entries: lines that were read, of whatever run.
        damaged: lines that could not be read, by file.
    """

    index: Place
    run: str
    total: Pages
    open_claims: int
    dropped: Saved
    marked: Saved
    hosts: Sequence[tuple[str, Pages]]
    other_hosts: Pages
    host_count: int
    is_cut: bool
    bucket_seconds: int
    buckets: Sequence[Bucket]
    distances: Counter[int]
    resemblances: Counter[int]
    coverages: Counter[int]
    rules: Sequence[tuple[str, int]]
    reasons: Sequence[tuple[str, int]]
    groups: Sequence[tuple[str, Group]]
    group_count: int
    several_count: int
    pairs: Sequence[Pair]
    watchdog: Sequence[Swallowing]
    watchdog_count: int
    runs: Sequence[tuple[str, Run]]
    run_count: int
    spread: Spread | None
    files: Sequence[Path]
    entries: int
    damaged: Mapping[Path, int]
