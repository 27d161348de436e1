"""``crawler-dedup index compact``."""

from __future__ import annotations

from pathlib import Path

from crawler_dedup.index.lmdb.permuted import PermutedIndex
from tests.support.commandline import invoke, printed_text
from tests.support.indexcommands import (
    PAGES,
    cli,
    fill,
    is_sound,
    kept,
)
from tests.support.indexing import array, clusters, running_program


def test_compact_reports_how_many_bytes_it_freed(index: Path) -> None:
    fill(index, index.name)
    if index.name == "signatures":
        with PermutedIndex.open(index) as opened:
            opened.remove(array(clusters(2, 2000)))
    else:
        invoke("forget", index, "--host", "c.org")
    before = (index / "data.mdb").stat().st_size
    assert " before, and takes " in printed_text(cli("compact", index))
    assert (index / "data.mdb").stat().st_size < before
    assert is_sound(index)
    if index.name == "pages":
        assert kept(index) == set(PAGES)


def test_compact_is_refused_while_a_crawl_runs(pages: Path) -> None:
    crawl = """
        import sys
        from crawler_dedup import Config, Deduplicator
        deduplicator = Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams"))
        print("open", flush=True)
        input()
    """
    with running_program(crawl, pages):
        assert "open in another process" in printed_text(cli("compact", pages, status=2))
