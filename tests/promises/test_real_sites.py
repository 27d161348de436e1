"""Crawls of saved real sites, which do not belong to this project."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.crawling import SITE_SPIDER, run_script
from tests.support.data import html_pages, served

pytestmark = pytest.mark.usefixtures("data")


def test_a_site_with_two_addresses_for_each_page_stores_each_content_once(tmp_path: Path) -> None:
    with served("debian-faq") as origin:
        # All simultaneous pages may wait until their copies were handled.
        settings = {"CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}
        crawl = run_script(tmp_path, SITE_SPIDER, settings, url=f"{origin}/_all.html")
    stored = Counter(item["text"] for item in crawl.items)
    assert len(html_pages("debian-faq")) == 34
    assert set(stored.values()) == {1}
    assert len(stored) == 17 + 1  # the generated list of all pages too
    assert crawl.counts()["dropped"] == 17


def test_session_identifiers_do_not_make_a_site_endless(tmp_path: Path) -> None:
    with served("debian-faq", "--session-links") as origin:
        crawl = run_script(tmp_path, SITE_SPIDER, url=f"{origin}/index.html")
    assert crawl.stats["finish_reason"] == "finished"
    assert crawl.counts()["kept"] == 17
