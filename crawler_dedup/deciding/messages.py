"""Messages between a crawl and its deciding process, in MessagePack.

A crawl sends a :class:`Start`, then any number of :class:`Jobs`. The process sends an empty message when it is ready, or a
:class:`~crawler_dedup.system.channel.Failure`. Then it sends lists of :class:`Answer`, in any order: one for each job whose
changes are stored, or which has failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from crawler_dedup.config.settings import SIGNING_SETTINGS
from crawler_dedup.decision import Decision
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.channel import Failure

SETTINGS = (*SIGNING_SETTINGS, "action", "expire_days", "grace", "map_size", "never_drop")
"""The fields of :class:`Config` that decisions depend on, or a scheme of another package may depend on."""


class Start(msgspec.Struct, array_like=True, frozen=True):
    """The first message.

    Attributes:
        settings: the settings of :data:`SETTINGS`.
        directory: the directory of the index, which the parent process has open, encoded for the file system.
        spec: what signatures in it depend on.
        run: number of the run.
        offset: the offset of its clock (:class:`~crawler_dedup.index.runs.Run`).
        number: how many deciding processes this crawl has started, with this process.
        parent: number of the parent process.
    """

    settings: dict[str, Any]
    directory: bytes
    spec: Mapping[str, str]
    run: int
    offset: float
    number: int
    parent: int


class Offer(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Decide about pages (:meth:`Deduplicator.submit`)."""

    number: int
    pages: Sequence[SignedPage]
    claim: bool
    aliases: Mapping[str, str]
    is_dry: bool


class End(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """End a claim (:meth:`Deduplicator.end_claim`)."""

    number: int
    scope: str
    key: str
    claim: int
    settled: bool


class Cancel(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Withdraw the offer of this number, unless it has begun; a withdrawn offer gets no answer."""

    number: int


class Close(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Finish the jobs, end the run, and close the index. ``finished=None``: the run is not ended, and counts as dead."""

    number: int
    finished: bool | None


Job = Offer | End | Cancel | Close


class Jobs(msgspec.Struct, array_like=True, frozen=True):
    """Jobs in their order, and the time until which the pages that the run has settled are stored."""

    stored_until: int | None
    jobs: Sequence[Job]


class Answer(msgspec.Struct, array_like=True, frozen=True):
    """The answer to the job of this number: the decisions, whether a claim was ended, or the exception."""

    number: int
    result: Sequence[Decision] | bool | Failure
