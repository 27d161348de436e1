"""Messages between a program and a process that it has started (``crawl/workerprocess``), on the side of that process."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from struct import Struct

import msgspec

HEAD = Struct("<II")
"""Before each message: the length of the message, and that of the body that follows it."""
_PR_SET_PDEATHSIG = 1
_PIECE = 1 << 18


class Failure(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """An exception: its class, message and traceback."""

    error: str
    message: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Describe *error*."""
        trace = "".join(traceback.format_exception(error))
        return cls(type(error).__name__, _escaped(str(error)), _escaped(trace))


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def pack(message: object, body_size: int = 0) -> bytes:
    """Serialise *message*, which *body_size* bytes of a body will follow."""
    packed = msgspec.msgpack.encode(message)
    return HEAD.pack(len(packed), body_size) + packed


class Channel:
    """The end of the socket in the process that was started."""

    def __init__(self, file_descriptor: int) -> None:
        self._socket = socket.socket(fileno=file_descriptor)
        self._socket.set_inheritable(False)
        self._received = bytearray()

    def read(self) -> tuple[bytes, bytes]:
        """Wait for a message, and return it with its body. Raises :class:`EOFError` when the socket has ended."""
        message_size, body_size = HEAD.unpack(self._read(HEAD.size))
        return self._read(message_size), self._read(body_size)

    def _read(self, size: int) -> bytes:
        while len(self._received) < size:
            piece = self._socket.recv(max(_PIECE, size - len(self._received)))
            if not piece:
                raise EOFError
            self._received += piece
        content = bytes(self._received[:size])
        del self._received[:size]
        return content

    def has_more(self) -> bool:
        """Return whether a further message has begun to arrive."""
        return bool(self._received or select.select([self._socket], [], [], 0)[0])

    def send(self, message: object) -> None:
        """Send a message."""
        self._socket.sendall(pack(message))


def serve(answer_all: Callable[[Channel, int], object]) -> None:
    """Call *answer_all* with the socket and the other file whose descriptors are the arguments, until the socket ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal or a service manager sends them to all processes
        signal.signal(number, signal.SIG_IGN)
    with suppress(EOFError, ConnectionError):
        answer_all(Channel(int(sys.argv[1])), int(sys.argv[2]))


def end_with_parent(parent: int) -> None:
    """End this process when its parent dies, even while it is busy. Elsewhere than on Linux it finishes its work first."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            raise EOFError
