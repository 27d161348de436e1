"""A worker in the process of the crawl (``DEDUP_PROCESSES = 0``, and on Windows): it signs pages on the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache, partial
from typing import Any, TypeVar

from crawler_dedup.config import Config
from crawler_dedup.crawl.workerprocess import Received
from crawler_dedup.pagetext import OwnText, OwnTextJob
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.threads import run_in_own_thread
from crawler_dedup.worker import messages
from crawler_dedup.worker.worker import TextMaker, open_worker

_T = TypeVar("_T")


class _NoLimits:
    """The channel of a worker in the process of the crawl, where nothing ends a page.

    Args:
        send: takes the answers, in any thread.
    """

    def __init__(self, send: Callable[[messages.Answer], None]) -> None:
        self.send = send

    def has_more(self) -> bool:
        return False

    def limit(self, number: int, seconds: float) -> AbstractContextManager[object]:  # noqa: ARG002
        return nullcontext()

    def limit_loading(self) -> AbstractContextManager[object]:
        return nullcontext()


class LocalWorker:
    """Has the methods of :class:`~crawler_dedup.crawl.workerprocess.ChildProcess`."""

    pid = 0
    is_stopped = False

    def __init__(self) -> None:
        self._worker: TextMaker | None = None
        self._has_failed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def wait_until_ready(self, start: messages.Start, log: Callable[[messages.LogLine], object]) -> messages.Ready:  # noqa: ARG002  (it logs itself)
        """Open the index, and return what the worker says of it."""
        self._worker = open_worker(_NoLimits(self._deliver), start)
        # Texts are made in threads, where the pages that were signed last are not at hand.
        self._worker.make_own_text = partial(_make_own_text, self._worker.signer)
        return self._worker.ready

    def attach(self, receive: Callable[[Received], None], end: Callable[[int | None, int], None]) -> None:  # noqa: ARG002
        """Use the running event loop."""
        self._receive, self._loop = receive, asyncio.get_running_loop()

    def _deliver(self, answer: Received) -> None:  # called in any thread
        assert self._loop is not None
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._receive, answer)

    def send(self, message: messages.Start | messages.Message, body: bytes | memoryview = b"") -> None:
        """Do a job now, or in a thread if it makes a text or ends the run. The first message opens the index.

        If that fails, the jobs that follow are ignored: another worker replaces this one.
        """
        if self._has_failed:
            return
        if isinstance(message, messages.Start):
            try:
                self._deliver(self.wait_until_ready(message, lambda _: None))
            except Exception as error:
                self._has_failed = True
                self._deliver(messages.Failure.of(error))
            return
        assert self._worker is not None
        if isinstance(message.job, messages.Close):
            threading.Thread(target=self._worker.do, args=(message, b""), name="crawler-dedup end", daemon=True).start()
        elif isinstance(message.job, (messages.ExtractText, messages.MakeOwnText)):
            assert self._loop is not None
            late = messages.Answer(message.number, messages.Failure.of(TimeoutError("its text takes too long")))
            self._loop.call_later(self._worker.seconds, self._deliver, late)
            make = partial(TextMaker.do, self._worker, message, bytes(body))
            threading.Thread(target=make, name="crawler-dedup text", daemon=True).start()
        else:
            self._worker.do(message, bytes(body))

    def end_and_report(self) -> None:
        """Do nothing: a worker in this process cannot be ended."""

    def kill(self) -> None:
        """Close the index, whose run counts as dead unless it was ended. Idempotent."""
        if self._worker is not None:
            self._worker.close()


async def make_text(job: messages.Job[_T], body: bytes, seconds: float) -> _T:
    """Make a text in a thread of this process. Raises :class:`TimeoutError` if it takes longer than *seconds*."""
    text: _T = await asyncio.wait_for(run_in_own_thread(_make_text, job, body), seconds)
    return text


def _make_text(job: messages.Job[Any], body: bytes) -> Any:
    if isinstance(job, messages.ExtractText):
        return extract_text(body, job.encoding, whole=job.whole)
    assert isinstance(job, messages.MakeOwnText)
    return _make_own_text(_default_signer(), body, job.job)


def _make_own_text(signer: Signer, body: bytes, job: OwnTextJob) -> OwnText:
    from crawler_dedup.owntext.text import make_own_text  # noqa: PLC0415  (few crawls ask for own texts)

    return make_own_text(signer, body, job)


@cache
def _default_signer() -> Signer:
    return Signer(Config())
