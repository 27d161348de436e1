"""What is damaged, foreign or misused is said as such, and nothing else is lost by it."""

from __future__ import annotations

import errno
import os
import random
import signal
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from pathlib import Path

import lmdb
import numpy as np
import pytest
from typer.testing import CliRunner

from crawler_dedup import (
    Config,
    Deduplicator,
    ExportUnreadable,
    IndexDamaged,
    IndexUnusable,
    PermutedIndex,
    Verdict,
    maintenance,
    portable,
)
from crawler_dedup.cli import app
from crawler_dedup.compaction import compact
from crawler_dedup.header import FORMAT, Header
from crawler_dedup.portable import Block, Export
from crawler_dedup.records import Claim, Record, encode
from crawler_dedup.schemes import SimHash
from crawler_dedup.store import MAX_REPRESENTATIVES, Store
from tests.indexing import ByDistance, open_store, page


def nothing(_: int) -> None:
    pass


def row(key: int) -> bytes:
    """A record as an export has it."""
    return encode(Record(page(key, 0), Claim.SETTLED))


def tampered(directory: Path, database: bytes, change: Callable[[bytes], bytes]) -> None:
    """Change the first value of a database."""
    with lmdb.open(str(directory), max_dbs=8) as env:
        db = env.open_db(database)
        with env.begin(write=True, db=db) as txn, txn.cursor() as cursor:
            assert cursor.first()
            txn.put(cursor.key(), change(cursor.value()))


def one_page(directory: Path) -> None:
    store = open_store(directory)
    store.offer([page(1, 5)], ByDistance()).result()
    store.close()


def survives(directory: Path) -> None:
    """Nothing but our own errors, and a repair that repairs."""
    store = Store.attach(directory)
    judge = ByDistance()
    try:
        for act in (
            lambda: store.offer([page(2, 5)], judge).result(),
            lambda: maintenance.contents(store, nothing),
            lambda: store.forget(lambda _: False, judge),
            lambda: list(store.records(10)),
        ):
            with suppress(IndexUnusable):
                act()
        store.verify(judge)
        store.repair(judge)
        assert store.verify(judge) == []
    finally:
        store.close()


@pytest.mark.parametrize("seed", range(40))
def test_a_record_with_a_flipped_bit_is_read_or_repaired(tmp_path: Path, seed: int) -> None:
    one_page(tmp_path)

    def flip(content: bytes) -> bytes:
        bit = random.Random(seed).randrange(8 * len(content))
        return bytes(byte ^ (1 << bit % 8) * (place == bit // 8) for place, byte in enumerate(content))

    tampered(tmp_path, b"records", flip)
    survives(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        encode(Record(page(1, 5), Claim.SETTLED)).replace(b"http", b"ht\xff\xff"),
        encode(Record(page(1, -5), Claim.SETTLED)),
        b"",
        b"\xc1" * 50,
    ],
    ids=["no UTF-8", "negative signature", "empty", "no msgpack"],
)
def test_a_record_that_cannot_be_read_is_counted_and_removed(tmp_path: Path, content: bytes) -> None:
    one_page(tmp_path)
    tampered(tmp_path, b"records", lambda _: content)
    store = Store.attach(tmp_path)
    assert "1 records cannot be read." in store.verify(ByDistance())
    store.close()
    survives(tmp_path)


def test_pages_that_found_no_room_under_their_signature_are_no_damage(tmp_path: Path) -> None:
    many = MAX_REPRESENTATIVES + 1
    store, judge = open_store(tmp_path), ByDistance(0)
    store.merge([Record(page(number, 5), Claim.SETTLED) for number in range(many)], judge)
    assert [record.stands for record in chain.from_iterable(store.records(100))] == [True] * (many - 1) + [False]
    assert store.verify(judge) == []
    assert store.forget(lambda record: record.page.key == "3", judge) == 1
    assert store.offer([page(4, 77)], judge).result()[0].verdict is Verdict.CHANGED
    assert store.verify(judge) == []
    assert store.forget(lambda record: record.page.key != str(many - 1), judge) == many - 2
    assert store.verify(judge) == []
    store.repair(judge)
    assert store.verify(judge) == []
    assert store.offer([page(99, 5)], judge).result()[0].verdict is Verdict.DUPLICATE
    store.close()


def test_a_damaged_bucket_is_said_and_its_whole_signatures_are_kept(tmp_path: Path) -> None:
    index = tmp_path / "index"
    with PermutedIndex.open(index) as opened:
        opened.insert([5, 6, 7])
    tampered(index, b"tables", lambda chunk: chunk[:-1])
    with PermutedIndex.open(index) as opened:
        with pytest.raises(IndexDamaged):
            opened.query(5)
        with pytest.raises(IndexDamaged):
            list(opened.blocks(10))
    run = CliRunner()
    refused = run.invoke(app, ["index", "export", str(index), str(tmp_path / "file")])
    assert refused.exit_code == 2
    assert "damaged" in refused.output
    assert not (tmp_path / "file").exists()
    assert run.invoke(app, ["index", "verify", str(index)]).exit_code == 1
    assert run.invoke(app, ["index", "verify", "--repair", str(index)]).exit_code == 0
    with PermutedIndex.open(index) as opened:
        assert [match.signature for match in opened.query(5, 3)] == [5, 7, 6]


def test_an_index_of_another_format_is_not_looked_at(tmp_path: Path) -> None:
    PermutedIndex.open(tmp_path).close()
    tampered(tmp_path, b"meta", lambda header: header.replace(b'"format":2', b'"format":9'))
    for name in ("verify", "compact", "stats"):
        result = CliRunner().invoke(app, ["index", name, str(tmp_path)])
        assert result.exit_code == 2
        assert "Error:" in result.output


@pytest.mark.parametrize("name", [b"users", None])
def test_another_applications_file_is_left_alone(tmp_path: Path, name: bytes | None) -> None:
    with lmdb.open(str(tmp_path), max_dbs=8) as env:
        db = env.open_db(name) if name else None
        with env.begin(write=True) as txn:
            txn.put(b"theirs", b"1", db=db)
    for act in (
        lambda: open_store(tmp_path, fresh=True),
        lambda: PermutedIndex.open(tmp_path),
        lambda: compact(tmp_path),
    ):
        with pytest.raises(IndexUnusable):
            act()
    with lmdb.open(str(tmp_path), max_dbs=8) as env:
        db = env.open_db(name) if name else None
        with env.begin() as txn:
            assert txn.get(b"theirs", db=db) == b"1"
            assert [key for key, _ in txn.cursor()] == [name or b"theirs"]


def test_a_compacted_file_keeps_its_access(tmp_path: Path) -> None:
    PermutedIndex.open(tmp_path).close()
    (tmp_path / "data.mdb").chmod(0o664)
    compact(tmp_path)
    assert (tmp_path / "data.mdb").stat().st_mode & 0o777 == 0o664


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EBADF])
def test_a_file_system_that_cannot_allocate_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def allocate(*_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    with PermutedIndex.open(tmp_path) as index:
        assert index.insert(1) == 1


def test_what_is_wrong_with_the_disk_does_not_end_the_writing_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise lmdb.Error("as if the disk had failed")

    def gone(_: object) -> None:
        raise OSError("gone")

    with PermutedIndex.open(tmp_path) as index:
        monkeypatch.setattr("shutil.disk_usage", gone)
        with pytest.raises(IndexUnusable, match="as if"):
            index.environment.submit(fail).result(10)
        assert index.submit(3).result(10) == 1


def test_what_is_removed_or_inserted_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    def fail(_: object) -> None:
        raise ValueError("a bad job of the same group")

    with PermutedIndex.open(tmp_path) as index:
        index.insert([1, 2])
        bad = index.environment.submit(fail)
        assert index.remove(number for number in (1, 2)) == 2
        assert isinstance(bad.exception(), ValueError)
        array = np.array([7], dtype=np.uint64)
        inserted = index.submit(array)
        array[:] = 8
        assert inserted.result() == 1
        assert index.query(7, 0)
        for wrong in ([1.9], ["7"], "12"):
            with pytest.raises(TypeError):
                index.insert(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            index.query(1.7)  # type: ignore[arg-type]
        assert len(index) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_refused_what_its_parent_has_open(tmp_path: Path) -> None:
    with (
        PermutedIndex.open(tmp_path / "signatures") as index,
        Deduplicator.open(tmp_path / "pages", Config(tokenizer="bigrams")) as pages,
    ):
        index.insert(1)
        child = os.fork()
        if not child:
            signal.alarm(20)  # a child that hangs fails
            refused = 0
            for act in (
                lambda: index.insert(2),
                lambda: index.query(1),
                lambda: len(index),
                lambda: pages.decide([page(1, 5)]),
            ):
                with suppress(IndexUnusable):
                    act()
                    os._exit(1)
                refused += 1
            os._exit(0 if refused == 4 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert index.insert(2) == 1


def test_long_rows_are_cut_into_several_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "_ROWS_BYTES", 10)
    block = Block(np.arange(5, dtype=np.uint64), [b"x" * size for size in (3, 30, 4, 4, 4)])
    header = Header(FORMAT, {}, {}, "pages")
    assert portable.write(tmp_path / "file", header, [block]) == 5
    export = Export(tmp_path / "file")
    assert len(export) == 5
    assert [len(one.rows) for one in export.blocks()] == [1, 1, 2, 1]
    assert [row for one in export.blocks() for row in one.rows] == block.rows


@pytest.mark.parametrize(
    "rows", [[b"\x91\xc1"], [encode(Record(page(1, 5), Claim.SETTLED)).replace(b"http", b"\xff\xff\xff\xff")]]
)
def test_rows_that_are_no_records_are_refused_before_anything_is_written(tmp_path: Path, rows: list[bytes]) -> None:
    spec = {"scheme": SimHash.spec}
    good = Block(np.array([1], dtype=np.uint64), [encode(Record(page(3, 0), Claim.SETTLED))])
    file = tmp_path / "file"
    portable.write(file, Header(FORMAT, spec, {}, "pages"), [good, Block(np.array([5], dtype=np.uint64), rows)])
    with pytest.raises(ExportUnreadable):
        maintenance.import_index(Export(file), tmp_path / "target", nothing, nothing)
    assert not (tmp_path / "target").exists()


def test_an_export_of_another_kind_or_order_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    portable.write(file, Header(FORMAT, {}, {}, "bands"), [])
    with pytest.raises(ExportUnreadable, match="bands"):
        Export(file)
    portable.write(
        file, Header(FORMAT, {"tables": "4"}, {}, "signatures"), [Block(np.array([9, 3], dtype=np.uint64), [])]
    )
    with pytest.raises(ExportUnreadable, match="not sorted"):
        list(Export(file).blocks())


def test_stats_show_what_a_record_says(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    odd = Record(page(1, 5, "[/b] x [red]shop[1]"), Claim.SETTLED, filed=10**18)
    store.merge([odd], ByDistance())
    store.close()
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["index", "stats", str(tmp_path)])
    assert result.exit_code == 0
    assert "scope [/b] x [red]shop[1]" in result.output
