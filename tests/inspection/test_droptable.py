from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler_dedup.errors import DedupError
from crawler_dedup.inspection import journaltable
from crawler_dedup.inspection.droptable import DropTable, SelectedDrops, find_doubts
from crawler_dedup.inspection.journals import Journals, Selection
from crawler_dedup.journal.entry import DUPLICATES, VERSION, Entry, Event
from tests.support.commandline import FIRST, SECOND, entry_about, write


def entry(hour: int, event: Event, run: str) -> Entry:
    return entry_about("http://a.org/1", event=event, run=run, time=f"2026-11-21T{hour}:00:00.000Z")


@pytest.mark.parametrize("first", [0, 1])
def test_a_mark_no_longer_counts_whichever_file_has_the_later_decision(tmp_path: Path, first: int) -> None:
    journals = Journals([tmp_path / FIRST, tmp_path / SECOND])
    entries = [entry(10, "mark", "0000000a"), entry(11, "unchecked", "0000000b")]
    with closing(DropTable(7)) as table:
        for path, each in zip(journals.files, (entries[first], entries[1 - first]), strict=True):
            write(path, [each])
        table.read_journals(journals)
        table.find_last()
        assert table.find({}, 0, 9) == []
        assert SelectedDrops(table, Selection(DUPLICATES)).drops == 0


def test_the_latest_drop_of_a_page_is_found_when_an_earlier_one_is_read_after_it(tmp_path: Path) -> None:
    journals = Journals([tmp_path / FIRST])
    with closing(DropTable(7)) as table:
        for each in (entry(11, "drop", "0000000b"), entry(10, "drop", "0000000a"), entry(12, "unchecked", "0000000c")):
            write(tmp_path / FIRST, [each])
            assert table.read_journals(journals)
            table.find_last()
            assert [drop.entry.run for drop in table.find({}, 0, 9)] == ["0000000b"]
        assert not table.read_journals(journals)


def test_a_full_disk_is_reported_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journaltable, "_SCHEMA", f"{journaltable._SCHEMA}PRAGMA max_page_count = 20;")
    write(tmp_path / FIRST, [replace(entry(10, "drop", "0000000a"), title="long" * 10_000) for _ in range(9)])
    with closing(DropTable(7)) as table, pytest.raises(DedupError, match=r"disk is full.*SQLITE_TMPDIR"):
        table.read_journals(Journals([tmp_path / FIRST]))


def test_a_title_that_differs_by_more_than_the_letter_after_an_apostrophe_is_a_reason_for_doubt() -> None:
    for title, kept_title, doubts in [
        ("Backbone - Adrian Mejia’s Blog", "Backbone | Adrian Mejia Blog", []),
        ("L’eau", "L’air", ["other words in the title: eau"]),
        ("Part b", "Part a", ["other words in the title: b"]),
    ]:
        entry = Entry(VERSION, "", "", "drop", "site", "site", "http://a/1", "http://a/1", "alike", title=title)
        assert [reason for _, reason in find_doubts(entry, kept_title, b"", 7)] == doubts
