"""The runs of an index in LMDB, and the lock files that they hold."""

from __future__ import annotations

import secrets
from collections.abc import Container, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path

import lmdb
import msgspec

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.lmdb.locks import ProcessLock, is_held, is_held_or_raise
from crawler_dedup.index.runs import DAMAGED_RUN, RUN_NAME_BYTES, Run, RunEntry, RunStates, decode_run, encode_run
from crawler_dedup.system.filelocks import LockFailed
from crawler_dedup.system.files import owner_of

_LOCK_FILE = "run-{}.lock"
_REMEMBERED = 64  # paths of lock files: each transaction checks whether runs are alive


class RunLock(Run):
    """A new run, which keeps a file locked until it ends."""

    def __init__(self, directory: Path) -> None:
        """Begin a run.

        Raises:
            OSError: the lock file cannot be created.
            IndexUnusable: the lock file of another run may not be opened.
        """
        super().__init__()
        for left in directory.glob(_LOCK_FILE.format("*")):
            _remove_if_dead(left)
        while True:
            self.number = secrets.randbits(32) or 1
            with suppress(FileExistsError):
                self._file = ProcessLock(_lock_file(directory, self.number))
                return

    @property
    def is_held(self) -> bool:
        return self._file.is_held

    def release(self) -> None:
        self._file.release()


def _remove_if_dead(lock_file: Path) -> None:
    """Remove the lock file of a run that is over.

    Raises:
        IndexUnusable: the file may not be opened, so that the run, and its claims, would count as alive for ever.
    """
    try:
        with suppress(LockFailed):
            is_held_or_raise(lock_file)
    except PermissionError:
        raise IndexUnusable(
            f"The lock file {lock_file} of another run, which belongs to {owner_of(lock_file)}, may not be opened, so that"
            " nobody can tell whether that run is over. Ways out: run as that user; give the directory to a group that both"
            " are in (chgrp, chmod g+rwxs) and its files too; or remove the file if that run is over."
        ) from None


class Runs:
    """The runs of one index, by number.

    Args:
        readonly: do not remove the lock files of runs that are over.
    """

    def __init__(
        self, env: lmdb.Environment, txn: lmdb.Transaction | None, directory: Path, *, readonly: bool = False
    ) -> None:
        self._runs = env.open_db(b"runs", txn)
        self._directory = directory
        self._readonly = readonly
        self._asked: tuple[lmdb.Transaction | None, dict[int, bool | None]] = None, {}
        self._touched: tuple[object, int] = None, 0  # the arguments of the last call, and its result

    def touch(
        self, txn: lmdb.Transaction, number: int, grace: int, now: int, *, stored_until: int | None = None
    ) -> int:
        """Note that a run is alive, and return the time for its records, which never goes back, even if clocks do."""
        call = txn, number, grace, now, stored_until
        if self._touched[0] == call:
            return self._touched[1]
        run = self.find(txn, number)
        touched = RunEntry(now if run is None else max(now, run.last), grace, stored_until=stored_until)
        if touched != run:
            txn.put(_name(number), encode_run(touched), db=self._runs)
        self._touched = call, touched.last
        return touched.last

    def end(
        self,
        txn: lmdb.Transaction,
        number: int,
        last: int,
        *,
        has_finished: bool,
        is_tidy: bool,
        stored_until: int | None = None,
    ) -> None:
        """End a run. All recorded pages that it settled are stored, except those settled after *stored_until*."""
        self._touched = None, 0
        ended = RunEntry(last, 0, has_finished, is_tidy and stored_until is None, stored_until)
        if ended.has_finished and ended.is_tidy:
            txn.delete(_name(number), db=self._runs)
        else:
            txn.put(_name(number), encode_run(ended), db=self._runs)

    def states(self, txn: lmdb.Transaction) -> RunStates:
        """Return the states of the runs as they are now, for the write transaction *txn*.

        Whether a run is alive is determined once for all jobs of a transaction.
        """
        if self._asked[0] is not txn:
            self._asked = txn, {}
        return RunStates(partial(self.find, txn), self._lives, self._asked[1])

    def states_in_reading(self, txn: lmdb.Transaction, dead: Container[int]) -> RunStates:
        """Return the states of the runs, for the read transaction *txn*.

        Args:
            dead: the runs that had died before *txn* began. What *txn* reads of another run was written while it was alive.
        """

        def lives(number: int) -> bool | None:
            return False if number in dead else None if self._lives(number) is None else True

        return RunStates(partial(self.find, txn), lives)

    def find(self, txn: lmdb.Transaction, number: int) -> RunEntry | None:
        """Return the entry of a run, or ``None``."""
        content = txn.get(_name(number), db=self._runs)
        return None if content is None else _decode_entry(content)

    def find_dead(self, txn: lmdb.Transaction) -> dict[int, RunEntry]:
        """Find the runs that are over and did not finish, or left claims behind.

        A run that ends at this moment seems dead too, unless *txn* is a write transaction. The entry of such a run differs
        in the next transaction, because it changes before the lock is released; the entry of a dead run does not.
        """
        return {number: run for number, run in self._items(txn) if self._lives(number) is False}

    def count_unreadable(self, txn: lmdb.Transaction) -> int:
        """Count the entries that cannot be read."""
        with txn.cursor(db=self._runs) as cursor:
            return sum(len(name) != RUN_NAME_BYTES or _decode_entry(content) is DAMAGED_RUN for name, content in cursor)

    def _items(self, txn: lmdb.Transaction) -> Iterator[tuple[int, RunEntry]]:
        with txn.cursor(db=self._runs) as cursor:
            for name, content in cursor:
                if len(name) == RUN_NAME_BYTES:
                    yield int.from_bytes(name, "big"), _decode_entry(content)

    def _lives(self, number: int) -> bool | None:
        return is_held(_lock_file(self._directory, number), readonly=self._readonly)


@lru_cache(maxsize=_REMEMBERED)
def _lock_file(directory: Path, number: int) -> Path:
    return directory / _LOCK_FILE.format(f"{number:08x}")


def _decode_entry(content: bytes | memoryview) -> RunEntry:
    try:
        return decode_run(content)
    except msgspec.DecodeError:
        return DAMAGED_RUN


def _name(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(RUN_NAME_BYTES, "big")
