"""A crawl with a spider of a project that starts only at the pages that `restore` has taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

from crawler_dedup.addon import Addon

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings, Settings


def make_restoring(spider: type[Any], *, follows: bool) -> type[Spider]:
    """Make a spider like *spider* that starts at restored pages only.

    Args:
        follows: whether the links of these pages are followed.
    """

    class Restoring(spider):  # type: ignore[misc]
        @classmethod
        def update_settings(cls, settings: BaseSettings) -> None:
            super().update_settings(settings)
            if not follows:
                middlewares = {**settings.getdict("SPIDER_MIDDLEWARES"), LinksLeftOut: 0}
                settings.set("SPIDER_MIDDLEWARES", middlewares, priority="cmdline")

        async def start(self) -> AsyncIterator[Any]:
            return
            yield

        def start_requests(self) -> Iterator[Any]:  # Scrapy 2.13 to 2.15, with deprecated middlewares
            return iter(())

    return Restoring


class LinksLeftOut:
    """A spider middleware that leaves out all requests of callbacks.

    The crawl then ends as one that has not followed all links, so that later crawls follow them.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._has_left_out = False
        crawler.signals.connect(self.spider_idle, signal=signals.spider_idle)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> LinksLeftOut:
        """Make the middleware, as Scrapy does."""
        return cls(crawler)

    async def process_spider_output_async(
        self,
        response: Response,  # noqa: ARG002
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002
    ) -> AsyncIterator[Any]:
        """Yield the items of a callback."""
        async for output in result:
            if self._is_item(output):
                yield output

    def process_spider_output(
        self,
        response: Response,  # noqa: ARG002
        result: Iterable[Any],
        spider: Spider | None = None,  # noqa: ARG002
    ) -> Iterable[Any]:
        """Do the same for a callback that is not asynchronous, for which Scrapy before 2.16 calls this method."""
        return filter(self._is_item, result)

    def _is_item(self, output: object) -> bool:
        is_item = not isinstance(output, Request)
        self._has_left_out |= not is_item
        return is_item

    def spider_idle(self) -> None:
        """End the crawl; with another reason than "finished" if links were left out."""
        if self._has_left_out:
            raise CloseSpider("links left out")


def stores_items(spider: type[Spider], settings: Settings) -> bool:
    """Return whether a feed or an item pipeline gets the items of *spider*; an add-on may install one."""
    applied = settings.copy()
    spider.update_settings(applied)
    has_feed = applied.getdict("FEEDS") or applied["FEED_URI"]
    has_pipeline = build_component_list(applied.getwithbase("ITEM_PIPELINES"))
    others = [addon for addon in build_component_list(applied.getdict("ADDONS")) if load_object(addon) is not Addon]
    return bool(has_feed or has_pipeline or others)
