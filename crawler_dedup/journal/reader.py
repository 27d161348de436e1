"""What earlier crawls have noted: the journals of an index, read together."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path

from msgspec.structs import replace

from crawler_dedup.journal.writer import Entry, Event, numbered, read
from crawler_dedup.urls import is_of_host

DUPLICATES: tuple[Event, ...] = ("drop", "mark")
"""Events of pages that were dropped, or that would have been."""

_NUMBER = re.compile(r"(\d+)")
_FOLLOWING = re.compile(r"\.(\d+)(\.[^./]*)?$")
_ANY = "\0"  # stands in no path
_OF_THE_INDEX = (".mdb", ".lock")


class Journals:
    """Files of the journal, read one after the other.

    Attributes:
        files: in the order of their names, numbers in them by their size. Lines of several are not in the order of time.
        damaged: how many lines of a file could not be read, as far as it was read.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = sorted(set(files), key=_natural)
        self.damaged: Counter[Path] = Counter()

    @classmethod
    def beside(cls, directory: Path, name: str) -> Journals:
        """Those of the index in *directory*, where ``DEDUP_JOURNAL`` is *name*."""
        if not name:
            return cls(())
        path = str(directory / (name % {"time": _ANY, "name": _ANY}))
        patterns = (escape(one).replace(_ANY, "*") for one in (path, numbered(path, _ANY)))
        found = (Path(one) for pattern in patterns for one in glob(pattern))
        return cls(one for one in found if one.is_file() and one.suffix not in _OF_THE_INDEX)

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
            and (not self.host or is_of_host(entry.url, self.host))
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


Address = tuple[str, str]
"""Of a page: its scope, and its URL."""


def find_duplicates(journals: Journals, is_meant: Callable[[Address], bool]) -> dict[Address, Entry]:
    """The pages for which kept ones stand that are meant: the last entry of each, without its text.

    Of a page for which another one stands by now there is none. Reads the journals twice.

    Args:
        is_meant: asked about the addresses of kept pages.
    """
    last: dict[Address, Entry] = {}
    for entry in journals.entries():
        if entry.event in DUPLICATES and is_meant((entry.scope, entry.kept_url)):
            last[entry.scope, entry.url] = replace(entry, text=b"")
    for entry in journals.entries():
        address = entry.scope, entry.url
        if entry.event in DUPLICATES and address in last and entry.time >= last[address].time:
            last[address] = replace(entry, text=b"")
    return {address: entry for address, entry in last.items() if is_meant((entry.scope, entry.kept_url))}


def _natural(path: Path) -> tuple[list[str | int], int]:
    """The first file of a journal, then ``….2.jsonl``."""
    following = _FOLLOWING.search(path.name)
    name = str(path.with_name(_FOLLOWING.sub(r"\2", path.name)))
    parts: list[str | int] = [int(part) if part.isdecimal() else part for part in _NUMBER.split(name)]
    return parts, int(following[1]) if following else 1
