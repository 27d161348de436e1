"""A data file that becomes shorter, while the index is open and while it is not; lock files that are deleted."""

import os
import shutil
import signal
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator, IndexDamaged, IndexUnusable
from crawler_dedup.index.lmdb.compaction import compact
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.inspection.verification import find_problems
from tests.support.crawling import acting, article, crawl_pages, html
from tests.support.indexing import ByDistance, ask, open_store, page, run, running_program, uniform

PAGE = 4096
SIZE = 120
"""Number of the pages in the index."""
META = struct.Struct("=16xII16xI92xQQ")
"""A meta page of LMDB: magic number, version, bytes of a page, number of the last page, number of the transaction."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an index from which much was removed."""
    directory = tmp_path_factory.mktemp("churned")
    pages = [page(number, signature) for number, signature in enumerate(uniform(1, 9 * SIZE))]
    with closing(open_store(directory)) as store:
        store.offer(pages, ByDistance(0)).result()
        store.forget(lambda _: True, ByDistance())
        store.offer(pages[:SIZE], ByDistance(0)).result()
    return directory / "data.mdb"


@pytest.fixture
def churned(template: Path, tmp_path: Path) -> Path:
    """Copy this index into ``index``, and return its file."""
    (tmp_path / "index").mkdir()
    return Path(shutil.copy(template, tmp_path / "index"))


def add_pages(data: Path, pages: int, *, to_both: bool) -> None:
    """Let the newer meta page, or both, say that the file has more *pages* than it has."""
    content = data.read_bytes()
    transactions = {at: META.unpack_from(content, at)[4] for at in (0, PAGE)}
    with data.open("r+b") as file:
        for at in transactions if to_both else [max(transactions, key=transactions.__getitem__)]:
            file.seek(at + META.size - 16)
            file.write((len(content) // PAGE + pages - 1).to_bytes(8, "little"))


# Between two openings


@pytest.mark.parametrize(
    "opening",
    [
        compact,
        lambda directory: DirectoryIndex.attach(directory, readonly=True),
        lambda directory: Deduplicator.open(directory, Config(tokenizer="bigrams")),
    ],
    ids=["compact", "command", "crawl"],
)
def test_a_file_shorter_than_its_header_says_is_refused(churned: Path, opening: Callable[[Path], object]) -> None:
    size = churned.stat().st_size
    for shorter in (size - 1, size - PAGE, size // 2, 2 * PAGE, PAGE, 5):
        os.truncate(churned, shorter)
        before = churned.read_bytes()
        with pytest.raises(IndexDamaged, match=r"data\.mdb was cut off") as caught:
            opening(churned.parent)
        assert "Use an earlier export or copy, or name another directory" in str(caught.value)
        assert churned.read_bytes() == before
    assert not Environment._shared  # this process has nothing open


def test_a_file_without_pages_that_were_not_written_is_sound(churned: Path) -> None:
    """LMDB does not write a page that a transaction takes at the end of the file and frees again."""
    size = churned.stat().st_size
    add_pages(churned, 3, to_both=False)
    with closing(open_store(churned.parent)) as store:
        assert len(store) == SIZE
        assert find_problems(store, ByDistance()) == []
        assert churned.stat().st_size == size + 3 * PAGE  # from now on


def test_an_opening_allocates_no_room_because_a_damaged_header_says_so(churned: Path) -> None:
    size = churned.stat().st_size
    add_pages(churned, 1 << 16, to_both=False)
    DirectoryIndex.attach(churned.parent, readonly=True).close()
    assert churned.stat().st_size == size


def test_pages_that_no_later_transaction_has_written_either_were_cut_off(churned: Path) -> None:
    add_pages(churned, 3, to_both=True)
    with pytest.raises(IndexDamaged, match="its header says"):
        open_store(churned.parent)


def test_an_empty_file_starts_a_new_index_with_a_warning(churned: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.truncate(churned, 0)
    with closing(open_store(churned.parent)) as store:
        assert len(store) == 0
    assert [message for message in caplog.messages if "is empty" in message]


# While it is open

_USE_CUT = """
    import os, sys
    from pathlib import Path
    from crawler_dedup import IndexUnusable
    from tests.support.indexing import ByDistance, open_store, page

    store = open_store(Path(sys.argv[1]))
    os.truncate(sys.argv[1] + "/data.mdb", int(sys.argv[2]))
    for use in (
        lambda: store.offer([page(1000, 5)], ByDistance()).result(),
        lambda: store.forget(lambda _: True, ByDistance()),
        lambda: list(store.records()),
        store.close,
    ):
        try:
            use()
        except IndexUnusable:
            pass
"""


def test_using_a_file_without_most_of_its_pages_leaves_a_damaged_one(churned: Path) -> None:
    status, _, errors = run(_USE_CUT, churned.parent, 8 * PAGE)
    assert (status, errors) in ((0, ""), (-signal.SIGBUS, ""))
    with pytest.raises(IndexDamaged):
        open_store(churned.parent)


_USE_WITHOUT_LOCKS = """
    import os, sys
    from pathlib import Path
    from crawler_dedup import IndexUnusable
    from crawler_dedup.inspection.verification import find_problems
    from tests.support.indexing import ByDistance, open_store, page

    directory, matcher = Path(sys.argv[1]), ByDistance()
    store = open_store(directory)
    lock = directory / "lock.mdb"

    def name_of_error(call):
        try:
            call()
        except IndexUnusable as error:
            return type(error).__name__
        return "nothing"

    calls = {
        "offer": lambda: store.offer([page(1000, 5)], matcher).result(),
        "forget": lambda: store.forget(lambda _: True, matcher),
        "preview": lambda: store.preview(page(1000, 5), matcher),
        "records": lambda: list(store.records()),
        "header": store.environment.read_header,
    }
    DEED
    print(*sorted({name_of_error(call) for call in calls.values()}))
    print(name_of_error(lambda: open_store(directory)))
    store.close()
    store = open_store(directory)
    print(store.offer([page(1000, 5)], matcher).result()[0].verdict, find_problems(store, matcher))
    store.close()
"""


@pytest.mark.parametrize("deed", ["lock.unlink(); lock.touch()", "lock.rename(lock.with_suffix('.old'))"])
def test_an_index_without_its_lock_file_is_not_used_until_this_process_has_closed_it(churned: Path, deed: str) -> None:
    status, output, errors = run(_USE_WITHOUT_LOCKS.replace("DEED", deed), churned.parent)
    assert (status, errors) == (0, "")
    assert output.splitlines() == ["IndexGone", "IndexGone", "new []"]


_OFFER = """
    import sys
    from pathlib import Path
    from crawler_dedup import IndexUnusable
    from tests.support.indexing import ByDistance, open_store, page

    store = open_store(Path(sys.argv[1]))
    print("open", flush=True)
    for number in sys.stdin:
        try:
            print(store.offer([page(1000, int(number))], ByDistance()).result()[0].verdict, flush=True)
        except IndexUnusable as error:
            print(type(error).__name__, flush=True)
"""


@pytest.mark.parametrize("names", [("lock.mdb", "users.lock"), ("data.mdb",)])
def test_no_second_process_opens_an_index_whose_locks_the_first_does_not_share(
    churned: Path, names: tuple[str, ...]
) -> None:
    directory = churned.parent
    with running_program(_OFFER, directory) as first:
        for name in names:
            (directory / name).unlink()
        with pytest.raises(
            IndexUnusable, match=r"is open in another process, but these files are missing or empty: .*\.mdb"
        ):
            open_store(directory)
        assert ask(first, "5") == "IndexGone"
    with closing(open_store(directory)) as store:
        assert find_problems(store, ByDistance()) == []
        assert len(store) == (0 if "data.mdb" in names else SIZE)


def test_an_index_whose_users_lock_was_deleted_is_still_shared(churned: Path) -> None:
    directory = churned.parent
    with running_program(_OFFER, directory) as first:
        (directory / "users.lock").unlink()
        with pytest.raises(IndexUnusable, match="open in another process"):
            compact(directory)
        with closing(open_store(directory)) as store:
            assert ask(first, "5") == "new"
            assert store.offer([page(1001, 5)], ByDistance()).result()[0].verdict == "duplicate"
            assert find_problems(store, ByDistance()) == []
            assert len(store) == SIZE + 1


# In a crawl


def test_a_crawl_whose_index_is_cut_off_finishes_and_loses_no_page(tmp_path: Path) -> None:
    pages = {f"/{number}": html(article(number)) for number in range(8)}
    data = tmp_path / "index" / "data.mdb"
    cut_off = acting(article("cuts it off"), lambda: os.truncate(data, data.stat().st_size // 2 // PAGE * PAGE))
    crawl = crawl_pages(tmp_path, pages | {"/3": cut_off})
    assert crawl.paths() == list(pages)
    assert crawl.stats["finish_reason"] == "finished"
    assert {item["verdict"] for item in crawl.items} == {"new", "unchecked"}
