"""The Scrapy add-on that installs the filter in a project: ``ADDONS = {"crawler_dedup.Addon": 500}``."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from crawler_dedup.crawl.startup import refusal_logged
from crawler_dedup.middleware import DedupMiddleware
from crawler_dedup.settling import SettlingMiddleware


class Addon:
    """Installs both middlewares, unless the project's settings name them already."""

    @refusal_logged()
    def update_settings(self, settings: BaseSettings) -> None:
        """Add the middlewares that *settings* lack; an order, or ``None``, from the project takes precedence."""
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", DedupMiddleware, 40)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", SettlingMiddleware, 10)
