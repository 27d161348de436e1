"""Pages that no feed contains count as not stored: a second crawl on the same index stores them in a working feed."""

import json
import os
import re
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawling import Answer, Crawl, Site, article, crawl_pages, html, start_script
from tests.support.disks import fill_up
from tests.support.versions import REACTORS, SCRAPY

SCRIPT = """
import asyncio, os, signal
from scrapy import signals
from scrapy.exporters import BaseItemExporter, JsonLinesItemExporter
from scrapy.extensions.feedexport import FeedExporter, FileFeedStorage
from tempfile import TemporaryFile
from crawler_dedup.crawl import feeds, session
from tests.support.walker import Walker, path_of

feeds._SLACK = session._MAX_FLUSH_INTERVAL = 0.1

class Fails:
    def __init__(self, uri, *, feed_options=None):
        pass

    def open(self, spider):
        return TemporaryFile()

    def store(self, file):
        raise ConnectionError("the other end is closed")

class Sealed:
    __slots__ = ()

    def __init__(self, uri, *, feed_options=None):
        pass

    def open(self, spider):
        return TemporaryFile()

    def store(self, file):
        file.close()

class Moves(FileFeedStorage):
    '''Writes elsewhere, and moves the file when it is whole.'''

    def open(self, spider):
        self.wanted, self.path = self.path, self.path + ".part"
        return super().open(spider)

    def store(self, file):
        super().store(file)
        os.rename(self.path, self.wanted)

class WithResponse(FeedExporter):
    def item_scraped(self, item, response, spider):
        return super().item_scraped(item, spider)

class OwnHandler(FeedExporter):
    @classmethod
    def from_crawler(cls, crawler):
        exporter = cls(crawler)
        crawler.signals.connect(exporter.open_spider, signals.spider_opened)
        crawler.signals.connect(exporter.close_spider, signals.spider_closed)
        crawler.signals.connect(exporter.export, signals.item_scraped)
        return exporter

    def export(self, item, spider):
        return self.item_scraped(item, spider)

class Collector(BaseItemExporter):
    def __init__(self, file, **options):
        super().__init__(dont_fail=True, **options)
        self.writer, self.items = JsonLinesItemExporter(file), []

    def export_item(self, item):
        self.items.append(item)

    def finish_exporting(self):
        for item in self.items:
            self.writer.export_item(item)

def fail(params, spider):
    raise RuntimeError("no parameters")

class Spider(Walker):
    async def parse(self, response):
        number = int(response.url.rpartition("/")[2])
        item = {"number": number, "text": response.text * self.times}
        if self.repeats and "again" not in response.flags and not response.request.flags:
            response.request.flags.append("again")
            yield response.request
        yield {**item, "bad": object()} if number == self.bad else item
        if number == self.killed:
            await asyncio.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)

    def __init__(self, *args, times=0, bad=None, killed=None, repeats=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.times, self.bad, self.killed, self.repeats = times, bad, killed, repeats
"""

GZIP = "scrapy.extensions.postprocessing.GzipPlugin"
PAUSE = 5
"""The page for which the site takes so long that feeds are flushed meanwhile."""

Events = dict[int, Callable[[], object]]


def pages(visit: str, count: int, events: Events) -> dict[str, Any]:
    """Return articles 0, 1, 2 …, each visit in another frame. An article's event happens before the site answers."""

    def page(number: int) -> Callable[[], Answer]:
        def answer() -> Answer:
            events.get(number, lambda: None)()
            return html(article(number, frame=visit))

        return answer

    return {f"/{visit}/{number}": page(number) for number in range(count)}


def feed(path: Path, **options: Any) -> dict[str, Any]:
    return {str(path): {"format": "jsonlines", **options}}


def settings(feeds: dict[str, Any], **other_settings: Any) -> dict[str, Any]:
    """Return settings with which only what was flushed counts as stored."""
    return {"DEDUP_GRACE": 0, "FEEDS": feeds, **other_settings}


def crawl(directory: Path, feeds: dict[str, Any], count: int, events: Events | None = None, **options: Any) -> Crawl:
    given = settings(feeds, **options.pop("settings", {}))
    return crawl_pages(directory, pages("first", count, events or {}), SCRIPT, given, **options)


def kill(directory: Path, feeds: dict[str, Any], count: int, events: Events | None = None, **options: Any) -> None:
    """Crawl; the process is killed half a second after the last page."""
    given = settings(feeds, **options.pop("settings", {}))
    first = pages("first", count, events or {})
    with Site(first) as site:
        paths = list(first)
        log = start_script(directory, SCRIPT, given, site=site.url, paths=paths, killed=count - 1, **options).log()
    assert "Spider opened" in log
    assert "Spider closed" not in log


def crawl_again(directory: Path, count: int) -> set[int]:
    """Crawl a second time, the same articles at other addresses, into a feed of its own; what that holds."""
    path = directory / "second.jsonl"
    done = crawl_pages(directory, pages("second", count, {}), SCRIPT, settings(feed(path)))
    assert not done.lines("ERROR", "")
    assert sum(done.counts()[verdict] for verdict in ("kept", "dropped")) == count
    return held(path)


def held(path: Path) -> set[int]:
    """Return the numbers in a feed; torn lines do not count."""
    content = path.read_bytes() if path.exists() else b""
    if path.suffix == ".gz":
        content = zlib.decompressobj(wbits=31).decompress(content)
    return {item["number"] for item in map(item_of, content.splitlines()) if item}


def item_of(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def pause() -> None:
    time.sleep(1.5)


def the_error(done: Crawl) -> str:
    (line,) = done.lines("ERROR", "Not all feeds were stored")
    return line


def missing_items(done: Crawl) -> int:
    """Return how many items were not exported, according to the error."""
    (items,) = re.findall(r"No space left on device \((\d+) items were not exported\)\. ", the_error(done))
    return int(items)


def test_items_lost_on_a_disk_that_is_full_for_a_while_are_stored_by_the_next_crawl(
    tmp_path: Path, small_disk: Path
) -> None:
    path = small_disk / "items.jsonl"
    events: Events = {
        PAUSE: pause,
        10: lambda: fill_up(small_disk),
        15: pause,  # or a fast machine writes nothing meanwhile
        20: (small_disk / "else").unlink,
    }
    done = crawl(tmp_path, feed(path), 30, events, times=3)
    stored = held(path)
    assert stored < set(range(30))
    assert 29 in stored
    counted = done.stats["dedup/not_stored"]
    assert f"{path}: OSError: [Errno 28] No space left on device" in the_error(done)
    assert f". Up to {counted} pages" in the_error(done)
    assert 0 < missing_items(done) < counted
    second = crawl_again(tmp_path, 30)
    assert stored | second == set(range(30))
    # What was seen written before stays: it is stored once.
    assert set(range(PAUSE - 1)).isdisjoint(second)
    assert 20 <= counted <= len(second)


def test_items_lost_on_a_disk_that_is_full_when_the_feed_is_closed_are_stored_by_the_next_crawl(
    tmp_path: Path, small_disk: Path
) -> None:
    # Together a little more than a page of the disk, which the feed has, and with what is flushed before less in the buffer.
    path, count = small_disk / "items.jsonl", 152
    events: Events = {PAUSE: pause, 7: lambda: fill_up(small_disk)}
    done = crawl(tmp_path, feed(path), count, events)
    assert "Error caught on signal handler" not in done.log
    stored = held(path)
    assert stored < set(range(count))
    assert f"{path}: OSError: [Errno 28] No space left on device" in the_error(done)
    second = crawl_again(tmp_path, count)
    assert stored | second == set(range(count))
    assert set(range(PAUSE - 1)).isdisjoint(second)


@pytest.mark.parametrize("reactor", REACTORS)
def test_pages_are_released_if_feeds_were_not_opened_or_stored_or_cannot_be_watched(
    tmp_path: Path, reactor: bool
) -> None:
    feeds = {uri: {"format": "jsonlines"} for uri in ("fails://user:secret@host/items", "sealed:items")}
    feeds |= feed(tmp_path / "first.jsonl") | feed(tmp_path / "none.jsonl", uri_params="script.fail")
    storages = {"fails": "script.Fails", "sealed": "script.Sealed"}
    done = crawl(tmp_path, feeds, 3, settings={"FEED_STORAGES": storages, "TWISTED_REACTOR_ENABLED": reactor})
    line = the_error(done)
    assert "fails://host/items: ConnectionError: the other end is closed" in line
    assert "none.jsonl: it was not opened" in line
    assert "sealed:items: it is not known whether it was stored" in line
    assert ". Up to 3 pages" in line
    assert "first.jsonl" not in line
    assert "secret" not in line
    # The feed that was stored does not stand for those that were not.
    assert held(tmp_path / "first.jsonl") == set(range(3))
    assert crawl_again(tmp_path, 3) == set(range(3))


def test_pages_are_released_if_a_feed_after_a_failing_one_gets_nothing_and_no_traceback_is_logged_for_each_item(
    tmp_path: Path, small_disk: Path
) -> None:
    fill_up(small_disk)
    full, path = small_disk / "items.jsonl", tmp_path / "first.jsonl"
    done = crawl(tmp_path, {**feed(full), **feed(path)}, 12, times=3)
    assert held(path) < set(range(12))
    assert "items.jsonl: OSError" in the_error(done)
    line, *further = done.lines("ERROR", f"was not exported to {full}")
    assert f" was not exported to {full}, {path}: OSError: [Errno 28] No space left on device" in line
    assert len(further) < missing_items(done) - 1  # one line a minute
    assert "signal handler" not in done.log
    assert held(path) | crawl_again(tmp_path, 12) == set(range(12))


@pytest.mark.parametrize(
    ("options", "other_settings"),
    [
        ({"format": "collected"}, {"FEED_EXPORTERS": {"collected": "script.Collector"}}),
        ({}, {"FEED_STORAGES": {"": "script.Moves", "file": "script.Moves"}}),
    ],
    ids=["collected", "moved"],
)
def test_a_feed_that_is_written_when_it_is_closed_is_not_stored_when_the_crawl_is_killed(
    tmp_path: Path, options: dict[str, Any], other_settings: dict[str, Any]
) -> None:
    # Handled long before the grace, and once before a page that is a sign of life.
    kill(tmp_path, feed(tmp_path / "first.jsonl", **options), 8, {PAUSE: pause}, settings=other_settings)
    assert held(tmp_path / "first.jsonl") == set()
    assert crawl_again(tmp_path, 8) == set(range(8))


def own_exporter(name: str) -> dict[str, Any]:
    return {"EXTENSIONS": {"scrapy.extensions.feedexport.FeedExporter": None, f"script.{name}": 0}}


@pytest.mark.parametrize("name", ["WithResponse", "OwnHandler"])
def test_a_custom_exporter_gets_each_item_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / "first.jsonl"
    done = crawl(tmp_path, feed(path), 5, settings=own_exporter(name))
    assert len(path.read_bytes().splitlines()) == 5
    assert "dedup/not_stored" not in done.stats
    assert not crawl_again(tmp_path, 5)


def test_items_that_an_exporter_takes_in_another_way_are_stored_when_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    kill(tmp_path, feed(path), 5, settings=own_exporter("OwnHandler"))
    assert crawl_again(tmp_path, 5) == set(range(5))


def test_batches_that_were_closed_before_the_crawl_is_killed_are_stored(tmp_path: Path) -> None:
    options = {"postprocessing": [GZIP], "batch_item_count": 4}
    kill(tmp_path, feed(tmp_path / "%(batch_id)d.jsonl.gz", **options), 7, {4: pause, 6: pause})
    closed = set() if (2, 14) <= SCRAPY < (2, 18) else {0, 1, 2, 3}  # these versions close batches at the end only
    assert held(tmp_path / "1.jsonl.gz") == closed
    assert held(tmp_path / "2.jsonl.gz") == set()
    assert crawl_again(tmp_path, 7) == set(range(7)) - closed


def test_a_local_feed_that_was_flushed_is_stored_when_the_crawl_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    kill(tmp_path, feed(path), 8, {PAUSE: pause}, settings={"DEDUP_GRACE": 0})
    assert held(path) >= set(range(PAUSE - 1))
    second = crawl_again(tmp_path, 8)
    assert held(path) | second == set(range(8))
    assert second.isdisjoint(range(PAUSE - 1))


def test_an_item_that_cannot_be_exported_affects_no_other_page(tmp_path: Path) -> None:
    path = tmp_path / "first.jsonl"
    done = crawl(tmp_path, feed(path), 5, bad=2)
    assert done.stats["dedup/not_stored"] == 1
    assert not done.lines("ERROR", "Not all feeds")
    assert held(path) == {0, 1, 3, 4}
    assert crawl_again(tmp_path, 5) == {2}


def test_a_crawl_that_ends_well_keeps_all_its_pages(tmp_path: Path) -> None:
    done = crawl(tmp_path, feed(tmp_path / "first.jsonl.gz", postprocessing=[GZIP]), 5)
    assert "dedup/not_stored" not in done.stats
    assert crawl_again(tmp_path, 5) == set()


def test_a_page_is_released_even_if_its_request_was_scheduled_again(tmp_path: Path) -> None:
    done = crawl(tmp_path, feed(tmp_path / "first.jsonl"), 1, bad=0, repeats=True)
    assert done.stats["dedup/not_stored"] == 2
    assert crawl_again(tmp_path, 1) == {0}


# A feed that is appended to


def test_all_contents_can_be_read_if_the_same_crawl_appends_to_a_feed_that_had_filled_its_disk(
    tmp_path: Path, small_disk: Path
) -> None:
    path, count = small_disk / "items.jsonl", 40
    fill_up(small_disk)
    os.truncate(small_disk / "else", (small_disk / "else").stat().st_size - 4096)  # less than the first item
    crawl(tmp_path, feed(path), count, times=3)
    torn = path.read_bytes()
    assert torn
    assert b"\n" not in torn
    (small_disk / "else").unlink()
    done = crawl(tmp_path, feed(path), count, times=3)
    assert held(path) == set(range(count))
    assert path.read_bytes().startswith(torn + b"\n{")
    assert "dedup/not_stored" not in done.stats
    (line,) = done.lines("WARNING", "")
    assert f"Feed {path}: the last line has no line end" in line
