"""`restore --now` crawls restored pages at once, and only where their items are stored."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.settings import Settings

from crawler_dedup.spiders.running import stores_items
from tests.support.commandline import command
from tests.support.council import NEWS, PAGES
from tests.support.crawling import Answer, Site, html, run_scrapy
from tests.support.projects import ADDON, project


def paths_in(feed: Path) -> list[str]:
    lines = feed.read_text(encoding="utf-8").splitlines()
    return sorted("/" + json.loads(line)["url"].split("/", 3)[3] for line in lines)


def crawl_news(directory: Path, site: Site, start: str = "/", *words: str) -> None:
    (directory / "project_spiders.py").write_text(NEWS.replace("{site}/", f"{{site}}{start}", 1).format(site=site.url))
    done = run_scrapy(directory, "crawl", "news", "-o", "pages.jsonl", *words)
    assert done.returncode == 0, done.stdout


def restore(directory: Path, site: Site, *words: str) -> subprocess.CompletedProcess[str]:
    return command(directory, "restore", f"{site.url}/rejected", "--now", "news", *words)


@pytest.fixture
def crawled(tmp_path: Path) -> Iterator[tuple[Path, Site]]:
    """Yield a project after a crawl that has dropped a page, and its site."""
    with Site({path: html(text) for path, text in PAGES.items()}) as site:
        directory = project(tmp_path, site, f"{ADDON}DEDUP_REVISIT = 'drop'\n")
        crawl_news(directory, site)
        site.asked.clear()
        yield directory, site


def test_a_page_is_written_to_the_feed_of_the_crawl_and_its_links_are_left_to_later_crawls(
    crawled: tuple[Path, Site],
) -> None:
    directory, site = crawled
    assert paths_in(directory / "pages.jsonl") == ["/approved", "/public"]
    done = restore(directory, site, "-o", "pages.jsonl")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 page restored."), done.stderr
    assert site.paths() == ["/rejected"]
    assert paths_in(directory / "pages.jsonl") == ["/approved", "/public", "/rejected"]
    # As unchanged, a page whose links were followed is dropped, and its links are not followed again.
    crawl_news(directory, site, "/rejected")
    assert paths_in(directory / "pages.jsonl")[-3:] == ["/private/2", "/public", "/rejected"]


def test_nothing_is_crawled_if_nothing_can_be_restored_or_nothing_would_store_the_items(
    crawled: tuple[Path, Site],
) -> None:
    directory, site = crawled
    done = command(directory, "restore", f"{site.url}/public", "--now", "news", "-o", "pages.jsonl")
    assert (done.returncode, done.stdout) == (1, "0 pages restored.\n")
    assert "no journal has a drop of it" in done.stderr
    assert "Scrapy" not in done.stderr
    done = restore(directory, site)
    assert done.returncode == 2
    assert "has neither a feed nor an item pipeline: name a file with -o" in " ".join(done.stderr.split())
    assert site.paths() == []
    assert command(directory, "index", "overrides").stdout == "There are no overrides.\n"


def test_a_page_that_cannot_be_crawled_now_waits_for_the_next_crawl(crawled: tuple[Path, Site]) -> None:
    directory, site = crawled
    page, site.pages["/rejected"] = site.pages["/rejected"], Answer(b"", 403)
    done = restore(directory, site, "-o", "pages.jsonl")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (1, ["0 pages restored."])
    assert (
        "1 page could not be fetched, or belongs to a spider other than news: `crawler-dedup index overrides`"
        in done.stderr
    )
    assert "(restored by the next crawl of news)" in command(directory, "index", "overrides").stdout
    site.pages["/rejected"] = page
    pages = restore(directory, site, "-O", "-").stdout.splitlines()
    assert [json.loads(line)["url"] for line in pages] == [f"{site.url}/rejected"]


@pytest.mark.parametrize(
    ("settings", "stores"),
    [
        ({}, False),
        ({"FEEDS": {}, "ITEM_PIPELINES": {"a.Pipeline": None}, "ADDONS": {"crawler_dedup.Addon": 500}}, False),
        ({"FEEDS": {"pages.jsonl": {"format": "jsonlines"}}}, True),
        ({"ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1}}, True),
        ({"ADDONS": {"crawler_dedup.Addon": 500, "scrapy.spiders.Spider": 1}}, True),
    ],
)
def test_feeds_and_pipelines_are_those_of_project_and_spider_and_perhaps_of_an_add_on(
    settings: dict[str, object], stores: bool
) -> None:
    class Custom(Spider):
        name = "custom"
        custom_settings = settings

    assert stores_items(Spider, Settings(settings)) is stores
    assert stores_items(Custom, Settings()) is stores


def test_options_of_the_crawl_need_a_crawl(tmp_path: Path) -> None:
    for words in (("-o", "pages.jsonl"), ("--follow",), ("-a", "x=1")):
        done = command(tmp_path, "restore", "http://a.org/", *words)
        assert (done.returncode, "are for the crawl of --now" in done.stderr) == (2, True)
