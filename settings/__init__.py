"""Scrapy settings of this checkout: those of ``crawler-dedup crawl``, and where its spiders stand."""

from crawler_dedup.spiders.polite import *  # noqa: F403

SPIDER_MODULES = ["spiders"]
NEWSPIDER_MODULE = "spiders"

# What most projects set, with the defaults. `crawler-dedup settings` explains all settings.
# DEDUP_ACTION = "drop"  # "mark" lets all pages pass, with the decision in response.meta["dedup"]: a dry run
# DEDUP_SCOPE = "spider"  # what pages are compared with: "domain", "language", "global", or a function
# DEDUP_DIR = "dedup"  # directory of the index, below .scrapy/
# DEDUP_INDEX = ""  # address of an index on a server, for crawls on several machines: "redis://host/0"
# DEDUP_REVISIT = "pass"  # "drop": pages that are unchanged since the last crawl are dropped
# DEDUP_NEVER_DROP = []  # pages below these addresses pass: ["https://example.org/minutes/"]
# DEDUP_EXPIRE_DAYS = 0.0  # days after which a page that was not seen again is forgotten; 0: never
# DEDUP_PROCESSES = 1  # processes that sign pages
# DEDUP_STORE_TEXT = False  # True: main texts are stored, so that drops can be reviewed without fetching pages
