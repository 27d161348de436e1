"""A library of works: their texts, and an inverted index of runs of their letters, in a SQLite file."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from sqlite3 import Row
from typing import Any, cast

import numpy as np

from crawler_dedup.errors import BeyondLimits, DedupError
from crawler_dedup.hashes import Numbers
from crawler_dedup.signing.schemes.winnowing import Pieces, Positions
from crawler_dedup.system.compression import compress, decompress
from crawler_dedup.urls import escape_surrogates
from crawler_dedup.works.comparison import (
    LEAST_LETTERS,
    SCHEMES,
    Comparison,
    Letters,
    Scheme,
    compare,
    find_scheme,
    pair_runs,
    read_letters,
)
from crawler_dedup.works.database import Database
from crawler_dedup.works.documents import Document, read_content, read_document

FILE = "library.sqlite"
_SCHEMA = """
create table works (
    id integer primary key autoincrement, source text not null unique, title text not null,
    author text not null, scheme text not null, chars integer not null, letters integer not null,
    added integer not null, digest blob not null, text blob not null, codes blob not null, gaps blob not null
);
create table runs (number integer, work integer, start integer, primary key (number, work, start)) without rowid
"""
_MAX_CHARS = 10_000_000  # of a work: unpacking its text holds the interpreter lock
_MAX_BYTES = 1 << 30  # of an unpacked column
_MAX_CANDIDATES = 100
"""Largest number of works that are compared with a text, those with most runs in common."""
_MAX_FOUND = 1 << 18  # runs of works that are equal to a run of a text
_ASKED_TOGETHER, _FETCHED_TOGETHER = 1_000, 2_000  # the interpreter lock is held for so many at a time
_REMEMBERED = 8 << 20  # letters of works that stay in memory, of at most as many works as are compared with a text
_CODEC = "utf-32-le"  # a passage is decoded without what is before it, and takes no more space when it is compressed


@dataclass(frozen=True)
class Work:
    """A work of a library.

    Attributes:
        id: its number, which stays the same when its text changes.
        source: the file from which it was read.
        scheme: how its letters are read.
        chars: length of its text in characters.
        letters: number of its letters.
        added: when it was added or last changed, in seconds since 1970.
    """

    id: int
    source: str
    title: str
    author: str
    scheme: Scheme
    chars: int
    letters: int
    added: int


_COLUMNS = ", ".join(field.name for field in fields(Work))


@dataclass(frozen=True)
class SignedWork:
    """A work to be added.

    Attributes:
        digest: of the file that it was read from.
        runs: the runs of letters by which its passages are found.
    """

    source: str
    digest: bytes
    document: Document
    letters: Letters
    runs: Pieces


@dataclass(frozen=True)
class FoundWork:
    """A work with which a text shares passages, and the text of the work in each of them."""

    work: Work
    comparison: Comparison
    work_texts: list[str]


def sign_file(task: tuple[Path, bytes | None], *, scheme: str) -> SignedWork | str:
    """Sign the work in a file with a scheme, or ``auto``.

    Args:
        task: the file, and the digest of its state in the library.

    Returns:
        The work, ``""`` if the file has not changed, or why it cannot be read.
    """
    file, known = task
    try:
        content = read_content(file)
        digest = digest_of(content, scheme)
        if digest == known:
            return ""
        chosen = next((name for name in SCHEMES if name == scheme), None)
        return sign_work(str(file), digest, read_document(str(file), content), chosen)
    except DedupError as error:
        return str(error)


def digest_of(content: bytes, scheme: str) -> bytes:
    """Return a digest of the content of a file and the scheme that is asked for."""
    return blake2b(content, digest_size=16, person=scheme.encode()).digest()


def sign_work(source: str, digest: bytes, document: Document, scheme: Scheme | None) -> SignedWork:
    """Read the letters of a work; without a *scheme*, choose it by the text.

    Raises :class:`DedupError` for a text that is too short, or beyond a limit.
    """
    if len(document.text) > _MAX_CHARS:
        raise DedupError(f"{source} has more than {_MAX_CHARS:,} characters.")
    try:
        (letters,) = read_letters(document.text, [scheme or find_scheme(document.text)])
    except BeyondLimits as limit:
        raise DedupError(f"{source} has {limit}.") from None
    if len(letters.codes) < (least := LEAST_LETTERS[letters.scheme]):
        raise DedupError(f"{source} has fewer than {least} letters, the minimum for a comparison.")
    return SignedWork(escape_surrogates(source), digest, document, letters, letters.choose_runs())


def require_library(directory: Path) -> None:
    """Raise :class:`DedupError` if there is no library in *directory*."""
    if not (directory / FILE).is_file():
        raise DedupError(f"There is no library in {directory}; `crawler-dedup works add` makes one.")


class Library:
    """The works in the directory of a library.

    Args:
        writable: whether works are to be added or removed; the file is created then.

    Raises:
        DedupError: there is no library, or it cannot be used; also raised by all methods.
    """

    def __init__(self, directory: Path, *, writable: bool = False) -> None:
        if not writable:
            require_library(directory)
        self._database = Database(directory / FILE, _SCHEMA if writable else "")
        self.is_replaced = self._database.is_replaced
        self._letters: OrderedDict[tuple[int, bytes], Letters] = OrderedDict()

    def close(self) -> None:
        """Close the library."""
        self._database.close()

    # Works

    def works(self) -> list[Work]:
        """Return all works, in the order in which they were added first."""
        return [Work(**row) for row in self._ask(f"select {_COLUMNS} from works order by id")]

    def digests(self) -> dict[str, bytes]:
        """Return the digests of the files of all works, by their paths."""
        return {row["source"]: row["digest"] for row in self._ask("select source, digest from works")}

    def find(self, name: str) -> list[Work]:
        """Return the works with this number, source or title."""
        rows = self._ask(f"select {_COLUMNS} from works where cast(id as text) = ?1 or source = ?1 or title = ?1", name)
        return [Work(**row) for row in rows]

    def add(self, signed: SignedWork) -> None:
        """Add a work, or replace the earlier state of the work from the same file."""
        document, letters = signed.document, signed.letters
        gaps = np.diff(letters.positions, prepend=0).astype("<u4")
        values = {
            "source": signed.source,
            "title": escape_surrogates(document.title) or Path(signed.source.removesuffix(".gz")).stem,
            "author": escape_surrogates(document.author),
            "scheme": letters.scheme,
            "chars": len(document.text),
            "letters": len(letters.codes),
            "added": int(time.time()),
            "digest": signed.digest,
            "text": compress(document.text.encode(_CODEC, "surrogatepass")),
            "codes": compress(letters.codes.tobytes()),
            "gaps": compress(gaps.tobytes()),
        }
        changes = ", ".join(f"{name} = excluded.{name}" for name in values)
        statement = (
            f"insert into works ({', '.join(values)}) values ({', '.join(f':{name}' for name in values)})"
            f" on conflict (source) do update set {changes} returning id"
        )
        with self._database.transaction() as connection:
            for (earlier,) in connection.execute("select id from works where source = ?", [signed.source]).fetchall():
                self._remove_runs(earlier)
            ((number,),) = connection.execute(statement, values).fetchall()
            connection.executemany("insert or ignore into runs values (?, ?, ?)", _rows(signed.runs, number))

    def remove(self, work: Work) -> None:
        """Remove a work. Its matches stay."""
        with self._database.transaction() as connection:
            self._remove_runs(work.id)
            connection.execute("delete from works where id = ?", [work.id])

    def _remove_runs(self, number: int) -> None:
        rows = _rows(self._read_letters(number).choose_runs(), number)
        self._database.connection.executemany("delete from runs where number = ? and work = ? and start = ?", rows)

    def _read_texts(self, number: int, spans: Iterable[tuple[int, int]]) -> list[str]:
        """Return the parts of the text of a work that lie in *spans*."""
        ((packed,),) = self._ask("select text from works where id = ?", number)
        text = self._unpack(packed)
        return [text[4 * start : 4 * end].decode(_CODEC, "surrogatepass") for start, end in spans]

    def _unpack(self, packed: bytes) -> bytes:
        try:
            return decompress(packed, _MAX_BYTES)
        except ValueError as error:
            raise DedupError(f"{self._database.path} is damaged: {error}.") from error

    def _read_letters(self, number: int) -> Letters:
        ((scheme, packed_codes, packed_gaps),) = self._ask("select scheme, codes, gaps from works where id = ?", number)
        codes, gaps = self._unpack(packed_codes), self._unpack(packed_gaps)
        if len(gaps) != 4 * len(codes):
            raise DedupError(f"{self._database.path} is damaged: the letters of work {number} have no positions.")
        # Adding 32-bit numbers up would hold the interpreter lock.
        positions = np.cumsum(np.frombuffer(gaps, dtype="<u4").astype(np.int64))
        return Letters(cast("Scheme", scheme), np.frombuffer(codes, dtype=np.uint8), positions)

    def _ask(self, statement: str, *values: Any) -> list[Row]:
        with self._database.errors_as_sentences():
            return self._database.connection.execute(statement, values).fetchall()

    # Comparing

    def compare(self, text: str) -> list[FoundWork]:
        """Return the works with which *text* shares passages, those with most of its letters first.

        Raises :class:`BeyondLimits` for a text that becomes much longer when it is normalised.
        """
        schemes = [cast("Scheme", row["scheme"]) for row in self._ask("select distinct scheme from works")]
        texts = read_letters(text, schemes)
        with self._database.transaction("deferred"):
            matching = [work for letters in texts for work in self._compare(letters)]
        return sorted(matching, key=lambda work: -work.comparison.share_of_text)

    def _compare(self, letters: Letters) -> Iterator[FoundWork]:
        runs = letters.choose_runs()
        order = np.argsort(runs.numbers, kind="stable")
        starts, numbers = runs.starts[order], runs.numbers[order]
        rows = self._look_up(np.unique(numbers))
        candidates, counts = np.unique(rows[:, 1], return_counts=True)
        chosen = np.argsort(-counts, kind="stable")[:_MAX_CANDIDATES]
        paired = int(counts[chosen].sum())
        for candidate in candidates[chosen].tolist():
            ((scheme, digest),) = self._ask("select scheme, digest from works where id = ?", candidate)
            if scheme != letters.scheme:
                continue
            equal, _, work_starts = rows[rows[:, 1] == candidate].T
            pairs = pair_runs(starts, numbers, work_starts, equal.astype(np.uint64), paired)
            comparison = compare(letters, self._remembered_letters(candidate, digest), pairs, len(equal) / paired)
            if comparison is not None:
                (work,) = (Work(**row) for row in self._ask(f"select {_COLUMNS} from works where id = ?", candidate))
                spans = [(passage.work_start, passage.work_end) for passage in comparison.passages]
                yield FoundWork(work, comparison, self._read_texts(candidate, spans))

    def _look_up(self, numbers: Numbers) -> Positions:
        """Return number, work and start of the runs of works that have one of these *numbers*: shape (runs, 3)."""
        pieces, count = [np.zeros((0, 3), dtype=np.int64)], 0
        for at in range(0, len(numbers), _ASKED_TOGETHER):
            asked = json.dumps(numbers[at : at + _ASKED_TOGETHER].tolist())
            statement = "select * from runs where number in (select value from json_each(?)) limit ?"
            with self._database.errors_as_sentences():
                answer = self._database.connection.execute(statement, [asked, _MAX_FOUND - count])
                while rows := answer.fetchmany(_FETCHED_TOGETHER):
                    pieces.append(np.array([*map(tuple, rows)], dtype=np.int64))
                    count += len(rows)
        return np.concatenate(pieces)

    def _remembered_letters(self, number: int, digest: bytes) -> Letters:
        """Return the letters of a work, which stay in memory for a while: pages in a row often share passages with one."""
        key = number, digest
        if key not in self._letters:
            self._letters[key] = self._read_letters(number)
            while len(self._letters) > 1 and (
                len(self._letters) > _MAX_CANDIDATES
                or sum(len(kept.codes) for kept in self._letters.values()) > _REMEMBERED
            ):
                self._letters.popitem(last=False)
        self._letters.move_to_end(key)
        return self._letters[key]


def _rows(runs: Pieces, work: int) -> Iterable[tuple[int, int, int]]:
    """Return the rows of a work, ascending as they are stored, so that few pages of the file are written."""
    order: Positions = np.argsort(runs.numbers, kind="stable")
    return zip(runs.numbers[order].tolist(), [work] * len(order), runs.starts[order].tolist(), strict=True)
