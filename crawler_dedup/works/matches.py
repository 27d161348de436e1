"""The matches of a library: pages that share passages with works, in a SQLite file beside the library."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from crawler_dedup.errors import DedupError
from crawler_dedup.urls import escape_surrogates, host_of, without_credentials
from crawler_dedup.works.database import Database
from crawler_dedup.works.library import FoundWork, require_library

FILE = "matches.sqlite"
Status = Literal["open", "confirmed", "dismissed", "licensed"]
STATUSES: Sequence[Status] = ("open", "confirmed", "dismissed", "licensed")
_SCHEMA = """
create table matches (
    id integer primary key, work integer not null, title text not null, author text not null, url text not null,
    host text not null, start integer not null, "end" integer not null, work_start integer not null,
    work_end integer not null, share_of_work real not null, share_of_page real not null, passages integer not null,
    scheme text not null, first_seen integer not null, last_seen integer not null, status text not null default 'open',
    texts text not null, unique (work, url)
)
"""
_MAX_PASSAGES = 100
_MAX_CHARS = 1_000
"""Number of passages of a match that are stored with their texts, the longest, and of the characters of each."""


@dataclass(frozen=True)
class Match:
    """A page that shares passages with a work.

    Attributes:
        id: its number.
        work: number of the work.
        title, author: those of the work when the match was last seen.
        url: address of the page, without user name and password.
        start, end: the place of the longest passage in the text of the page, in characters.
        work_start, work_end: its place in the text of the work.
        share_of_work, share_of_page: shares of the letters of both that lie in common passages.
        passages: number of common passages.
        first_seen, last_seen: in seconds since 1970.
        status: what people have said about it.
    """

    id: int
    work: int
    title: str
    author: str
    url: str
    host: str
    start: int
    end: int
    work_start: int
    work_end: int
    share_of_work: float
    share_of_page: float
    passages: int
    scheme: str
    first_seen: int
    last_seen: int
    status: Status


_COLUMNS = ", ".join(f'"{field.name}"' for field in fields(Match))


@dataclass(frozen=True)
class PassageTexts:
    """A passage of a match: its places and its beginning in the page and in the work."""

    start: int
    end: int
    work_start: int
    work_end: int
    text: str
    work_text: str

    @property
    def is_cut(self) -> bool:
        """Whether the passage is longer than its texts."""
        return max(self.end - self.start, self.work_end - self.work_start) > _MAX_CHARS


class Matches:
    """The matches of the library in a directory.

    Raises :class:`DedupError` if there is no library, or the file cannot be used; so do all methods.
    """

    def __init__(self, directory: Path) -> None:
        require_library(directory)
        self._database = Database(directory / FILE, _SCHEMA)
        self.is_replaced = self._database.is_replaced

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def store(self, url: str, text: str, works: Sequence[FoundWork]) -> list[tuple[Match, bool]]:
        """Store that the page at *url* with *text* shares passages with works, in one transaction.

        A match that is known is brought up to date; its status stays. Return each match, and whether it is new.
        """
        if not works:
            return []
        with self._database.transaction() as connection:
            matches = []
            for work in works:
                row = _row_of(escape_surrogates(without_credentials(url)), text, work)
                known = connection.execute(
                    "select id from matches where work = ? and url = ?", [row["work"], row["url"]]
                ).fetchone()
                names = ", ".join(f'"{name}"' for name in row)
                values = ", ".join(f":{name}" for name in row)
                changes = ", ".join(f'"{name}" = excluded."{name}"' for name in row if name != "first_seen")
                (stored,) = connection.execute(
                    f"insert into matches ({names}) values ({values}) on conflict (work, url) do update set {changes}"
                    f" returning {_COLUMNS}",
                    row,
                ).fetchall()
                matches.append((Match(**stored), known is None))
            return matches

    def select(
        self, *, work: str = "", host: str = "", statuses: Sequence[Status] = (), since: float = 0
    ) -> Iterable[Match]:
        """Yield the matches of a work (its number or title), a host and these statuses that were seen *since* a time.

        A *host* may be without its port and ``www.``. Matches seen last come first.
        """
        statement = (
            f"select {_COLUMNS} from matches where (?1 = '' or cast(work as text) = ?1 or title = ?1)"
            " and (?2 = '' or host = ?2 or substr(host, 1, length(?2) + 1) = ?2 || ':')"
            " and (?3 = '[]' or status in (select value from json_each(?3)))"
            " and last_seen >= ?4 order by last_seen desc, id"
        )
        with self._database.errors_as_sentences():
            values = [work, host.lower().removeprefix("www."), json.dumps(list(statuses)), since]
            for row in self._database.connection.execute(statement, values):
                yield Match(**row)

    def read(self, number: int) -> tuple[Match, list[PassageTexts]]:
        """Return the match with this number, and its passages."""
        statement = f"select {_COLUMNS}, texts from matches where id = ?"
        with self._database.errors_as_sentences():
            row = self._database.connection.execute(statement, [number]).fetchone()
        if row is None:
            raise DedupError(f"There is no match {number}; `crawler-dedup works matches` lists all.")
        fields = dict(row)
        return Match(**{name: fields[name] for name in fields if name != "texts"}), [
            PassageTexts(**passage) for passage in json.loads(fields["texts"])
        ]

    def mark(self, numbers: Sequence[int], status: Status) -> int:
        """Set the status of matches; return how many there were."""
        with self._database.transaction() as connection:
            return connection.execute(
                "update matches set status = ? where id in (select value from json_each(?))",
                [status, json.dumps(list(numbers))],
            ).rowcount


def _row_of(url: str, text: str, work: FoundWork) -> dict[str, Any]:
    passages = [
        PassageTexts(*passage, text[passage.start : passage.end][:_MAX_CHARS], work_text[:_MAX_CHARS])
        for passage, work_text in zip(work.comparison.passages, work.work_texts, strict=True)
    ]
    longest = sorted(passages, key=lambda passage: passage.start - passage.end)[:_MAX_PASSAGES]
    now = int(time.time())
    return {
        "work": work.work.id,
        "title": work.work.title,
        "author": work.work.author,
        "url": url,
        "host": host_of(url),
        "start": longest[0].start,
        "end": longest[0].end,
        "work_start": longest[0].work_start,
        "work_end": longest[0].work_end,
        "share_of_work": work.comparison.share_of_work,
        "share_of_page": work.comparison.share_of_text,
        "passages": len(passages),
        "scheme": work.work.scheme,
        "first_seen": now,
        "last_seen": now,
        "texts": json.dumps([asdict(passage) for passage in sorted(longest, key=lambda passage: passage.start)]),
    }
