"""The runs that have an index open, and what becomes of their pages when one of them dies.

A run is entered when it opens the index and leaves when it says goodbye. One that stands here without holding its lock
file has died: what it had under way was not handled, and what it had settled shortly before may not be on disk, because
feeds are buffered.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path

import lmdb
import msgspec

from crawler_dedup.filesystem import HeldFile, is_held
from crawler_dedup.records import Record


class Fate(Enum):
    """What has become of a recorded page."""

    STANDS = "stands"
    """It was handled: it may stand for others."""
    OPEN = "open"
    """It is being handled."""
    RELEASED = "released"
    """Its run has died before it was handled, or so shortly after that it may not be stored."""


class Run(msgspec.Struct, frozen=True, array_like=True):
    """A run that has not said goodbye.

    Attributes:
        last: its last sign of life, in seconds since 1970. Never before a time that it wrote into a record.
        grace: seconds for which what it settles may not be on disk.
    """

    last: int
    grace: int

    def may_have_lost(self, record: Record) -> bool:
        """Whether *record*, which is one of this run's, is not stored for sure if the run has died.

        Death came at ``last`` or later, so that what was settled before the grace is told right, and of the rest
        rather too much is taken for lost.
        """
        return not record.settled or (self.grace > 0 and record.settled >= self.last - self.grace)


_LOCK_FILE = "run-{}.lock"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Run).decode


class RunLock:
    """A new run of an index: its number, and a file that it holds while it lives."""

    def __init__(self, directory: Path) -> None:
        """Raises :class:`OSError` if the file cannot be made."""
        for left in directory.glob(_LOCK_FILE.format("*")):
            is_held(left)  # removes those of the dead
        while True:
            self.number = secrets.randbits(32) or 1
            with suppress(FileExistsError):
                self._file = HeldFile(_lock_file(directory, self.number))
                return

    @property
    def is_held(self) -> bool:
        """Whether it is held still; not in a child process."""
        return self._file.is_held

    def leave(self) -> None:
        """Hold it no more. A second time nothing happens."""
        self._file.leave()


class Runs:
    """The runs of one index, by number."""

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction, directory: Path) -> None:
        self._runs = env.open_db(b"runs", txn)
        self._directory = directory

    def touch(self, txn: lmdb.Transaction, number: int, grace: int, now: int) -> int:
        """Note a sign of life of a run; returns the time that its records get. It never goes back, even if clocks do."""
        run = self._find(txn, number)
        if run is None or run.last < now:
            txn.put(_name(number), _encode(Run(now, grace)), db=self._runs)
            return now
        return run.last

    def end(self, txn: lmdb.Transaction, numbers: Iterable[int]) -> None:
        """Forget runs: what they settled and is recorded still is stored."""
        for number in numbers:
            txn.delete(_name(number), db=self._runs)

    def leave_behind(self, txn: lmdb.Transaction, number: int, now: int) -> None:
        """A run says goodbye, but has pages under way that it will not handle: those will be tidied up."""
        txn.put(_name(number), _encode(Run(now, 0)), db=self._runs)

    def fate(self, txn: lmdb.Transaction, record: Record) -> Fate:
        """What has become of the page of *record*."""
        run = self._find(txn, record.run)
        if run is None:
            return Fate.STANDS if record.settled else Fate.RELEASED
        if not run.may_have_lost(record):
            return Fate.STANDS
        if not self._lives(record.run):
            return Fate.RELEASED
        return Fate.STANDS if record.settled else Fate.OPEN

    def dead(self, txn: lmdb.Transaction) -> dict[int, Run]:
        """The runs that have died."""
        return {number: run for number, run in self._items(txn) if not self._lives(number)}

    def _items(self, txn: lmdb.Transaction) -> Iterator[tuple[int, Run]]:
        with txn.cursor(db=self._runs) as cursor:
            for name, found in cursor:
                yield int.from_bytes(name, "big"), _decode(found)

    def _find(self, txn: lmdb.Transaction, number: int) -> Run | None:
        found = txn.get(_name(number), db=self._runs)
        return None if found is None else _decode(found)

    def _lives(self, number: int) -> bool:
        return is_held(_lock_file(self._directory, number))


def _lock_file(directory: Path, number: int) -> Path:
    return directory / _LOCK_FILE.format(f"{number:08x}")


def _name(number: int) -> bytes:
    return (number & 0xFFFFFFFF).to_bytes(4, "big")
