"""Do the jobs of a crawl: sign its pages, decide about them, end their claims, make texts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import count
from typing import NamedTuple, Protocol

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.errors import DedupError
from crawler_dedup.index.limits import MAX_KNOWN_SNAPSHOTS
from crawler_dedup.index.overrides import make_override
from crawler_dedup.index.profiles import site_key
from crawler_dedup.pagetext import OwnText, OwnTextJob, RepeatedBlocks
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.forms import CrawlSigner
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.logs import logger_without_credentials
from crawler_dedup.worker import messages, restorations

logger = logger_without_credentials("crawler_dedup.middleware")

_TOGETHER = 8
"""Number of pages that are offered together: their callbacks may run in one turn of the event loop."""
_TOGETHER_SECONDS = 0.02
"""Seconds for which a signed page waits for others. Pages that take that long are offered one at a time: otherwise the crawl
would have no page to handle until eight are signed."""
_ANSWER_SECONDS = 6.0
"""A page waits for the index for this time or a fifth of ``DEDUP_TIMEOUT``, whichever is longer, but never longer
than ``DEDUP_TIMEOUT``: most of that time is meant for signing."""
_TIDYING_PAGES, _TIDYING_PAUSE = 1_000, 0.005


class Channel(Protocol):
    """What a worker needs of its process: the way back to the crawl, and limits for each page."""

    def send(self, message: messages.Answer) -> None:
        """Send *message*, in any thread."""

    def has_more(self) -> bool:
        """Return whether a further message has arrived."""

    def limit(self, number: int, seconds: float) -> AbstractContextManager[object]:
        """Limit the time of a page, which is that of the job of this *number*."""

    def limit_loading(self) -> AbstractContextManager[object]:
        """Limit the time in which a dictionary is loaded; that of the page goes on afterwards."""


class TextMaker:
    """Makes texts of pages, without an index.

    Attributes:
        seconds: how long it may work on a page.
        signer: signs pages.
        make_own_text: makes the own text of a page.
    """

    def __init__(self, channel: Channel, signer: Signer, seconds: float) -> None:
        self._channel = channel
        self.seconds = seconds
        self._use(signer)

    @property
    def ready(self) -> messages.Ready:
        """What the crawl is told of the index."""
        return messages.Ready()

    def _use(self, signer: Signer) -> None:
        self.signer = signer
        self._crawl_signer = CrawlSigner(signer)
        self.make_own_text: Callable[[bytes, OwnTextJob], OwnText] = self._make_own_text

    def _make_own_text(self, body: bytes, job: OwnTextJob) -> OwnText:
        return self._crawl_signer.own_texts.make(body, job)

    def do(self, message: messages.Message, body: bytes) -> None:
        """Do the job of a message, and send the answer."""
        try:
            result = self._do(message.number, message.job, body)
        except Exception as error:
            result = messages.Failure.of(error)
        if result is not None:
            self._channel.send(messages.Answer(message.number, result))

    def _do(self, number: int, job: messages.AnyJob, body: bytes) -> messages.Result | None:
        """Return the result of *job*; ``None`` if it is sent later."""
        with self._channel.limit(number, self.seconds):
            if isinstance(job, messages.ExtractText):
                return extract_text(body, job.encoding, whole=job.whole)
            assert isinstance(job, messages.MakeOwnText)
            return self.make_own_text(body, job.job)

    def _sign(self, job: messages.CheckPage, body: bytes) -> tuple[SignedPage, Sequence[bytes]]:
        page, forms = self._crawl_signer.sign(job.url, body, encoding=job.encoding, key=job.key, scope=job.scope)
        return msgspec.structs.replace(page, links_followed=job.links_followed, size=max(page.size, job.size)), forms

    def close(self) -> None:
        """Close the index, if it is open; its run then counts as dead unless it was ended."""


class _Signed(NamedTuple):
    """A signed page, which waits for its decision."""

    number: int
    page: SignedPage
    alias: str
    is_dry: bool
    forms: Sequence[bytes] = ()
    began: float = 0.0


class Worker(TextMaker):
    """Does the jobs of a crawl, as the first message says.

    Raises:
        DedupError: the index cannot be opened.
    """

    def __init__(self, channel: Channel, start: messages.Start) -> None:
        config = Config(**start.settings)
        claims = count(start.number << messages.CLAIM_BITS)
        location = os.fsdecode(start.location)
        is_first = start.number == 1
        self._deduplicator = Deduplicator.join(location, config, start.run, start.offset, claims, is_first=is_first)
        signer = self._deduplicator.signer
        signer.load(dictionary=False)
        signer.around_loading = channel.limit_loading
        super().__init__(channel, signer, config.timeout)
        self._offer_seconds = min(config.timeout, max(_ANSWER_SECONDS, config.timeout / 5))
        self._signed: list[_Signed] = []
        self._repeated: dict[bytes, RepeatedBlocks] = {}
        self._signs_since = 0.0
        self._offered: dict[Future[list[Decision]], float] = {}
        self._closing = threading.Event()
        self._tidied = 0
        threading.Thread(target=self._withdraw_late, name="crawler-dedup offers", daemon=True).start()
        self._pages: int | None = None  # as the crawl begins: counted before the tidying removes any
        with suppress(DedupError, OSError):  # if the server is slow to answer, the crawl begins nevertheless
            self._pages = len(self._deduplicator)
        if is_first:
            threading.Thread(target=self._tidy, name="crawler-dedup tidying", daemon=True).start()

    @property
    def ready(self) -> messages.Ready:
        """What the crawl is told of the index."""
        opened = self._deduplicator
        name, scheme = opened.index.name, opened.scheme_description
        return messages.Ready(
            name, self._pages, scheme, opened.config.tokenizer, opened.has_emptied_index, opened.lock_file
        )

    def do(self, message: messages.Message, body: bytes) -> None:
        if not message.is_urgent:  # it has overtaken messages with an earlier time
            self._deduplicator.set_stored_until(message.stored_until)
        if not self._signed:
            self._signs_since = time.monotonic()
        super().do(message, body)
        is_old = time.monotonic() > self._signs_since + _TOGETHER_SECONDS
        if self._signed and (is_old or len(self._signed) >= _TOGETHER or not self._channel.has_more()):
            self._offer_signed()

    def _do(  # noqa: PLR0911  (one return a job)
        self, number: int, job: messages.AnyJob, body: bytes
    ) -> messages.Result | None:
        opened = self._deduplicator
        if isinstance(job, messages.CheckPage):
            began = time.monotonic()
            with self._channel.limit(number, self.seconds):
                page, forms = self._sign(job, body)
            self._signed.append(_Signed(number, page, job.alias, job.is_dry, forms, began))
        elif isinstance(job, messages.DecideAgain):
            self._signed.append(_Signed(number, job.page, job.alias, job.is_dry))
        elif isinstance(job, messages.EndClaim):
            decision = Decision(Verdict.NEW, "", job.key, job.scope, claim=job.claim)
            opened.end_claim(decision, settled=job.settled).add_done_callback(partial(self._answer_end, number))
        elif isinstance(job, messages.Measure):
            return messages.Figures(len(opened), opened.index.stored_bytes)
        elif isinstance(job, messages.KeepAddress):
            return bool(opened.index.add_overrides([make_override("keep", [job.url], int(time.time()))]))
        elif isinstance(job, messages.ListRestorations):
            return restorations.list_waiting(opened.index, job.spider)
        elif isinstance(job, messages.EndRestorations):
            return restorations.end(opened.index, job)
        elif isinstance(job, messages.Close):
            self._closing.set()
            opened.close(all_stored=job.finished is not None, finished=bool(job.finished))
            return True
        elif isinstance(job, messages.MakeOwnText) and job.scope is not None:
            own = msgspec.structs.replace(job.job, repeated=self._find_repeated(job.url, job.scope, job.snapshot))
            return super()._do(number, msgspec.structs.replace(job, job=own), body)
        else:
            return super()._do(number, job, body)
        return None

    def close(self) -> None:
        self._closing.set()
        self._deduplicator.close(all_stored=False)

    def _find_repeated(self, url: str, scope: str, snapshot: int) -> RepeatedBlocks:
        """Return what a site repeats. The index is read only for another *snapshot*; if it cannot be, the last is taken."""
        key = site_key(scope, url)
        known = self._repeated.get(key)
        if known is None or snapshot not in (0, known.snapshot):
            try:
                read = self._deduplicator.repeated_blocks(url, scope)
            except DedupError:
                return known or RepeatedBlocks()
            if len(self._repeated) >= MAX_KNOWN_SNAPSHOTS:
                self._repeated.clear()
            known = self._repeated[key] = read
        return known

    def _offer_signed(self) -> None:
        """Offer the signed pages, which then share a transaction."""
        offered, self._signed = self._signed, []
        for signed in offered:
            page, aliases = signed.page, {signed.page.key: signed.alias} if signed.alias else {}
            try:
                future = self._deduplicator.submit([page], claim=True, aliases=aliases, is_dry=signed.is_dry)
            except Exception as error:
                future = Future()
                future.set_exception(error)
            self._offered[future] = time.monotonic()
            future.add_done_callback(partial(self._answer, signed))

    def _answer(self, signed: _Signed, future: Future[list[Decision]]) -> None:  # called in the writing thread
        self._offered.pop(future, None)
        error = TimeoutError("no answer from the index in time") if future.cancelled() else future.exception()
        outcome = future.result()[0] if error is None else messages.Failure.of(error)
        checked = messages.Checked(signed.page, outcome, signed.forms, signed.began)
        self._channel.send(messages.Answer(signed.number, checked))

    def _answer_end(self, number: int, future: Future[bool]) -> None:  # called in the writing thread
        error = future.exception()
        self._channel.send(messages.Answer(number, future.result() if error is None else messages.Failure.of(error)))

    def _withdraw_late(self) -> None:
        """Withdraw the pages that wait for the index for too long, unless their transaction has begun."""
        while not self._closing.wait(min(1.0, self._offer_seconds / 4)):
            for future, since in list(self._offered.items()):
                if time.monotonic() > since + self._offer_seconds:
                    future.cancel()

    def _tidy(self) -> None:
        try:
            forgotten = self._deduplicator.tidy(self._pause_tidying)
        except DedupError as error:
            if not self._closing.is_set():
                logger.warning("The index could not be tidied up: %s", error)
        else:
            if forgotten:
                logger.info(
                    "Removed %d pages from the index: they have expired, or a crawl that failed may not have"
                    " stored their items",
                    forgotten,
                )

    def _pause_tidying(self, pages: int) -> None:
        """Give the crawl priority, and stop when it ends. Called for each page."""
        self._tidied += pages
        if self._tidied % _TIDYING_PAGES == 0:
            time.sleep(_TIDYING_PAUSE)
        if self._closing.is_set():
            raise DedupError("the crawl is over.")


def open_worker(channel: Channel, start: messages.Start) -> TextMaker:
    """Return a worker for the crawl that has sent *start*. Raises :class:`DedupError`."""
    if start.run:
        return Worker(channel, start)
    from crawler_dedup.worker.preview import Previewer  # noqa: PLC0415  (no crawl needs it)

    return Previewer(channel, start)
