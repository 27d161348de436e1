"""Scrapy settings of this checkout: those of ``crawler-dedup crawl``, and where its spiders stand."""

from crawler_dedup.spiders.polite import *  # noqa: F403

SPIDER_MODULES = ["spiders"]
NEWSPIDER_MODULE = "spiders"
