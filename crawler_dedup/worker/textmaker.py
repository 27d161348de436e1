"""Sign pages and make texts of them for a crawl, without an index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from crawler_dedup.pagetext import OwnText, OwnTextJob
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.forms import CrawlSigner
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.channel import Failure
from crawler_dedup.worker.messages import Answer, CheckPage, ExtractText, Job, MakeOwnText, Message, Ready, Result


class Channel(Protocol):
    """What a worker needs of its process: the way back to the crawl, and limits for each page."""

    def send(self, message: Answer) -> None:
        """Send *message*, in any thread."""

    def has_more(self) -> bool:
        """Return whether a further message has begun to arrive."""

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
    def ready(self) -> Ready:
        """What the crawl is told of the index."""
        return Ready()

    def _use(self, signer: Signer) -> None:
        self.signer = signer
        self._crawl_signer = CrawlSigner(signer)
        self.make_own_text: Callable[[bytes, OwnTextJob], OwnText] = self._make_own_text

    def _make_own_text(self, body: bytes, job: OwnTextJob) -> OwnText:
        return self._crawl_signer.own_texts.make(body, job)

    def do(self, message: Message, body: bytes) -> None:
        """Do the job of a message, and send the answer."""
        try:
            result = self._do(message.number, message.job, body)
        except Exception as error:
            result = Failure.of(error)
        if result is not None:
            self._channel.send(Answer(message.number, result))

    def _do(self, number: int, job: Job, body: bytes) -> Result | None:
        """Return the result of *job*; ``None`` if it is sent later."""
        with self._channel.limit(number, self.seconds):
            if isinstance(job, ExtractText):
                return extract_text(body, job.encoding, whole=job.whole)
            assert isinstance(job, MakeOwnText)
            return self.make_own_text(body, job.job)

    def _sign(self, job: CheckPage, body: bytes) -> tuple[SignedPage, Sequence[bytes]]:
        page, forms = self._crawl_signer.sign(job.url, body, encoding=job.encoding, key=job.key, scope=job.scope)
        return msgspec.structs.replace(page, links_followed=job.links_followed), forms

    def close(self) -> None:
        """Close the index, if it is open; its run then counts as dead unless it was ended."""
