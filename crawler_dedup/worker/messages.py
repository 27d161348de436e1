"""Messages between a crawl and the workers that sign its pages and decide about them, in MessagePack.

A crawl sends a :class:`Start`, which a worker answers by :class:`Ready` or :class:`Failure`. Then it sends any number of
:class:`Message`, each with the body of a page or without one. The worker sends an :class:`Answer` to each, in any order, and
at any time a :class:`LogLine`.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import fields
from struct import Struct
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from crawler_dedup import errors
from crawler_dedup.config import Config
from crawler_dedup.decision import Decision, DroppedRequest
from crawler_dedup.errors import DedupError
from crawler_dedup.pagetext import OwnText, OwnTextJob
from crawler_dedup.signedpage import SignedPage

_T = TypeVar("_T")
_OF_CRAWLS = {"scope", "dir", "index", "journal", "works"}
SETTINGS = tuple(setting.name for setting in fields(Config) if setting.name not in _OF_CRAWLS)
"""The settings that a worker gets. A scope may be a callable, and comes with each page; a path may not be text."""
CLAIM_BITS = 32
"""A claim is the number of the start of its worker, and in these bits a number of that worker."""
HEAD = Struct("<II?")
"""Before each message: the length of the message, that of the body that follows it, and whether it overtakes those that
wait (:attr:`Message.is_urgent`)."""


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

    def to_error(self) -> Exception:
        """Return the exception, or a :class:`SigningError` if no page should cause such a one."""
        if self.error == "TimeoutError":
            return TimeoutError(self.message)
        kind = getattr(errors, self.error, None)
        if isinstance(kind, type) and issubclass(kind, DedupError):
            error: DedupError = kind.__new__(kind, self.message)  # some make their message of other arguments
            return error
        return SigningError(self)


class SigningError(DedupError):
    """An exception in a worker that no page of these limits should cause.

    Attributes:
        name: its class.
        trace: its traceback.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.name, self.trace = failure.error, failure.trace


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


class Start(msgspec.Struct, array_like=True, frozen=True):
    """The first message.

    Attributes:
        settings: the settings of :data:`SETTINGS`.
        location: the directory of the index, encoded for the file system, or the address of its server.
        run: number of the run that the worker joins; 0: it only shows what a crawl would decide, and changes nothing.
        offset: the offset of the clock of the run (:class:`~crawler_dedup.index.runs.Run`).
        number: of this start of a worker, which no other start has; 1: the first of all.
        parent: number of the parent process.
        log_level: the least level of the lines that it sends.
    """

    is_urgent: ClassVar[bool] = True
    """No other message may be read first."""

    settings: Mapping[str, Any]
    location: bytes
    run: int
    offset: float
    number: int
    parent: int
    log_level: int


class Ready(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """The worker has opened the index.

    Attributes:
        name: name of the index in messages.
        pages: how many pages it has; ``None``: they cannot be counted now.
        scheme: the signature scheme in a few words.
        tokenizer: name of the tokenizer of the index.
        is_emptied: whether this worker has emptied the index.
        lock_file: path of the file that the crawl must keep locked while its run lasts; ``""``: workers keep it alive.
    """

    name: str = ""
    pages: int | None = 0
    scheme: str = ""
    tokenizer: str = ""
    is_emptied: bool = False
    lock_file: str = ""


class LogLine(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """A line for the log of the crawl."""

    logger: str
    level: int
    text: str


class Checked(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """The result of :class:`CheckPage` and :class:`DecideAgain`.

    Attributes:
        page: the signed page, with its *forms*.
        began: when signing began, a time of :func:`time.monotonic`, which all processes of a machine share.
        decision: the decision; or the exception of the index that has prevented it.
    """

    page: SignedPage
    decision: Decision | Failure
    forms: Sequence[bytes] = ()
    began: float = 0.0


class Figures(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Number of pages of the index, and its size on disk in bytes, unless it is on a server."""

    pages: int
    size: int | None


class Job(msgspec.Struct, Generic[_T], array_like=True, frozen=True, tag=True):
    """What a worker does for a crawl, with the type of its result."""


class CheckPage(Job[Checked], frozen=True):
    """Sign a page (:meth:`Signer.sign`), and decide about it (:meth:`Deduplicator.submit`).

    Attributes:
        size: bytes of the whole body; the body of the message may be cut off.
    """

    url: str
    encoding: str | None
    key: str
    scope: str | None
    alias: str = ""
    is_dry: bool = False
    links_followed: bool = False
    size: int = 0


class DecideAgain(Job[Checked], frozen=True):
    """Decide again about a page that was signed."""

    page: SignedPage
    alias: str
    is_dry: bool


class EndClaim(Job[bool], frozen=True):
    """End a claim (:meth:`Deduplicator.end_claim`)."""

    scope: str
    key: str
    claim: int
    settled: bool


class ExtractText(Job[str], frozen=True):
    """Extract the text of the page at an address (:func:`extract_text`)."""

    url: str
    encoding: str | None
    whole: bool


class MakeOwnText(Job[OwnText], frozen=True):
    """Make the own text of the page at an address, in a scope (``None``: without what its site repeats).

    Attributes:
        snapshot: that of the decision about the page (:attr:`Decision.snapshot`).
    """

    url: str
    scope: str | None
    job: OwnTextJob
    snapshot: int = 0


class Measure(Job[Figures], frozen=True):
    """Measure the index."""


class ListRestorations(Job[dict[str, DroppedRequest]], frozen=True):
    """Return the requests of the restored pages that wait for a crawl of a spider, by their addresses."""

    spider: str


class EndRestorations(Job[dict[str, DroppedRequest]], frozen=True):
    """Remove the restorations of pages that were handled, are gone, or have failed too often; count other failures.

    Attributes:
        requests: by address the requests of the restorations, as they were when the crawl began.
        failures: by address the failures of this crawl; 0: the page was handled.
        limit: number of failures from which on a restoration is removed. The answer has those that are.
    """

    spider: str
    requests: Mapping[str, DroppedRequest]
    failures: Mapping[str, int]
    limit: int


class KeepAddress(Job[bool], frozen=True):
    """Add an override by which the page at an address is never a duplicate."""

    url: str


class Close(Job[bool], frozen=True):
    """Finish the jobs, end the run, and close the index. ``finished=None``: the run is not ended, and counts as dead."""

    finished: bool | None


AnyJob = (
    CheckPage
    | DecideAgain
    | EndClaim
    | ExtractText
    | MakeOwnText
    | Measure
    | ListRestorations
    | EndRestorations
    | KeepAddress
    | Close
)


class Message(msgspec.Struct, array_like=True, frozen=True):
    """A job with its number.

    Attributes:
        stored_until: the time of :meth:`Deduplicator.set_stored_until`.
    """

    number: int
    stored_until: float | None
    job: AnyJob

    @property
    def is_urgent(self) -> bool:
        """Whether the job is done before waiting jobs that are not urgent.

        An own text takes a small part of the time in which a page is signed, and its callback waits for nothing else.
        """
        return isinstance(self.job, MakeOwnText)


Result = Checked | str | OwnText | bool | Figures | dict[str, DroppedRequest] | Failure


class Answer(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """The answer to the job of this number: its result, or the exception that has prevented it."""

    number: int
    result: Result
