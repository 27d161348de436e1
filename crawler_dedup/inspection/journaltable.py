"""The journals and the kept pages of an index in tables that can be searched, grouped and counted, however many they are.

The tables are a temporary database of SQLite, which is on the disk except for a cache and deleted with its last use.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

from xxhash import xxh3_64_intdigest

from crawler_dedup.errors import DedupError
from crawler_dedup.index.index import Index
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.journals import Journals, RunPeriods, is_of_host, read_entries, read_lines
from crawler_dedup.journal.entry import DUPLICATES, OUTCOMES, Entry
from crawler_dedup.system.callbacks import Advance, Start, ignore_progress
from crawler_dedup.urls import host_of

_OF_ENTRIES = (
    *("event", "run", "spider", "scope", "url", "duplicate_of", "rule", "time", "seconds"),
    *("distance", "resemblance", "coverage", "title", "bytes", "links", "reason", "count"),
)
_COLUMNS = (
    *_OF_ENTRIES,
    *("file", "offset_in_file", "page", "kept_page", "pair", "host", "kept_host", "doubt", "doubts", "words"),
)
_OF_PAGES = ("page", "run", "scope", "url", "host", "title", "key", "filed", "settled", "is_dry")

IS_KEPT = (
    "EXISTS (SELECT 1 FROM pages WHERE pages.page = entries.page AND settled >= CAST(seconds AS INT) AND settled"
    " AND NOT (is_dry AND event = 'drop'))"
)
"""Whether the page of a drop was kept since then. What only a dry run keeps is lost to crawls that drop."""
IS_DUPLICATE = f"event IN {DUPLICATES}"
IS_OUTCOME = f"event IN {OUTCOMES}"  # as in the index of the database, which is used for these words only
_SCHEMA = f"""
PRAGMA cache_size = -32000;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE entries (id INTEGER PRIMARY KEY, is_last DEFAULT FALSE, {", ".join(_COLUMNS)});
CREATE INDEX outcomes_of_page ON entries (page, time) WHERE {IS_OUTCOME};
CREATE INDEX entries_of_kept ON entries (kept_page);
CREATE INDEX entries_of_pair ON entries (pair) WHERE is_last;
CREATE TABLE pages ({", ".join(_OF_PAGES)});
CREATE INDEX pages_by_number ON pages (page);
"""
IS_OUTDATED = (
    f"(event = 'mark' AND ({IS_KEPT} OR (SELECT later.run != entries.run AND later.time > entries.time"  # noqa: S608
    f" FROM entries AS later WHERE later.page = entries.page AND later.{IS_OUTCOME} ORDER BY later.time DESC LIMIT 1)))"
)
"""Whether an entry is a mark that no longer counts: another run has decided about the page later."""
_IS_NEW = f"{IS_OUTCOME} AND {IS_DUPLICATE} AND (:known = 0 OR page IN (SELECT page FROM entries WHERE id > :known))"  # noqa: S608
_FIND_LAST = (
    f"UPDATE entries SET is_last = time >= :emptied AND NOT {IS_OUTDATED} AND id IN (SELECT id FROM (SELECT id,"  # noqa: S608
    f" row_number() OVER (PARTITION BY page ORDER BY time DESC, id DESC) AS recency FROM entries WHERE {_IS_NEW})"
    f" WHERE recency = 1) WHERE {_IS_NEW}"
)

_LATEST = (1 << 63) - 1  # SQLite stores no larger number, and an imported record may have one
Values = Sequence[Any] | Mapping[str, Any]


class JournalTable:
    """Journals, an entry in each row, and the pages of the index. It is not safe for threads.

    Rows are in the order in which the entries were read. ``is_last`` (after :meth:`find_last`): the entry is the last drop
    or mark of its page since the index was emptied, and no mark that no longer counts.

    Attributes:
        emptied: when the index was emptied last (ISO 8601, UTC); ``""``: never, or it is not known.
    """

    def __init__(self) -> None:
        self.emptied = ""
        self._files: dict[Path, tuple[int, int]] = {}  # the inode of each file, and how far it was read
        self._damaged = Counter[Path]()
        self._cut_off = set[Path]()
        self._known = 0  # the last entry for which is_last is up to date
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)  # a temporary file
        self._database.executescript(_SCHEMA)
        self._database.create_function("is_of_host", 2, is_of_host)

    def close(self) -> None:
        """Delete the tables."""
        self._database.close()

    @property
    def damaged(self) -> Mapping[Path, int]:
        """How many lines of each file cannot be read."""
        return self._damaged + Counter(self._cut_off)

    def read(self, pages: Index, journals: Journals, start: Start) -> None:
        """Read the pages of the index, and the journals."""
        self.read_index(pages, start("reading the index", len(pages)))
        self.read_journals(journals, advance=start("reading the journal", journals.size))
        self.find_last()

    def read_index(self, pages: Index, advance: Advance = ignore_progress) -> None:
        """Read the pages of the index. Call it before :meth:`read_journals` if doubts are looked for."""
        with self._writing() as database:
            database.execute("DELETE FROM pages")
            database.executemany(
                f"INSERT INTO pages VALUES ({', '.join('?' * len(_OF_PAGES))})",  # noqa: S608
                map(_page_row, pages.records(advance)),
            )
        self._known = 0

    def read_journals(self, journals: Journals, pages: Index | None = None, advance: Advance = ignore_progress) -> bool:
        """Read the lines that were added since the last call, and return whether there are any.

        Args:
            pages: the index, if stored texts are to be compared.
        """
        before, emptied = self._database.total_changes, self.emptied
        if any(_is_replaced(path, *known) for path, known in self._files.items()):
            self._database.execute("DELETE FROM entries")
            self._files.clear()
            self._damaged.clear()
            self._known = 0
        with self._writing() as database:
            for path in journals.files:
                columns, values = ", ".join(_COLUMNS), ", ".join("?" * len(_COLUMNS))
                rows = self._read_rows(path, pages, advance)
                database.executemany(f"INSERT INTO entries ({columns}) VALUES ({values})", rows)  # noqa: S608
        if self.emptied != emptied:
            self._known = 0
        return self._database.total_changes != before

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write much at once. What was written before an error stays: without a journal, SQLite takes nothing back."""
        self.select("BEGIN")
        try:
            yield self._database
        except sqlite3.Error as error:
            raise _explain(error) from error
        finally:
            if self._database.in_transaction:
                self.select("COMMIT")

    def find_last(self) -> None:
        """Set ``is_last`` after entries or pages were read."""
        self.select(_FIND_LAST, {"emptied": self.emptied, "known": self._known})
        ((self._known,),) = self.select("SELECT coalesce(max(id), 0) FROM entries")

    def _read_rows(self, path: Path, pages: Index | None, advance: Advance) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the entries in the part of a file that was not read yet."""
        inode, offset = self._files.get(path, (0, 0))
        self._cut_off.discard(path)
        for line, entry in read_lines(path, offset):
            if entry is not None:
                if entry.event == "emptied":
                    self.emptied = max(self.emptied, entry.time)
                yield self._make_row(entry, path, offset, pages)
            elif not line.endswith(b"\n"):  # it may be being written
                self._cut_off.add(path)
                return
            elif line.strip():  # no end of a line that was read without it
                self._damaged[path] += 1
            offset += len(line)
            inode = inode or path.stat().st_ino
            self._files[path] = inode, offset
            advance(len(line))

    def _make_row(self, entry: Entry, path: Path, offset: int, pages: Index | None) -> tuple[Any, ...]:
        return (
            *_values_of(entry),
            *(str(path), offset, number_of(entry.scope, entry.url), number_of(entry.scope, entry.duplicate_of)),
            number_of(entry.scope, entry.url, entry.duplicate_of),
            *(host_of(entry.url), host_of(entry.duplicate_of)),
            *(self._describe(entry, pages) if entry.is_duplicate else (0, "", "")),
        )

    def _describe(self, entry: Entry, pages: Index | None) -> tuple[int, str, str]:  # noqa: ARG002
        """Return how doubtful a drop is, why, and the words by which it is searched."""
        return 0, "", ""

    def find_kept(self, entry: Entry) -> tuple[str | None, str, int]:
        """Return title, key and time of filing of the representative of a drop; ``None``, "", 0 if it is not kept."""
        number = number_of(entry.scope, entry.duplicate_of)
        kept = self.select("SELECT title, key, filed FROM pages WHERE page = ? AND settled", [number])
        return next(kept, (None, "", 0))

    def select(self, query: str, values: Values = ()) -> Iterator[Any]:
        """Yield the rows of a query in SQL."""
        try:
            return self._database.execute(query, values)
        except sqlite3.Error as error:
            raise _explain(error) from error

    def unless(self, is_left_out: Callable[[str, str], bool] | None) -> str:
        """Return the condition in SQL that leaves drops out, by the addresses of page and representative; "": none is."""
        if is_left_out is None:
            return ""
        self._database.create_function("is_left_out", 2, is_left_out)
        return " AND NOT is_left_out(url, duplicate_of)"

    def find_runs(self, where: str = "TRUE", values: Values = ()) -> RunPeriods:
        """Find the runs whose entries meet a condition in SQL."""
        runs = RunPeriods()
        for run, spider, first, last in self.select(
            "SELECT run, spider, coalesce(min(nullif(seconds, 0)), 0), max(seconds) FROM entries"  # noqa: S608
            f" WHERE {where} GROUP BY run, spider ORDER BY min(id)",
            values,
        ):
            runs.note(run, first, spider)
            runs.note(run, last)
        return runs

    def find_duplicates(self, is_selected: Callable[[str, str], bool]) -> Iterator[Entry]:
        """Yield the last drop of each page that a selected page represents, and that is not kept or selected itself.

        Args:
            is_selected: returns whether a kept page is selected, by its scope and address.
        """
        self._database.create_function("is_selected", 2, is_selected)
        positions = self.select(
            "SELECT file, offset_in_file FROM entries WHERE is_last AND is_selected(scope, duplicate_of)"  # noqa: S608
            f" AND (NOT {IS_KEPT} OR is_selected(scope, url)) ORDER BY id"
        )
        return read_entries(positions)

    def find_latest(self, where: str, values: Values) -> Entry | None:
        """Return the latest of the entries that meet a condition in SQL; ``None`` if there is none."""
        query = f"SELECT file, offset_in_file FROM entries WHERE {where} ORDER BY time DESC, id DESC LIMIT 1"  # noqa: S608
        return next(read_entries(self.select(query, values)), None)

    def is_kept(self, entry: Entry) -> bool:
        """Return whether the page of a drop was kept since then."""
        of_entry = [number_of(entry.scope, entry.url), entry.seconds, entry.event]
        query = f"SELECT {IS_KEPT} FROM (SELECT ? AS page, ? AS seconds, ? AS event) AS entries"  # noqa: S608
        ((is_kept,),) = self.select(query, of_entry)
        return bool(is_kept)

    def count(self, where: str, values: Values = ()) -> int:
        """Count the entries that meet a condition in SQL."""
        ((number,),) = self.select(f"SELECT count(*) FROM entries WHERE {where}", values)  # noqa: S608
        return int(number)


def _explain(error: sqlite3.Error) -> DedupError:
    return DedupError(
        f"The table of journal entries cannot be used: {error}. It is a temporary file as large as the journal:"
        " if its disk is full, set the environment variable SQLITE_TMPDIR to a directory with more space."
    )


_values_of = attrgetter(*_OF_ENTRIES)


def _page_row(record: Record) -> tuple[Any, ...]:
    page = record.page
    return (
        *(number_of(page.scope, page.url), f"{record.run:08x}", page.scope, page.url, host_of(page.url)),
        *(page.title, page.key, min(record.filed, _LATEST), min(record.settled, _LATEST), record.is_dry),
    )


def number_of(*names: str) -> int:
    """Return the number of a page (scope, address), or of a pair (scope, address, address of the representative)."""
    return xxh3_64_intdigest("\0".join(names).encode("utf-8", "replace")) >> 1  # SQLite stores 63 bits


def _is_replaced(path: Path, inode: int, size: int) -> bool:
    """Return whether a file, which was read up to *size*, was removed or replaced."""
    try:
        now = path.stat()
    except FileNotFoundError:
        return True
    return now.st_ino != inode or now.st_size < size
