"""The runs of an index, and the state of the pages of a run that did not come to its end.

A run is entered with its first page and removed when it has finished. A run that is entered but not alive has died or was
interrupted: its open claims were not handled, pages that it settled shortly before its death may not be on disk, because
feeds are buffered, and the links of its pages may not have been followed.
"""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from pathlib import Path
from time import monotonic, time

import msgspec

from crawler_dedup.index.layout import RUN_NAME_BYTES, RUNS, decode_struct
from crawler_dedup.index.records import Record
from crawler_dedup.index.storage import Storage
from crawler_dedup.signedpage import Count
from crawler_dedup.system.filelocks import ProcessLock, hold


def wall_clock() -> int:
    """Return the time in whole seconds since 1970."""
    return int(time())


class RecordState(Enum):
    """The state of a recorded page."""

    ACTIVE = "active"
    """It was handled: it may represent others."""
    CLAIMED = "claimed"
    """It is being handled."""
    VOID = "void"
    """It has expired, or its run has died before it was handled, or so shortly after that it is perhaps not stored."""


class RunEntry(msgspec.Struct, frozen=True, array_like=True):
    """The entry of a run that still runs, did not come to its end, or has left claims behind.

    Attributes:
        last: its last sign of life, in seconds since 1970. Never before a time that it wrote into a record.
        grace: seconds during which pages that it settled are perhaps not on disk yet; 0 once it has ended and all are.
        has_finished: whether it came to its end.
        open_claims: how many of its pages were not handled.
        stored_until: once the run is over, pages settled then or later count as not stored; ``None``: only the grace counts.
    """

    last: Count
    grace: Count
    has_finished: bool = False
    open_claims: Count = 0
    stored_until: Count | None = None

    @property
    def is_tidy(self) -> bool:
        """Whether no page of it would be lost if it had died."""
        return not (self.open_claims or self.grace) and self.stored_until is None

    def may_have_lost(self, record: Record) -> bool:
        """Return whether the page of *record*, a record of this run, is perhaps not stored if the run has died.

        The run died at ``last`` or later. So a page that was settled before the grace never counts as lost; of the others,
        rather too many do.
        """
        if not record.settled or (self.stored_until is not None and record.settled >= self.stored_until):
            return True
        return self.grace > 0 and record.settled >= self.last - self.grace


_DAMAGED_RUN = RunEntry(0, 0, stored_until=0)
"""Replaces the entry of a run that cannot be read: once the run is over, nothing that it settled counts as stored."""

_encode_run = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RunEntry).decode


class Run:
    """A run of an index, which another process has begun and keeps alive, until :meth:`hold` is called.

    Args:
        number: the number of the run in its records.
        offset: the time when :func:`time.monotonic` was 0, in seconds since 1970; ``None``: by the clock of this machine.
        lock_file: path of a file that the process which began the run holds locked; ``""``: each process keeps it alive.
    """

    def __init__(self, number: int, offset: float | None = None, lock_file: str = "") -> None:
        self.number = number
        self.offset = time() - monotonic() if offset is None else offset
        self.lock_file = lock_file
        self._lock: ProcessLock | None = None

    def hold(self) -> None:
        """Keep the run, which this process has begun, alive. Raises :class:`OSError`."""
        if self.lock_file:
            self._lock = hold(Path(self.lock_file))

    def now(self) -> int:
        """Return the time in whole seconds since 1970, by a clock that nobody sets while the run lasts."""
        return self.time_of(monotonic())

    def time_of(self, moment: float) -> int:
        """Return what :meth:`now` returned at *moment*, a time of :func:`time.monotonic`."""
        return int(self.offset + moment)

    @property
    def is_held(self) -> bool:
        """Whether the run is still alive; false in a child process of the one that keeps it alive."""
        return self._lock is None or self._lock.is_held

    def release(self, *, is_over: bool = True) -> None:  # noqa: ARG002  (a lock belongs to one process)
        """End the life of the run, if this process keeps it alive. Idempotent.

        Args:
            is_over: whether the run is over; if not, other processes that share it may keep it alive.
        """
        if self._lock is not None:
            self._lock.release()


class Runs:
    """The entries and states of runs, within one transaction.

    Each run is checked once: a run that dies meanwhile must not be alive for one decision and dead for the next.

    Attributes:
        dead: in a transaction that may not write, the runs that had died before: what it reads of others is from a time when
            they were alive. ``None``: the storage knows which are alive.
    """

    def __init__(self, storage: Storage) -> None:
        self.dead: Container[int] | None = None
        self._storage = storage
        self._alive: dict[int, bool | None] = {}
        self._entries: dict[int, RunEntry | None] = {}

    def touch(self, number: int, grace: int, now: int, *, stored_until: int | None) -> int:
        """Record that a run is alive, and return the time for its records, which never goes back, even if clocks do."""
        run = self.read(number)
        last, open_claims = (now, 0) if run is None else (max(now, run.last), run.open_claims)
        touched = RunEntry(last, grace, open_claims=open_claims, stored_until=stored_until)
        if touched != run:
            self.write(number, touched)
        return last

    def count_claims(self, record: Record, change: int) -> None:
        """Change the number of open claims of a run because of *record*, if that has one and the run is known."""
        run = self.read(record.run) if record.claim and not record.settled else None
        if run is not None:
            open_claims = max(0, run.open_claims + change)
            self.write(record.run, msgspec.structs.replace(run, open_claims=open_claims))

    def end(self, number: int, last: int, *, has_finished: bool, stored_until: int | None) -> None:
        """End a run. All recorded pages that it settled are stored, except those settled after *stored_until*."""
        run = self.read(number)
        self.write(number, RunEntry(last, 0, has_finished, run.open_claims if run else 0, stored_until))

    def write(self, number: int, run: RunEntry) -> None:
        """Replace the entry of a run; remove it if the run has finished and no page of it is left that may be lost."""
        self._entries.pop(number, None)
        if run.has_finished and run.is_tidy:
            self._storage.delete(RUNS, run_name(number))
        else:
            self._storage.write(RUNS, run_name(number), _encode_run(run))

    def read(self, number: int) -> RunEntry | None:
        """Return the entry of a run, or ``None``."""
        content = self._storage.read(RUNS, run_name(number))
        return None if content is None else _decode_run(content)

    def find_dead(self) -> dict[int, RunEntry]:
        """Find the runs that are over and did not finish, or left claims behind.

        A run that ends at this moment seems dead too, unless this transaction may write: its entry changes before it is
        released. So the entry of such a run differs in the next transaction, that of a dead run does not.
        """
        runs = {
            int.from_bytes(name, "big"): _decode_run(content)
            for name, content in self._storage.scan(RUNS)
            if len(name) == RUN_NAME_BYTES
        }
        return {number: run for number, run in runs.items() if self._storage.is_alive(number) is False}

    def count_unreadable(self) -> int:
        """Count the entries that cannot be read."""
        return sum(
            len(name) != RUN_NAME_BYTES or _decode_run(content) is _DAMAGED_RUN
            for name, content in self._storage.scan(RUNS)
        )

    def state_of(self, record: Record) -> RecordState:
        """Return the state of the page of *record*."""
        run = self._find(record.run)
        if run is None:
            return RecordState.ACTIVE if record.settled else RecordState.VOID
        if not run.may_have_lost(record):
            return RecordState.ACTIVE
        is_alive = self._is_alive(record.run)
        if is_alive is False:
            return RecordState.VOID
        # If this is unknown, the page does not represent others, because its run may be dead; nor is it forgotten.
        return RecordState.ACTIVE if is_alive and record.settled else RecordState.CLAIMED

    def has_finished(self, number: int) -> bool:
        """Return whether a run came to its end."""
        run = self._find(number)
        return run is None or run.has_finished

    def is_over(self, number: int) -> bool:
        """Return whether a run has finished, was interrupted or has died."""
        return self.has_finished(number) or self._is_alive(number) is False

    def _find(self, number: int) -> RunEntry | None:
        if number not in self._entries:
            self._entries[number] = self.read(number)
        return self._entries[number]

    def _is_alive(self, number: int) -> bool | None:
        alive = self._alive
        if number not in alive:
            is_alive = self._storage.is_alive(number)
            if self.dead is not None:
                is_alive = False if number in self.dead else None if is_alive is None else True
            alive[number] = is_alive
        return alive[number]


def run_name(number: int) -> bytes:
    """Return the name of the entry of a run."""
    return (number & 0xFFFFFFFF).to_bytes(RUN_NAME_BYTES, "big")


def _decode_run(content: bytes | memoryview) -> RunEntry:
    try:
        return decode_struct(_decode, content)
    except msgspec.DecodeError:
        return _DAMAGED_RUN
