from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest
from click.testing import Result
from xxhash import xxh3_64_intdigest

from crawler_dedup import Config, Deduplicator, SignedPage, Verdict
from crawler_dedup.cli.terminal import quantity
from crawler_dedup.index import maintenance
from crawler_dedup.index.permuted import PermutedIndex
from crawler_dedup.index.records import Record
from crawler_dedup.index.store import Store
from crawler_dedup.signing.lookup import lookup_of
from crawler_dedup.signing.schemes import SimHash
from tests.support.crawling import article
from tests.support.indexing import FILING, array, beside, clusters, cut_chunks, put_meta
from tests.support.noting import command, invoke, said
from tests.support.processes import ROOT

CONFIG = Config(tokenizer="bigrams")
PAGES = {  # address: filed so many days ago, by this run
    "http://a.org/1": (100, 1),
    "http://a.org/2": (1, 0xABC),
    "http://b.org/1": (100, 0xABC),
    "https://b.org:8080/2": (0, 1),
}


def cli(*arguments: object, status: int = 0) -> Result:
    """``crawler-dedup index`` in this process."""
    return invoke("index", *arguments, status=status)


def rows(result: Result) -> dict[str, str]:
    """The table that was printed."""
    cells = ([cell.strip() for cell in line.split("│")[1:3]] for line in result.output.splitlines() if "│" in line)
    return dict(cells)


def installed(*arguments: object, fresh: bool = False) -> subprocess.CompletedProcess[str]:
    """Run ``crawler-dedup index`` in a process of its own, forked unless *fresh*."""
    return command(ROOT, "index", *arguments, fresh=fresh)


def sentence_of(completed: subprocess.CompletedProcess[str]) -> str:
    """What it printed on stderr: one line, which is no traceback."""
    assert completed.stdout == ""
    lines = completed.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("Error: ")
    return lines[0]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """An index of a few pages."""
    directory = tmp_path / "pages"
    with Deduplicator.open(directory, CONFIG) as deduplicator:
        signed = [deduplicator.sign(url, article(url).encode()) for url in PAGES]
    records = [
        Record(page, run, filed=int(time.time()) - days * 86_400 - 60, settled=1)
        for page, (days, run) in zip(signed, PAGES.values(), strict=True)
    ]
    store = Store.attach(directory)
    store.merge(records, FILING)
    store.close()
    return directory


@pytest.fixture
def signatures(tmp_path: Path) -> Path:
    """An index of 500 signatures."""
    directory = tmp_path / "signatures"
    with PermutedIndex.open(directory, tables=10) as index:
        index.insert(array(sorted(set(clusters(1, 1000)))[:500]))
    return directory


@pytest.fixture(params=["pages", "signatures"])
def index(request: pytest.FixtureRequest) -> Path:
    """Each of the two."""
    directory = request.getfixturevalue(request.param)
    assert isinstance(directory, Path)
    return directory


def kept(directory: Path) -> set[str]:
    """The pages of which a copy is recognised."""
    with Deduplicator.open(directory, CONFIG) as deduplicator:
        copies = [deduplicator.sign(f"{url}?copy", article(url, frame="another").encode()) for url in PAGES]
        decisions = deduplicator.decide(copies)
        for decision in decisions:
            if decision.verdict is Verdict.NEW:
                deduplicator.release(decision)
    assert {decision.verdict for decision in decisions} <= {Verdict.NEW, Verdict.DUPLICATE}
    return {decision.duplicate_of for decision in decisions} - {""}


def is_sound(directory: Path) -> bool:
    opened = maintenance.open_index(directory)
    try:
        return not maintenance.verify(opened, lookup_of, lambda _: None)
    finally:
        opened.close()


# stats


def test_stats_of_pages(pages: Path) -> None:
    table = rows(cli("stats", pages))
    assert (table["kind"], table["pages"], table["claims not settled"]) == ("pages", "4", "0")
    assert table["scheme"] == SimHash().spec
    assert table["run 00000001"].startswith("2, the last ")
    assert table["run 00000abc"].startswith("2, the last ")
    assert {"format", "tokenizer", "on disk", "bytes per page", "free in the file", "readers"} <= set(table)


def test_stats_of_signatures(signatures: Path) -> None:
    table = rows(cli("stats", signatures))
    assert (table["kind"], table["signatures"], table["tables"]) == ("signatures", "500", "10")
    assert {"on disk", "bytes per signature", "free in the file", "readers"} <= set(table)
    assert "claims not settled" not in table


def test_stats_of_an_empty_index(tmp_path: Path) -> None:
    Deduplicator.open(tmp_path / "pages", CONFIG).close()
    PermutedIndex.open(tmp_path / "signatures").close()
    for kind in ("pages", "signatures"):
        table = rows(cli("stats", tmp_path / kind))
        assert table[kind] == "0"
        assert not any(name.startswith("bytes per") for name in table)


def test_the_run_stands_in_the_records_and_in_the_stats(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as first:
        first.check("http://a.org/1", article("x").encode(), scope="a.org")
    with Deduplicator.open(tmp_path, CONFIG) as second:
        for seed in "yz":
            second.check(f"http://a.org/{seed}", article(seed).encode(), scope="b.org")
        second.check("http://a.org/copy", article("x").encode(), scope="a.org")
    assert first.run != second.run
    store = Store.attach(tmp_path)
    records = [record for block in store.records(100) for record in block]
    store.close()
    assert [record.run for record in records] == [first.run, second.run, second.run]
    assert all(abs(record.filed - time.time()) < 600 for record in records)
    table = rows(cli("stats", tmp_path))
    assert table[f"run {first.run:08x}"].startswith("1, ")
    assert table[f"run {second.run:08x}"].startswith("2, ")
    assert (table["scope a.org"], table["scope b.org"]) == ("1", "2")
    assert said(invoke("forget", tmp_path, "--run", f"{second.run:08x}")).startswith("2 pages forgotten")


@pytest.mark.parametrize(
    "scope", ["[/b] x", "[red]shop[1]", "[/]", "[bold]", "\\[b]", "a\\", "[link=x]y[/link]", ":smile:"], ids=ascii
)
def test_stats_show_a_scope_as_it_is(pages: Path, scope: str) -> None:
    store = Store.attach(pages)
    store.merge([Record(SignedPage("k", "http://c.org/", scope, signature=5), settled=1)], FILING)
    store.close()
    assert rows(cli("stats", pages))[f"scope {scope}"] == "1"


@pytest.mark.parametrize("filed", [10**18, -(10**18), 2**63, -1, 0])
def test_stats_show_pages_of_every_time(pages: Path, filed: int) -> None:
    store = Store.attach(pages)
    store.merge([Record(SignedPage("k", "u", "", signature=5), 0xFFFFFFFF, filed=filed, settled=1)], FILING)
    store.close()
    assert rows(cli("stats", pages))["run ffffffff"].startswith("1, the last ")
    assert said(invoke("forget", pages, "--run", "ffffffff")).startswith("1 page forgotten.")


# verify


def test_a_sound_index_is_said_to_be(index: Path) -> None:
    before = (index / "data.mdb").read_bytes()
    assert said(cli("verify", index, "--repair")) == "The index is sound."
    assert (index / "data.mdb").read_bytes() == before


def delete_buckets(directory: Path, share: float) -> None:
    with lmdb.open(str(directory), max_dbs=8) as env:
        tables = env.open_db(b"tables")
        with env.begin(write=True, db=tables) as txn:
            buckets = [name for name, _ in txn.cursor()]
            for name in random.Random(1).sample(buckets, max(1, int(len(buckets) * share))):
                assert txn.delete(name)


def test_one_bucket_too_few_is_noticed(index: Path) -> None:
    delete_buckets(index, 0)
    assert "The tables " in said(cli("verify", index, status=1))


@pytest.mark.parametrize(("kind", "share"), [("pages", 1), ("signatures", 0.3)])
def test_a_repair_makes_anew_what_was_deleted(request: pytest.FixtureRequest, kind: str, share: float) -> None:
    directory = request.getfixturevalue(kind)
    delete_buckets(directory, share)
    *problems, repaired = cli("verify", directory, "--repair").output.splitlines()
    assert problems[0].startswith("The tables ")
    assert repaired == "Repaired."
    assert said(cli("verify", directory)) == "The index is sound."
    if kind == "pages":
        assert kept(directory) == set(PAGES)
        return
    expected = sorted(set(clusters(1, 1000)))[:500]
    with PermutedIndex.open(directory) as opened:
        assert len(opened) == 500
        assert [found[0].signature for found in opened.query_many(array(expected), 3)] == expected


def test_a_repair_removes_records_that_cannot_be_read(pages: Path) -> None:
    with lmdb.open(str(pages), max_dbs=8) as env:
        records = env.open_db(b"records")
        with env.begin(write=True, db=records) as txn:
            first = next(iter(txn.cursor()))[0]
            txn.put(first, b"garbage")
    result = said(cli("verify", pages, "--repair"))
    assert "1 records cannot be read." in result
    assert result.endswith("Repaired.")
    assert kept(pages) == set(PAGES) - {next(iter(PAGES))}
    assert is_sound(pages)


def test_signatures_with_damaged_chunks_are_said_and_repaired(signatures: Path, tmp_path: Path) -> None:
    whole = cut_chunks(signatures, 0.8)
    refused = said(cli("export", tmp_path / "file", signatures, status=2))
    assert refused.startswith("Error: ")
    assert "is damaged" in refused
    assert not (tmp_path / "file").exists()
    assert "is damaged" in said(cli("verify", signatures, status=1))
    assert said(cli("verify", signatures, "--repair")).endswith("Repaired.")
    assert said(cli("export", tmp_path / "file", signatures)).startswith(f"{len(whole)} signatures written to ")
    with PermutedIndex.open(signatures) as opened:
        assert {one for block in opened.blocks(100) for one in block.tolist()} == whole


def test_pages_with_damaged_chunks_are_said_and_repaired(pages: Path) -> None:
    cut_chunks(pages, 1)
    repaired = said(cli("verify", pages, "--repair"))
    assert "is damaged" in repaired
    assert repaired.endswith("Repaired.")
    assert kept(pages) == set(PAGES)


@pytest.mark.parametrize("kind", ["pages", "signatures"])
def test_an_index_of_another_format_is_not_looked_at(signatures: Path, kind: str) -> None:
    header = f'{{"format": 99, "spec": {{"tables": "10"}}, "libraries": {{}}, "kind": "{kind}"}}'
    put_meta(signatures, b"header", header.encode())
    for name in ("verify", "stats", "compact"):
        refused = said(cli(name, signatures, status=2))
        assert refused.startswith("Error: ")
        assert "99" in refused


def test_a_damaged_header_is_a_sentence(signatures: Path) -> None:
    put_meta(signatures, b"header", b'{"format": 2, "spec": {"tables": "\xff"}, "libraries": {}}')
    assert said(cli("stats", signatures, status=2)).startswith("Error: ")
    verify_says_that_it_is_damaged(signatures)


def test_a_damaged_count_does_not_keep_verify_from_saying_so(signatures: Path) -> None:
    put_meta(signatures, b"count", b"\xff" * 8)
    cli("stats", signatures)
    verify_says_that_it_is_damaged(signatures)


def test_an_index_that_another_process_locks_is_not_looked_at(
    signatures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(  # read by the process that looks at the index
        "from crawler_dedup.index import environment\nenvironment._OPEN_TIMEOUT = environment._CLOSE_TIMEOUT = 0.3\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    hold = """
        import lmdb, sys
        txn = lmdb.open(sys.argv[1], max_dbs=8).begin(write=True)
        print("held", flush=True)
        input()
    """
    with beside(hold, signatures):
        refused = said(cli("verify", signatures, status=2))
    assert refused.startswith(f"Error: The index in {signatures} is locked by another process")


def test_verify_of_a_sound_index_reads_it_in_another_process(signatures: Path) -> None:
    completed = installed("verify", signatures)
    assert completed.returncode == 0, completed
    assert "sound" in completed.stdout


def garbage_over(directory: Path, quarter: int, seed: int) -> None:
    file = directory / "data.mdb"
    size = file.stat().st_size // 4
    with file.open("r+b") as opened:
        opened.seek(quarter * size)
        opened.write(random.Random(seed).randbytes(size))


def verify_says_that_it_is_damaged(directory: Path) -> None:
    completed = installed("verify", directory)
    assert completed.returncode == 1, completed
    assert completed.stdout.strip()
    assert "sound" not in completed.stdout
    assert "Traceback" not in completed.stdout + completed.stderr


@pytest.mark.parametrize(("kind", "quarter"), [("signatures", 1), ("pages", 2)])
def test_garbage_in_a_file_is_a_sentence(request: pytest.FixtureRequest, kind: str, quarter: int) -> None:
    directory = request.getfixturevalue(kind)
    fill(directory, kind)
    garbage_over(directory, quarter, 1)
    verify_says_that_it_is_damaged(directory)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("quarter", range(4))
def test_any_garbage_in_a_file_is_a_sentence(index: Path, quarter: int, seed: int) -> None:
    fill(index, index.name)
    garbage_over(index, quarter, seed)
    verify_says_that_it_is_damaged(index)


def fill(directory: Path, kind: str) -> None:
    """Let the index have more than a few pages of each database."""
    if kind == "signatures":
        with PermutedIndex.open(directory) as opened:
            opened.insert(array(clusters(2, 2000)))
        return
    store = Store.attach(directory)
    pages = (
        SignedPage(str(number), f"http://c.org/{number}", "", signature=signature)
        for number, signature in enumerate(clusters(2, 2000))
    )
    store.merge([Record(page, settled=1) for page in pages], FILING)
    store.close()


# compact


def test_compact_says_what_it_gave_back(index: Path) -> None:
    fill(index, index.name)
    if index.name == "signatures":
        with PermutedIndex.open(index) as opened:
            opened.remove(array(clusters(2, 2000)))
    else:
        invoke("forget", index, "--host", "c.org")
    before = (index / "data.mdb").stat().st_size
    assert " before, and takes " in said(cli("compact", index))
    assert (index / "data.mdb").stat().st_size < before
    assert is_sound(index)
    if index.name == "pages":
        assert kept(index) == set(PAGES)


def test_compact_is_refused_while_a_crawl_goes_on(pages: Path) -> None:
    crawl = """
        import sys
        from crawler_dedup import Config, Deduplicator
        deduplicator = Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams"))
        print("open", flush=True)
        input()
    """
    with beside(crawl, pages):
        assert "open in another process" in said(cli("compact", pages, status=2))


# forget


@pytest.mark.parametrize(
    ("options", "forgotten"),
    [
        (["--url", "http://a.org/1"], {"http://a.org/1"}),
        (["--url", "http://a.org/"], set()),
        (["--host", "a.org"], {"http://a.org/1", "http://a.org/2"}),
        (["--host", "B.org"], {"http://b.org/1", "https://b.org:8080/2"}),
        (["--host", "org"], set()),
        (["--older-than", "90d"], {"http://a.org/1", "http://b.org/1"}),
        (["--older-than", "12h"], {"http://a.org/1", "http://a.org/2", "http://b.org/1"}),
        (["--older-than", "20w"], set()),
        (["--older-than", "30s"], set(PAGES)),
        (["--run", "00000001"], {"http://a.org/1", "https://b.org:8080/2"}),
        (["--run", "abc", "--host", "b.org"], {"http://b.org/1"}),
        (["--older-than", "90d", "--host", "a.org"], {"http://a.org/1"}),
        (["--older-than", "90d", "--host", "a.org", "--run", "abc"], set()),
    ],
)
def test_what_is_forgotten_is_new_again_and_the_rest_is_not(
    pages: Path, options: list[str], forgotten: set[str]
) -> None:
    unknown = 1 if "--url" in options else 0
    first = invoke("forget", pages, *options, status=0 if forgotten else unknown)
    assert said(first).startswith(f"{quantity(len(forgotten), 'page')} forgotten.")
    assert kept(pages) == set(PAGES) - forgotten
    assert is_sound(pages)
    assert said(invoke("forget", pages, *options, status=unknown)).startswith("0 pages forgotten.")


def test_a_host_can_be_forgotten_beside_addresses_that_are_none(pages: Path) -> None:
    store = Store.attach(pages)
    broken = [SignedPage(url, url, "", signature=number) for number, url in enumerate(["http://[broken", "", "x y"])]
    store.merge([Record(page, settled=1) for page in broken], FILING)
    store.close()
    assert said(invoke("forget", pages, "--host", "a.org")).startswith("2 pages forgotten.")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "Say what to forget: --url, --host, --older-than, --last or --run."),
        (["--older-than", "90"], "'90' is no duration"),
        (["--older-than", "d"], "'d' is no duration"),
        (["--older-than", "-1d"], "'-1d' is no duration"),
        (["--older-than", "ten days"], "'ten days' is no duration"),
        (["--run", "xyz"], "'xyz' is no run"),
    ],
)
def test_a_wrong_call_forgets_nothing(pages: Path, options: list[str], sentence: str) -> None:
    assert sentence in said(invoke("forget", pages, *options, status=2))
    assert kept(pages) == set(PAGES)


def test_signatures_have_no_pages_to_forget(signatures: Path) -> None:
    assert "kind: index has 'signatures'" in said(invoke("forget", signatures, "--host", "a.org", status=2))


# export, import


def test_an_imported_index_decides_as_the_original(pages: Path, tmp_path: Path) -> None:
    file, copy = tmp_path / "file", tmp_path / "copy"
    assert said(cli("export", file, pages)).startswith("4 pages written to ")
    assert said(cli("import", file, copy)) == "4 pages read, 4 of them new."
    assert said(cli("import", file, copy)) == "4 pages read, 0 of them new."
    assert is_sound(copy)
    answers = []
    for directory in (pages, copy):
        with Deduplicator.open(directory, CONFIG) as deduplicator:
            answers.append(
                [
                    deduplicator.check(address, article(url, changed=changed, frame="x").encode())
                    for url in PAGES
                    for address in (url, f"{url}?copy")
                    for changed in (0, 2)
                ]
            )
    assert answers[0] == answers[1]
    assert {decision.verdict for decision in answers[0]} == {Verdict.UNCHANGED, Verdict.DUPLICATE}
    store = Store.attach(copy)
    runs = {record.page.url: record.run for block in store.records(10) for record in block}
    store.close()
    assert runs == {url: run for url, (_, run) in PAGES.items()}


def test_signatures_are_exported_and_imported(signatures: Path, tmp_path: Path) -> None:
    file, copy = tmp_path / "file", tmp_path / "copy"
    assert said(cli("export", file, signatures)).startswith("500 signatures written to ")
    assert said(cli("import", file, copy)) == "500 signatures read, 500 of them new."
    assert said(cli("import", file, copy)) == "500 signatures read, 0 of them new."
    with PermutedIndex.open(signatures) as one, PermutedIndex.open(copy) as other:
        assert one.tables == other.tables == 10
        asked = array(clusters(1, 200))
        assert one.query_many(asked, 3) == other.query_many(asked, 3)


def test_a_damaged_export_is_one_sentence_and_changes_nothing(index: Path, tmp_path: Path) -> None:
    file, before = tmp_path / "file", (index / "data.mdb").read_bytes()
    cli("export", file, index)
    whole = file.read_bytes()
    for content in (whole[:-5], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], b"garbage"):
        file.write_bytes(content)
        for directory in (index, tmp_path / "none"):
            assert "cannot be imported: " in said(cli("import", file, directory, status=2))
    completed = installed("import", file, index)
    assert completed.returncode == 2
    assert sentence_of(completed) == f"Error: {file} cannot be imported: it is no export of an index."
    assert (index / "data.mdb").read_bytes() == before
    assert not (tmp_path / "none").exists()


def test_an_export_whose_end_lies_is_one_sentence(signatures: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    cli("export", file, signatures)
    total = b"\xff" * 8
    end = struct.pack("<cIQ", b"E", 8, xxh3_64_intdigest(b"E" + total)) + total
    file.write_bytes(file.read_bytes()[: -len(end)] + end)
    assert "its end does not fit" in said(cli("import", file, tmp_path / "none", status=2))
    assert not (tmp_path / "none").exists()


def test_an_export_that_cannot_be_written_is_a_sentence(index: Path, tmp_path: Path) -> None:
    assert "Error: " in said(cli("export", tmp_path / "no" / "folder", index, status=2))


def test_pages_are_not_imported_into_signatures(pages: Path, signatures: Path, tmp_path: Path) -> None:
    cli("export", tmp_path / "file", pages)
    assert "kind: index has 'signatures' / you have 'pages'" in said(
        cli("import", tmp_path / "file", signatures, status=2)
    )


# The index of the project


def test_in_a_project_every_command_works_on_its_index(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("words", [("stats",), ("verify",), ("compact",), ("export", "file")], ids=" ".join)
def test_without_a_project_the_index_must_be_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    sentence = sentence_of(command(tmp_path, "index", *words))
    assert sentence == "Error: There is no Scrapy project here: give the directory of the index."
    assert list(tmp_path.iterdir()) == []


# No index


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[list[list[object]]]:
    yield [
        ["index", "stats"],
        ["index", "verify"],
        ["index", "verify", "--repair"],
        ["index", "compact"],
        ["forget", "--host", "a.org"],
        ["index", "export", tmp_path / "file"],
    ]
    assert not (tmp_path / "file").exists()


def test_an_index_that_is_not_there_is_not_made(tmp_path: Path, calls: list[list[object]]) -> None:
    for call in calls:
        assert f"There is no index in {tmp_path / 'none'}." in said(invoke(*call, tmp_path / "none", status=2))
        assert list(tmp_path.iterdir()) == []
    completed = installed("stats", tmp_path / "none", fresh=True)
    assert sentence_of(completed) == f"Error: There is no index in {tmp_path / 'none'}."


def test_nor_in_a_folder_that_is_no_index(tmp_path: Path, calls: list[list[object]]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for call in calls:
        assert f"There is no index in {folder}." in said(invoke(*call, folder, status=2))
        assert list(folder.iterdir()) == []


def test_an_environment_without_a_header_is_no_index(tmp_path: Path, calls: list[list[object]]) -> None:
    lmdb.open(str(tmp_path / "other"), max_dbs=8).close()
    for call in calls:
        assert "There is no index in" in said(invoke(*call, tmp_path / "other", status=2))


def test_a_file_that_is_no_index_is_a_sentence(pages: Path, tmp_path: Path) -> None:
    other = shutil.copytree(pages, tmp_path / "other")
    (other / "data.mdb").write_bytes(os.urandom(50_000))
    assert str(other) in said(cli("stats", other, status=2))
    verify_says_that_it_is_damaged(other)


# plan


def test_a_plan_has_every_design() -> None:
    result = invoke("plan", "--pages", "1e9", "--distance", 3)
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines() if "│" in line]
    assert [line[:4] for line in lines] == [
        ["4", "16", "4", "61,035"],
        ["10", "25–26", "10", "209"],
        ["16", "28", "16", "59.6"],
        ["20", "31–33", "20", "5.1"],
    ]
    assert "1,000,000,000 signatures, distance 3" in result.output


def test_a_plan_says_which_designs_find_a_distance() -> None:
    result = invoke("plan", "--pages", "1e9", "--distance", 6)
    assert result.output.count("finds distances to 3") == 3
    invoke("plan", "--distance", 8, status=2)
