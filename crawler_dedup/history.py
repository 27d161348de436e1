"""What earlier crawls have noted: the journals of an index, read together."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crawler_dedup.journal import Entry, Event, read
from crawler_dedup.sites import host_of

DUPLICATES: tuple[Event, ...] = ("drop", "mark")
"""Events of pages that were dropped, or that would have been."""

_NUMBER = re.compile(r"(\d+)")


class Journals:
    """Files of the journal, read one after the other.

    Attributes:
        files: in the order of their names, numbers in them by their size.
        damaged: how many lines of a file could not be read, as far as it was read.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = sorted(set(files), key=_natural)
        self.damaged: Counter[Path] = Counter()

    @classmethod
    def beside(cls, directory: Path, name: str) -> Journals:
        """Those of the index in *directory*, where ``DEDUP_JOURNAL`` is *name*."""
        path = directory / (name % {"time": "*", "name": "*"})
        names = (path.name, path.with_suffix(f".*{path.suffix}").name) if name else ()
        return cls(one for pattern in names for one in path.parent.glob(pattern))

    def entries(self) -> Iterator[Entry]:
        """All that can be read.

        Raises:
            DedupError: a file cannot be opened, or was written by a version with another schema.
        """
        self.damaged.clear()
        for path in self.files:
            for line in read(path):
                if line.entry is None:
                    self.damaged[path] += 1
                else:
                    yield line.entry


@dataclass(frozen=True)
class Selection:
    """Which entries are asked for; all that is given must hold.

    Attributes:
        events: of these kinds.
        host: of a page of this host.
        rule: decided by this row.
        since: not before this time (ISO 8601, UTC).
        run: of this run, 8 hexadecimal digits.
    """

    events: Collection[Event]
    host: str = ""
    rule: str = ""
    since: str = ""
    run: str = ""

    def __contains__(self, entry: Entry) -> bool:
        return (
            entry.event in self.events
            and (not self.host or host_of(entry.url) == self.host)
            and (not self.rule or entry.rule == self.rule)
            and entry.time >= self.since
            and (not self.run or entry.run == self.run)
        )


def sample(entries: Iterable[Entry], size: int, source: random.Random) -> list[Entry]:
    """*size* of *entries*, each as likely as any other, in the order in which they come. Keeps no more in memory."""
    drawn: list[tuple[int, Entry]] = []
    for number, entry in enumerate(entries):
        if number < size:
            drawn.append((number, entry))
        elif (place := source.randrange(number + 1)) < size:  # algorithm R (Vitter 1985, section 2)
            drawn[place] = number, entry
    return [entry for _, entry in sorted(drawn, key=lambda one: one[0])]


def swallowed(entries: Iterable[Entry], kept: Collection[str]) -> dict[str, Entry]:
    """The pages that were dropped last because of one of the *kept* addresses, by their own."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.event == "drop" and entry.kept_url in kept and entry.url != entry.kept_url:
            found[entry.url] = entry
        elif entry.event in DUPLICATES:
            found.pop(entry.url, None)
    return found


def _natural(path: Path) -> list[str | int]:
    return [int(part) if part.isdecimal() else part for part in _NUMBER.split(str(path))]
