"""The last drop of each page, searched and grouped, and why it may be wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import unquote

from crawler_dedup.index.index import Index
from crawler_dedup.inspection.difference import split_lines
from crawler_dedup.inspection.journals import RunPeriod, RunPeriods, Selection, read_entries
from crawler_dedup.inspection.journaltable import IS_DUPLICATE, IS_KEPT, IS_OUTDATED, JournalTable, number_of
from crawler_dedup.journal.entry import Entry
from crawler_dedup.rules.table import SAME_BYTES
from crawler_dedup.signing.text import unpack_text

_CONDITIONS = {
    **{name: f"{name} = ?" for name in ("rule", "spider", "run")},
    "host": "instr(host, lower(?))",
    "of_host": "is_of_host(url, ?)",
    "since": "time >= ?",
    "before": "time < ?",
    "until": "time <= ? || '~'",  # the whole day or hour that it names
    "kept": "kept_page = (SELECT kept_page FROM entries WHERE is_last AND pair = CAST(? AS INT))",
}
_DROP = "SELECT file, offset_in_file, doubts FROM entries WHERE is_last"
_MEMBER = ("url", "rule", "time", "event")
_MAX_ID = (1 << 63) - 1
_MAX_WORDS = 4_000  # characters of title and addresses that are searched
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"(?<!['’])\b\w+|(?<=['’])\w{2,}")  # without the "s" of "Anna's"
_SHOWN = 5  # words of a title

Search = Mapping[str, str]
"""The drops that are searched for: they meet all conditions that are not empty, whose names are in :data:`SEARCHED`.

``words``: words that the title or an address contains, in any order; ``host``: a part of the host of the page, ``of_host``:
its host; ``rule``, ``spider``, ``run``; ``since``, ``until``: the earliest and the latest time (ISO 8601, UTC, or its
beginning); ``before``: a later time; ``kept``: the id of a drop with the same representative.
"""
SEARCHED = ("words", *_CONDITIONS)


@dataclass(frozen=True)
class Drop:
    """A drop.

    Attributes:
        id: identifies page and representative.
        entry: its journal entry.
        kept_title: the title of the representative; ``None`` if that is not kept.
        kept_key: the key of the representative in the index; ``""`` if it is not kept.
        doubts: why it may be wrong.
        has_changed: whether the representative was filed again since the drop, perhaps with another content.
        is_kept: whether the page itself has been kept since then.
    """

    id: int
    entry: Entry
    kept_title: str | None
    kept_key: str
    doubts: Sequence[str]
    has_changed: bool
    is_kept: bool


@dataclass(frozen=True)
class Group:
    """A representative with its duplicates.

    Attributes:
        is_kept: whether the representative is in the index.
        duplicates: ``url``, ``rule``, ``time`` and ``event`` of each page.
    """

    scope: str
    url: str
    is_kept: bool
    duplicates: Sequence[Mapping[str, str]]


class DropTable(JournalTable):
    """The last drop of each page since the index was emptied, and the kept pages.

    Pages that were kept after they had been dropped are in the table, but in no group. Marks that no longer count are left
    out.

    Args:
        max_distance: DEDUP_MAX_DISTANCE; a drop with a distance near it is doubtful. ``None``: no doubts are looked for, and
            no words can be searched.
    """

    def __init__(self, max_distance: int | None) -> None:
        super().__init__()
        self._max_distance = max_distance

    def _describe(self, entry: Entry, pages: Index | None) -> tuple[int, str, str]:
        if self._max_distance is None:
            return super()._describe(entry, pages)
        title, key, _ = self.find_kept(entry)
        record = pages.find(entry.scope, key) if pages and key and entry.text else None
        doubts = find_doubts(entry, title, record.page.text if record else b"", self._max_distance)
        words = f"{entry.title} {unquote(entry.url)} {unquote(entry.duplicate_of)}".lower()[:_MAX_WORDS]
        return sum(weight for weight, _ in doubts), "\n".join(reason for _, reason in doubts), words

    def count_drops(self, search: Search) -> int:
        """Count the drops that are searched for."""
        where, values = conditions_of(search)
        return self.count(f"is_last AND {where}", values)

    def find(
        self,
        search: Search,
        first: int,
        size: int,
        *,
        doubtful_first: bool = True,
        is_left_out: Callable[[str, str], bool] | None = None,
    ) -> list[Drop]:
        """Return up to *size* of the drops that are searched for, from the one with the number *first* on.

        Args:
            is_left_out: returns whether a drop is left out, by the addresses of the page and of its representative.

        Raises:
            DedupError: a file of the journal was removed.
        """
        where, values = conditions_of(search)
        order = "doubt DESC, time DESC, url" if doubtful_first else "time DESC, url"
        query = f"{_DROP} AND {where} {self.unless(is_left_out)} ORDER BY {order} LIMIT ? OFFSET ?"
        return [self._drop(*row) for row in list(self.select(query, [*values, size, first]))]

    def get(self, number: int) -> Drop | None:
        """Return the drop with the id *number*, if this is still the last drop of its page. Raises as :meth:`find`."""
        wanted = min(number, _MAX_ID)  # SQLite takes no larger number
        row = next(self.select(f"{_DROP} AND pair = ?", [wanted]), None)
        return None if row is None else self._drop(*row)

    def _drop(self, file: str, offset: int, doubts: str) -> Drop:
        (entry,) = read_entries([(file, offset)])
        return self.drop_of(entry, doubts.splitlines())

    def drop_of(self, entry: Entry, doubts: Sequence[str] = ()) -> Drop:
        """Return the drop of an entry, with what the index has about both pages."""
        title, key, filed = self.find_kept(entry)
        number = number_of(entry.scope, entry.url, entry.duplicate_of)
        return Drop(number, entry, title, key, doubts, filed > entry.seconds, self.is_kept(entry))

    def names(self, column: str) -> list[str]:
        """Return the different values of ``rule``, ``spider`` or ``run``; of runs the latest first."""
        order = "max(time) DESC" if column == "run" else column
        rows = self.select(f"SELECT {column} FROM entries WHERE is_last GROUP BY {column} ORDER BY {order}")  # noqa: S608
        return [name for (name,) in rows]

    def groups(self) -> Iterator[Group]:
        """Yield the representatives with the pages that they represent, which are kept nowhere else."""
        rows = self.select(
            "SELECT scope, duplicate_of, EXISTS (SELECT 1 FROM pages WHERE pages.page = kept_page AND settled), url,"  # noqa: S608
            f" rule, time, event FROM entries WHERE is_last AND NOT {IS_KEPT} ORDER BY scope, duplicate_of, url"
        )
        for (scope, url, is_kept), members in groupby(rows, lambda row: row[:3]):
            yield Group(scope, url, bool(is_kept), [dict(zip(_MEMBER, member[3:], strict=True)) for member in members])


def conditions_of(search: Search) -> tuple[str, list[str]]:
    """Return the conditions in SQL, and their parameters."""
    words = search.get("words", "").lower().split()
    named = [name for name in _CONDITIONS if search.get(name)]
    conditions = ["TRUE", *["instr(words, ?)"] * len(words), *(_CONDITIONS[name] for name in named)]
    return " AND ".join(conditions), [*words, *(search[name] for name in named)]


def find_doubts(entry: Entry, kept_title: str | None, kept_text: bytes, max_distance: int) -> list[tuple[int, str]]:
    """Return the reasons to doubt a drop, each with its weight: the higher the sum, the earlier a person should look.

    Args:
        kept_title: the title of the representative; ``None`` if it is not known.
        kept_text: the compressed main text of the representative; empty if it is not known.
        max_distance: the setting.
    """
    if entry.rule == SAME_BYTES:
        return []
    distance = -1 if entry.distance is None else entry.distance
    return [
        *_compare_contents(entry, kept_title, kept_text),
        *_compare_addresses(entry),
        *([(2, "signatures as far apart as allowed")] if distance == max_distance else []),
        *([(2, "found by its title: the signatures are far apart")] if distance > max_distance else []),
    ]


def _compare_contents(entry: Entry, kept_title: str | None, kept_text: bytes) -> Iterator[tuple[int, str]]:
    if kept_title is not None:
        words, kept_words = (_WORD.findall(title.lower()) for title in (entry.title, kept_title))
        if other := [word for word in dict.fromkeys(words) if word not in kept_words]:
            yield 4, f"other words in the title: {', '.join(other[:_SHOWN])}"
    if entry.text and kept_text:
        lines, kept_lines = (set(split_lines(unpack_text(text))) for text in (entry.text, kept_text))
        if number := len(lines - kept_lines):
            yield min(4, 1 + number), f"{number:,} block{'s' * (number > 1)} that the kept page lacks"


def _compare_addresses(entry: Entry) -> Iterator[tuple[int, str]]:
    path, kept_path = (url.partition("://")[2].partition("/")[2] for url in (entry.url, entry.duplicate_of))
    numbers, kept_numbers = set(_NUMBER.findall(path)), set(_NUMBER.findall(kept_path))
    if numbers - kept_numbers and kept_numbers - numbers:
        yield 2, "another date or number in the address"
    if path.rpartition("/")[0] != kept_path.rpartition("/")[0]:
        yield 1, "another path"


DropCounts = Sequence[tuple[str, int]]
"""(value of a property, number of drops that have it), most frequent first."""


@dataclass(frozen=True)
class RunDrops:
    """A run: its number, its period, and its number of drops.

    Attributes:
        is_dry: whether it is a dry run (``DEDUP_ACTION = "mark"``).
        is_before_emptying: whether the index was emptied after it.
    """

    run: str
    period: RunPeriod
    drops: int
    is_dry: bool
    is_before_emptying: bool


class SelectedDrops:
    """The selected drops in a table. Without a selected run, marks that no longer count are left out.

    Attributes:
        selection: the drops and runs that are selected.
        runs: the runs, including runs without drops.
        earlier_runs: the runs that would be selected if the index had not been emptied after them.
        drops: how many drops there are, including pages that were marked and passed.
        marked: how many of these pages were marked and passed.
        damaged: how many lines of each file of the journal could not be read.
    """

    def __init__(self, table: JournalTable, selection: Selection) -> None:
        self.selection = selection
        self.damaged = table.damaged
        self._table = table
        earliest = max(selection.since, selection.emptied)
        self._time: Search = {"since": earliest, "run": selection.run}
        self._time_before: Search = {"since": selection.since, "before": selection.emptied}
        self.runs = table.find_runs(*conditions_of(self._time))
        self.earlier_runs = table.find_runs(*conditions_of(self._time_before)) if selection.emptied else RunPeriods()
        self._where, self._values = self._drops_in(self._time)
        self._where += "" if selection.run else f" AND NOT {IS_OUTDATED}"
        self.drops = table.count(self._where, self._values)
        self.marked = table.count(f"{self._where} AND event = 'mark'", self._values)

    def _drops_in(self, time: Search) -> tuple[str, list[str]]:
        where, values = conditions_of({**time, "of_host": self.selection.host, "rule": self.selection.rule})
        return f"{where} AND {IS_DUPLICATE}", values

    def positions(self, is_left_out: Callable[[str, str], bool] | None = None) -> Iterator[tuple[str, int]]:
        """Yield the positions of the drops in journals (file, offset in bytes), in their order.

        Args:
            is_left_out: returns whether a drop is left out, by the addresses of the page and of its representative.
        """
        where = self._where + self._table.unless(is_left_out)
        return self._table.select(f"SELECT file, offset_in_file FROM entries WHERE {where} ORDER BY id", self._values)  # noqa: S608

    def count_by(self, column: str, size: int) -> tuple[DropCounts, int]:
        """Return the *size* most frequent values of a column with their numbers of drops, and how many values there are."""
        counts = self._table.select(
            f"SELECT {column}, count(*) AS number FROM entries WHERE {self._where}"  # noqa: S608
            f" GROUP BY {column} ORDER BY number DESC, {column} LIMIT {size}",
            self._values,
        )
        total = self._table.select(f"SELECT count(DISTINCT {column}) FROM entries WHERE {self._where}", self._values)  # noqa: S608
        return list(counts), next(total)[0]

    def count_by_run(self) -> list[RunDrops]:
        """Return the earlier runs and then the others, in the order in which they began, with all their drops."""
        dry_runs = {run for (run,) in self._table.select("SELECT run FROM entries WHERE event = 'dry_run'")}
        counts: list[RunDrops] = []
        for time, runs, is_earlier in ((self._time_before, self.earlier_runs, True), (self._time, self.runs, False)):
            where, values = self._drops_in(time)
            drops = dict(self._table.select(f"SELECT run, count(*) FROM entries WHERE {where} GROUP BY run", values))  # noqa: S608
            counts += [
                RunDrops(run, period, drops.get(run, 0), run in dry_runs, is_earlier) for run, period in runs.in_order()
            ]
        return counts
