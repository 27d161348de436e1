"""Downloader middleware: runs each response through the filter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import Spider, signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response

from crawler_dedup.config import Config
from crawler_dedup.crawl.browserpages import META_PAGE, BrowserPages
from crawler_dedup.crawl.checker import Checker
from crawler_dedup.crawl.compat import is_asyncio_available
from crawler_dedup.crawl.configuration import FilterOff, config_of, is_preview, refusal_logged, require_companion
from crawler_dedup.crawl.gate import Gate
from crawler_dedup.crawl.restorations import META_RESTORED
from crawler_dedup.crawl.session import Session
from crawler_dedup.crawl.signals import META_DECISION, NearDuplicate, near_duplicate_dropped
from crawler_dedup.errors import DedupError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawler_dedup.crawl.preview import Preview


class DedupMiddleware:
    """Drops near-duplicate pages and, with them, their outlinks.

    Its order is 40, so that only the middleware of works sees a response later, before the spider: a response that a
    user's own middleware turns into a retry (a ban, a captcha) is never judged.

    Attributes:
        session: the index, the claims and the monitor of the crawl. A Scrapy command that shows single pages has none: all
            pages pass there.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self.crawler = crawler
        self._gate = Gate(crawler, config)
        self._browser_pages = BrowserPages(crawler.settings)
        self._checker: Checker | Preview
        if is_preview(crawler):
            from crawler_dedup.crawl.preview import Preview  # noqa: PLC0415  (no crawl needs it)

            self._checker = Preview(crawler, config, self._gate)
        else:
            self.session = Session(crawler, config)
            self._checker = Checker(self.session, self._gate, config)
        crawler.signals.connect(self.request_scheduled, signal=signals.request_scheduled)

    @classmethod
    @refusal_logged()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the index. An error of the index or of a setting stops the crawl here, before the first page.

        A Scrapy command that shows single pages goes on without the filter.
        """
        try:
            config = config_of(crawler)
            if not is_preview(crawler):
                require_companion(crawler.settings, "SPIDER_MIDDLEWARES", "crawler_dedup.settling.SettlingMiddleware")
            _require_asyncio(crawler)
            return cls(crawler, config)
        except DedupError as error:
            if is_preview(crawler):
                raise FilterOff(str(error)) from error
            raise

    def request_scheduled(self, request: Request) -> None:
        """Mark *request*, and remove the decision that ``meta=response.meta`` has copied: not every queue can store it."""
        request.meta.pop(META_DECISION, None)
        self._gate.mark_scheduled(request)
        self._browser_pages.remember_context(request)

    async def process_request(self, request: Request, spider: Spider | None = None) -> Response | None:  # noqa: ARG002
        """Remove the decision that ``meta=response.meta`` has copied from the parent page; refuse a repeated request.

        Returns the stored response for a restored page that is in a WARC file.
        """
        request.meta.pop(META_DECISION, None)
        self._gate.take_scheduled_mark(request)
        self._browser_pages.remember_context(request)  # a request of a JOBDIR, or of a callback, was not scheduled here
        if META_RESTORED not in request.meta:
            return None
        if self.session.restorations.is_repeated(request):
            request.errback = None  # nothing has failed
            raise IgnoreRequest("This crawl has already requested the restored page.")
        return await self.session.restorations.read_stored(request)

    async def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:  # noqa: ARG002
        """Pass *response*, or raise :class:`~crawler_dedup.NearDuplicate` if its page is dropped and not followed."""
        checked = await self._checker.check(request, response)
        if META_RESTORED in request.meta:
            self.session.restorations.record_response(request, response, checked.decision if checked else None)
        if checked is None:
            request.meta.pop(META_DECISION, None)
            return response
        request.meta[META_DECISION] = checked.decision
        if not checked.drops:
            return response
        self.crawler.signals.send_catch_log(
            near_duplicate_dropped,
            decision=checked.decision,
            request=request,
            response=response,
            spider=self.crawler.spider,
        )
        if checked.follows:
            self.session.followed.add(request)
            return response
        if META_PAGE in request.meta:
            await self._browser_pages.close(request, self.session.monitor)
        raise NearDuplicate(checked.decision)


def _require_asyncio(crawler: Crawler) -> None:
    """Raise :class:`DedupError` if the crawl does not run in an event loop of asyncio."""
    if not is_asyncio_available():
        raise DedupError(
            "crawler-dedup needs the asyncio reactor, Scrapy's default, or TWISTED_REACTOR_ENABLED = False;"
            f" TWISTED_REACTOR is {crawler.settings['TWISTED_REACTOR']!r}."
        )
