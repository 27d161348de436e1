"""The read transactions of this process in one LMDB environment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import lmdb

from crawler_dedup.index.lmdb.openfiles import OpenFiles


class Readers:
    """The read transactions of a process, counted so that the files are not closed while any is open.

    Args:
        require: raises an error if the files must not be used; called before each transaction.

    Attributes:
        count: number of open transactions.
        has_lost_map: whether the files are no longer mapped, so that nothing may use them.
    """

    def __init__(self, files: OpenFiles, require: Callable[[], None], *, readonly: bool) -> None:
        self._files = files
        self._require = require
        self._readonly = readonly
        self._counting = threading.Lock()
        self.count = 0
        self.has_lost_map = False

    @contextmanager
    def begin(self) -> Iterator[lmdb.Transaction]:
        """Begin a transaction, which sees what is committed now."""
        with self._counting:
            self.count += 1  # from here on the files are not closed
        try:
            self._require()
            with self._begin() as txn:
                yield txn
        finally:
            with self._counting:
                self.count -= 1

    def _begin(self) -> lmdb.Transaction:
        env = self._files.env
        try:
            return env.begin(buffers=True)
        except lmdb.ReadersFullError:
            env.reader_check()
        except lmdb.MapResizedError:
            self._enlarge_map()
        return env.begin(buffers=True)

    def _enlarge_map(self) -> None:
        """Enlarge the map to read what another process with a larger map has written; a writing process keeps its limit.

        If this process has another transaction open, the map cannot be moved and stays as it is.
        """
        with self._counting:
            if self._readonly and self.count == 1:
                try:
                    self._files.enlarge_map()
                except lmdb.Error:
                    self.has_lost_map = True
                    raise
