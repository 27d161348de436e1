"""Crawls of sites, whose pages one after the other are decided about."""

import pytest

from crawler_dedup import Deduplicator
from tests.support.sitepages import Crawl


@pytest.fixture
def crawl(request: pytest.FixtureRequest, deduplicator: Deduplicator) -> Crawl:
    """Return a crawl of a site, of which nothing is known unless ``knowing`` asks for it."""
    crawl = Crawl(deduplicator)
    if getattr(request, "param", False):
        crawl.get_known()
    return crawl


@pytest.fixture
def mirror(deduplicator: Deduplicator) -> Crawl:
    """Return a crawl of another host with the same index."""
    return Crawl(deduplicator, "http://mirror")
