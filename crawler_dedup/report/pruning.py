"""Find parts of a collection without duplicates, which an index could leave out (Manku, Jain and Das Sarma, §6 B).

A part is a host, a directory, a depth of addresses, or a kind of page. Whether a part stays without duplicates is tried on
the history itself: the parts without duplicates when half of all duplicates were found are followed from then on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from crawler_dedup.counting.heavyhitters import HeavyHitters
from crawler_dedup.journal.entry import Entry
from crawler_dedup.report.data import DuplicateGroup, PartsWithoutDuplicates, PruningTrial
from crawler_dedup.rules.keeping import is_list
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.urls import host_of

LEAST_PAGES = 30
"""Parts with fewer kept pages than this are not reported, since they prove nothing."""
MAX_PARTS = 10
"""Largest number of parts that are shown."""

_COUNTERS = 100_000
_MAX_DEPTH = 12
_MAX_NAME = 100
_SIZES = ((1_000, "texts of less than 1,000 letters"), (5_000, "texts of 1,000 to 5,000 letters"))
_LARGE = "texts of more than 5,000 letters"


@dataclass
class _Duplicates:
    count: int = 0
    first: float = math.inf


@dataclass
class _Kept:
    early: int = 0
    late: int = 0


class History:
    """Counts duplicates, and then kept pages, by host, directory, depth of the address, and kind of page."""

    def __init__(self) -> None:
        self._hosts = PartHistory("Hosts")
        self._directories = PartHistory("Directories")
        self._depths = PartHistory("Depths of addresses")
        self._kinds = PartHistory("Kinds of pages")
        self._moment = math.inf
        self._duplicates_since = 0

    def add_duplicate(self, entry: Entry) -> None:
        """Count a duplicate. Its kind is that of its kept page, and is counted by :meth:`add_kept`."""
        self._hosts.add_duplicates(host_of(entry.url), host_of(entry.duplicate_of), entry.seconds)
        self._directories.add_duplicates(directory_of(entry.url), directory_of(entry.duplicate_of), entry.seconds)
        self._depths.add_duplicates(depth_of(entry.url), depth_of(entry.duplicate_of), entry.seconds)

    def end_duplicates(self, moment: float, duplicates_since: int) -> None:
        """Note that all duplicates are counted.

        Args:
            moment: the time before which about half of them were found, in seconds since 1970; infinite: there are none.
            duplicates_since: how many of them were found since *moment*.
        """
        self._moment, self._duplicates_since = moment, duplicates_since

    def add_kept(self, page: SignedPage, filed: float, duplicates: DuplicateGroup | None) -> None:
        """Count a kept page, and its *duplicates* under the kind of the page."""
        is_late = filed >= self._moment
        self._hosts.add_kept(host_of(page.url), is_late=is_late)
        self._directories.add_kept(directory_of(page.url), is_late=is_late)
        self._depths.add_kept(depth_of(page.url), is_late=is_late)
        kind = kind_of(page)
        self._kinds.add_kept(kind, is_late=is_late)
        if duplicates is not None:
            self._kinds.add_duplicates(kind, kind, duplicates.first, duplicates.size)

    def find_parts(self, *, knows_all_groups: bool) -> list[PartsWithoutDuplicates]:
        """Return the parts without duplicates; empty if the history has no duplicate at all.

        Args:
            knows_all_groups: whether the duplicates of all kept pages were counted; if not, kinds of pages are left out.
        """
        if not math.isfinite(self._moment):
            return []
        histories = [self._hosts, self._directories, self._depths, *([self._kinds] if knows_all_groups else [])]
        known = (history.find_parts(self._moment, self._duplicates_since) for history in histories)
        return [parts for parts in known if parts is not None]


class PartHistory:
    """Counts kept pages and duplicates by part.

    Args:
        name: what the parts are, "Hosts" for example.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._duplicates: HeavyHitters[tuple[str, str], _Duplicates] = HeavyHitters(_COUNTERS, _Duplicates)
        self._kept: HeavyHitters[str, _Kept] = HeavyHitters(_COUNTERS, _Kept)

    def add_duplicates(self, part: str, kept_part: str, first: float, count: int = 1) -> None:
        """Count duplicates in *part* whose kept pages are in *kept_part*, the earliest of which was found at *first*."""
        duplicates = self._duplicates.add((part, kept_part))
        duplicates.count += count
        duplicates.first = min(duplicates.first, first)

    def add_kept(self, part: str, *, is_late: bool) -> None:
        """Count a kept page of *part*; *is_late*: it was filed after the moment of the trial."""
        kept = self._kept.add(part)
        kept.late += is_late
        kept.early += not is_late

    def find_parts(self, moment: float, duplicates_since: int) -> PartsWithoutDuplicates | None:
        """Return the parts without duplicates; ``None`` if there are too many parts with duplicates to count them all."""
        if self._duplicates.has_forgotten:
            return None
        kept = {part: counts for part, _, counts in self._kept.top(len(self._kept))}
        first = self._first_duplicates()
        sizes = {
            part: counts.early + counts.late
            for part, counts in kept.items()
            if part not in first and counts.early + counts.late >= LEAST_PAGES
        }
        largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:MAX_PARTS]
        trial = self._try(kept, first, moment, duplicates_since)
        return PartsWithoutDuplicates(self._name, largest, len(sizes), sum(sizes.values()), trial)

    def _first_duplicates(self) -> dict[str, float]:
        """Return for each part the time of the first duplicate that is in it or whose kept page is in it."""
        first: dict[str, float] = {}
        for parts, _, duplicates in self._duplicates.top(len(self._duplicates)):
            for part in parts:
                first[part] = min(first.get(part, math.inf), duplicates.first)
        return first

    def _try(
        self, kept: Mapping[str, _Kept], first: Mapping[str, float], moment: float, duplicates_since: int
    ) -> PruningTrial:
        left_out = {
            part for part, counts in kept.items() if counts.early >= LEAST_PAGES and first.get(part, math.inf) >= moment
        }
        missed = sum(
            duplicates.count
            for parts, _, duplicates in self._duplicates.top(len(self._duplicates))
            if not left_out.isdisjoint(parts)
        )
        late = sum(counts.late for counts in kept.values())
        return PruningTrial(
            moment, len(left_out), sum(kept[part].late for part in left_out), late, missed, duplicates_since
        )


def directory_of(url: str) -> str:
    """Return the first directory of an address: its host, and the first part of the path if another part follows."""
    try:
        first, slash, _ = urlsplit(url).path.lstrip("/").partition("/")
    except ValueError:
        return host_of(url)
    return f"{host_of(url)}/{first[:_MAX_NAME]}{slash}" if slash else f"{host_of(url)}/"


def depth_of(url: str) -> str:
    """Return the depth of an address, in words: how many parts its path has, and whether there is a query."""
    try:
        address = urlsplit(url)
    except ValueError:
        return "addresses that cannot be read"
    depth = sum(map(bool, address.path.split("/")))
    name = f"depth {depth}" if depth < _MAX_DEPTH else f"depth {_MAX_DEPTH} and more"
    return f"{name}, with a query" if address.query else name


def kind_of(page: SignedPage) -> str:
    """Return the kind of a kept page, in words."""
    if page.kind is PageKind.THIN:
        return "thin pages"
    if is_list(page):
        return "lists with a text"
    return next((name for letters, name in _SIZES if page.chars < letters), _LARGE)
