"""The runs of an index in LMDB, and the lock files that they hold."""

from __future__ import annotations

import secrets
from collections.abc import Container
from contextlib import suppress
from functools import lru_cache
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

    Attributes:
        database: the database that has their entries.
        asked: a write transaction, and which runs were alive when one of its jobs asked.
        touched: the arguments of the last call of :meth:`RunsInTransaction.touch_run`, and its result.
    """

    def __init__(
        self, env: lmdb.Environment, txn: lmdb.Transaction | None, directory: Path, *, readonly: bool = False
    ) -> None:
        self.database = env.open_db(b"runs", txn)
        self.asked: tuple[lmdb.Transaction | None, dict[int, bool | None]] = None, {}
        self.touched: tuple[object, int] = None, 0
        self._directory = directory
        self._readonly = readonly

    def count_unreadable(self, txn: lmdb.Transaction) -> int:
        """Count the entries that cannot be read."""
        with txn.cursor(db=self.database) as cursor:
            return sum(len(name) != RUN_NAME_BYTES or _decode_entry(content) is DAMAGED_RUN for name, content in cursor)

    def is_alive(self, number: int) -> bool | None:
        """Return whether a run is alive; ``None`` if this is not known."""
        return is_held(_lock_file(self._directory, number), readonly=self._readonly)


class RunsInTransaction:
    """The operations of a transaction (:class:`~crawler_dedup.index.keptpages.Transaction`) on runs."""

    def __init__(self, runs: Runs, txn: lmdb.Transaction) -> None:
        self._runs = runs
        self._txn = txn

    def touch_run(self, number: int, grace: int, now: int, *, stored_until: int | None) -> int:
        call = self._txn, number, grace, now, stored_until
        if self._runs.touched[0] == call:
            return self._runs.touched[1]
        run = self.find_run(number)
        touched = RunEntry(now if run is None else max(now, run.last), grace, stored_until=stored_until)
        if touched != run:
            self._txn.put(_name(number), encode_run(touched), db=self._runs.database)
        self._runs.touched = call, touched.last
        return touched.last

    def end_run(
        self, number: int, last: int, *, has_finished: bool, is_tidy: bool, stored_until: int | None = None
    ) -> None:
        self._runs.touched = None, 0
        ended = RunEntry(last, 0, has_finished, is_tidy and stored_until is None, stored_until)
        if ended.has_finished and ended.is_tidy:
            self._txn.delete(_name(number), db=self._runs.database)
        else:
            self._txn.put(_name(number), encode_run(ended), db=self._runs.database)

    def run_states(self) -> RunStates:
        """Return the states of the runs as they are now. Whether a run is alive is determined once for all jobs."""
        if self._runs.asked[0] is not self._txn:
            self._runs.asked = self._txn, {}
        return RunStates(self.find_run, self._runs.is_alive, self._runs.asked[1])

    def run_states_in_reading(self, dead: Container[int]) -> RunStates:
        def is_alive(number: int) -> bool | None:
            return False if number in dead else None if self._runs.is_alive(number) is None else True

        return RunStates(self.find_run, is_alive)

    def find_run(self, number: int) -> RunEntry | None:
        content = self._txn.get(_name(number), db=self._runs.database)
        return None if content is None else _decode_entry(content)

    def find_dead_runs(self) -> dict[int, RunEntry]:
        """Find the runs that have died.

        The entry of a run changes before its lock is released, so that of a run that ends at this moment differs in the
        next transaction.
        """
        with self._txn.cursor(db=self._runs.database) as cursor:
            runs = {
                int.from_bytes(name, "big"): _decode_entry(content)
                for name, content in cursor
                if len(name) == RUN_NAME_BYTES
            }
        return {number: run for number, run in runs.items() if self._runs.is_alive(number) is False}


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
