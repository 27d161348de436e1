"""What the backends of an index define (:mod:`crawler_dedup.index.lmdb`, :mod:`crawler_dedup.index.redis`).

That is how transactions are made, and how they read and write.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import TypeVar

from crawler_dedup.index.header import FileFigures, Header
from crawler_dedup.index.runs import Run, wall_clock
from crawler_dedup.index.tables import Tables

_T = TypeVar("_T")


class Backend(ABC):
    """One open index, which is only read and changed in transactions.

    Attributes:
        header: what the index is.
    """

    def __init__(self, header: Header) -> None:
        self.header = header

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the index in messages: its location, without user names and passwords."""

    @property
    @abstractmethod
    def stored_bytes(self) -> int:
        """Size of the index in bytes. In a directory it is read in microseconds, on a server with round trips."""

    @abstractmethod
    def measure(self) -> FileFigures | None:
        """Measure the file of the index; return ``None`` if it is on a server."""

    @abstractmethod
    def close(self) -> None:
        """Close this opening of the index."""

    @abstractmethod
    def begin_run(self) -> Run:
        """Begin a new run of this index. Raises :class:`IndexUnusable`."""

    @abstractmethod
    def join_run(self, number: int, offset: float) -> Run:
        """Join a run that several processes share. Raises :class:`IndexUnusable`.

        Args:
            offset: the offset of its clock; a server has a clock of its own.
        """

    @abstractmethod
    def _submit(self, job: Callable[[Tables], _T], *, urgent: bool = True, size: int = 1) -> Future[_T]:
        """Run *job* in the next write transaction; its future is done once that is stored.

        A job that is not *urgent* waits a moment for others with which it is written. It is about *size* pages.
        """

    @abstractmethod
    def _write(self, job: Callable[[Tables], _T], timeout: float | None = None) -> _T:
        """Run *job* in the next write transaction and wait until that is stored.

        Raises:
            IndexUnusable: the transaction did not begin within *timeout* seconds (``None``: 30); *job* is not run then.
        """

    @abstractmethod
    def _read(self) -> AbstractContextManager[Tables]:
        """Begin a read transaction, which sees what is stored now."""

    def _now(self) -> int:
        """Return the time by the clock of the index, in seconds since 1970."""
        return wall_clock()
