"""An extension of Scrapy that shows the statistics of the filter to Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import REGISTRY, start_http_server
from prometheus_client.core import GaugeMetricFamily
from scrapy.crawler import Crawler
from scrapy.statscollectors import StatsCollector


class Metrics:
    """Named in the setting ``EXTENSIONS``."""

    def __init__(self, stats: StatsCollector) -> None:
        self.stats = stats
        REGISTRY.register(self)
        start_http_server(9410, addr="127.0.0.1")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Metrics:
        """Return the extension of *crawler*."""
        return cls(crawler.stats)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the statistics as they are now."""
        counts = GaugeMetricFamily("dedup", "Statistics of the near-duplicate filter", labels=["name"])
        hosts = GaugeMetricFamily("dedup_dropped_by_host", "Dropped pages", labels=["host"])
        for name, value in self.stats.get_stats().copy().items():
            if name.startswith("dedup/dropped_by_host/"):
                hosts.add_metric([name.removeprefix("dedup/dropped_by_host/")], value)
            elif name.startswith("dedup/"):
                counts.add_metric([name.removeprefix("dedup/")], value)
        yield counts
        yield hosts
