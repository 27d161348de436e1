"""``crawler-dedup index verify``."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import lmdb
import pytest

from tests.support.commandline import invoke, printed_text
from tests.support.indexcommands import PAGES, cli, fill, is_sound, kept, verify_says_that_it_is_damaged
from tests.support.indexing import put_meta, running_program


def test_a_sound_index_is_reported_as_sound(pages: Path) -> None:
    before = (pages / "data.mdb").read_bytes()
    assert printed_text(cli("verify", pages)) == "The index is sound."
    assert (pages / "data.mdb").read_bytes() == before


def delete_buckets(directory: Path, share: float) -> None:
    with lmdb.open(str(directory), max_dbs=8) as env:
        tables = env.open_db(b"tables")
        with env.begin(write=True, db=tables) as txn:
            buckets = [name for name, _ in txn.cursor()]
            for name in random.Random(1).sample(buckets, max(1, int(len(buckets) * share))):
                assert txn.delete(name)


def carry(pages: Path, tmp_path: Path) -> tuple[str, Path]:
    """Export an index into a new directory; return what the export prints, and the directory."""
    printed = printed_text(cli("export", tmp_path / "file", pages))
    cli("import", tmp_path / "file", tmp_path / "new")
    assert is_sound(tmp_path / "new")
    return printed, tmp_path / "new"


@pytest.mark.parametrize("share", [0, 1], ids=["one", "all"])
def test_an_index_without_its_buckets_can_be_replaced(pages: Path, tmp_path: Path, share: float) -> None:
    delete_buckets(pages, share)
    (problem, hint) = cli("verify", pages, status=1).output.splitlines()
    assert problem.startswith("The buckets of signatures ")
    assert hint == "The index is damaged. `crawler-dedup index verify --help` says how to replace it."
    assert kept(carry(pages, tmp_path)[1]) == set(PAGES)


def test_an_export_leaves_out_records_that_cannot_be_read_and_counts_them(pages: Path, tmp_path: Path) -> None:
    with lmdb.open(str(pages), max_dbs=8) as env:
        records = env.open_db(b"records")
        with env.begin(write=True, db=records) as txn:
            first = next(iter(txn.cursor()))[0]
            txn.put(first, b"garbage")
            txn.put(b"no number", b"garbage")
    assert "2 records cannot be read." in printed_text(cli("verify", pages, status=1))
    printed, new = carry(pages, tmp_path)
    assert printed.endswith("Left out, because unreadable: 2 records.")
    assert kept(new) == set(PAGES) - {next(iter(PAGES))}


def test_an_index_of_another_format_is_not_verified(pages: Path) -> None:
    header = '{"format": 99, "spec": {"scheme": "simhash"}, "libraries": {}}'
    put_meta(pages, b"header", header.encode())
    for name in ("verify", "stats", "compact"):
        refused = printed_text(cli(name, pages, status=2))
        assert refused.startswith("Error: ")
        assert "99" in refused


def test_a_damaged_header_is_reported_in_a_sentence(pages: Path) -> None:
    put_meta(pages, b"header", b'{"format": 2, "spec": {"tables": "\xff"}, "libraries": {}}')
    assert printed_text(cli("stats", pages, status=2)).startswith("Error: ")
    verify_says_that_it_is_damaged(pages)


@pytest.mark.parametrize(
    "part",
    [
        *('"simhash ', '"tokenizer"'),
        *(
            pytest.param(part, marks=pytest.mark.slow)
            for part in ("hash=xxh", "weight=tf", '"min features"', '"bigrams"')
        ),
    ],
)
def test_a_flipped_bit_in_the_header_is_damage(pages: Path, part: str) -> None:
    file = pages / "data.mdb"
    content = file.read_bytes()
    assert content.count(part.encode()) == 1
    flipped = bytes([*part[:1].encode(), ord(part[1]) ^ 16, *part[2:].encode()])
    file.write_bytes(content.replace(part.encode(), flipped))
    assert "damaged" in printed_text(cli("verify", pages, status=1))


@pytest.mark.parametrize("state", ["empty", "missing"])
def test_an_empty_or_missing_file_beside_journals_is_damage(pages: Path, state: str) -> None:
    file, journal = pages / "data.mdb", pages / "journal-2026-11-21T18-00-00.jsonl"
    file.write_bytes(b"")
    if state == "missing":
        file.unlink()
    for name in ("verify", "stats"):
        assert printed_text(cli(name, pages, status=2)) == f"Error: There is no index in {pages}."
    journal.touch()
    said = f"The index in {pages} is damaged: data.mdb is {state}, but the journal {journal.name} is beside it."
    assert printed_text(cli("verify", pages, status=1)).startswith(said)
    for command in (("index", "stats"), ("index", "compact"), ("index", "export", pages / "file"), ("drops",)):
        assert printed_text(invoke(*command, pages, status=2)).startswith(f"Error: {said}")
    assert file.exists() == (state == "empty")
    assert not (pages / "file").exists()


def test_an_index_that_another_process_locks_is_not_verified(
    pages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the process is started anew
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(  # read by the process that looks at the index
        "from crawler_dedup.index.lmdb import environment\n"
        "environment.Environment.write.__defaults__, environment._CLOSE_TIMEOUT = (0.3,), 0.3\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    hold = """
        import lmdb, sys
        txn = lmdb.open(sys.argv[1], max_dbs=8).begin(write=True)
        print("held", flush=True)
        input()
    """
    with running_program(hold, pages):
        refused = printed_text(cli("verify", pages, status=2))
    assert refused.startswith(f"Error: The index in {pages} is being written by another process")


def garbage_over(directory: Path, quarter: int, seed: int) -> None:
    file = directory / "data.mdb"
    size = file.stat().st_size // 4
    with file.open("r+b") as opened:
        opened.seek(quarter * size)
        opened.write(random.Random(seed).randbytes(size))


@pytest.mark.parametrize(
    ("quarter", "seed"),
    [(2, 1), *(pytest.param(*case, marks=pytest.mark.slow) for case in product(range(4), range(2, 12)))],
)
def test_any_garbage_in_a_file_is_reported_in_a_sentence(pages: Path, quarter: int, seed: int) -> None:
    fill(pages)
    garbage_over(pages, quarter, seed)
    verify_says_that_it_is_damaged(pages)
