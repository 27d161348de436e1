"""The drops of an index in a table that can be searched, grouped and counted, however many they are.

The table is a temporary database of SQLite, which is on the disk except for a cache and deleted with its last use.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from xxhash import xxh3_64_intdigest

from crawler_dedup.errors import DedupError
from crawler_dedup.index import maintenance
from crawler_dedup.index.index import Index
from crawler_dedup.inspection.doubts import find_doubts
from crawler_dedup.inspection.mirrors import MIN_MIRROR_PAGES, MIN_MIRROR_SHARE, Mirror
from crawler_dedup.journal.entry import OUTCOMES, Entry, decode_entry
from crawler_dedup.journal.reader import Journals, read_lines
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.urls import host_of

_COLUMNS = (
    *("id", "file", "place", "scope", "url", "kept", "host", "kept_host", "rule", "spider", "run", "time", "seconds"),
    *("event", "doubt", "doubts", "words"),
)
_SCHEMA = f"""
PRAGMA cache_size = -32000;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE drops ({", ".join(_COLUMNS)}, UNIQUE (scope, url));
CREATE INDEX by_id ON drops (id);
CREATE INDEX by_kept ON drops (scope, kept);
CREATE TABLE pages (scope, url, host, title, key, filed, settled, is_dry, UNIQUE (scope, url));
"""
_ADD_DROP = (
    f"INSERT INTO drops VALUES ({', '.join('?' * len(_COLUMNS))}) ON CONFLICT DO UPDATE"  # noqa: S608
    f" SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS)} WHERE excluded.time >= drops.time"
)
# A page that was kept before its drop, or by a dry run, is lost to crawls that drop.
_IS_KEPT = (
    "SELECT 1 FROM pages AS own WHERE own.scope = drops.scope AND own.url = drops.url"
    " AND own.settled >= drops.seconds AND NOT (own.is_dry AND event = 'drop')"
)
_REMOVE_KEPT_MARKS = f"DELETE FROM drops WHERE event = 'mark' AND EXISTS ({_IS_KEPT})"  # noqa: S608
_REMOVE_MARK = "DELETE FROM drops WHERE scope = ? AND url = ? AND event = 'mark' AND run != ? AND time < ?"
_DROP = f"SELECT id, file, place, doubts, EXISTS ({_IS_KEPT}) FROM drops"  # noqa: S608
_CONDITIONS = {
    **{name: f"{name} = ?" for name in ("rule", "spider", "run", "scope", "kept")},
    "host": "instr(host, lower(?))",
    "since": "time >= ?",
    "until": "time <= ? || '~'",  # the whole day or hour that it names
}
_MEMBER = ("url", "rule", "time", "event")
_MAX_ID = (1 << 63) - 1
_MAX_WORDS = 4_000  # characters of title and addresses that are searched


Search = Mapping[str, str]
"""The drops that are searched for: they meet all conditions, whose names are in :data:`SEARCHED`.

``words``: words that the title or an address contains, in any order; ``host``: a part of the host of the page; ``rule``,
``spider``, ``run``, ``scope``; ``since``, ``until``: the earliest and the latest time (ISO 8601, UTC, or its beginning);
``kept``: address of the representative.
"""
SEARCHED = ("words", *_CONDITIONS)


@dataclass(frozen=True)
class Drop:
    """A drop in the table: the last one of its page.

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


class DropTable:
    """The last drop of each page since the index was emptied, and the kept pages.

    Pages that were kept after they had been dropped are in the table, but in no group. Marks that no longer count, because
    another run has decided later (:meth:`Entry.outdates`), are left out. It is not safe for threads.

    Args:
        max_distance: DEDUP_MAX_DISTANCE; a drop with a distance near it is doubtful.

    Attributes:
        damaged: how many lines of the journal could not be read.
    """

    def __init__(self, max_distance: int) -> None:
        self.damaged = 0
        self._max_distance = max_distance
        self._known: dict[Path, tuple[int, int]] = {}  # the inode of each file, and how far it was read
        self._emptied = ""
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)  # a temporary file
        self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Delete the table."""
        self._database.close()

    def read_index(self, pages: Index, advance: Advance = ignore_progress) -> None:
        """Read which pages are kept. Call it before :meth:`read_journals`, which compares titles."""
        records = maintenance.read_records(pages, advance)
        with self._writing() as database:
            database.execute("DELETE FROM pages")
            database.executemany(
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        page.scope,
                        page.url,
                        host_of(page.url),
                        page.title,
                        page.key,
                        each.filed,
                        each.settled,
                        each.is_dry,
                    )
                    for each in records
                    if (page := each.page) and each.settled
                ),
            )
            database.execute(_REMOVE_KEPT_MARKS)

    def read_journals(self, journals: Journals, pages: Index | None = None, advance: Advance = ignore_progress) -> bool:
        """Read the lines that were added since the last call, and return whether the drops have changed.

        Args:
            pages: the index, if stored texts are to be compared.
        """
        before = self._emptied, self._database.total_changes
        if any(_is_replaced(path, *known) for path, known in self._known.items()):
            self._known.clear()
            self._database.execute("DELETE FROM drops")
            self.damaged = 0
        with self._writing() as database:
            for path in journals.files:
                database.executemany(_ADD_DROP, self._rows(path, pages, advance))
        if before == (self._emptied, self._database.total_changes):
            return False
        self._database.execute("DELETE FROM drops WHERE time < ?", [self._emptied])
        self._database.execute(_REMOVE_KEPT_MARKS)
        return True

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write much at once. What was written before an error stays: without a journal, SQLite takes nothing back."""
        self._database.execute("BEGIN")
        try:
            yield self._database
        finally:
            self._database.execute("COMMIT")

    def _rows(self, path: Path, pages: Index | None, advance: Advance) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the drops in the part of a file that was not read yet."""
        inode, place = self._known.get(path) or (path.stat().st_ino, 0)
        for line, entry in read_lines(path, decode_entry, place):
            if not line.endswith(b"\n"):  # it may be being written
                return
            if entry is None:
                self.damaged += 1
            elif entry.event == "emptied":
                self._emptied = max(self._emptied, entry.time)
            elif entry.is_duplicate:
                yield self._row(entry, path, place, pages)
            elif entry.event in OUTCOMES:
                self._database.execute(_REMOVE_MARK, [entry.scope, entry.url, entry.run, entry.time])
            place += len(line)
            self._known[path] = inode, place
            advance(len(line))

    def _row(self, entry: Entry, path: Path, place: int, pages: Index | None) -> tuple[Any, ...]:
        title, key, _ = self._kept_page(entry)
        record = pages.find(entry.scope, key) if pages and key and entry.text else None
        doubts = find_doubts(entry, title, record.page.text if record else b"", self._max_distance)
        name = "\0".join((entry.scope, entry.url, entry.duplicate_of)).encode("utf-8", "replace")
        return (
            xxh3_64_intdigest(name) >> 1,  # 63 bits
            *(str(path), place, entry.scope, entry.url, entry.duplicate_of),
            *(host_of(entry.url), host_of(entry.duplicate_of)),
            *(entry.rule, entry.spider, entry.run, entry.time, int(entry.seconds), entry.event),
            sum(weight for weight, _ in doubts),
            "\n".join(reason for _, reason in doubts),
            f"{entry.title} {unquote(entry.url)} {unquote(entry.duplicate_of)}".lower()[:_MAX_WORDS],
        )

    def _kept_page(self, entry: Entry) -> tuple[str | None, str, int]:
        """Return title, key and time of filing of the representative of a drop, if it is kept."""
        kept: tuple[str, str, int] | None = self._database.execute(
            "SELECT title, key, filed FROM pages WHERE scope = ? AND url = ?", (entry.scope, entry.duplicate_of)
        ).fetchone()
        return kept or (None, "", 0)

    def count(self, search: Search) -> int:
        """Count the drops that are searched for."""
        where, values = _conditions_of(search)
        (number,) = self._database.execute(f"SELECT count(*) FROM drops WHERE {where}", values).fetchone()  # noqa: S608
        return int(number)

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
        where, values = _conditions_of(search)
        if is_left_out:
            self._database.create_function("is_left_out", 2, is_left_out)
            where += " AND NOT is_left_out(url, kept)"
        order = "doubt DESC, time DESC, url" if doubtful_first else "time DESC, url"
        rows = self._database.execute(
            f"{_DROP} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?", [*values, size, first]
        )
        return [self._drop(*row) for row in rows.fetchall()]

    def get(self, number: int) -> Drop | None:
        """Return the drop with the id *number*, if this is still the last drop of its page. Raises as :meth:`find`."""
        wanted = min(number, _MAX_ID)  # SQLite takes no larger number
        row = self._database.execute(f"{_DROP} WHERE id = ?", [wanted]).fetchone()
        return None if row is None else self._drop(*row)

    def _drop(self, number: int, file: str, place: int, doubts: str, is_kept: int) -> Drop:
        _, entry = next(read_lines(Path(file), decode_entry, place), (b"", None))
        if entry is None:
            raise DedupError(f"{file} was changed or removed: load the page again.")
        title, key, filed = self._kept_page(entry)
        return Drop(number, entry, title, key, tuple(doubts.splitlines()), filed > entry.seconds, bool(is_kept))

    def names(self, column: str) -> list[str]:
        """Return the different values of ``rule``, ``spider`` or ``run``; of runs the latest first."""
        order = "max(time) DESC" if column == "run" else column
        return [
            name
            for (name,) in self._database.execute(f"SELECT {column} FROM drops GROUP BY {column} ORDER BY {order}")  # noqa: S608
        ]

    def groups(self) -> Iterator[Group]:
        """Yield the representatives with the pages that they represent, which are kept nowhere else."""
        rows = self._database.execute(
            "SELECT drops.scope, kept, pages.url IS NOT NULL, drops.url, rule, time, event FROM drops"  # noqa: S608
            " LEFT JOIN pages ON pages.scope = drops.scope AND pages.url = kept"
            f" WHERE NOT EXISTS ({_IS_KEPT}) ORDER BY drops.scope, kept, drops.url"
        )
        for (scope, url, is_kept), members in groupby(rows, lambda row: row[:3]):
            yield Group(scope, url, bool(is_kept), [dict(zip(_MEMBER, member[3:], strict=True)) for member in members])

    def mirrors(self) -> list[Mirror]:
        """Return the hosts of which another host represents half of the known pages or more, the largest share first.

        Hosts with fewer than ten known pages are left out.
        """
        rows = self._database.execute(
            f"WITH lost AS (SELECT scope, url, host, kept_host FROM drops WHERE NOT EXISTS ({_IS_KEPT})),"  # noqa: S608
            " known AS (SELECT scope, url, host FROM lost UNION SELECT scope, url, host FROM pages),"
            " totals AS (SELECT host, count(*) AS total FROM known GROUP BY host)"
            " SELECT lost.host, kept_host, count(*) AS number, total FROM lost JOIN totals ON totals.host = lost.host"
            " WHERE lost.host != kept_host GROUP BY lost.host, kept_host HAVING number >= ? * total AND total >= ?"
            " ORDER BY 1.0 * number / total DESC, number DESC, lost.host, kept_host",
            [MIN_MIRROR_SHARE, MIN_MIRROR_PAGES],
        )
        return [Mirror(*row) for row in rows]

    def hosts(self) -> list[str]:
        """Return the hosts of all kept pages, in ascending order."""
        return [host for (host,) in self._database.execute("SELECT DISTINCT host FROM pages ORDER BY host")]


def _conditions_of(search: Search) -> tuple[str, list[str]]:
    """Return the conditions in SQL, and their parameters."""
    words = search.get("words", "").lower().split()
    named = [name for name in _CONDITIONS if name in search]
    conditions = ["TRUE", *["instr(words, ?)"] * len(words), *(_CONDITIONS[name] for name in named)]
    return " AND ".join(conditions), [*words, *(search[name] for name in named)]


def _is_replaced(path: Path, inode: int, size: int) -> bool:
    """Return whether a file, which was read up to *size*, was removed or replaced."""
    try:
        now = path.stat()
    except FileNotFoundError:
        return True
    return now.st_ino != inode or now.st_size < size
