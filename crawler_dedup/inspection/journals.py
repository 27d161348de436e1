"""Reading the entries of a journal file or of all journals of an index, selecting and sampling them; the periods of runs."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from glob import escape, glob
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from crawler_dedup.errors import DedupError
from crawler_dedup.journal.entry import VERSION, Entry, Event
from crawler_dedup.urls import without_credentials

_MAX_RUNS = 100_000
_MAX_SPIDERS = 5


@dataclass
class RunPeriod:
    """The period in which a run was active.

    Attributes:
        first: first time at which the run is known to have been active, in seconds since 1970; 0: no time is known.
        last: last time at which the run is known to have been active.
        spiders: names of its spiders, at most five.
    """

    first: float = 0
    last: float = 0
    spiders: set[str] = field(default_factory=set)

    def note(self, seconds: float, spider: str = "") -> None:
        """Note that the run was active at a time, in seconds since 1970."""
        if seconds > 0:
            self.first = min(self.first or seconds, seconds)
            self.last = max(self.last, seconds)
        if spider and len(self.spiders) < _MAX_SPIDERS:
            self.spiders.add(spider)


class RunPeriods:
    """The runs of a journal or an index by number (8 hexadecimal digits).

    When there are 200,000 runs, those that began first are forgotten, and 100,000 remain.
    """

    def __init__(self) -> None:
        self._periods: dict[str, RunPeriod] = {}

    def note(self, run: str, seconds: float, spider: str = "") -> None:
        """Note that *run* was active at a time, in seconds since 1970. Nothing is noted for no run (``""``)."""
        if not run:
            return
        period = self._periods.get(run)
        if period is None:
            if len(self._periods) >= 2 * _MAX_RUNS:
                self._periods = dict(self.in_order()[-_MAX_RUNS:])
            period = self._periods[run] = RunPeriod()
        period.note(seconds, spider)

    def in_order(self) -> list[tuple[str, RunPeriod]]:
        """Return the runs in the order in which they began; runs that began at the same time are sorted by number."""
        return sorted(self._periods.items(), key=lambda item: (item[1].first, item[0]))

    @property
    def latest(self) -> str:
        """The run that began last, even if another run has ended later; ``""`` if there is none."""
        return self.latest_of(None)

    def latest_of(self, spider: str | None) -> str:
        """The run of *spider* (``None``: of any) that began last; ``""`` if there is none."""
        runs = (run for run, period in self._periods.items() if spider is None or spider in period.spiders)
        return max(runs, key=lambda run: (self._periods[run].first, run), default="")

    def get(self, run: str) -> RunPeriod:
        """Return the period of *run*; an empty one if it is not known."""
        return self._periods.get(run) or RunPeriod()

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time at which any run was active, in seconds since 1970; 0: none is known."""
        known = [period for period in self._periods.values() if period.first]
        return min((period.first for period in known), default=0), max((period.last for period in known), default=0)

    def __len__(self) -> int:
        """Return how many runs there are."""
        return len(self._periods)


def format_period(first: float, last: float) -> str:
    """Return ``2026-11-20 10:00 to 2026-11-22 09:12 UTC`` for two times in seconds since 1970; 0 means unknown."""
    try:
        began, ended = (f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}" for seconds in (first, last))
    except (ValueError, OverflowError, OSError):  # a journal or an imported record may say anything
        return "time not known"
    if not first:
        return "time not known"
    if began == ended:
        return f"{began} UTC"
    return f"{began} to {ended[11:] if began[:10] == ended[:10] else ended} UTC"


def describe_runs(count: int, first: float, last: float) -> str:
    """Return ``3 runs, 2026-11-20 10:00 to 2026-11-22 09:12 UTC``."""
    return f"{count:,} run{'' if count == 1 else 's'}, {format_period(first, last)}" if count else "no run"


_NUMBER = re.compile(r"(\d+)")
_ANY = "\0"  # occurs in no path
_OF_THE_INDEX = (".mdb", ".lock")
_Item = TypeVar("_Item")


class UnknownVersion(Exception):
    """An entry was written by a version of this package whose schema this one does not read."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


class _Versioned(msgspec.Struct):
    version: int = VERSION


_DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_decode_entry = msgspec.json.Decoder(Entry).decode
_decode_version = msgspec.json.Decoder(_Versioned).decode


def decode_entry(line: bytes) -> Entry | None:
    """Read a line of a journal; ``None`` if it was cut off or is no entry.

    Raises:
        UnknownVersion: another version of this package has written it.
    """
    try:
        decoded = _decode_entry(line)
        version = decoded.version
    except _DAMAGED:
        decoded, version = None, _version_of(line)
    if version != VERSION:
        raise UnknownVersion(version)
    return decoded


def _version_of(line: bytes) -> int:
    """Return the version of a line that cannot be decoded; :data:`VERSION` if it is no entry of any version."""
    try:
        return _decode_version(line).version
    except _DAMAGED:
        return VERSION


def read_lines(path: Path, start: int = 0) -> Iterator[tuple[bytes, Entry | None]]:
    """Yield each line from the offset *start* on, also decoded.

    Raises:
        DedupError: the file cannot be read, or was written by a version with another schema.
    """
    number = 0
    try:
        with path.open("rb") as file:
            file.seek(start)
            for line in file:
                number += 1
                yield line, decode_entry(line)
    except OSError as error:
        raise DedupError(f"{path} cannot be read: {error}") from None
    except UnknownVersion as error:
        age = "a later" if error.version > VERSION else "an older"
        after = f" after byte {start}" if start else ""
        raise DedupError(
            f"{path}, line {number}{after}, was written by {age} version of crawler-dedup: schema {error.version}; this"
            f" one reads {VERSION}."
        ) from None


def read_entries(positions: Iterable[tuple[str, int]]) -> Iterator[Entry]:
    """Yield the entries at the *positions* (file, offset in bytes) of journals.

    Raises:
        DedupError: a file was changed or removed.
    """
    for file, offsets in groupby(positions, itemgetter(0)):
        try:
            with Path(file).open("rb") as lines:
                for _, offset in offsets:
                    lines.seek(offset)
                    entry = decode_entry(lines.readline())
                    if entry is None:
                        raise DedupError(f"{file} was changed or removed meanwhile.")
                    yield entry
        except (OSError, UnknownVersion):
            raise DedupError(f"{file} was changed or removed meanwhile.") from None


class Journals:
    """Files of the journal, read one after the other.

    Attributes:
        files: paths in the order of their names, numbers in names by value. Entries of several files are not in time order.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = sorted(set(files), key=_sort_key)

    @classmethod
    def beside(cls, directory: Path, name: str) -> Journals:
        """Find the journals of the index in *directory*; *name* is the value of ``DEDUP_JOURNAL``."""
        if not name:
            return cls(())
        path = str(directory / (name % {"time": _ANY, "name": _ANY}))
        files = map(Path, glob(escape(path).replace(_ANY, "*")))
        return cls(file for file in files if file.is_file() and file.suffix not in _OF_THE_INDEX)

    @property
    def size(self) -> int:
        """Size of all files in bytes."""
        return sum(path.stat().st_size for path in self.files if path.exists())


def is_of_host(url: str, host: str) -> bool:
    """Return whether *host* is that of *url*, with or without its port and ``www.``."""
    try:
        parts = urlsplit(without_credentials(url))
        names = parts.netloc.lower(), parts.hostname or ""
    except ValueError:
        return False
    return host.lower().removeprefix("www.") in {name.removeprefix("www.") for name in names}


@dataclass(frozen=True)
class Selection:
    """A selection of entries, which meet all conditions that are not empty.

    Attributes:
        events: the events of the entries.
        host: host of their pages.
        rule: name of the rule that decided.
        since: their earliest time (ISO 8601, UTC).
        run: number of their run, 8 hexadecimal digits.
        emptied: when the index was emptied (ISO 8601, UTC): earlier entries are about pages of which it knows nothing.
    """

    events: Collection[Event]
    host: str = ""
    rule: str = ""
    since: str = ""
    run: str = ""
    emptied: str = ""

    def covers(self, entry: Entry) -> bool:
        """Return whether *entry* meets the conditions on run and times, whatever its event, host and rule are."""
        return entry.time >= max(self.since, self.emptied) and (not self.run or entry.run == self.run)

    def __contains__(self, entry: Entry) -> bool:
        return (
            entry.event in self.events
            and (not self.host or is_of_host(entry.url, self.host))
            and (not self.rule or entry.rule == self.rule)
            and self.covers(entry)
        )


def sample(items: Iterable[_Item], size: int, source: random.Random) -> list[_Item]:
    """Draw a uniform random sample of *size* items, and return it in order. Only the sample is kept in memory."""
    drawn: list[tuple[int, _Item]] = []
    for number, item in enumerate(items):
        if number < size:
            drawn.append((number, item))
        elif (place := source.randrange(number + 1)) < size:  # algorithm R (Vitter 1985, section 2)
            drawn[place] = number, item
    return [item for _, item in sorted(drawn, key=itemgetter(0))]


ScopedUrl = tuple[str, str]
"""The scope and the URL of a page."""


def _sort_key(path: Path) -> list[str | int]:
    return [int(part) if part.isdecimal() else part for part in _NUMBER.split(str(path))]
