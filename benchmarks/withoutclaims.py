"""The filter as it would be without claims: a page is a representative as soon as it is seen."""

from __future__ import annotations

from scrapy import Spider
from scrapy.http import Request, Response

from crawler_dedup import Decision
from crawler_dedup.crawl.signals import META_DECISION
from crawler_dedup.middleware import DedupMiddleware

SETTINGS = {
    "ADDONS": "{}",
    "DOWNLOADER_MIDDLEWARES": '{"benchmarks.withoutclaims.SeenMiddleware": 40}',
    "SPIDER_MIDDLEWARES": '{"crawler_dedup.settling.SettlingMiddleware": 10}',
    "DEDUP_GRACE": "0",
}
"""Scrapy settings, as on its command line, that replace the filter by this one."""


class SeenMiddleware(DedupMiddleware):
    """The same middleware without claims."""

    async def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:
        """Settle a page that passes at once, not once it was handled."""
        passed = await super().process_response(request, response, spider)
        decision = request.meta.get(META_DECISION)
        if isinstance(decision, Decision):
            self.session.claims.begin(request, decision).end(settled=True)
        return passed
