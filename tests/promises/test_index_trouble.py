"""An index that is deleted, moved, closed, locked or full during a crawl: no page is lost."""

import shutil
import signal
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator, IndexUnusable
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.inspection.verification import find_problems
from tests.support.crawling import Crawl, Page, Site, acting, article, crawl_pages, html, run_script
from tests.support.disks import fill_up
from tests.support.indexing import FILING, running_program

BIGRAMS = Config(tokenizer="bigrams")

# In order: a page and its copy, the pages during the trouble, then others until one of them is checked again.
SPIDER = """
import asyncio
from tests.support.walker import Walker, path_of, seen

class Spider(Walker):
    async def parse(self, response):
        yield seen(response)
        path = path_of(response.url)
        if not path.startswith("/after/"):
            at = self.paths.index(path) + 1
            following = self.paths[at] if at < len(self.paths) else None
        elif response.meta["dedup"].verdict == "unchecked":
            number = int(path.rpartition("/")[2]) + 1
            assert number < 100, "it is not checked again"
            await asyncio.sleep(0.2)
            following = f"/after/{number}"
        else:
            following = "/last-twin-of-after"
        if following:
            yield self.request(following)

    async def start(self):
        yield self.request(self.paths[0])
"""


class Trouble:
    """A crawl whose index fails between ``/trouble`` and ``/end``, where *begin* and *end* are called."""

    def __init__(
        self,
        directory: Path,
        begin: Callable[[], object],
        end: Callable[[], object],
        *,
        pages: int = 4,
        source: str = SPIDER,
        **settings: Any,
    ) -> None:
        self.in_trouble = [f"/in-trouble/{number}" for number in range(pages)]
        site = Site(
            {
                **{path: html(article(path)) for path in ("/before", *self.in_trouble)},
                **{f"/after/{number}": html(article(f"after {number}")) for number in range(100)},
                "/twin-of-before": html(article("/before", frame="twin")),
                "/last-twin-of-before": html(article("/before", frame="last")),
                "/last-twin-of-after": lambda: html(article(self.last_after(), frame="last")),
                "/trouble": acting("<p>Done.", begin),
                "/end": acting("<p>Done.", end),
            }
        )
        self._site = site
        paths = ["/before", "/twin-of-before", "/trouble", *self.in_trouble, "/end", "/after/0"]
        ending = ["/last-twin-of-after", "/last-twin-of-before"]
        with site:
            settings = {"DEDUP_ACTION": "mark", **settings}
            self.crawl: Crawl = run_script(directory, source, settings, site=site.url, paths=[*paths, *ending])
        self.verdicts = {item["path"]: item["verdict"] for item in self.crawl.items}

    def last_after(self) -> str:
        """Return the seed of the first page that was checked again."""
        return [path for path in self._site.paths() if path.startswith("/after/")][-1].strip("/").replace("/", " ")

    def assert_nothing_is_lost(self, errors: int = 0) -> None:
        crawl = self.crawl
        assert crawl.stats["finish_reason"] == "finished"
        assert crawl.paths() == self._site.paths()
        assert crawl.paths()[-1] == "/last-twin-of-before"
        assert set(self.in_trouble) <= set(crawl.paths())
        assert crawl.stats.get("log_count/ERROR", 0) == errors
        assert "log_count/CRITICAL" not in crawl.stats

    def assert_pages_are_checked_before_and_after(self, twin_of_before: str = "duplicate") -> None:
        assert (self.verdicts["/before"], self.verdicts["/twin-of-before"]) == ("new", "duplicate")
        assert self.verdicts["/last-twin-of-after"] == "duplicate"
        assert self.verdicts["/last-twin-of-before"] == twin_of_before

    def assert_errors_are_logged(self, *errors: str) -> None:
        """Check for one warning of each of the *errors*, one line about their end, and their counts."""
        crawl = self.crawl
        warnings, of_journal = (
            crawl.lines("WARNING", "passes unchecked"),
            crawl.lines("WARNING", "The journal"),
        )
        assert len(of_journal) <= 1
        assert len(warnings) == len(errors) == crawl.stats["log_count/WARNING"] - len(of_journal)
        for error in errors:
            assert any(f"passes unchecked: {error}" in line for line in warnings)
        assert len(crawl.lines("INFO", "The index can be used again")) == 1
        counts = crawl.counts("error/")
        assert counts.keys() == set(errors)
        assert crawl.counts()["unchecked/error"] == counts.total()


def test_a_crawl_survives_an_index_that_is_moved_away_for_a_while(tmp_path: Path) -> None:
    index, elsewhere = tmp_path / "index", tmp_path / "elsewhere"
    trouble = Trouble(tmp_path, lambda: index.rename(elsewhere), lambda: elsewhere.rename(index))
    trouble.assert_nothing_is_lost(errors=1)
    trouble.assert_errors_are_logged("IndexGone")
    assert {trouble.verdicts[path] for path in trouble.in_trouble} == {"unchecked"}
    trouble.assert_pages_are_checked_before_and_after()


def empty(index: Path) -> None:
    shutil.rmtree(index)
    index.mkdir()


def delete_lock_file(index: Path) -> None:
    (index / "lock.mdb").unlink()
    with pytest.raises(IndexUnusable, match="is open in another process"):
        Deduplicator.open(index, BIGRAMS)


@pytest.mark.parametrize("damage", [empty, delete_lock_file])
def test_pages_pass_unchecked_from_then_on_if_the_index_is_deleted_or_is_no_longer_protected(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    index = tmp_path / "index"

    pages: dict[str, Page] = {f"/{number}": html(article(number)) for number in range(5)}
    pages["/2"] = acting(article("damages it"), lambda: damage(index))
    crawl = crawl_pages(tmp_path, pages, settings={"DOWNLOAD_DELAY": 0.1})
    assert crawl.paths() == list(pages)
    assert [item["verdict"] for item in crawl.items] == ["new"] * 2 + ["unchecked"] * 3
    assert crawl.counts("error/") == {"IndexGone": 3}
    warnings = [line for line in crawl.log.splitlines() if "] WARNING: " in line and "journal" not in line]
    assert len(warnings) == 1
    assert len(crawl.lines("ERROR", "Pages pass unchecked until the crawl ends")) == crawl.stats["log_count/ERROR"] == 1
    (summary,) = crawl.lines("INFO", "Near-duplicate filter: pages ")
    assert "unchecked 3; the index cannot be read; pages waited for a worker" in summary
    assert (index / "data.mdb").exists() == (damage is delete_lock_file)
    if damage is delete_lock_file:
        with closing(DirectoryIndex.attach(index)) as store:
            assert find_problems(store, FILING) == []


HOLD = """
    import lmdb, os, signal, sys
    with lmdb.open(sys.argv[1], max_dbs=8).begin(write=True) as txn:
        print("held", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
        txn.abort()
"""


def test_a_crawl_survives_a_process_that_is_stopped_while_it_writes(tmp_path: Path) -> None:
    with ExitStack() as stack:

        def go_on() -> None:
            (holder,) = holders
            holder.send_signal(signal.SIGCONT)
            holder.wait()

        holders: list[Any] = []
        trouble = Trouble(
            tmp_path,
            lambda: holders.append(stack.enter_context(running_program(HOLD, tmp_path / "index"))),
            go_on,
            pages=20,
            source=f"from crawler_dedup.index.lmdb import committer\n\ncommitter._STUCK = 2\n{SPIDER}",
            DEDUP_TIMEOUT=1,
        )
    trouble.assert_nothing_is_lost()
    trouble.assert_errors_are_logged("TimeoutError", "IndexUnusable")
    trouble.assert_pages_are_checked_before_and_after()
    # The first pages wait for an answer. After that no page waits.
    counts = trouble.crawl.counts("error/")
    assert counts["TimeoutError"] < 10
    assert counts["IndexUnusable"] >= 10


@pytest.mark.slow
def test_a_crawl_ends_while_a_writing_process_is_stopped(tmp_path: Path) -> None:
    paths = ["/before", "/trouble", "/after/1", "/after/2"]
    pages: dict[str, Page] = {path: html(article(path)) for path in paths}
    with ExitStack() as stack:
        hold = running_program(HOLD, tmp_path / "index")
        pages["/trouble"] = acting(article("/trouble"), lambda: stack.enter_context(hold))
        crawl = crawl_pages(tmp_path, pages, settings={"DEDUP_TIMEOUT": 0.5, "DOWNLOAD_DELAY": 0.3})
    assert crawl.paths() == paths
    assert crawl.stats["finish_reason"] == "finished"
    assert "leaves it open" not in crawl.log  # the process that waits for the lock has ended
    assert len(crawl.lines("WARNING", "The end of the run could not be recorded")) == 1
    with Deduplicator.open(tmp_path / "index", BIGRAMS) as deduplicator:
        body = article("/before", frame="later").encode()
        assert deduplicator.check("http://later/", body, scope="spider walker").verdict == "new"


def test_a_crawl_survives_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    trouble = Trouble(
        tmp_path,
        lambda: fill_up(small_disk),
        (small_disk / "else").unlink,
        pages=40,
        DEDUP_DIR=str(small_disk / "index"),
    )
    trouble.assert_nothing_is_lost()
    trouble.assert_errors_are_logged("IndexUnusable")
    assert "the disk is full" in trouble.crawl.lines("WARNING", "passes unchecked")[0]
    trouble.assert_pages_are_checked_before_and_after()


def test_an_index_that_fails_with_every_other_page_is_reported_once_a_minute(tmp_path: Path, small_disk: Path) -> None:
    full = acting("<p>Done.", lambda: fill_up(small_disk))
    pages: dict[str, Page] = {"/before": html(article("before")), "/full": full}
    for number in range(10):  # nothing is written for a page that cannot be judged
        pages |= {f"/{number}": html(article(number)), f"/short/{number}": html("<p>Short.")}
    # One page after another, so that a recovery follows a failure.
    settings = {"DEDUP_DIR": str(small_disk / "index"), "CONCURRENT_REQUESTS": 1}
    crawl = crawl_pages(tmp_path, pages, settings=settings)
    assert crawl.paths() == list(pages)
    assert crawl.counts("error/")["IndexUnusable"] > 1
    assert len(crawl.lines("WARNING", "passes unchecked")) == 1
    assert len(crawl.lines("INFO", "The index can be used again")) == 1
