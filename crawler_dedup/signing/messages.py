"""Messages between a crawl and its signing processes, in MessagePack: what comes from a process that parses is not trusted.

A crawl sends a :class:`Start`, then any number of jobs (:data:`Job`), each with the body of a page. The process sends
an :class:`Answer` to each job, in order. It sends an empty message when it is ready for the first job, and
before it loads a dictionary; a :class:`Failure` if it cannot start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.owntext import OwnText, OwnTextJob
from crawler_dedup.system.channel import Failure


class Start(msgspec.Struct, array_like=True, frozen=True):
    """The first message: the settings of :data:`SIGNING_SETTINGS`, and the number of the parent process."""

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
    """A signed page with its forms, a text, an own text, or the exception that prevented it."""

    page: SignedPage | None = None
    forms: Sequence[bytes] = ()
    text: str = ""
    own_text: OwnText | None = None
    failure: Failure | None = None
