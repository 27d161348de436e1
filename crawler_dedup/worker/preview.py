"""Preview the decisions of a crawl, for Scrapy's commands that show single pages."""

from __future__ import annotations

import os
from contextlib import closing

from crawler_dedup.config import Config
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.errors import IndexMissing
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.location import Location, find_location
from crawler_dedup.index.opening import open_index
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.segmentation import with_tokenizer_of_index
from crawler_dedup.signing.signer import Signer
from crawler_dedup.urls import identifier_without_credentials
from crawler_dedup.worker import messages
from crawler_dedup.worker.worker import Channel, TextMaker


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
