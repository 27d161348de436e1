"""Signing process: signs the pages that it reads from a socket. ``crawl/childprocess`` starts it with ``python -m``."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.signedpage import escape_surrogates
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.forms import CrawlSigner
from crawler_dedup.signing.messages import HEAD, Answer, Job, Start, TextJob, pack
from crawler_dedup.signing.owntext import OwnTextJob
from crawler_dedup.signing.signer import Signer

MAX_MEMORY = 2 << 30
"""Bytes of address space that a process may take for pages (on Linux), beside its libraries. No page within the default
limits takes a tenth; a page that takes more would end the crawl, or other programs, where memory is short."""
_PR_SET_PDEATHSIG = 1


class _Connection:
    """The end of the socket in the signing process."""

    def __init__(self, file_descriptor: int) -> None:
        self._socket = socket.socket(fileno=file_descriptor)
        self._socket.set_inheritable(False)
        self._stream = self._socket.makefile("rb", 1 << 18)

    def read(self) -> tuple[bytes, bytes]:
        """Wait for a message, and return it with its body. Raises :class:`EOFError` when the socket has ended."""
        message_size, body_size = HEAD.unpack(self._read(HEAD.size))
        return self._read(message_size), self._read(body_size)

    def _read(self, size: int) -> bytes:
        content: bytes = self._stream.read(size)
        if len(content) < size:
            raise EOFError
        return content

    def send(self, answer: Answer | None) -> None:
        """Send an answer, or the empty message."""
        self._socket.sendall(pack(answer))


def _sign_all(connection: _Connection) -> None:
    """Answer all messages. Raises :class:`EOFError` or :class:`ConnectionError` when the socket has ended."""
    start = msgspec.msgpack.decode(connection.read()[0], type=Start)
    _end_with_parent(start.parent)
    try:
        signer = Signer(Config(**start.settings), before_loading=lambda: connection.send(None))
        signer.load(dictionary=False)
    except Exception as error:
        connection.send(_failure(error))
        return
    _limit_memory()
    connection.send(None)
    crawl_signer = CrawlSigner(signer)
    decoder = msgspec.msgpack.Decoder(Job)
    while True:
        message, body = connection.read()
        connection.send(_answer(crawl_signer, decoder.decode(message), body))


def _answer(signer: CrawlSigner, job: Job, body: bytes) -> Answer:
    try:
        if isinstance(job, TextJob):
            return Answer(text=extract_text(body, job.encoding, whole=job.whole))
        if isinstance(job, OwnTextJob):
            return Answer(own_text=signer.own_texts.make(body, job))
        return signer.sign(job, body)
    except Exception as error:
        return _failure(error)


def _failure(error: Exception) -> Answer:
    trace = escape_surrogates(traceback.format_exc())
    return Answer(error=type(error).__name__, message=escape_surrogates(str(error)), trace=trace)


def _end_with_parent(parent: int) -> None:
    """End this process when its parent dies, even while it is busy. Elsewhere than on Linux it finishes its page first."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            raise EOFError


def _limit_memory() -> None:
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415  (not on Windows)

    with suppress(OSError):  # there is no /proc
        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([taken + MAX_MEMORY, *limits]), hard))


def main() -> None:
    """Sign pages until the socket ends, whose file descriptor is the argument of the program."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal or a service manager sends them to all processes
        signal.signal(number, signal.SIG_IGN)
    with suppress(EOFError, ConnectionError):
        _sign_all(_Connection(int(sys.argv[1])))


if __name__ == "__main__":
    main()
