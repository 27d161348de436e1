"""Decide about pages in a process of their own (:mod:`crawler_dedup.deciding.process`), beside the event loop of the crawl.

A thread of the crawl's process would take the interpreter lock, and the caches of the processor, from the event loop. If the
process dies, another process gets the jobs that it has not answered.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from typing import Any
from weakref import proxy

import msgspec

from crawler_dedup import errors
from crawler_dedup.crawl.childprocess import (
    DECIDING,
    MAX_DEATHS,
    TRIED_AGAIN,
    UNCHECKED,
    ChildProcess,
    Deaths,
    describe_death,
    take_child,
)
from crawler_dedup.crawl.monitor import Monitor
from crawler_dedup.deciding.messages import SETTINGS, Answer, Cancel, Close, End, Jobs, Offer, Start
from crawler_dedup.decision import Decision
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.errors import DedupError, IndexUnusable
from crawler_dedup.signedpage import SignedPage, clean_identifier
from crawler_dedup.system.channel import Failure, pack

_PATIENCE = 0.1
"""Seconds that the end of a claim waits for an offer with which it is sent."""
_STUCK = 5.0
"""Seconds without an answer after which a process that reads nothing gets no further page."""
_END_TIMEOUT = 16.0
"""Seconds for the end of the run and the close. They take up to 15 while another process locks the index."""
_MAX_TRIES = 2
_MESSAGES: msgspec.msgpack.Decoder[list[Answer] | Failure] = msgspec.msgpack.Decoder(list[Answer] | Failure)


@dataclass(eq=False)
class _Waiting:
    """A job that is not answered, the future that gets the answer, and how many processes have got the job."""

    job: Offer | End | Close
    future: Future[Any]
    tries: int = 0

    @property
    def pages(self) -> Sequence[tuple[str, str]]:
        """The addresses of the pages, and what happens with them after the death of the process."""
        if not isinstance(self.job, Offer):
            return ()
        has_failed = self.future.done() and not self.future.cancelled() and self.future.exception()
        # Pages that were offered together are then offered each by itself.
        outcome = UNCHECKED if has_failed and len(self.job.pages) == 1 else TRIED_AGAIN
        return [(page.url, outcome) for page in self.job.pages]


class DecidingProcess:
    """Decides about the pages of one crawl, and ends their claims. Belongs to one event loop, which sets its futures.

    If processes die too often, the process of the crawl decides.

    Args:
        deduplicator: has the index open, in a directory; the process joins its run.

    Raises:
        DedupError: the process cannot be started.
        OSError: the same.
    """

    def __init__(self, deduplicator: Deduplicator, monitor: Monitor) -> None:
        self._deduplicator = deduplicator
        self._monitor: Monitor = proxy(monitor)  # which holds the crawl: its end must end this process
        self._numbers = count(1)
        self._starts = 0
        self._deaths = Deaths()
        self._waiting: dict[int, _Waiting] = {}
        self._unsent: list[Offer | End | Cancel | Close] = []
        self._timer: asyncio.TimerHandle | None = None
        self._heard = 0.0
        self._is_attached = self._has_given_up = self._is_closed = False
        self.repeated_blocks = deduplicator.repeated_blocks
        self._child: ChildProcess | None = take_child(DECIDING)
        try:
            self._child.wait_until_ready(self._make_start())
        except BaseException:
            self.kill()
            raise

    def _make_start(self) -> bytes:
        self._starts += 1
        opened = self._deduplicator
        settings = {name: getattr(opened.config, name) for name in SETTINGS}
        directory, spec = os.fsencode(opened.index.name), opened.index.header.spec
        return pack(Start(settings, directory, spec, opened.run, opened.clock_offset, self._starts, os.getpid()))

    def submit(
        self, batch: Sequence[SignedPage], *, claim: bool, aliases: Mapping[str, str], is_dry: bool
    ) -> Future[list[Decision]]:
        """Decide about *batch*: :meth:`Deduplicator.submit`."""
        if self._has_given_up:
            return self._deduplicator.submit(batch, claim=claim, aliases=aliases, is_dry=is_dry)
        now = time.monotonic()
        if not self._waiting:
            self._heard = now
        elif self._child is not None and self._child.is_sending and now > self._heard + _STUCK:
            raise IndexUnusable("The process that has the index open does not answer.")
        number = next(self._numbers)
        clean = {key: clean_identifier(alias) for key, alias in aliases.items()}
        future: Future[list[Decision]] = self._add(Offer(number, batch, claim, clean, is_dry))
        future.add_done_callback(partial(self._withdraw, number))
        self._send()
        return future

    def end_claim(self, decision: Decision, *, settled: bool) -> Future[bool]:
        """End the claim of *decision*: :meth:`Deduplicator.end_claim`."""
        if self._has_given_up:
            return self._deduplicator.end_claim(decision, settled=settled)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self._send)
        return self._add(End(next(self._numbers), decision.scope, decision.key, decision.claim, settled))

    def _add(self, job: Offer | End | Close) -> Future[Any]:
        if self._is_closed:
            raise IndexUnusable("The index is closed.")
        future: Future[Any] = Future()
        self._waiting[job.number] = _Waiting(job, future)
        self._unsent.append(job)
        return future

    def _withdraw(self, number: int, future: Future[list[Decision]]) -> None:
        if future.cancelled() and self._waiting.pop(number, None) is not None:
            self._unsent.append(Cancel(number))
            self._send()

    def _send(self) -> None:
        """Send all jobs that were not sent yet; start a process if there is none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._unsent or (self._child is None and not self._restart()):
            return
        assert self._child is not None
        if not self._is_attached:
            self._child.attach(self._receive, self._died)
            self._is_attached = True
        jobs, self._unsent = self._unsent, []
        for job in jobs:
            if job.number in self._waiting:
                self._waiting[job.number].tries += 1
        self._child.send(pack(Jobs(self._deduplicator.stored_until, jobs)))

    def _restart(self) -> bool:
        """Start another process, and return whether there is one."""
        while self._child is None and not self._has_given_up:
            try:
                self._child = ChildProcess(DECIDING)
            except OSError:
                self._note_death()
        if self._child is None:
            return False
        self._child.attach(self._receive, self._died)
        self._is_attached = True
        self._child.send(self._make_start())
        self._monitor.count("deciding/restarts")
        return True

    def _receive(self, message: bytes) -> None:
        if not message:  # it is ready
            return
        self._heard = time.monotonic()
        answers = _MESSAGES.decode(message)
        if isinstance(answers, Failure):  # it ends now
            self._monitor.log(logging.WARNING, "No deciding process can be started: %s", answers.message)
            return
        for answer in answers:
            waiting = self._waiting.pop(answer.number, None)
            if waiting is None:  # withdrawn too late
                self._release(answer.result)
            elif isinstance(answer.result, Failure):
                waiting.future.set_exception(_error_of(answer.result))
            else:
                waiting.future.set_result(answer.result)

    def _release(self, result: Sequence[Decision] | bool | Failure) -> None:
        """Release the claims of pages that no longer wait for their decisions."""
        for decision in result if isinstance(result, list) else ():
            if decision.claim:
                with suppress(DedupError):  # the index was closed meanwhile, which releases the claim too
                    self.end_claim(decision, settled=False)

    def _died(self) -> None:
        """Let another process do what this one has not answered, except offers that may have ended two processes."""
        assert self._child is not None
        sent = [waiting for waiting in self._waiting.values() if waiting.tries]
        self._child.kill(partial(self._report_death, self._child.pid, sent))
        self._child = None
        self._deduplicator.index.note_lost_claims()  # in case this process ends the run
        self._note_death()
        left = self._waiting.values()
        failed = [waiting for waiting in left if waiting.tries >= _MAX_TRIES and isinstance(waiting.job, Offer)]
        for waiting in failed:
            del self._waiting[waiting.job.number]
        self._unsent = [waiting.job for waiting in self._waiting.values()]
        self._send()
        _fail(failed, "The process that had the index open has died.")

    def _report_death(self, pid: int, jobs: Sequence[_Waiting], status: int | None) -> None:
        """Log that a process has died, and what happens with the pages that it had."""
        with suppress(ReferenceError):  # the crawl has ended meanwhile
            death = describe_death(DECIDING, pid, status, chain.from_iterable(waiting.pages for waiting in jobs))
            self._monitor.log_throttled(DECIDING, logging.WARNING, "%s", death)

    def _note_death(self) -> None:
        if not self._deaths.note():
            return
        self._monitor.log(
            logging.WARNING,
            "%d deciding processes have died within a minute: from now on the process of the crawl decides",
            MAX_DEATHS,
        )
        self._has_given_up = True
        self._fail_all("The processes that had the index open have died.")

    def _fail_all(self, reason: str) -> None:
        left, self._waiting, self._unsent = list(self._waiting.values()), {}, []
        _fail(left, reason)

    async def close(self, *, finished: bool | None) -> bool:
        """Finish the jobs, end the run, and close the index in the process.

        Args:
            finished: whether the run came to its end; ``None``: it is not ended, and counts as dead.

        Returns:
            Whether the crawl need not do so itself: the process has done so, or could not because the index was locked.
        """
        if self._has_given_up or (self._child is None and not self._waiting):
            self._is_closed = True
            return False
        future = self._add(Close(next(self._numbers), finished))
        self._is_closed = True
        self._send()
        try:
            await asyncio.wait_for(asyncio.wrap_future(future), _END_TIMEOUT)
        except (DedupError, TimeoutError) as error:
            if self._has_given_up:
                return False
            self._monitor.log(
                logging.WARNING,
                "The end of the run could not be recorded, so that its last pages may be stored twice: %s",
                str(error) or "no answer in time",
            )
        finally:
            self.kill()
            self._fail_all("The index is closed.")
        return True

    def kill(self) -> None:
        """End the process. Idempotent."""
        if self._child is not None:
            self._child.kill()
            self._child = None


def _fail(jobs: Sequence[_Waiting], reason: str) -> None:
    for waiting in jobs:
        if not waiting.future.done():
            waiting.future.set_exception(IndexUnusable(reason))


def _error_of(failure: Failure) -> DedupError:
    """Make the error that was raised in the process."""
    kind = getattr(errors, failure.error, None)
    if isinstance(kind, type) and issubclass(kind, IndexUnusable):
        return kind(failure.message)
    return DedupError(f"{failure.error}: {failure.message}")
