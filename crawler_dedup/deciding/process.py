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
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.deciding.messages import Answer, Cancel, Close, End, Jobs, Offer, Start
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.errors import IndexGone
from crawler_dedup.index.maintenance import open_to_write
from crawler_dedup.index.verdicts import RunContext
from crawler_dedup.rules.matcher import ConfiguredScheme, RuleMatcher
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.system.channel import Channel, Failure, end_with_parent, serve

_CLAIM_BITS = 32
"""The claims of a process have greater numbers than those of the processes before it, and of the crawl's process."""


class _Decider:
    """Does the jobs of a crawl. Ends of claims, for which no page waits, are answered together with the next offer, or once
    all jobs of their message are done.
    """

    def __init__(self, channel: Channel, start: Start) -> None:
        self._channel = channel
        self._stored_until: int | None = None
        self._offers: dict[int, Future[list[Decision]]] = {}
        self._answers: list[Answer] = []
        self._sending = threading.Lock()
        config = Config(**start.settings)
        self._matcher = RuleMatcher(ConfiguredScheme(config, scheme_of(config.scheme, config)))
        self._store = open_to_write(Path(os.fsdecode(start.directory)), start.spec, map_size=config.map_size)
        if start.number > 1:
            self._store.note_lost_claims()
        self._next_claim = count(start.number << _CLAIM_BITS).__next__
        self._context = RunContext.of(
            config,
            run=start.run,
            clock=lambda: int(start.offset + time.monotonic()),
            stored_until=lambda: self._stored_until,
        )

    def begin(self, message: Jobs) -> None:
        """Begin the jobs of a message."""
        self._stored_until = message.stored_until
        left = {job.number for job in message.jobs if not isinstance(job, Cancel)}
        for job in message.jobs:
            if isinstance(job, Cancel):
                if offer := self._offers.pop(job.number, None):
                    offer.cancel()
                continue
            try:
                future = self._begin(job)
            except Exception as error:
                future = Future()
                future.set_exception(error)
            future.add_done_callback(partial(self._answer, job, left))

    def _begin(self, job: Offer | End | Close) -> Future[Any]:
        if isinstance(job, Offer):
            next_claim = self._next_claim if job.claim else None
            context = replace(self._context, next_claim=next_claim, is_dry=job.is_dry)
            offer = self._store.offer(job.pages, self._matcher, context, aliases=job.aliases)
            self._offers[job.number] = offer
            return offer
        if isinstance(job, End):
            decision = Decision(Verdict.NEW, "", job.key, job.scope, claim=job.claim)
            return self._store.end_claim(decision, self._matcher, self._context, settled=job.settled)
        try:
            if job.finished is not None:
                with suppress(IndexGone):  # and with it all that the run has settled
                    self._store.end_run(self._context, finished=job.finished)
        finally:
            self._store.close()
        closed: Future[bool] = Future()
        closed.set_result(True)
        return closed

    def _answer(self, job: Offer | End | Close, left: set[int], future: Future[Any]) -> None:  # called in both threads
        self._offers.pop(job.number, None)
        with self._sending:
            left.remove(job.number)
            if not future.cancelled():
                error = future.exception()
                self._answers.append(Answer(job.number, future.result() if error is None else Failure.of(error)))
            if self._answers and not (left and isinstance(job, End)):
                answers, self._answers = self._answers, []
                with suppress(ConnectionError):  # reading shows it
                    self._channel.send(answers)


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
    """Decide until the socket ends; jobs that have not begun are not done then."""
    try:
        serve(_decide_all)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
