"""``crawler-dedup index``: which index a command uses, its figures, its damage, and its way into another directory."""

import os
import random
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from itertools import cycle, product
from pathlib import Path

import lmdb
import pytest

from crawler_dedup import Deduplicator, SignedPage
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record
from crawler_dedup.signing.schemes import SimHash
from tests.support.commandline import command, invoke, json_lines, printed_text
from tests.support.crawling import article
from tests.support.indexcommands import CONFIG, PAGES, cli, fill, is_sound, kept, rows, verify_says_that_it_is_damaged
from tests.support.indexing import FILING, put_meta, running_program

pytestmark = pytest.mark.usefixtures("forked_workers")


# Which index


def test_every_command_uses_the_index_of_its_project(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
    (tmp_path / "project_settings.py").write_text("DEDUP_DIR = 'my-index'\nDEDUP_TOKENIZER = 'bigrams'\n")
    with Deduplicator.open(tmp_path / ".scrapy" / "my-index", CONFIG) as deduplicator:
        deduplicator.check("http://a.org/1", article("x").encode())
    for words, output in (
        (("stats",), "bytes per page"),
        (("verify",), "The index is sound."),
        (("compact",), "and takes "),
        (("export", "file"), "1 page written to file"),
        (("import", "file"), "1 page read, 0 of them new."),
    ):
        done = command(tmp_path, "index", *words)
        assert (done.returncode, done.stderr) == (0, "")
        assert output in done.stdout


@pytest.mark.usefixtures("outside")
def test_no_command_creates_an_index_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    lmdb.open(str(tmp_path / "without header"), max_dbs=8).close()
    for call in ("index stats", "index verify", "index compact", "index export x", "forget --host a.org", "why a.org"):
        for place in ("none", "folder", "without header"):
            printed = printed_text(invoke(*call.split(), tmp_path / place, status=2))
            assert f"There is no index in {tmp_path / place}" in printed
        without = invoke(*call.split(), status=2)
        assert (
            without.output
            == "Error: There is no Scrapy project here: name the directory of the index (--help says how).\n"
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "without header"]
    assert not [*(tmp_path / "folder").iterdir()]


# Figures


def test_stats_show_the_figures_of_an_index_of_pages(pages: Path, tmp_path: Path) -> None:
    table = rows(cli("stats", pages))
    assert (table["pages"], table["pages that are still being handled"]) == ("4", "0")
    assert table["sites"].startswith("0 (template learned: 0); ")
    assert table["scheme"] == SimHash().spec
    assert table["run 00000001"].startswith("2, the last ")
    assert table["run 00000abc"].startswith("2, the last ")
    assert {"format", "tokenizer", "on disk", "bytes per page"} <= set(table)
    Deduplicator.open(tmp_path / "empty", CONFIG).close()
    table = rows(cli("stats", tmp_path / "empty"))
    assert (table["pages"], "bytes per page" in table) == ("0", False)


def test_stats_show_any_scope_unchanged_and_any_time(pages: Path) -> None:
    scopes = ["[/b] x", "[red]shop[1]", "[/]", "[bold]", "\\[b]", "a\\", "[link=x]y[/link]", ":smile:"]
    for scope, filed in zip(scopes, cycle([10**18, -(10**18), 2**63 - 1, -1, 0]), strict=False):
        with closing(DirectoryIndex.attach(pages)) as store:
            page = SignedPage("k", "http://c.org/", scope, signature=5)
            store.merge([Record(page, 0xFFFFFFFF, filed=filed, settled=1)], FILING)
        table = rows(cli("stats", pages))
        assert (table[f"scope {scope}"], table["run ffffffff"].partition(" at ")[0]) == ("1", "1, the last")
        assert printed_text(invoke("forget", pages, "--run", "ffffffff")).startswith("1 page forgotten.")


def test_an_index_and_its_damage_are_printed_as_json_lines(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as deduplicator:
        deduplicator.check("http://a.org/1", article("x").encode(), scope="a.org")
    index, scope, run = json_lines("index", "stats", tmp_path, "--json")
    assert (index["type"], index["entries"], index["open_claims"]) == ("index", 1, 0)
    assert index["spec"]["tokenizer"] == "bigrams"
    assert (scope["scope"], scope["pages"]) == ("a.org", 1)
    assert (run["run"], run["pages"]) == (f"{deduplicator.run:08x}", 1)
    age = datetime.now(UTC) - datetime.fromisoformat(run["last_filed"].replace("Z", "+00:00"))
    assert abs(age.total_seconds()) < 600
    assert json_lines("index", "verify", tmp_path, "--json") == []
    with lmdb.open(str(tmp_path), max_dbs=8) as env, env.begin(write=True, db=env.open_db(b"tables")) as txn:
        for name, chunk in list(txn.cursor()):
            txn.put(name, chunk[:-1])
    problems = json_lines("index", "verify", tmp_path, "--json", status=1)
    assert [line["type"] for line in problems] == ["index_problem"]


def test_compact_reports_how_many_bytes_it_freed(pages: Path) -> None:
    fill(pages)
    invoke("forget", pages, "--host", "c.org")
    before = (pages / "data.mdb").stat().st_size
    assert " before, and takes " in printed_text(cli("compact", pages))
    assert (pages / "data.mdb").stat().st_size < before
    assert is_sound(pages)
    assert kept(pages) == set(PAGES)


# Damage


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
    printed, new = carry(pages, tmp_path)
    assert printed.startswith("4 pages written to ")
    assert kept(new) == set(PAGES)
    assert printed_text(cli("import", tmp_path / "file", new)) == "4 pages read, 0 of them new."
    assert "Error: " in printed_text(cli("export", tmp_path / "no" / "folder", pages, status=2))


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


def write_header(directory: Path) -> None:
    put_meta(directory, b"header", b'{"format": 2, "spec": {"tables": "\xff"}, "libraries": {}}')
    assert printed_text(cli("stats", directory, status=2)).startswith("Error: ")


def replace_file(directory: Path) -> None:
    (directory / "data.mdb").write_bytes(os.urandom(50_000))
    assert str(directory) in printed_text(cli("stats", directory, status=2))


def flipping(part: str) -> Callable[[Path], None]:
    def flip(directory: Path) -> None:
        """Change a bit of the header, which names *part* once."""
        content = (directory / "data.mdb").read_bytes()
        assert content.count(part.encode()) == 1
        flipped = bytes([*part[:1].encode(), ord(part[1]) ^ 16, *part[2:].encode()])
        (directory / "data.mdb").write_bytes(content.replace(part.encode(), flipped))

    return flip


def writing_over(quarter: int, seed: int) -> Callable[[Path], None]:
    def write(directory: Path) -> None:
        with (directory / "data.mdb").open("r+b") as opened:
            size = opened.seek(0, os.SEEK_END) // 4
            opened.seek(quarter * size)
            opened.write(random.Random(seed).randbytes(size))

    return write


SLOW = [*map(flipping, ("hash=xxh", "weight=tf", '"min features"', '"bigrams"'))]
SLOW += [writing_over(*case) for case in product(range(4), range(2, 12))]


@pytest.mark.parametrize(
    "damage",
    [
        write_header,
        replace_file,
        flipping('"simhash '),
        flipping('"tokenizer"'),
        writing_over(2, 1),
        *(pytest.param(damage, marks=pytest.mark.slow) for damage in SLOW),
    ],
)
def test_any_damage_to_the_file_is_reported_in_a_sentence(pages: Path, damage: Callable[[Path], None]) -> None:
    fill(pages)
    damage(pages)
    verify_says_that_it_is_damaged(pages)


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
    for call in (("index", "stats"), ("index", "compact"), ("index", "export", pages / "file"), ("drops",)):
        assert printed_text(invoke(*call, pages, status=2)).startswith(f"Error: {said}")
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
