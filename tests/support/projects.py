"""Scrapy projects for the tests of its commands."""

from pathlib import Path

from tests.support.crawling import Site, article, html

ADDON = 'ADDONS = {"crawler_dedup.Addon": 500}\n'
PAGES = {"/page": html(article("page")), "/copy": html(article("page", frame="copy"))}

PROJECT_SPIDER = '''
import scrapy

class Spider(scrapy.Spider):
    name = "project"
    start_urls = ["{site}/page", "{site}/copy"]

    def parse(self, response):
        """
        @url {site}/page
        @returns items 1 1
        @scrapes title
        """
        yield {{"title": response.css("h1::text").get(), "url": response.url}}
'''


def project(directory: Path, site: Site, settings: str) -> Path:
    """Return a Scrapy project in *directory* with one spider, ``project``, and these settings."""
    (directory / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
    common = "SPIDER_MODULES = ['project_spiders']\nCONCURRENT_REQUESTS = 1\nTELNETCONSOLE_ENABLED = False\n"
    (directory / "project_settings.py").write_text(common + settings)
    (directory / "project_spiders.py").write_text(PROJECT_SPIDER.format(site=site.url))
    return directory


def index_of(directory: Path) -> Path:
    """Return the default path of the index of a project."""
    return directory / ".scrapy" / "dedup"
