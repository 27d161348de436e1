"""SQLite files of a library, and their errors as sentences."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from crawler_dedup.errors import DedupError
from crawler_dedup.system.files import make_private_directory, opener

_WAIT = 30.0  # seconds for other processes that write
_CACHE_KIB = 64 << 10
_FORMAT = 2


class Database:
    """A SQLite file. Several processes may use it at the same time, and several threads in turn.

    Args:
        schema: statements that create the tables of a new file; ``""``: the file must exist, and is not changed.

    Raises:
        DedupError: the file cannot be opened, or was made by another version.
    """

    def __init__(self, path: Path, schema: str = "") -> None:
        self.path = path
        with self.errors_as_sentences():
            if schema:
                make_private_directory(path.parent)
                if not path.exists():
                    os.close(opener(str(path), os.O_CREAT | os.O_RDWR))
            # Also a reader may have to undo what a killed process has begun to write.
            uri = f"{path.absolute().as_uri()}?mode=rw"
            self.connection = sqlite3.connect(
                uri, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
            self.connection.row_factory = sqlite3.Row
            self.connection.execute(f"pragma cache_size = -{_CACHE_KIB}")
            self.connection.execute("pragma trusted_schema = off")
            if schema and not self._read_format():
                with self.transaction():
                    if not self._read_format():  # no other process was faster
                        for statement in schema.split(";"):
                            self.connection.execute(statement)
                        self.connection.execute(f"pragma user_version = {_FORMAT}")
            if self._read_format() != _FORMAT:
                raise DedupError(
                    f"{path} is not a file of this version: it has format {self._read_format()}, not {_FORMAT}. Use"
                    " the version of crawler-dedup that made it, or make it anew."
                )
            self._file = os.stat(path)

    def is_replaced(self) -> bool:
        """Return whether another file, or none, has the path now."""
        try:
            return not os.path.samestat(os.stat(self.path), self._file)
        except OSError:
            return True

    def _read_format(self) -> int:
        return int(self.connection.execute("pragma user_version").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def transaction(self, kind: Literal["immediate", "deferred"] = "immediate") -> Iterator[sqlite3.Connection]:
        """Write what happens in the context completely or not at all; ``deferred``: read a single state of the file."""
        with self.errors_as_sentences():
            self.connection.execute(f"begin {kind}")
            try:
                yield self.connection
                self.connection.execute("commit")
            finally:
                if self.connection.in_transaction:  # SQLite itself has undone it after some errors
                    self.connection.execute("rollback")

    @contextmanager
    def errors_as_sentences(self) -> Iterator[None]:
        """Raise :class:`DedupError` for errors of SQLite and of the system."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise DedupError(f"{self.path} cannot be used: {error}.") from error
