"""Start a signing process, and exchange messages with it without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet, finalize

import msgspec

from crawler_dedup.errors import DedupError
from crawler_dedup.signing.messages import HEAD, Answer

PATIENCE = 60.0
"""Seconds that a signing process may take to start, or to load a dictionary."""
_PIECE = 256 << 10


class ChildProcess:
    """A signing process (:mod:`crawler_dedup.signing.process`). Belongs to one event loop, once it is attached to it.

    The process is ended with SIGKILL: it has nothing to store.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _start(theirs.fileno())
            except BaseException:
                self._socket.close()
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
    def is_sending(self) -> bool:
        """Whether a part of what was sent is still to be read by the process."""
        return bool(self._unsent)

    def wait_until_ready(self, start: bytes) -> None:
        """Block until the process is ready for the first page.

        Args:
            start: the first message.

        Raises:
            DedupError: it does not become ready.
        """
        self._socket.settimeout(PATIENCE)
        try:
            self._socket.sendall(start)
            with self._socket.makefile("rb") as stream:
                message = stream.read(HEAD.unpack(stream.read(HEAD.size))[0])
        except (ConnectionError, struct.error):
            raise DedupError("It ended while it was being started") from None
        except OSError as error:
            raise DedupError(f"It does not answer ({error})") from error
        if message:
            try:
                answer = msgspec.msgpack.decode(message, type=Answer)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise DedupError(f"It answers with something that is not a message ({error})") from error
            raise DedupError(f"{answer.error}: {answer.message}")

    def attach(self, receive: Callable[[bytes], None], end: Callable[[], None]) -> None:
        """Use the running event loop.

        Args:
            receive: called with each message of the process.
            end: called when the process has ended by itself, or has sent something that is no message.
        """
        self._receive, self._end = receive, end
        self._loop = asyncio.get_running_loop()
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._read)

    def send(self, *parts: bytes) -> None:
        """Send *parts*, now or as soon as the process reads them. They are not copied."""
        self._unsent.extend(map(memoryview, parts))
        if not self._is_writing:
            self._write()

    def _write(self) -> None:
        assert self._loop is not None
        try:
            while self._unsent:
                part = self._unsent.popleft()
                sent = self._socket.send(part) if part else 0
                if sent < len(part):
                    self._unsent.appendleft(part[sent:])
        except BlockingIOError:
            self._unsent.appendleft(part)
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
            while not self._has_ended and (message := self._next_message()) is not None:
                self._receive(message)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            piece = b""
        if not piece and not self._has_ended:
            self._end()

    def _next_message(self) -> bytes | None:
        if len(self._received) < HEAD.size:
            return None
        end = HEAD.size + HEAD.unpack_from(self._received)[0]
        if len(self._received) < end:
            return None
        message = bytes(self._received[HEAD.size : end])
        del self._received[:end]
        return message

    def kill(self) -> None:
        """End the process, without waiting for its end. Idempotent."""
        if self._has_ended:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        self.abandon()
        self._process.kill()
        threading.Thread(target=self._process.wait, name="crawler-dedup end", daemon=True).start()

    def abandon(self) -> None:
        """Close the socket only: in a forked child, whose parent goes on using the process."""
        self._has_ended = True
        self._socket.close()


_children: WeakSet[ChildProcess] = WeakSet()
_started_ahead: list[ChildProcess] = []


def start_ahead(settings: object) -> None:
    """Start the first process of this program for the crawl with *settings*, while that imports what it needs itself."""
    if _children:
        return
    with suppress(OSError):  # which the crawl reports
        child = ChildProcess()
        _started_ahead.append(child)
        finalize(settings, discard_ahead).atexit = False


def discard_ahead() -> None:
    """End the process that was started ahead, if no crawl has taken it."""
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


def _start(file_descriptor: int) -> subprocess.Popen[bytes]:
    """Start a process that gets *file_descriptor*, and finds the modules that this process finds."""
    if os.name == "nt":
        raise OSError("On Windows a process cannot get a socket of its parent")
    # -P: the working directory is not searched for modules.
    command = [sys.executable or "", "-P", "-m", "crawler_dedup.signing.process", str(file_descriptor)]
    path = os.pathsep.join(entry or os.curdir for entry in sys.path if isinstance(entry, str))
    # A process that is just starting must not be ended by Ctrl-C, which a terminal sends to all processes.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return subprocess.Popen(  # noqa: S603  (the program is this interpreter)
            command, stdin=subprocess.DEVNULL, pass_fds=[file_descriptor], env={**os.environ, "PYTHONPATH": path}
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
