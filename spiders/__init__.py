"""The spiders of the package under their names for ``scrapy crawl`` in this checkout.

Scrapy takes only classes that are defined in the modules it is given.
"""

from crawler_dedup.spiders import demo, site


class DemoSpider(demo.DemoSpider):
    """``scrapy crawl demo``: crawl two small sites on this machine and show what the filter does."""


class SiteSpider(site.SiteSpider):
    """``scrapy crawl site``: crawl sites and yield the main text of each page that is kept."""
