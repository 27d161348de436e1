"""Messages between a crawl and its signing processes, in MessagePack: what comes from a process that parses is not trusted.

A crawl sends a :class:`Start`, then any number of jobs (:data:`Job`), each with the body of a page. The process sends
an :class:`Answer` to each job, in order. It sends an empty message when it is ready for the first job, and
before it loads a dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

import msgspec

from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.owntext import OwnText, OwnTextJob

HEAD = Struct("<II")
"""Before each message: the length of the message, and that of the body that follows it."""
SETTINGS = (
    "extractor",
    "max_bytes",
    "max_distance",
    "min_features",
    "scheme",
    "store_text",
    "tokenizer",
)
"""The fields of :class:`Config` that signing depends on, or a scheme of another package may depend on."""


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


class TextJob(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Extract the text of a page (:func:`extract_text`)."""

    encoding: str | None
    whole: bool


Job = SignJob | TextJob | OwnTextJob


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """The signed page with its forms, a text, or the exception (its class, message and traceback) that prevented it."""

    page: SignedPage | None = None
    forms: Sequence[bytes] = ()
    text: str = ""
    own_text: OwnText | None = None
    error: str = ""
    message: str = ""
    trace: str = ""


def pack(message: Start | Job | Answer | None, body_size: int = 0) -> bytes:
    """Serialise *message*, which *body_size* bytes of a body will follow; ``None`` is the empty message."""
    packed = b"" if message is None else msgspec.msgpack.encode(message)
    return HEAD.pack(len(packed), body_size) + packed
