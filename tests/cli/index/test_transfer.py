"""``crawler-dedup index export`` and ``import``."""

from __future__ import annotations

from pathlib import Path

from crawler_dedup import Deduplicator, Verdict
from crawler_dedup.index.lmdb.index import DirectoryIndex
from tests.support.commandline import printed_text
from tests.support.crawling import article
from tests.support.indexcommands import CONFIG, PAGES, cli, is_sound


def test_an_imported_index_decides_as_the_original(pages: Path, tmp_path: Path) -> None:
    file, copy = tmp_path / "file", tmp_path / "copy"
    assert printed_text(cli("export", file, pages)).startswith("4 pages written to ")
    assert printed_text(cli("import", file, copy)) == "4 pages read, 4 of them new."
    assert printed_text(cli("import", file, copy)) == "4 pages read, 0 of them new."
    assert is_sound(copy)
    answers = []
    for directory in (pages, copy):
        with Deduplicator.open(directory, CONFIG) as deduplicator:
            answers.append(
                [
                    deduplicator.check(address, article(url, shortened=shortened, frame="x").encode())
                    for url in PAGES
                    for address in (url, f"{url}?copy")
                    for shortened in (0, 1)
                ]
            )
    assert answers[0] == answers[1]
    assert {decision.verdict for decision in answers[0]} == {Verdict.UNCHANGED, Verdict.DUPLICATE}
    store = DirectoryIndex.attach(copy)
    runs = {record.page.url: record.run for record in store.records()}
    store.close()
    assert runs == {url: run for url, (_, run) in PAGES.items()}


def test_an_export_that_cannot_be_written_is_reported_in_a_sentence(pages: Path, tmp_path: Path) -> None:
    assert "Error: " in printed_text(cli("export", tmp_path / "no" / "folder", pages, status=2))
