"""Show what a crawl would decide about the page of ``scrapy shell``, ``fetch``, ``view`` or ``parse``, without filing it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
from scrapy.http import Request, Response
from scrapy.utils.spider import DefaultSpider

from crawler_dedup.config import Config
from crawler_dedup.crawl.background import run_in_own_thread
from crawler_dedup.crawl.checker import CheckedResponse, is_unwanted
from crawler_dedup.crawl.gate import Gate, Identity, action_of
from crawler_dedup.crawl.startup import data_directory
from crawler_dedup.crawl.text import declared_encoding
from crawler_dedup.decision import BEING_HANDLED, Decision, Verdict
from crawler_dedup.errors import IndexMissing
from crawler_dedup.index.location import Location, find_location
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.index.verdicts import RunContext
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import SignedPage, clean_identifier
from crawler_dedup.signing.segmentation import with_tokenizer_of_index
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.logs import logger_without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logger_without_credentials("crawler_dedup.middleware")

_INTERNAL_REQUESTS = ("inline", "no_callback")
"""Reasons why responses that Scrapy, a middleware or a callback has requested, such as ``robots.txt``, are not checked."""


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
        store = open_pages(location, signer.spec)
    except IndexMissing:
        verdict = Verdict.UNCHECKED if page.unsigned else Verdict.NEW
        return Decision(verdict, page.url, page.key, page.scope, page.unsigned)
    with closing(store):
        return store.preview(page, RuleMatcher(signer), RunContext.of(signer.config), alias=clean_identifier(alias))


class Preview:
    """Checks responses as a :class:`~crawler_dedup.crawl.checker.Checker` does, but records nothing, and lets all pass."""

    def __init__(self, crawler: Crawler, config: Config, gate: Gate) -> None:
        self._crawler = crawler
        self._config = config
        self._gate = gate
        self._location = find_location(config.index or data_directory(config))
        self._signer = Signer(config)

    async def check(self, request: Request, response: Response) -> CheckedResponse | None:
        """Return and log what a crawl would decide now; return ``None`` if it would not check *response*."""
        decision = Decision(Verdict.UNCHECKED, response.url, "", "", reason="error")
        try:
            self._gate.take_scheduled_mark(request)
            reason = self._gate.skip_reason(request, response)
            if reason:
                if reason not in _INTERNAL_REQUESTS:
                    self._log(logging.INFO, "a crawl would not check %s (%s)", response, reason)
                return None
            action = action_of(request, self._config.action)
            identity = self._gate.identity_of(request, response)
            deciding = run_in_own_thread(self._decide, response, identity, action)
            decision = await asyncio.wait_for(deciding, self._config.timeout)
            self._report(decision, action if is_unwanted(decision, response, self._config) else "")
        except Exception as error:
            self._log(logging.WARNING, "no decision about %s: %s: %s", response, type(error).__name__, error)
        return CheckedResponse(decision, drops=False, follows=False)

    def _decide(self, response: Any, identity: Identity, action: str) -> Decision:
        def decide_with(config: Config) -> Decision:
            signer = self._signer if config == self._signer.config else Signer(config)
            encoding, key, scope = declared_encoding(response), identity.key, identity.scope
            page, _ = signer.sign(response.url, response.body, encoding=encoding, key=key, scope=scope)
            page = msgspec.structs.replace(page, links_followed=action == "follow")
            return preview(self._location, signer, page, alias=identity.alias)

        return with_tokenizer_of_index(self._config, decide_with)

    def _report(self, decision: Decision, action: str) -> None:
        """Log *decision*. *action*: the action for an unwanted page, or ``""``."""
        has_no_spider = self._config.scope == "spider" and isinstance(self._crawler.spider, DefaultSpider)
        self._log(
            logging.INFO,
            "%s: a crawl would %s. Nothing was filed; it was compared with pages of scope %r%s",
            decision,
            _outcome(decision, action),
            decision.scope,
            ". --spider NAME compares with the pages of that spider" if has_no_spider else "",
        )

    def _log(self, level: int, message: str, *args: object) -> None:
        logger.log(level, f"Near-duplicate filter: {message}", *args, extra={"spider": self._crawler.spider})


def _outcome(decision: Decision, action: str) -> str:
    """Return in words what a crawl would do with the page of *decision*. *action*: ``""`` unless the page is unwanted."""
    if action == "drop":
        return "drop it"
    if action == "follow":
        return "discard its items and follow its links"
    if decision.verdict is Verdict.DUPLICATE:
        return "mark it"
    if decision.reason == BEING_HANDLED:
        return "wait until that page was handled"
    return "let it pass"
