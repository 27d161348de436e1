"""Worker process: signs the pages of a crawl and decides about them. ``crawl/workerprocess`` starts it with ``python -m``.

It has the index open, so that the crawl's process need not. A page that takes too long, crashes or takes too much memory
ends this process only: what it has answered is stored, and nothing else counts.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

import msgspec

from crawler_dedup.worker.messages import HEAD, Answer, Failure, LogLine, Message, Ready, Start
from crawler_dedup.worker.worker import open_worker

MAX_MEMORY = 2 << 30
"""Bytes of address space that a worker may take for pages (on Linux), beside its libraries and the map of the index. No page
within the default limits takes a tenth; a page that takes more would end the crawl, or other programs, where memory is
short."""
LOADING_SECONDS = 60.0
"""Seconds that a dictionary may take to load."""
_PR_SET_PDEATHSIG = 1
_AHEAD = 16 << 20
"""Bytes of messages that are read ahead: a hundred large pages, or one of the largest with the default limits."""


class _ProcessChannel:
    """The channel of a worker in a process of its own. The system ends that process if a page takes too long.

    Args:
        file_descriptor: the end of the socket in this process.
        progress: file descriptor of the file in which it notes which job it works on, for the process of the crawl.
    """

    def __init__(self, file_descriptor: int, progress: int) -> None:
        self._socket = socket.socket(fileno=file_descriptor)
        self._socket.set_inheritable(False)
        self._progress = progress
        self._sending = threading.Lock()
        # The messages that were read ahead, with their bodies; their size; why there are no more.
        self._urgent, self._others = deque[tuple[bytes, bytes]](), deque[tuple[bytes, bytes]]()
        self._size = 0
        self._end: Exception | None = None
        self._changed = threading.Condition()
        threading.Thread(target=self._receive, name="crawler-dedup messages", daemon=True).start()

    def read(self) -> tuple[bytes, bytes]:
        """Wait for a message, and return it with its body.

        Raises :class:`EOFError` when the socket has ended, whatever was read ahead.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._end or self._urgent or self._others)
            if self._end is not None:
                raise self._end
            message, body = (self._urgent or self._others).popleft()
            self._size -= len(message) + len(body)
            self._changed.notify_all()
        return message, body

    def _receive(self) -> None:
        """Read messages ahead.

        The socket has room for hardly one page, and the crawl can send the rest only between two of its callbacks: meanwhile
        this process would wait for its next page.
        """
        try:
            with self._socket.makefile("rb") as stream:
                while True:
                    message_size, body_size, is_urgent = HEAD.unpack(_read(stream, HEAD.size))
                    message, body = _read(stream, message_size), _read(stream, body_size)
                    with self._changed:
                        self._changed.wait_for(lambda: self._size < _AHEAD)
                        (self._urgent if is_urgent else self._others).append((message, body))
                        self._size += len(message) + len(body)
                        self._changed.notify_all()
        except Exception as error:
            with self._changed:
                self._end = error
                self._changed.notify_all()

    def has_more(self) -> bool:
        return bool(self._urgent or self._others)

    def send(self, message: Answer | Ready | Failure | LogLine) -> None:
        packed = msgspec.msgpack.encode(message)
        with self._sending, suppress(ConnectionError):  # reading shows it
            self._socket.sendall(HEAD.pack(len(packed), 0, False) + packed)

    @contextmanager
    def limit(self, number: int, seconds: float) -> Iterator[None]:
        self._note(number)
        signal.setitimer(signal.ITIMER_REAL, seconds)  # the default action of SIGALRM ends the process
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._note(0)

    def _note(self, number: int) -> None:
        with suppress(OSError):  # the disk is full: if this process dies, its page is not known
            os.pwrite(self._progress, number.to_bytes(8, "little"), 0)

    @contextmanager
    def limit_loading(self) -> Iterator[None]:
        left, _ = signal.setitimer(signal.ITIMER_REAL, LOADING_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, left)


def _read(stream: BufferedReader, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


class _LogToCrawl(logging.Handler):
    """Sends lines to the log of the crawl."""

    def __init__(self, channel: _ProcessChannel, level: int) -> None:
        super().__init__(level)
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        self._channel.send(LogLine(record.name, record.levelno, self.format(record)))


def _limit_memory() -> None:
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415  (not on Windows)

    with suppress(OSError):  # there is no /proc
        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([taken + MAX_MEMORY, *limits]), hard))


def _end_with_parent(parent: int) -> None:
    """End this process when its parent dies, even while it is busy. Elsewhere than on Linux it finishes its work first."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            raise EOFError


def _work(channel: _ProcessChannel) -> None:
    """Answer all messages. Raises :class:`EOFError` or :class:`ConnectionError` when the socket has ended."""
    log = logging.getLogger("crawler_dedup")
    log.propagate = False
    while True:  # until the index can be opened
        start = msgspec.msgpack.decode(channel.read()[0], type=Start)
        _end_with_parent(start.parent)
        log.handlers = [_LogToCrawl(channel, start.log_level)]
        log.setLevel(start.log_level)
        try:
            worker = open_worker(channel, start)
            ready = worker.ready
            break
        except Exception as error:
            channel.send(Failure.of(error))
    _limit_memory()
    channel.send(ready)
    decoder = msgspec.msgpack.Decoder(Message)
    while True:
        message, body = channel.read()
        worker.do(decoder.decode(message), body)


def main() -> None:
    """Work until the socket ends; jobs that have not begun are not done then."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal or a service manager sends them to all processes
        signal.signal(number, signal.SIG_IGN)
    try:
        with suppress(EOFError, ConnectionError):
            _work(_ProcessChannel(*map(int, sys.argv[1:])))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
