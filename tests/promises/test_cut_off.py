"""A data file that becomes shorter, while the index is open and while it is not; lock files that are deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest
from crawler_dedup.index.lmdb.usedpages import find_missing_page

from crawler_dedup import Config, Deduplicator, IndexDamaged, IndexUnusable
from crawler_dedup.index.lmdb.compaction import compact
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.lmdb.permuted import PermutedIndex
from tests.support.crawling import WALK, Answer, Site, article, crawl_pages, html, run_script
from tests.support.indexing import (
    FILING,
    ByDistance,
    Signatures,
    array,
    clusters,
    number_of,
    open_store,
    page,
    run,
    running_program,
    uniform,
)

PAGE = 4096
CUTS: dict[str, Callable[[int], int]] = {
    "to nothing": lambda size: 0,
    "to half": lambda size: size // 2 // PAGE * PAGE,
    "by a page": lambda size: size - PAGE,
    "within a page": lambda size: size - 1000,
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Signatures]:
    """Make an index from which much was removed: its list of free pages is long, and its last pages may be free."""
    directory = tmp_path_factory.mktemp("churned")
    signatures = array(set(clusters(1, 6_000)))
    kept = signatures[::9]
    with PermutedIndex.open(directory) as index:
        index.insert(signatures)
        index.remove(signatures)
        index.insert(kept)  # into pages at the beginning
        for _ in range(3):
            index.insert(1)
            index.remove(1)
    return directory / "data.mdb", kept


@pytest.fixture
def churned(template: tuple[Path, Signatures], tmp_path: Path) -> Signatures:
    """Copy this index into ``index``, and return its signatures."""
    (tmp_path / "index").mkdir()
    shutil.copy(template[0], tmp_path / "index")
    return template[1]


def missing_page(directory: Path) -> int | None:
    with lmdb.open(str(directory), max_dbs=8) as env:
        return find_missing_page(env, directory / "data.mdb")


def copied(directory: Path, name: str, size: int) -> Path:
    """Return a copy whose data file is cut to *size* bytes."""
    copy = directory.with_name(name)
    copy.mkdir()
    shutil.copy(directory / "data.mdb", copy)
    os.truncate(copy / "data.mdb", size)
    return copy


def shortest_whole(directory: Path) -> int:
    """Return the smallest size at which every used page is in the file."""
    low, high = 2, (directory / "data.mdb").stat().st_size // PAGE
    while low < high:
        middle = (low + high) // 2
        if missing_page(copied(directory, f"half {low} {high}", middle * PAGE)) is None:
            high = middle
        else:
            low = middle + 1
    return low * PAGE


# Between two openings


def test_a_file_that_lacks_only_free_pages_opens_and_has_lost_nothing(tmp_path: Path, churned: Signatures) -> None:
    size = (tmp_path / "index" / "data.mdb").stat().st_size
    whole = shortest_whole(tmp_path / "index")
    assert whole < size - PAGE
    copy = copied(tmp_path / "index", "copy", whole)
    with PermutedIndex.open(copy) as index:
        assert index.verify() == []
        assert len(index) == len(churned)
        further = array(set(uniform(5, 3000)))
        assert index.insert(further) == len(further)
        assert index.verify() == []
    assert (copy / "data.mdb").stat().st_size == size


@pytest.mark.usefixtures("churned")
def test_a_file_without_its_last_used_page_is_damaged_each_time_it_is_opened(tmp_path: Path) -> None:
    whole = shortest_whole(tmp_path / "index")
    for size in (whole - 1, whole - PAGE, whole // 2, 2 * PAGE, PAGE, 5):
        copy = copied(tmp_path / "index", f"copy {size}", size)
        before = (copy / "data.mdb").read_bytes()
        for opening in (PermutedIndex.open, compact, PermutedIndex.open):
            with pytest.raises(IndexDamaged, match="is damaged") as caught:
                opening(copy)
            assert "use an earlier export" in str(caught.value)
        assert (copy / "data.mdb").read_bytes() == before
    assert not Environment._shared  # this process has nothing open


_WALK = """
    import sys, lmdb
    with lmdb.open(sys.argv[1], max_dbs=8, readonly=True) as env:
        with env.begin() as txn:
            names = list(txn.cursor().iternext(values=False))
        for name in names:
            database = env.open_db(name, create=False)
            with env.begin(db=database) as txn:
                sum(len(value) for _, value in txn.cursor())
"""


def test_a_file_that_counts_as_complete_can_be_read_by_lmdb_to_the_last_page(tmp_path: Path) -> None:
    """LMDB crashes if a page of a database is missing. It reads neither free pages nor the list of them."""
    store = open_store(tmp_path / "index")
    store.offer([page(number, signature) for number, signature in enumerate(clusters(1, 3000))], ByDistance(0)).result()
    store.forget(lambda record: number_of(record.page) % 3 == 0, FILING)
    store.close()
    size = (tmp_path / "index" / "data.mdb").stat().st_size
    whole = shortest_whole(tmp_path / "index")
    crashes = 0
    for cut in (*range(whole, size, 7 * PAGE), *range(max(2 * PAGE, whole - 60 * PAGE), whole, 3 * PAGE)):
        status, _, _ = run(_WALK, copied(tmp_path / "index", f"cut {cut}", cut))
        assert status == 0 or cut < whole
        crashes += status != 0
    assert crashes


def test_a_truncated_list_of_free_pages_is_detected(tmp_path: Path) -> None:
    """LMDB would read numbers of pages that are in use from it."""
    with lmdb.open(str(tmp_path), map_size=1 << 28, max_dbs=8) as env:
        database = env.open_db(b"large")
        with env.begin(write=True, db=database) as txn:
            for number in range(3000):
                txn.put(str(number).encode(), bytes(PAGE))
        with env.begin(write=True) as txn:
            txn.drop(database, delete=False)  # 3,000 numbers take six pages, at the end of the file
        assert find_missing_page(env, tmp_path / "data.mdb") is None
    os.truncate(tmp_path / "data.mdb", (tmp_path / "data.mdb").stat().st_size - PAGE)
    assert missing_page(tmp_path) is not None


@pytest.mark.usefixtures("churned")
def test_an_empty_file_starts_a_new_index_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.truncate(tmp_path / "index" / "data.mdb", 0)
    with PermutedIndex.open(tmp_path / "index") as index:
        assert len(index) == 0
    assert [message for message in caplog.messages if "is empty" in message]


# While it is open

_OPEN = """
    import os, sys, time
    from pathlib import Path
    from crawler_dedup import IndexUnusable
    from crawler_dedup.index.lmdb.permuted import PermutedIndex

    index = PermutedIndex.open(sys.argv[1])
    index.insert(list(range(0, 1 << 40, 1 << 30)))
    blocks = index.blocks(10)
    next(blocks)
    data, lock = Path(sys.argv[1], "data.mdb"), Path(sys.argv[1], "lock.mdb")
    size = data.stat().st_size
    time.sleep(0.1)  # until the writing thread has done what follows a commit

    def name_of_error(call):
        try:
            call()
        except IndexUnusable as error:
            return type(error).__name__
        return "nothing"

    calls = {
        "insert": lambda: index.insert(5),
        "submit": lambda: index.submit(6).result(),
        "remove": lambda: index.remove(5),
        "query": lambda: index.query(5),
        "query_many": lambda: index.query_many([5]),
        "len": lambda: len(index),
        "blocks": lambda: list(index.blocks(5)),
        "begun": lambda: list(blocks),
        "salvage": index.salvage,
        "figures": index.environment.measure,
        "header": index.environment.stored_header,
        "open": lambda: PermutedIndex.open(sys.argv[1]).close(),
    }
"""
_USE_CUT = (
    _OPEN
    + """
    os.truncate(data, int(sys.argv[2]))
    time.sleep(0.02)
    print(*sorted({name_of_error(call) for call in calls.values()}))
    print("cut off" in index.verify()[0])
    calls.pop("begun")  # which is at its end
    with data.open("r+b") as file:
        file.truncate(2 * size)  # as another process would, which goes on writing
    print(*sorted({name_of_error(call) for call in calls.values()}))
    index.close()
    print(name_of_error(lambda: PermutedIndex.open(sys.argv[1])))
"""
)


@pytest.mark.usefixtures("churned")
@pytest.mark.parametrize("cut", list(CUTS))
def test_every_use_of_a_truncated_file_reports_it(tmp_path: Path, cut: str) -> None:
    size = (tmp_path / "index" / "data.mdb").stat().st_size
    status, output, errors = run(_USE_CUT, tmp_path / "index", CUTS[cut](size))
    assert (status, errors) == (0, "")
    assert output.split("\n")[:3] == ["IndexDamaged", "True", "IndexDamaged"]


_USE_WITHOUT_LOCKS = (
    _OPEN
    + """
    blocks.close()
    DEED
    calls.pop("open"), calls.pop("begun")
    print(*sorted({name_of_error(call) for call in calls.values()}))
    print(name_of_error(lambda: PermutedIndex.open(sys.argv[1])))
    index.close()
    with PermutedIndex.open(sys.argv[1]) as index:
        print(index.insert([5, 6]), index.verify())
"""
)


@pytest.mark.usefixtures("churned")
@pytest.mark.parametrize(
    "deed", ["lock.unlink()", "lock.write_bytes(b'')", "os.truncate(lock, 100)", "lock.unlink(); lock.touch()"]
)
def test_an_index_without_its_lock_file_is_not_used_until_this_process_has_closed_it(tmp_path: Path, deed: str) -> None:
    status, output, errors = run(_USE_WITHOUT_LOCKS.replace("DEED", deed), tmp_path / "index")
    assert (status, errors) == (0, "")
    assert output.splitlines() == ["IndexGone", "IndexGone", "2 []"]


_INSERT = """
    import sys
    from crawler_dedup import IndexUnusable
    from crawler_dedup.index.lmdb.permuted import PermutedIndex

    index = PermutedIndex.open(sys.argv[1])
    print("open", flush=True)
    for number in sys.stdin:
        try:
            print(index.insert(int(number)), flush=True)
        except IndexUnusable as error:
            print(type(error).__name__, flush=True)
"""


@pytest.mark.parametrize("names", [("lock.mdb",), ("lock.mdb", "users.lock"), ("data.mdb",)])
def test_no_second_process_opens_an_index_whose_locks_the_first_does_not_share(
    tmp_path: Path, churned: Signatures, names: tuple[str, ...]
) -> None:
    directory = tmp_path / "index"
    with running_program(_INSERT, directory) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        for name in names:
            (directory / name).unlink()
        with pytest.raises(IndexUnusable, match=r"is open in another process, but .*\.mdb is missing or empty"):
            PermutedIndex.open(directory)
        first.stdin.write("5\n")
        first.stdin.flush()
        assert first.stdout.readline() == "IndexGone\n"
    with PermutedIndex.open(directory) as index:
        assert index.verify() == []
        assert len(index) == (0 if "data.mdb" in names else len(churned))


def test_an_index_whose_users_lock_was_deleted_is_still_shared(tmp_path: Path, churned: Signatures) -> None:
    directory = tmp_path / "index"
    with running_program(_INSERT, directory) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        (directory / "users.lock").unlink()
        with pytest.raises(IndexUnusable, match="open in another process"):
            compact(directory)
        with PermutedIndex.open(directory) as index:
            first.stdin.write("5\n")
            first.stdin.flush()
            assert first.stdout.readline() == "1\n"
            assert index.insert(6) == 1
            assert index.verify() == []
            assert len(index) == len(churned) + 2


# In a crawl


def cutting(index: Path, cut: Callable[[int], int]) -> Callable[[], Answer]:
    """Return a page whose answer cuts off the data file."""

    def answer() -> Answer:
        file = index / "data.mdb"
        os.truncate(file, cut(file.stat().st_size))
        return html(article("cuts it off"))

    return answer


@pytest.mark.parametrize("cut", ["to half"])
def test_a_crawl_continues_unchecked_and_finishes_if_its_file_is_truncated(tmp_path: Path, cut: str) -> None:
    pages = {f"/{number}": html(article(number)) for number in range(8)}
    index = tmp_path / "index"
    with Site(pages | {"/3": cutting(index, CUTS[cut])}) as site:
        crawl = run_script(tmp_path, WALK, site=site.url, paths=list(pages))
        assert crawl.paths() == list(pages)
        assert crawl.stats["finish_reason"] == "finished"
        assert [item["verdict"] for item in crawl.items] == ["new"] * 3 + ["unchecked"] * 5
        assert crawl.counts("error/") == {"IndexDamaged": 5}
        assert len(crawl.lines("WARNING", "passes unchecked: IndexDamaged")) == 1
        assert "data.mdb was cut off from" in crawl.log
        assert not {"log_count/ERROR", "log_count/CRITICAL"} & set(crawl.stats)


def test_a_crawl_whose_lock_file_is_deleted_passes_pages_unchecked_and_loses_nothing(tmp_path: Path) -> None:
    pages = {f"/{number}": html(article(number)) for number in range(8)}
    index = tmp_path / "index"
    refused = []

    def delete() -> Answer:
        (index / "lock.mdb").unlink()
        try:
            Deduplicator.open(index, Config(tokenizer="bigrams"))
        except IndexUnusable as error:
            refused.append(str(error))
        return html(article("deletes it"))

    crawl = crawl_pages(tmp_path, pages | {"/2": delete}, settings={"DOWNLOAD_DELAY": 0.1})
    assert len(refused) == 1
    assert "is open in another process" in refused[0]
    assert crawl.paths() == list(pages)
    assert [item["verdict"] for item in crawl.items] == ["new"] * 2 + ["unchecked"] * 6
    assert crawl.counts("error/").keys() == {"IndexGone"}
    assert len(crawl.lines("ERROR", "Pages pass unchecked until the crawl ends")) == 1
    store = DirectoryIndex.attach(index)
    assert store.verify(FILING) == []
    store.close()
