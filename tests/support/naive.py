"""The filter as it would be without claims: a page stands for others from the moment in which it is seen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from crawler_dedup import Config, Decision, SignedPage
from crawler_dedup.crawl.claims import Claims
from crawler_dedup.middleware import DedupMiddleware

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

SETTINGS = {
    "ADDONS": "{}",
    "DOWNLOADER_MIDDLEWARES": '{"tests.support.naive.SeenMiddleware": 40}',
    "SPIDER_MIDDLEWARES": '{"crawler_dedup.settling.SettlingMiddleware": 10}',
    "DEDUP_GRACE": "0",
}
"""Scrapy settings, as on its command line, that put it in the place of the filter."""


class _Seen(Claims):
    """Settles what passes at once. A decision without claim is nothing that the spider middleware ends."""

    async def _offer(self, offered: tuple[SignedPage, str]) -> Decision:
        await self._gathering.wait()
        (decision,) = await asyncio.wait_for(
            asyncio.wrap_future(self._deduplicator.submit(offered[:1])), timeout=self._timeout
        )
        return decision


class SeenMiddleware(DedupMiddleware):
    """The same middleware, but for the claims."""

    def __init__(self, crawler: Crawler, config: Config) -> None:
        super().__init__(crawler, config)
        session = self.session
        session.claims = _Seen(
            session.deduplicator,
            session.monitor,
            1,
            patience=config.claim_timeout,
            timeout=config.timeout,
            count_coming=session.count_requested,
        )
