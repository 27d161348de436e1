"""Deciding process: decides about the pages of one crawl. ``crawl/childprocess`` starts it with ``python -m``.

It is trusted: it has the index open, and parses no page. It imports no parser.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.deciding.indexrun import IndexRun
from crawler_dedup.deciding.messages import Answer, Answers, Cancel, Close, Job, Jobs, Offer, Start
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.errors import IndexGone
from crawler_dedup.index.maintenance import open_to_write
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.schemes import Scheme, scheme_of
from crawler_dedup.system.channel import Channel, Failure, end_with_parent, serve

_CLAIM_BITS = 32
"""Numbers of claims: those of a process begin above all those of the processes before it, and of the crawl's process."""


@dataclass
class _Comparing:
    """What the rules need of a signer, which would load a parser."""

    config: Config
    scheme: Scheme


class _Decider:
    """Answers jobs: each message of jobs with one message, when the last job of it is done, or with fewer."""

    def __init__(self, channel: Channel, start: Start) -> None:
        self._channel = channel
        self._stored_until: int | None = None
        self._offers: dict[int, Future[list[Decision]]] = {}
        self._answers: list[Answer] = []
        self._sending = threading.Lock()
        config = Config(**start.settings)
        store = open_to_write(Path(os.fsdecode(start.directory)), start.spec, map_size=config.map_size)
        if start.number > 1:
            store.note_lost_claims()
        self._run = IndexRun.of(
            store,
            RuleMatcher(_Comparing(config, scheme_of(config.scheme, config))),
            config,
            start.run,
            count(start.number << _CLAIM_BITS),
            clock=lambda: int(start.offset + time.monotonic()),
            stored_until=lambda: self._stored_until,
        )

    def begin(self, message: Jobs) -> None:
        """Begin the jobs of a message."""
        self._stored_until = message.stored_until
        for job in message.jobs:
            self._begin(job, is_last=job is message.jobs[-1])

    def _begin(self, job: Job, *, is_last: bool) -> None:
        if isinstance(job, Cancel):
            if offer := self._offers.pop(job.number, None):
                offer.cancel()
            return
        try:
            if isinstance(job, Close):
                self._close(job)
                self._answer(Answer(job.number), is_last=True)
                return
            future: Future[Any]
            if isinstance(job, Offer):
                future = self._run.submit(job.pages, claim=job.claim, aliases=job.aliases, is_dry=job.is_dry)
                self._offers[job.number] = future
            else:
                decision = Decision(Verdict.NEW, "", job.key, job.scope, claim=job.claim)
                future = self._run.end_claim(decision, settled=job.settled)
        except Exception as error:
            self._answer(Answer(job.number, failure=Failure.of(error)), is_last=is_last)
        else:
            future.add_done_callback(partial(self._note_done, job.number, is_last))

    def _close(self, job: Close) -> None:
        if job.finished is not None:
            with suppress(IndexGone):  # and with it all that the run has settled
                self._run.end(finished=job.finished)
        self._run.store.close()

    def _note_done(self, number: int, is_last: bool, future: Future[Any]) -> None:  # called in the writing thread
        self._offers.pop(number, None)
        if future.cancelled():
            return
        try:
            result = future.result()
        except Exception as error:
            answer = Answer(number, failure=Failure.of(error))
        else:
            answer = Answer(number, is_done=result) if isinstance(result, bool) else Answer(number, result)
        self._answer(answer, is_last=is_last)

    def _answer(self, answer: Answer, *, is_last: bool) -> None:
        """Send *answer* with the last one of its message: each message wakes the event loop of the crawl."""
        with self._sending:
            self._answers.append(answer)
            if is_last:
                answers, self._answers = self._answers, []
                with suppress(ConnectionError):  # reading shows it
                    self._channel.send(Answers(self._run.store.known_length, answers))


def _decide_all(channel: Channel) -> None:
    """Answer all messages. Raises :class:`EOFError` or :class:`ConnectionError` when the socket has ended."""
    start = msgspec.msgpack.decode(channel.read()[0], type=Start)
    end_with_parent(start.parent)
    logging.disable()  # the crawl has logged the same when it opened the index
    try:
        decider = _Decider(channel, start)
    except Exception as error:
        channel.send(Failure.of(error))
        return
    channel.send(None)
    decoder = msgspec.msgpack.Decoder(Jobs)
    while True:
        decider.begin(decoder.decode(channel.read()[0]))


def main() -> None:
    """Decide until the socket ends; jobs that have not begun are not run then."""
    try:
        serve(_decide_all)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
