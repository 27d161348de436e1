"""The jobs that need no run of an index: make texts of pages, and preview decisions."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from typing import Protocol

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.errors import IndexMissing
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.location import Location, find_location
from crawler_dedup.index.opening import open_index
from crawler_dedup.pagetext import OwnText, OwnTextJob
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.forms import CrawlSigner
from crawler_dedup.signing.segmentation import with_tokenizer_of_index
from crawler_dedup.signing.signer import Signer
from crawler_dedup.urls import identifier_without_credentials
from crawler_dedup.worker import messages


class Channel(Protocol):
    """What a worker needs of its process: the way back to the crawl, and limits for each page."""

    def send(self, message: messages.Answer) -> None:
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


def preview(location: Location, signer: Signer, page: SignedPage, *, alias: str = "") -> Decision:
    """Return the decision that a crawl which begins now would make about *page*, and change nothing.

    Works while a crawl uses the index. If there is no index, the page is new, and no directory is created.

    Args:
        signer: the signer that has signed the page. Use :func:`with_tokenizer_of_index` to make it and to call this.
        alias: another key of the page: that of an address that redirected to it.

    Raises:
        IndexMismatch: the index was made with another configuration.
        IndexUnusable: it cannot be read.
    """
    try:
        store = open_index(location, signer.spec)
    except IndexMissing:
        verdict = Verdict.UNCHECKED if page.unsigned else Verdict.NEW
        return Decision(verdict, page.url, page.key, page.scope, page.unsigned)
    with closing(store):
        matcher = RuleMatcher(signer.config, signer.scheme)
        return store.preview(page, matcher, RunContext.of(signer.config), alias=identifier_without_credentials(alias))


class Previewer(TextMaker):
    """Decides what a crawl that begins now would do with pages, and changes nothing."""

    def __init__(self, channel: Channel, start: messages.Start) -> None:
        self._config = Config(**start.settings)
        self._location = find_location(os.fsdecode(start.location))
        super().__init__(channel, Signer(self._config), self._config.timeout)

    def _do(self, number: int, job: messages.AnyJob, body: bytes) -> messages.Result | None:
        if not isinstance(job, messages.CheckPage):
            return super()._do(number, job, body)

        def preview_with(config: Config) -> messages.Checked:
            if config != self._config:
                self._config = config
                self._use(Signer(config))
            page, forms = self._sign(job, body)
            return messages.Checked(page, preview(self._location, self.signer, page, alias=job.alias), forms)

        with self._channel.limit(number, self.seconds):
            return with_tokenizer_of_index(self._config, preview_with)
