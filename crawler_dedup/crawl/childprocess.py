"""Start a process beside the crawl, and exchange messages with it without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from weakref import WeakSet, finalize

import msgspec

from crawler_dedup.errors import DedupError
from crawler_dedup.system.channel import HEAD, Failure

SIGNING, DECIDING = "crawler_dedup.signing.process", "crawler_dedup.deciding.process"
"""The modules that such processes run."""
TRIED_AGAIN, UNCHECKED = "tried again", "passes unchecked"
"""What happens with a page of a process that has died."""
PATIENCE = 60.0
"""Seconds that a process may take to start, or to load a dictionary."""
MAX_DEATHS = 5
DEATH_SECONDS = 60.0
"""``MAX_DEATHS`` deaths of processes within this time are too many."""
_PIECE = 256 << 10
_REAP_SECONDS = 1.0
"""Seconds between the end of a socket and that of its process."""


class Deaths:
    """Counts how often processes have died lately."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=MAX_DEATHS)

    def note(self) -> bool:
        """Count a death, and return whether there were too many."""
        self._times.append(time.monotonic())
        return len(self._times) == MAX_DEATHS and self._times[0] >= self._times[-1] - DEATH_SECONDS


def describe_death(module: str, pid: int, status: int | None, pages: Iterable[tuple[str, str]]) -> str:
    """Say which process has died, why, and what happens with the pages that it had.

    Args:
        status: its exit status, or the negative number of a signal; ``None``: it had to be killed, as it only closed its
            socket.
        pages: the address of each page, and what happens with it.
    """
    if status is None:
        cause = "no longer answers"
    elif status >= 0:
        cause = f"has ended with exit status {status}"
    else:
        names = {number.value: number.name for number in signal.Signals}
        cause = f"was ended by {names.get(-status, f'signal {-status}')}"
        if status == -signal.SIGKILL:
            cause += ", probably by the out-of-memory killer of the kernel, because memory was short"
    addresses: dict[str, list[str]] = {}
    for address, outcome in pages:
        addresses.setdefault(outcome, []).append(address)
    had = [
        f"{first}{f' and {len(others)} more' * bool(others)} ({outcome})"
        for outcome, (first, *others) in addresses.items()
    ]
    kind = "signing" if module == SIGNING else "deciding"
    return f"The {kind} process {pid} {cause}; pages that it had: {', '.join(had) or 'none'}"


class ChildProcess:
    """A process that runs *module*. Belongs to one event loop, once it is attached to it.

    The process is ended with SIGKILL: what it has to store is stored when it has answered.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, module: str) -> None:
        self.module = module
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _start(module, theirs.fileno())
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
        """Block until the process is ready for its first job.

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
            raise DedupError("the process ended at its start") from None
        except OSError as error:
            raise DedupError(f"the process does not answer ({error})") from error
        if message:
            try:
                failure = msgspec.msgpack.decode(message, type=Failure)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise DedupError(f"the answer of the process is not a message ({error})") from error
            raise DedupError(f"{failure.error}: {failure.message}")

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

    def kill(self, report: Callable[[int | None], object] | None = None) -> None:
        """End the process, without waiting for its end. Idempotent.

        Args:
            report: if the process has died, called in the event loop with its status, as :func:`describe_death` takes it.
        """
        if self._has_ended:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
        self.abandon()
        if report is None:
            self._process.kill()
        threading.Thread(target=self._reap, args=(report,), name="crawler-dedup end", daemon=True).start()

    def _reap(self, report: Callable[[int | None], object] | None) -> None:
        if report is not None and self._loop is not None:
            status = None
            with suppress(subprocess.TimeoutExpired):
                status = self._process.wait(_REAP_SECONDS)
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(report, status)
            self._process.kill()
        self._process.wait()

    def abandon(self) -> None:
        """Close the socket only: in a forked child, whose parent goes on using the process."""
        self._has_ended = True
        self._socket.close()


_children: WeakSet[ChildProcess] = WeakSet()
_started_ahead: list[ChildProcess] = []


def start_ahead(settings: object, modules: Sequence[str]) -> None:
    """Start the first processes for the crawl with *settings*, while this process still imports what it needs."""
    if _children:
        return
    finalize(settings, discard_ahead).atexit = False
    with suppress(OSError):  # which the crawl reports
        for module in modules:
            _started_ahead.append(ChildProcess(module))  # noqa: PERF401  (those that were started have to be ended)


def discard_ahead() -> None:
    """End the processes that were started ahead and that no crawl has taken."""
    while _started_ahead:
        _started_ahead.pop().kill()


def take_child(module: str) -> ChildProcess:
    """Return the process that was started ahead with *module*, or a new one. Raises :class:`OSError`."""
    for child in _started_ahead:
        if child.module == module:
            _started_ahead.remove(child)
            return child
    return ChildProcess(module)


def _abandon_all() -> None:
    for child in list(_children):
        child.abandon()
    _children.clear()
    _started_ahead.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def _start(module: str, file_descriptor: int) -> subprocess.Popen[bytes]:
    """Start a process that runs *module* with *file_descriptor*, and finds the modules that this process finds."""
    if os.name == "nt":
        raise OSError("On Windows a process cannot get a socket of its parent")
    # -P: the working directory is not searched for modules.
    command = [sys.executable or "", "-P", "-m", module, str(file_descriptor)]
    path = os.pathsep.join(entry or os.curdir for entry in sys.path if isinstance(entry, str))
    # A process that is just starting must not be ended by Ctrl-C, which a terminal sends to all processes.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return subprocess.Popen(  # noqa: S603  (the program is this interpreter)
            command, stdin=subprocess.DEVNULL, pass_fds=[file_descriptor], env={**os.environ, "PYTHONPATH": path}
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
