"""The Scrapy add-on that installs the filter in a project: ``ADDONS = {"crawler_dedup.Addon": 500}``."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from crawler_dedup.config.settings import PROCESSES
from crawler_dedup.crawl.configuration import refusal_logged
from crawler_dedup.crawl.workerprocess import start_ahead


class Addon:
    """Installs the middlewares, unless the project's settings name them already. In ``settings.py``:

    >>> ADDONS = {"crawler_dedup.Addon": 500}
    """

    @refusal_logged()
    def update_settings(self, settings: BaseSettings) -> None:
        """Add the middlewares that *settings* lack; an order, or ``None``, from the project takes precedence."""
        switches = {"DEDUP_ENABLED": True, "DEDUP_PROCESSES": PROCESSES}
        if all(str(settings.get(name, default)).lower() not in ("0", "false") for name, default in switches.items()):
            start_ahead(settings)
        # Importing them takes as long as the start of the process.
        from crawler_dedup.middleware import DedupMiddleware  # noqa: PLC0415
        from crawler_dedup.settling import SettlingMiddleware  # noqa: PLC0415

        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", DedupMiddleware, 40)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", SettlingMiddleware, 10)
        if settings.get("DEDUP_WORKS"):
            from crawler_dedup.works.middleware import WorksMiddleware  # noqa: PLC0415  (no part of the core)

            settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", WorksMiddleware, 39)
