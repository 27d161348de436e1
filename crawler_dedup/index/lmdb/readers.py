"""The read transactions of this process in one LMDB environment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import lmdb

from crawler_dedup.index.lmdb.openfiles import OpenFiles


class Readers:
    """Begins read transactions, and counts them: the files are not closed under any.

    Args:
        require: raises where the files must not be used; called before each transaction.

    Attributes:
        count: how many there are.
        has_lost_map: whether the files are mapped no more, so that nothing may use them.
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
            self.count += 1  # from here on the files are not closed under this
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
        """Map what another process with a larger map has written, to read it; for who writes, its own map is the limit.

        Where this process reads in another transaction, the map cannot be moved and stays as it is.
        """
        with self._counting:
            if self._readonly and self.count == 1:
                try:
                    self._files.enlarge_map()
                except lmdb.Error:
                    self.has_lost_map = True
                    raise
