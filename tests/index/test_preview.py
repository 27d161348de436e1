"""Reading an index: the decision that a page would get from committed pages, without a change to any file of pages."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import lmdb
import pytest

from crawler_dedup import Config, Decision, IndexUnusable, SignedPage, Verdict
from crawler_dedup.decision import BEING_HANDLED
from crawler_dedup.errors import IndexMissing
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.lmdb import locks
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.location import Location
from crawler_dedup.index.opening import has_index
from crawler_dedup.index.records import shorten_key
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.filelocks import is_held
from crawler_dedup.worker.preview import preview
from tests.support.crawling import article
from tests.support.indexing import SPEC, ByDistance, open_store, page, run, running_program, settle
from tests.support.places import Places

MATCHER = ByDistance()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DirectoryIndex]:
    with closing(open_store(tmp_path / "index")) as opened:
        yield opened


def read_look(directory: Path, signed: SignedPage) -> Decision:
    with closing(DirectoryIndex.attach(directory, readonly=True)) as opened:
        return opened.preview(signed, MATCHER)


def contents(directory: Path) -> dict[str, bytes]:
    """Return the files of an index, except for LMDB's table of readers."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "lock.mdb"}


def test_expired_pages_are_no_representatives(backend: Index) -> None:
    backend.offer([page(1, 0)], MATCHER, RunContext(clock=lambda: 1000)).result()
    for now, verdict in ((1100, Verdict.DUPLICATE), (1101, Verdict.NEW)):
        context = RunContext(max_age=100, clock=partial(int, now))
        assert backend.preview(page(2, 0), MATCHER, context).verdict is verdict


# Nothing is written

CRAWL = """
import sys
from crawler_dedup import Config, Deduplicator
from tests.support.crawling import article

with Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams", grace=0)) as deduplicator:
    deduplicator.check("http://a/settled", article("settled").encode())
    page = deduplicator.sign("http://a/open", article("open").encode())
    deduplicator.submit([page], claim=True).result()
    print("claimed", flush=True)
    sys.stdin.readline()
"""
SIGNER = Signer(Config(tokenizer="bigrams"))


def looks(location: Location) -> dict[str, Decision]:
    """Return the verdicts about copies of the two pages of ``CRAWL`` and about another page."""

    def decide(seed: str) -> Decision:
        url = f"http://a/copy-of-{seed}"
        body = article(seed, frame="copy").encode()
        return preview(location, SIGNER, SIGNER.sign(url, body, encoding=None, key=url, scope="global")[0])

    return {seed: decide(seed) for seed in ("settled", "open", "another")}


def test_during_a_crawl_its_settled_pages_stand_and_its_open_ones_are_being_handled(places: Places) -> None:
    with running_program(CRAWL, places.word()) as crawl:
        seen = looks(places())
        assert seen["settled"].duplicate_of == "http://a/settled"
        assert (seen["open"].verdict, seen["open"].reason) == (Verdict.UNCHECKED, BEING_HANDLED)
        assert seen["another"].verdict is Verdict.NEW
        assert crawl.communicate("go on\n") == ("", "")
        assert crawl.returncode == 0
    assert looks(places())["settled"].verdict is Verdict.DUPLICATE


def test_reading_changes_no_file_even_if_the_crawl_was_killed(tmp_path: Path) -> None:
    directory = tmp_path / "index"
    with running_program(CRAWL, directory) as crawl:
        before = contents(directory)
        looks(directory)
        assert contents(directory) == before
        crawl.kill()
        crawl.wait()
        # Nobody holds its lock any more, and it has not ended. Its lock file is the next run's to remove.
        seen = looks(directory)
        assert contents(directory) == before
        assert [decision.verdict for decision in seen.values()] == [Verdict.DUPLICATE, Verdict.NEW, Verdict.NEW]


def test_without_an_index_no_directory_is_created(tmp_path: Path) -> None:
    assert {decision.verdict for decision in looks(tmp_path / "index").values()} == {Verdict.NEW}
    assert not (tmp_path / "index").exists()
    (tmp_path / "index").mkdir()
    assert {decision.verdict for decision in looks(tmp_path / "index").values()} == {Verdict.NEW}
    assert not list((tmp_path / "index").iterdir())
    assert not has_index(tmp_path / "index")
    unsigned = SIGNER.sign("http://a/", b"<p>Short.</p>", encoding=None, key=None, scope="")[0]
    assert preview(tmp_path / "index", SIGNER, unsigned).reason == "too little text"


def test_an_index_that_is_just_being_created_is_not_an_index_yet(tmp_path: Path) -> None:
    with lmdb.open(str(tmp_path), max_dbs=8) as env:
        env.open_db(b"meta")
    with pytest.raises(IndexMissing, match="There is no index in"):
        DirectoryIndex.attach(tmp_path, readonly=True)
    open_store(tmp_path).close()
    with lmdb.open(str(tmp_path), max_dbs=8) as env, env.begin(write=True) as txn:
        txn.drop(env.open_db(b"runs", txn))
    with pytest.raises(IndexMissing):
        DirectoryIndex.attach(tmp_path, readonly=True)


def test_an_index_that_was_opened_for_reading_refuses_to_be_written(store: DirectoryIndex, tmp_path: Path) -> None:
    store.offer([page(1, 5)], MATCHER).result()
    store.close()
    with closing(DirectoryIndex.attach(tmp_path / "index", readonly=True)) as opened:
        with pytest.raises(IndexUnusable, match="open for reading only"):
            opened.offer([page(2, 5)], MATCHER)
        with pytest.raises(IndexUnusable, match="open for reading in this process: close it first"):
            open_store(tmp_path / "index")
        assert len(opened) == 1
    with closing(open_store(tmp_path / "index")) as reopened:
        assert settle(reopened, 1)


def test_a_process_that_writes_the_index_reads_it_through_the_same_opening(
    store: DirectoryIndex, tmp_path: Path
) -> None:
    store.offer([page(1, 5)], MATCHER).result()
    assert read_look(tmp_path / "index", page(2, 5)).verdict is Verdict.DUPLICATE
    assert store.offer([page(2, 5)], MATCHER).result()[0].verdict is Verdict.DUPLICATE


def test_a_copy_of_the_data_file_alone_can_be_read(store: DirectoryIndex, tmp_path: Path) -> None:
    store.offer([page(1, 5)], MATCHER).result()
    store.close()
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "index" / "data.mdb", tmp_path / "copy")
    assert read_look(tmp_path / "copy", page(2, 5)).verdict is Verdict.DUPLICATE
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["data.mdb"]


# An index that another process makes larger

GROW = """
    import sys
    from contextlib import closing
    from pathlib import Path
    from msgspec.structs import replace
    from tests.support.indexing import ByDistance, open_store, page
    with closing(open_store(Path(sys.argv[1]))) as store:
        first, after_last = map(int, sys.argv[2:])
        pages = [replace(page(number, number << 32), title="x" * 5_000) for number in range(first, after_last)]
        store.offer(pages, ByDistance(0)).result()
    """
SMALL = 1 << 20


def grow(directory: Path, first: int, after_last: int) -> None:
    """File pages in another process, with a map of 1 GiB."""
    assert run(GROW, directory, first, after_last) == (0, "", "")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return an index of a page that was made with the smallest ``DEDUP_MAP_SIZE``."""
    with closing(DirectoryIndex.open(tmp_path, SPEC, {}, map_size=SMALL, fresh=False)) as store:
        store.offer([page(1, 1 << 32)], ByDistance(0)).result()
    return tmp_path


def test_an_index_opened_for_reading_also_reads_what_was_added_beyond_its_map(small: Path) -> None:
    with closing(DirectoryIndex.attach(small, readonly=True)) as opened:
        for first, after_last in ((2, 400), (400, 1_300)):
            size = (small / "data.mdb").stat().st_size
            grow(small, first, after_last)
            assert (small / "data.mdb").stat().st_size > max(SMALL, 2 * size)
            assert len(opened) == after_last - 1
            assert opened.preview(page(0, first << 32), ByDistance(0)).verdict is Verdict.DUPLICATE
        assert read_look(small, page(0, 390 << 32)).verdict is Verdict.DUPLICATE  # opened once more


def test_a_reading_transaction_keeps_its_state_while_another_reads_beyond_the_map_of_the_index(small: Path) -> None:
    with closing(DirectoryIndex.attach(small, readonly=True)) as opened:
        records = opened.records()
        first = next(records)
        grow(small, 2, 400)
        assert opened.preview(page(0, 390 << 32), ByDistance(0)).verdict is Verdict.DUPLICATE
        assert [record.page.key for record in (first, *records)] == [shorten_key("1")]


# Runs that end meanwhile


def test_a_run_that_ends_while_the_reading_begins_has_not_died(
    store: DirectoryIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = store.begin_run()
    context = RunContext(lock.number, grace=60, clock=lock.now)
    store.offer([page(1, 5)], MATCHER, context).result()

    def end_first(path: Path, *, readonly: bool = False) -> bool | None:
        if lock.is_held:
            store.end_run(context, finished=True)
            lock.release()
        return is_held(path, readonly=readonly)

    monkeypatch.setattr(locks, "is_held", end_first)
    assert store.preview(page(2, 5), MATCHER).verdict is Verdict.DUPLICATE
    assert not lock.is_held
