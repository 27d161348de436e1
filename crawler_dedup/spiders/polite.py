"""Scrapy settings that are polite to the sites that are crawled, with the filter on."""

BOT_NAME = "crawler-dedup"

ADDONS = {"crawler_dedup.Addon": 500}

# Say who crawls and how to reach you before you crawl a site that is not yours.
USER_AGENT = "crawler-dedup (a crawler that stores each content once)"
ROBOTSTXT_OBEY = True
# One request at a time to a host, one second apart, slower when the host is slow.
CONCURRENT_REQUESTS_PER_DOMAIN = 1
DOWNLOAD_DELAY = 1.0
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1.0
# Breadth first: hubs before what they lead to, so that the kept page is the one with the shortest path.
DEPTH_PRIORITY = 1
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"

FEED_EXPORT_ENCODING = "utf-8"
TELNETCONSOLE_ENABLED = False
