"""A data file that becomes shorter, while the index is open and while it is not; lock files that are deleted."""

from __future__ import annotations

import os
import shutil
import signal
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator, IndexDamaged, IndexUnusable
from crawler_dedup.index.lmdb.compaction import compact
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.index.lmdb.index import DirectoryIndex
from tests.support.crawling import acting, article, crawl_pages, html
from tests.support.indexing import Signatures, array, ask, clusters, run, running_program
from tests.support.signatureindex import SignatureIndex

PAGE = 4096
META = struct.Struct("=16xII16xI92xQQ")
"""A meta page of LMDB: magic number, version, bytes of a page, number of the last page, number of the transaction."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Signatures]:
    """Make an index from which much was removed."""
    directory = tmp_path_factory.mktemp("churned")
    signatures = array(set(clusters(1, 6_000)))
    kept = signatures[::9]
    with SignatureIndex.open(directory) as index:
        index.insert(signatures)
        index.remove(signatures)
        index.insert(kept)
    return directory / "data.mdb", kept


@pytest.fixture
def churned(template: tuple[Path, Signatures], tmp_path: Path) -> Signatures:
    """Copy this index into ``index``, and return its signatures."""
    (tmp_path / "index").mkdir()
    shutil.copy(template[0], tmp_path / "index")
    return template[1]


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
        SignatureIndex.open,
        compact,
        lambda directory: DirectoryIndex.attach(directory, readonly=True),
        lambda directory: Deduplicator.open(directory, Config(tokenizer="bigrams")),
    ],
    ids=["signatures", "compact", "command", "crawl"],
)
@pytest.mark.usefixtures("churned")
def test_a_file_shorter_than_its_header_says_is_refused(tmp_path: Path, opening: Callable[[Path], object]) -> None:
    data = tmp_path / "index" / "data.mdb"
    size = data.stat().st_size
    for shorter in (size - 1, size - PAGE, size // 2, 2 * PAGE, PAGE, 5):
        os.truncate(data, shorter)
        before = data.read_bytes()
        with pytest.raises(IndexDamaged, match=r"data\.mdb was cut off") as caught:
            opening(tmp_path / "index")
        assert "Use an earlier export or copy, or name another directory" in str(caught.value)
        assert data.read_bytes() == before
    assert not Environment._shared  # this process has nothing open


def test_a_file_without_pages_that_were_not_written_is_sound(tmp_path: Path, churned: Signatures) -> None:
    """LMDB does not write a page that a transaction takes at the end of the file and frees again."""
    data = tmp_path / "index" / "data.mdb"
    size = data.stat().st_size
    add_pages(data, 3, to_both=False)
    with SignatureIndex.open(tmp_path / "index") as index:
        assert len(index) == len(churned)
        assert index.verify() == []
        assert data.stat().st_size == size + 3 * PAGE  # from now on


@pytest.mark.usefixtures("churned")
def test_an_opening_allocates_no_room_because_a_damaged_header_says_so(tmp_path: Path) -> None:
    data = tmp_path / "index" / "data.mdb"
    size = data.stat().st_size
    add_pages(data, 1 << 16, to_both=False)
    with pytest.raises(IndexUnusable):
        DirectoryIndex.attach(tmp_path / "index", readonly=True)
    assert data.stat().st_size == size


@pytest.mark.usefixtures("churned")
def test_pages_that_no_later_transaction_has_written_either_were_cut_off(tmp_path: Path) -> None:
    add_pages(tmp_path / "index" / "data.mdb", 3, to_both=True)
    with pytest.raises(IndexDamaged, match="its header says"):
        SignatureIndex.open(tmp_path / "index")


@pytest.mark.usefixtures("churned")
def test_an_empty_file_starts_a_new_index_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    os.truncate(tmp_path / "index" / "data.mdb", 0)
    with SignatureIndex.open(tmp_path / "index") as index:
        assert len(index) == 0
    assert [message for message in caplog.messages if "is empty" in message]


# While it is open

_USE_CUT = """
    import os, sys
    from crawler_dedup import IndexUnusable
    from tests.support.signatureindex import SignatureIndex

    index = SignatureIndex.open(sys.argv[1])
    os.truncate(sys.argv[1] + "/data.mdb", int(sys.argv[2]))
    for use in (lambda: index.insert(5), lambda: index.remove(5), index.held, index.close):
        try:
            use()
        except IndexUnusable:
            pass
"""


def test_using_a_file_without_half_of_its_pages_leaves_a_damaged_one(tmp_path: Path, churned: Signatures) -> None:
    status, _, errors = run(_USE_CUT, tmp_path / "index", (tmp_path / "index" / "data.mdb").stat().st_size // 2)
    assert (status, errors) in ((0, ""), (-signal.SIGBUS, ""))
    with pytest.raises(IndexDamaged), SignatureIndex.open(tmp_path / "index") as index:
        assert len(index) == len(churned)


_USE_WITHOUT_LOCKS = """
    import os, sys
    from pathlib import Path
    from crawler_dedup import IndexUnusable
    from tests.support.signatureindex import SignatureIndex

    index = SignatureIndex.open(sys.argv[1])
    index.insert(list(range(0, 1 << 40, 1 << 30)))
    lock = Path(sys.argv[1], "lock.mdb")

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
        "held": index.held,
        "header": index.environment.read_header,
    }
    DEED
    print(*sorted({name_of_error(call) for call in calls.values()}))
    print(name_of_error(lambda: SignatureIndex.open(sys.argv[1])))
    index.close()
    with SignatureIndex.open(sys.argv[1]) as index:
        print(index.insert([5, 6]), index.verify())
"""


@pytest.mark.usefixtures("churned")
@pytest.mark.parametrize("deed", ["lock.unlink(); lock.touch()", "lock.rename(lock.with_suffix('.old'))"])
def test_an_index_without_its_lock_file_is_not_used_until_this_process_has_closed_it(tmp_path: Path, deed: str) -> None:
    status, output, errors = run(_USE_WITHOUT_LOCKS.replace("DEED", deed), tmp_path / "index")
    assert (status, errors) == (0, "")
    assert output.splitlines() == ["IndexGone", "IndexGone", "2 []"]


_INSERT = """
    import sys
    from crawler_dedup import IndexUnusable
    from tests.support.signatureindex import SignatureIndex

    index = SignatureIndex.open(sys.argv[1])
    print("open", flush=True)
    for number in sys.stdin:
        try:
            print(index.insert(int(number)), flush=True)
        except IndexUnusable as error:
            print(type(error).__name__, flush=True)
"""


@pytest.mark.parametrize("names", [("lock.mdb", "users.lock"), ("data.mdb",)])
def test_no_second_process_opens_an_index_whose_locks_the_first_does_not_share(
    tmp_path: Path, churned: Signatures, names: tuple[str, ...]
) -> None:
    directory = tmp_path / "index"
    with running_program(_INSERT, directory) as first:
        for name in names:
            (directory / name).unlink()
        with pytest.raises(
            IndexUnusable, match=r"is open in another process, but these files are missing or empty: .*\.mdb"
        ):
            SignatureIndex.open(directory)
        assert ask(first, "5") == "IndexGone"
    with SignatureIndex.open(directory) as index:
        assert index.verify() == []
        assert len(index) == (0 if "data.mdb" in names else len(churned))


def test_an_index_whose_users_lock_was_deleted_is_still_shared(tmp_path: Path, churned: Signatures) -> None:
    directory = tmp_path / "index"
    with running_program(_INSERT, directory) as first:
        (directory / "users.lock").unlink()
        with pytest.raises(IndexUnusable, match="open in another process"):
            compact(directory)
        with SignatureIndex.open(directory) as index:
            assert ask(first, "5") == "1"
            assert index.insert(6) == 1
            assert index.verify() == []
            assert len(index) == len(churned) + 2


# In a crawl


def test_a_crawl_whose_index_is_cut_off_finishes_and_loses_no_page(tmp_path: Path) -> None:
    pages = {f"/{number}": html(article(number)) for number in range(8)}
    data = tmp_path / "index" / "data.mdb"
    cut_off = acting(article("cuts it off"), lambda: os.truncate(data, data.stat().st_size // 2 // PAGE * PAGE))
    crawl = crawl_pages(tmp_path, pages | {"/3": cut_off})
    assert crawl.paths() == list(pages)
    assert crawl.stats["finish_reason"] == "finished"
    assert {item["verdict"] for item in crawl.items} == {"new", "unchecked"}
