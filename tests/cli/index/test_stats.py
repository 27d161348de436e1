"""``crawler-dedup index stats`` and ``compact``."""

from __future__ import annotations

import time
from pathlib import Path

from crawler_dedup import Deduplicator, SignedPage
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record
from crawler_dedup.signing.schemes import SimHash
from tests.support.commandline import invoke, printed_text
from tests.support.crawling import article
from tests.support.indexcommands import CONFIG, PAGES, cli, fill, is_sound, kept, rows
from tests.support.indexing import FILING


def test_stats_show_the_figures_of_an_index_of_pages(pages: Path) -> None:
    table = rows(cli("stats", pages))
    assert (table["pages"], table["pages not handled yet"]) == ("4", "0")
    assert table["sites"].startswith("0, 0 of them with a snapshot; ")
    assert table["scheme"] == SimHash().spec
    assert table["run 00000001"].startswith("2, the last ")
    assert table["run 00000abc"].startswith("2, the last ")
    assert {"format", "tokenizer", "on disk", "bytes per page"} <= set(table)


def test_stats_show_an_empty_index(tmp_path: Path) -> None:
    Deduplicator.open(tmp_path, CONFIG).close()
    table = rows(cli("stats", tmp_path))
    assert table["pages"] == "0"
    assert "bytes per page" not in table


def test_the_run_is_stored_in_records_and_shown_by_stats(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, CONFIG) as first:
        first.check("http://a.org/1", article("x").encode(), scope="a.org")
    with Deduplicator.open(tmp_path, CONFIG) as second:
        for seed in "yz":
            second.check(f"http://a.org/{seed}", article(seed).encode(), scope="b.org")
        second.check("http://a.org/copy", article("x").encode(), scope="a.org")
    assert first.run != second.run
    store = DirectoryIndex.attach(tmp_path)
    records = list(store.records())
    store.close()
    assert [record.run for record in records] == [first.run, second.run, second.run]
    assert all(abs(record.filed - time.time()) < 600 for record in records)
    table = rows(cli("stats", tmp_path))
    assert table[f"run {first.run:08x}"].startswith("1, ")
    assert table[f"run {second.run:08x}"].startswith("2, ")
    assert (table["scope a.org"], table["scope b.org"]) == ("1", "2")
    assert printed_text(invoke("forget", tmp_path, "--run", f"{second.run:08x}")).startswith("2 pages forgotten")


def test_stats_show_the_name_of_a_scope_unchanged(pages: Path) -> None:
    for scope in ["[/b] x", "[red]shop[1]", "[/]", "[bold]", "\\[b]", "a\\", "[link=x]y[/link]", ":smile:"]:
        store = DirectoryIndex.attach(pages)
        store.merge([Record(SignedPage("k", "http://c.org/", scope, signature=5), settled=1)], FILING)
        store.close()
        assert rows(cli("stats", pages))[f"scope {scope}"] == "1"


def test_stats_show_pages_with_any_time(pages: Path) -> None:
    for filed in [10**18, -(10**18), 2**63 - 1, -1, 0]:
        store = DirectoryIndex.attach(pages)
        store.merge([Record(SignedPage("k", "u", "", signature=5), 0xFFFFFFFF, filed=filed, settled=1)], FILING)
        store.close()
        assert rows(cli("stats", pages))["run ffffffff"].startswith("1, the last ")
        assert printed_text(invoke("forget", pages, "--run", "ffffffff")).startswith("1 page forgotten.")


def test_compact_reports_how_many_bytes_it_freed(pages: Path) -> None:
    fill(pages)
    invoke("forget", pages, "--host", "c.org")
    before = (pages / "data.mdb").stat().st_size
    assert " before, and takes " in printed_text(cli("compact", pages))
    assert (pages / "data.mdb").stat().st_size < before
    assert is_sound(pages)
    assert kept(pages) == set(PAGES)
