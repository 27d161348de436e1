"""Start a worker beside the crawl, and exchange messages with it without blocking the event loop.

A worker is started by :class:`~crawler_dedup.addon.Addon` before the crawl, by :mod:`crawler_dedup.crawl.workers`, and by
:mod:`crawler_dedup.crawl.supervision` in place of a worker that has died.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from tempfile import TemporaryFile
from typing import IO
from weakref import WeakSet, finalize

import msgspec

from crawler_dedup.errors import DedupError
from crawler_dedup.worker.messages import HEAD, Answer, Failure, LogLine, Message, Ready, Start

WORKER = "crawler_dedup.worker.main"
"""The module that workers run."""
SILENCE_SECONDS = 60.0
"""Seconds that a process may take to start, or to load a dictionary."""
TOO_LATE = -getattr(signal, "SIGALRM", 14)
"""Status of a worker that was ended because a page took too long."""
_PIECE = 256 << 10
_PARTS = 64  # fewer than any system refuses (IOV_MAX)
_REAP_SECONDS = 1.0
"""Seconds between the end of a socket and that of its process."""

Received = Answer | Ready | LogLine | Failure
_decode = msgspec.msgpack.Decoder[Received](Received).decode


class NotStarted(DedupError):
    """A worker does not become ready for its first job."""


def _pack(message: Start | Message, body_size: int = 0) -> bytes:
    packed = msgspec.msgpack.encode(message)
    return HEAD.pack(len(packed), body_size, message.is_urgent) + packed


class ChildProcess:
    """A worker process (:mod:`crawler_dedup.worker.main`). Belongs to one event loop, once it is attached to it.

    The process is ended with SIGKILL: what it has to store is stored when it has answered.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self) -> None:
        self._progress = _make_progress_file()
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _start(theirs.fileno(), self._progress.fileno())
            except BaseException:
                self.abandon()
                raise
        _children.add(self)
        self._unsent: deque[memoryview] = deque()
        self._received = bytearray()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_writing = self._has_ended = False

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def is_stopped(self) -> bool:
        """Whether a signal has stopped the process, so that it cannot answer. Known on Linux only."""
        if sys.platform == "linux":
            with suppress(ChildProcessError):  # it has ended
                return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        return False

    def wait_until_ready(self, start: Start, log: Callable[[LogLine], object]) -> Ready:
        """Block until the process has opened the index, and return what it says. After an error it may be called again.

        Args:
            start: the first message.
            log: called with the lines that the process logs.

        Raises:
            DedupError: the index cannot be opened.
            NotStarted: the process does not become ready.
        """
        self._socket.settimeout(SILENCE_SECONDS)
        try:
            self._socket.sendall(_pack(start))
            while True:
                while (message := self._next_message()) is None:
                    if not (piece := self._socket.recv(_PIECE)):
                        raise EOFError
                    self._received += piece
                answer = _decode(message)
                if isinstance(answer, Failure):
                    raise answer.to_error()
                if isinstance(answer, Ready):
                    return answer
                if isinstance(answer, LogLine):
                    log(answer)
        except (ConnectionError, EOFError):
            raise NotStarted("it ended at its start, as its output above may explain") from None
        except OSError as error:
            raise NotStarted(f"it does not answer ({error})") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise NotStarted(f"it has sent no message ({error}): another version of crawler-dedup?") from error

    def attach(self, receive: Callable[[Received], None], end: Callable[[int | None, int], None]) -> None:
        """Use the running event loop.

        Args:
            receive: called with each message of the process.
            end: called when the process has ended by itself, has sent something that is no message, or was ended by
                :meth:`end_and_report`; with its exit status, or the negative number of a signal (``None``: it had to be
                killed, as it only closed its socket), and the number of the job that it worked on (0: none).
        """
        self._receive, self._end = receive, end
        self._loop = asyncio.get_running_loop()
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._read)

    def send(self, message: Start | Message, body: bytes | memoryview = b"") -> None:
        """Send *message* with *body*, which is not copied, now or as soon as the process reads."""
        if not self._has_ended:
            self._unsent.extend(map(memoryview, (_pack(message, len(body)), body)))
            if not self._is_writing:
                self._write()

    def _write(self) -> None:
        assert self._loop is not None
        try:
            while self._unsent:
                sent = self._socket.sendmsg(islice(self._unsent, _PARTS))
                while self._unsent and sent >= len(self._unsent[0]):
                    sent -= len(self._unsent.popleft())
                if sent:
                    self._unsent[0] = self._unsent[0][sent:]
        except BlockingIOError:
            pass
        except OSError:  # the process has died: reading shows it
            self._unsent.clear()
        if bool(self._unsent) != self._is_writing:
            self._is_writing = bool(self._unsent)
            if self._is_writing:
                self._loop.add_writer(self._socket, self._write)
            else:
                self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        try:
            piece = self._socket.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        self._received += piece
        try:
            while self._received and not self._has_ended and (message := self._next_message()) is not None:
                self._receive(_decode(message))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            piece = b""
        if not piece:
            self.end_and_report()

    def _next_message(self) -> bytes | None:
        if len(self._received) < HEAD.size:
            return None
        end = HEAD.size + HEAD.unpack_from(self._received)[0]
        if len(self._received) < end:
            return None
        message = bytes(self._received[HEAD.size : end])
        del self._received[:end]
        return message

    def end_and_report(self) -> None:
        """End the process, and call the function of :meth:`attach` with its status. Idempotent."""
        if not self._has_ended:
            self._close(self._report_end)

    def kill(self) -> None:
        """End the process, without waiting for its end. Idempotent."""
        if not self._has_ended:
            self._process.kill()
            self._close(self._process.wait)

    def _close(self, reap: Callable[[], object]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        self._has_ended = True
        self._socket.close()

        def reap_and_close() -> None:
            with self._progress:
                reap()

        threading.Thread(target=reap_and_close, name="crawler-dedup end", daemon=True).start()

    def _report_end(self) -> None:
        status = None
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(_REAP_SECONDS)
        self._process.kill()
        self._process.wait()
        number = int.from_bytes(os.pread(self._progress.fileno(), 8, 0), "little")
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._end, status, number)

    def abandon(self) -> None:
        """Close the files only: in a forked child, whose parent goes on using the process."""
        self._has_ended = True
        self._socket.close()
        self._progress.close()


_children: WeakSet[ChildProcess] = WeakSet()
_started_ahead: list[ChildProcess] = []


def start_ahead(settings: object) -> None:
    """Start the first process for the crawl with *settings*, while this process still imports what it needs."""
    if any(not child._has_ended for child in _children):
        return
    finalize(settings, discard_ahead).atexit = False
    with suppress(OSError):  # which the crawl reports
        _started_ahead.append(ChildProcess())


def discard_ahead() -> None:
    """End the processes that were started ahead and that no crawl has taken."""
    while _started_ahead:
        _started_ahead.pop().kill()


def take_child() -> ChildProcess:
    """Return the process that was started ahead, or a new one. Raises :class:`OSError`."""
    return _started_ahead.pop() if _started_ahead else ChildProcess()


def _abandon_all() -> None:
    for child in list(_children):
        child.abandon()
    _children.clear()
    _started_ahead.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def _make_progress_file() -> IO[bytes]:
    """Return a file for the number of a job, with room for it: a disk may become full."""
    if hasattr(os, "memfd_create"):  # Linux
        file: IO[bytes] = open(os.memfd_create("progress"), "r+b", buffering=0)  # noqa: SIM115  (open until the process has ended)
    else:
        file = TemporaryFile(buffering=0)  # noqa: SIM115
    file.write(bytes(8))
    return file


def _start(*file_descriptors: int) -> subprocess.Popen[bytes]:
    """Start a worker with *file_descriptors*, which finds the modules that this process finds."""
    if os.name == "nt":
        raise OSError("On Windows a process cannot get a socket of its parent")
    # -P: the working directory is not searched for modules.
    command = [sys.executable or "", "-P", "-m", WORKER, *map(str, file_descriptors)]
    path = os.pathsep.join(entry or os.curdir for entry in sys.path if isinstance(entry, str))
    # A process that is just starting must not be ended by Ctrl-C, which a terminal sends to all processes.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return subprocess.Popen(  # noqa: S603  (the program is this interpreter)
            command, stdin=subprocess.DEVNULL, pass_fds=file_descriptors, env={**os.environ, "PYTHONPATH": path}
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
