"""Signing process: signs the pages that it reads from a socket. ``crawl/signers`` starts it with ``python -m``.

It reads a :class:`Start`, then any number of :class:`SignJob` and :class:`TextJob`, each with the body of a page, in order.
It sends an :class:`Answer` to each job, and an empty message when it is ready for the first job, and before it loads a
dictionary. Messages are MessagePack and not pickled objects: what comes from a process that parses pages is not trusted.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Any

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.signedpage import SignedPage, escape_surrogates
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.signer import Signer

HEAD = Struct("<II")
"""Before each message: the length of the message, and that of the body that follows it."""
SETTINGS = (
    "extractor",
    "fold_han",
    "lexicon",
    "max_bytes",
    "max_chars",
    "max_depth",
    "max_distance",
    "max_nodes",
    "min_coverage",
    "min_features",
    "min_resemblance",
    "scheme",
    "store_text",
    "tokenizer",
)
"""The fields of :class:`Config` that signing depends on, or a scheme of another package may depend on."""
MAX_MEMORY = 2 << 30
"""Bytes of address space that a process may take for pages (on Linux), beside its libraries. No page within the default
limits takes a tenth; a page that takes more would end the crawl, or other programs, where memory is short."""
_PR_SET_PDEATHSIG = 1


class Start(msgspec.Struct, array_like=True, frozen=True):
    """The first message: the settings of :data:`SETTINGS`, and the number of the parent process."""

    settings: dict[str, Any]
    parent: int


class SignJob(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Sign a page (:meth:`Signer.sign`)."""

    url: str
    encoding: str | None
    key: str | None
    scope: str | None
    anchors: str


class TextJob(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Extract the text of a page (:func:`extract_text`)."""

    encoding: str | None
    whole: bool


Job = SignJob | TextJob


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """The signed page, the text, or the exception (its class, message and traceback) that prevented it."""

    page: SignedPage | None = None
    text: str = ""
    error: str = ""
    message: str = ""
    trace: str = ""


def pack(message: Start | Job | Answer | None, body_size: int = 0) -> bytes:
    """Serialise *message*, which *body_size* bytes of a body will follow; ``None`` is the empty message."""
    packed = b"" if message is None else msgspec.msgpack.encode(message)
    return HEAD.pack(len(packed), body_size) + packed


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
    decoder = msgspec.msgpack.Decoder(Job)
    while True:
        message, body = connection.read()
        connection.send(_answer(signer, decoder.decode(message), body))


def _answer(signer: Signer, job: Job, body: bytes) -> Answer:
    try:
        if isinstance(job, TextJob):
            return Answer(text=extract_text(body, job.encoding, whole=job.whole))
        page, _ = signer.sign(job.url, body, encoding=job.encoding, key=job.key, scope=job.scope, anchors=job.anchors)
        return Answer(page=page)
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
    if sys.platform == "linux":
        import resource  # noqa: PLC0415  (not on Windows)

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
