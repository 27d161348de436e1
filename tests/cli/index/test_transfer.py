"""``crawler-dedup index export`` and ``import``."""

from __future__ import annotations

from pathlib import Path

from crawler_dedup import Deduplicator, Verdict
from crawler_dedup.index.lmdb.permuted import PermutedIndex
from crawler_dedup.index.lmdb.store import Store
from tests.support.commandline import printed_text
from tests.support.crawling import article
from tests.support.indexcommands import (
    CONFIG,
    PAGES,
    cli,
    installed,
    is_sound,
    sentence_of,
)
from tests.support.indexing import array, clusters


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
    assert printed_text(cli("export", file, signatures)).startswith("500 signatures written to ")
    assert printed_text(cli("import", file, copy)) == "500 signatures read, 500 of them new."
    assert printed_text(cli("import", file, copy)) == "500 signatures read, 0 of them new."
    with PermutedIndex.open(signatures) as exported, PermutedIndex.open(copy) as imported:
        assert exported.tables == imported.tables == 10
        queried = array(clusters(1, 200))
        assert exported.query_many(queried, 3) == imported.query_many(queried, 3)


def test_a_damaged_export_is_reported_in_one_sentence_and_changes_nothing(index: Path, tmp_path: Path) -> None:
    file, before = tmp_path / "file", (index / "data.mdb").read_bytes()
    cli("export", file, index)
    whole = file.read_bytes()
    for content in (whole[:-5], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], b"garbage"):
        file.write_bytes(content)
        for directory in (index, tmp_path / "none"):
            assert "cannot be imported: " in printed_text(cli("import", file, directory, status=2))
    completed = installed("import", file, index)
    assert completed.returncode == 2
    assert sentence_of(completed) == f"Error: {file} cannot be imported: it is not an export of an index."
    assert (index / "data.mdb").read_bytes() == before
    assert not (tmp_path / "none").exists()


def test_an_export_with_a_wrong_number_of_signatures_is_reported_in_one_sentence(
    signatures: Path, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    cli("export", file, signatures)
    file.write_bytes(file.read_bytes().replace(b" 500\n", b"9500\n", 1))
    assert "it has 500 signatures, and should have 9,500" in printed_text(
        cli("import", file, tmp_path / "none", status=2)
    )
    assert not (tmp_path / "none").exists()


def test_an_export_that_cannot_be_written_is_reported_in_a_sentence(index: Path, tmp_path: Path) -> None:
    assert "Error: " in printed_text(cli("export", tmp_path / "no" / "folder", index, status=2))


def test_pages_are_not_imported_into_signatures(pages: Path, signatures: Path, tmp_path: Path) -> None:
    cli("export", tmp_path / "file", pages)
    assert "kind: index has 'signatures' / you have 'pages'" in printed_text(
        cli("import", tmp_path / "file", signatures, status=2)
    )
