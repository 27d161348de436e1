"""The runs of an index, and what becomes of the pages of a run that does not come to its end.

A run is entered with its first page and removed when it has finished. A run that is entered and does not hold its lock file
has died or was interrupted: what it had under way was not handled, what it had settled shortly before its death may not
be on disk, because feeds are buffered, and the links of its pages may not have been followed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path
from time import monotonic, time

import lmdb
import msgspec
import portalocker

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.index.decoding import decode_number, decode_struct
from crawler_dedup.index.locks import ProcessLock, is_held, is_held_or_raise
from crawler_dedup.index.records import Record
from crawler_dedup.signedpage import Count
from crawler_dedup.system.access import owner_of


def wall_clock() -> int:
    """Return the time in whole seconds since 1970."""
    return int(time())


class Fate(Enum):
    """What has become of a recorded page."""

    STANDS = "stands"
    """It was handled: it may stand for others."""
    OPEN = "open"
    """It is being handled."""
    RELEASED = "released"
    """Its run has died before it was handled, or so shortly after that it may not be stored."""


class RunEntry(msgspec.Struct, frozen=True, array_like=True):
    """What is stored of a run that is not over, has not finished, or has left something behind.

    Attributes:
        last: its last sign of life, in seconds since 1970. Never before a time that it wrote into a record.
        grace: seconds for which what it settles may not be on disk; 0 once it has ended and all of that is.
        has_finished: whether it came to its end.
        is_tidy: whether nothing is left of it that was not handled.
        stored_until: what it settled then or later is not stored, once the run is over; ``None``: only the grace counts.
    """

    last: Count
    grace: Count
    has_finished: bool = False
    is_tidy: bool = False
    stored_until: Count | None = None

    def may_have_lost(self, record: Record) -> bool:
        """Return whether *record*, one of this run's, may not be stored if the run has died.

        The run died at ``last`` or later, so that the answer for what was settled before the grace is right, and of the rest
        rather too much is taken for lost.
        """
        if not record.settled or (self.stored_until is not None and record.settled >= self.stored_until):
            return True
        return self.grace > 0 and record.settled >= self.last - self.grace


_LOCK_FILE = "run-{}.lock"
_NAME_BYTES = 4

_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(RunEntry)


class RunLock:
    """A new run of an index: its number, its clock, and a file that it holds while it lives."""

    def __init__(self, directory: Path) -> None:
        """Begin a run.

        Raises:
            OSError: its file cannot be made.
            IndexUnusable: the file of another run may not be opened.
        """
        self._began = time() - monotonic()
        for left in directory.glob(_LOCK_FILE.format("*")):
            _remove_if_dead(left)
        while True:
            self.number = secrets.randbits(32) or 1
            with suppress(FileExistsError):
                self._file = ProcessLock(_lock_file(directory, self.number))
                return

    def now(self) -> int:
        """Return the time in whole seconds since 1970, by a clock that nobody sets while the run lasts."""
        return self.time_of(monotonic())

    def time_of(self, moment: float) -> int:
        """Return what :meth:`now` returned at *moment*, a time of :func:`time.monotonic`."""
        return int(self._began + moment)

    @property
    def is_held(self) -> bool:
        """Whether it is held still; not in a child process."""
        return self._file.is_held

    @property
    def is_visible(self) -> bool:
        """Whether it is held still, and others find its file."""
        return self._file.is_visible

    def release(self) -> None:
        """Release the lock. Idempotent."""
        self._file.release()


def _remove_if_dead(lock_file: Path) -> None:
    """Remove the file of a run that is over. A run of which nobody can tell that would live for ever, with its claims."""
    try:
        with suppress(portalocker.LockException):
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
        readonly: remove no lock files of runs that are over.
    """

    def __init__(
        self, env: lmdb.Environment, txn: lmdb.Transaction | None, directory: Path, *, readonly: bool = False
    ) -> None:
        self._runs = env.open_db(b"runs", txn)
        self._directory = directory
        self._readonly = readonly

    def touch(
        self, txn: lmdb.Transaction, number: int, grace: int, now: int, *, stored_until: int | None = None
    ) -> int:
        """Note that a run lives, and return the time that its records get. It never goes back, even if clocks do."""
        run = self.find(txn, number)
        touched = RunEntry(now if run is None else max(now, run.last), grace, stored_until=stored_until)
        if touched != run:
            txn.put(_name(number), _encode(touched), db=self._runs)
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
        """End a run of which all is stored that it settled and that is recorded, but for what *stored_until* excepts."""
        ended = RunEntry(last, 0, has_finished, is_tidy and stored_until is None, stored_until)
        if ended.has_finished and ended.is_tidy:
            txn.delete(_name(number), db=self._runs)
        else:
            txn.put(_name(number), _encode(ended), db=self._runs)

    def states(self, txn: lmdb.Transaction) -> RunStates:
        """Return what has become of the runs, as of now and for *txn*, a write transaction."""
        return RunStates(partial(self.find, txn), self._lives)

    def states_in_reading(self, txn: lmdb.Transaction, dead: Container[int]) -> RunStates:
        """Return what has become of the runs, for *txn*, a read transaction.

        Args:
            dead: the runs that had died before. What the transaction reads of another run is from while that lived.
        """

        def lives(number: int) -> bool | None:
            return False if number in dead else None if self._lives(number) is None else True

        return RunStates(partial(self.find, txn), lives)

    def find(self, txn: lmdb.Transaction, number: int) -> RunEntry | None:
        """Return the entry of a run, or ``None``."""
        content = txn.get(_name(number), db=self._runs)
        return None if content is None else _decode(content)

    def find_dead(self, txn: lmdb.Transaction) -> dict[int, RunEntry]:
        """Find the runs that are over and did not finish, or left something behind.

        A run that ends at this moment seems dead too, unless *txn* is a write transaction. Its entry changes before it
        releases its lock: that of a dead run is the same in the next transaction.
        """
        return {number: run for number, run in self._items(txn) if self._lives(number) is False}

    def find_unreadable(self, txn: lmdb.Transaction) -> list[bytes]:
        """Find the entries that cannot be read, and return their names."""
        with txn.cursor(db=self._runs) as cursor:
            return [bytes(name) for name, content in cursor if not _is_readable(name, content)]

    def rebuild(self, txn: lmdb.Transaction) -> None:
        """Replace the entries that cannot be read: such a run may have lost all that it settled."""
        for name in self.find_unreadable(txn):
            if len(name) == _NAME_BYTES:
                txn.put(name, _encode(RunEntry(last=0, grace=1)), db=self._runs)
            else:
                txn.delete(name, db=self._runs)

    def _items(self, txn: lmdb.Transaction) -> Iterator[tuple[int, RunEntry]]:
        with txn.cursor(db=self._runs) as cursor:
            for name, content in cursor:
                yield decode_number(name, _NAME_BYTES), _decode(content)

    def _lives(self, number: int) -> bool | None:
        return is_held(_lock_file(self._directory, number), readonly=self._readonly)


class RunStates:
    """What has become of the runs of an index, within one transaction.

    Each run is looked at once: one that dies in between must not be alive for one question and dead for the next.
    """

    def __init__(self, find: Callable[[int], RunEntry | None], lives: Callable[[int], bool | None]) -> None:
        """Use :meth:`Runs.states`."""
        self._find_entry = find
        self._ask_whether_lives = lives
        self._entries: dict[int, RunEntry | None] = {}
        self._alive: dict[int, bool | None] = {}

    def fate_of(self, record: Record) -> Fate:
        """Return what has become of the page of *record*."""
        run = self._find(record.run)
        if run is None:
            return Fate.STANDS if record.settled else Fate.RELEASED
        if not run.may_have_lost(record):
            return Fate.STANDS
        lives = self._lives(record.run)
        if lives is False:
            return Fate.RELEASED
        # Where nobody knows, the page neither stands for others, as of a run that may be dead, nor is it forgotten.
        return Fate.STANDS if lives and record.settled else Fate.OPEN

    def _find(self, number: int) -> RunEntry | None:
        if number not in self._entries:
            self._entries[number] = self._find_entry(number)
        return self._entries[number]

    def _lives(self, number: int) -> bool | None:
        if number not in self._alive:
            self._alive[number] = self._ask_whether_lives(number)
        return self._alive[number]

    def has_finished(self, number: int) -> bool:
        """Return whether a run came to its end."""
        run = self._find(number)
        return run is None or run.has_finished

    def is_over(self, number: int) -> bool:
        """Return whether a run has finished, was interrupted or has died."""
        return self.has_finished(number) or self._lives(number) is False


NO_RUNS = RunStates(lambda _: None, lambda _: None)
"""Where no run is entered: what is settled stands."""


def _lock_file(directory: Path, number: int) -> Path:
    return directory / _LOCK_FILE.format(f"{number:08x}")


def _decode(content: bytes | memoryview) -> RunEntry:
    return decode_struct(_decoder.decode, content)


def _is_readable(name: bytes | memoryview, content: bytes | memoryview) -> bool:
    try:
        _decode(content)
    except msgspec.DecodeError:
        return False
    return len(name) == _NAME_BYTES


def _name(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(_NAME_BYTES, "big")
