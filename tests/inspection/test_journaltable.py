"""Journals are read once, in whatever state they are; runs and the duplicates of a page are found in them."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler_dedup.inspection import journals
from crawler_dedup.inspection.journals import Journals, RunPeriods
from crawler_dedup.inspection.journaltable import JournalTable
from crawler_dedup.journal.entry import Entry, Event, parse_time
from tests.support.commandline import FIRST, SECOND, entry_about, write

# Reading


def test_damaged_lines_are_counted_by_file_and_the_rest_is_read(tmp_path: Path) -> None:
    for name in (FIRST, SECOND):
        write(tmp_path / name, [entry_about(f"http://a.org/{name}")])
    whole = (tmp_path / FIRST).read_bytes()
    (tmp_path / FIRST).write_bytes(whole[:40] + b"\n" + whole + b"[]\n\xff\n" + whole + whole[:90])
    with closing(JournalTable()) as table:
        for _ in range(3):  # none is counted twice
            table.read_journals(Journals.beside(tmp_path, "journal-%(time)s.jsonl"))
        assert [name for (name,) in table.select("SELECT url FROM entries ORDER BY id")] == [
            *[f"http://a.org/{FIRST}"] * 2,
            f"http://a.org/{SECOND}",
        ]
        assert table.damaged == {tmp_path / FIRST: 4}  # and none in the other file


def test_reading_reports_every_byte_once(tmp_path: Path) -> None:
    write(tmp_path / FIRST, [entry_about("http://a.org/1")] * 250)
    calls: list[int] = []
    with closing(JournalTable()) as table:
        table.read_journals(journals := Journals([tmp_path / FIRST]), advance=calls.append)
    assert sum(calls) == journals.size == (tmp_path / FIRST).stat().st_size
    assert len(calls) > 2


# The duplicates of a page

KEPT = "http://a.org/kept"
OTHER = "http://a.org/other"


def represented_by(directory: Path, kept: str, scope: str = "site") -> dict[str, Entry]:
    """Return the pages for which *kept* stands in *scope*, by address."""
    with closing(JournalTable()) as table:
        table.read_journals(Journals.beside(directory, "journal-%(time)s.jsonl"))
        table.find_last()
        return {each.url: each for each in table.find_duplicates(lambda *address: address == (scope, kept))}


@pytest.mark.parametrize(
    ("events", "is_duplicate"),
    [
        ([("drop", KEPT)], True),
        ([("mark", KEPT)], True),
        ([("drop", OTHER)], False),
        ([("drop", KEPT), ("drop", OTHER)], False),
        ([("drop", OTHER), ("drop", KEPT)], True),
        ([("drop", KEPT), ("mark", KEPT)], True),
        ([("drop", KEPT), ("drop", "http://a.org/1")], False),  # kept by then, and unchanged
        ([("drop", KEPT), ("watchdog", KEPT)], True),
        ([("watchdog", KEPT)], False),
        ([("unchecked", KEPT)], False),
    ],
)
def test_the_last_entry_of_the_journals_decides_for_which_page_another_stands(
    tmp_path: Path, events: list[tuple[Event, str]], is_duplicate: bool
) -> None:
    write(tmp_path / FIRST, [entry_about("http://a.org/1", kept, event) for event, kept in events])
    duplicates = represented_by(tmp_path, KEPT)
    assert list(duplicates) == ["http://a.org/1"] * is_duplicate
    assert all(entry.event == events[-1][0] or events[-1][0] == "watchdog" for entry in duplicates.values())


def test_the_later_entry_counts_whatever_file_it_is_in(tmp_path: Path) -> None:
    write(tmp_path / FIRST, [entry_about("http://a.org/1", KEPT, time="2026-11-21T20:00:00.000Z")])
    write(tmp_path / SECOND, [entry_about("http://a.org/1", OTHER, time="2026-11-21T19:00:00.000Z")])
    assert list(represented_by(tmp_path, KEPT)) == ["http://a.org/1"]
    assert represented_by(tmp_path, OTHER) == {}


def test_each_scope_has_entries_of_its_own(tmp_path: Path) -> None:
    in_other = entry_about("http://a.org/1", OTHER, scope="other", time="2026-11-21T20:00:00.000Z")
    write(tmp_path / FIRST, [entry_about("http://a.org/1", KEPT), in_other])
    assert list(represented_by(tmp_path, KEPT)) == ["http://a.org/1"]
    assert represented_by(tmp_path, OTHER) == {}
    assert list(represented_by(tmp_path, OTHER, "other")) == ["http://a.org/1"]


def test_an_unchanged_page_is_not_a_duplicate_of_itself(tmp_path: Path) -> None:
    write(tmp_path / FIRST, [entry_about(KEPT, KEPT, "unchanged_dropped"), entry_about(KEPT, KEPT, "unchanged")])
    assert represented_by(tmp_path, KEPT) == {}


def test_two_pages_of_one_address_can_be_duplicates(tmp_path: Path) -> None:
    write(tmp_path / FIRST, [entry_about(KEPT, KEPT)])
    assert list(represented_by(tmp_path, KEPT)) == [KEPT]


# Runs


def drop(run: str, time: str, spider: str = "site") -> Entry:
    return entry_about("http://a.org/1", run=run, time=f"2026-11-21T{time}:00.000Z", spider=spider)


def runs_in(directory: Path, *files: Sequence[Entry]) -> RunPeriods:
    for name, entries in zip((FIRST, SECOND), files, strict=False):
        write(directory / name, entries)
    return find_runs(directory)


def find_runs(directory: Path) -> RunPeriods:
    with closing(JournalTable()) as table:
        table.read_journals(Journals.beside(directory, "journal-%(time)s.jsonl"))
        return table.find_runs()


def test_a_run_lasts_from_its_first_line_to_its_last(tmp_path: Path) -> None:
    runs = runs_in(tmp_path, [drop("0000000a", "10:00"), drop("0000000b", "10:30"), drop("0000000a", "11:00", "other")])
    first, second = runs.in_order()
    assert (first[0], second[0]) == ("0000000a", "0000000b")
    assert second[1].first == second[1].last == parse_time("2026-11-21T10:30:00Z")
    assert first[1].spiders == {"site", "other"}
    assert runs.span == (first[1].first, first[1].last) == (first[1].first, first[1].first + 3600)


@pytest.mark.parametrize(
    ("lines", "latest"),
    [
        ([], ""),
        ([("0000000a", "10:00")], "0000000a"),
        ([("0000000a", "10:00"), ("0000000b", "11:00")], "0000000b"),
        # The other one writes longer.
        ([("0000000a", "10:00"), ("0000000b", "10:30"), ("0000000a", "12:00")], "0000000b"),
        ([("0000000b", "10:30"), ("0000000a", "12:00"), ("0000000a", "10:00")], "0000000b"),
        # Both began at the same time: always the same answer.
        ([("0000000b", "10:00"), ("0000000a", "10:00")], "0000000b"),
    ],
)
def test_the_latest_run_is_the_one_that_began_last(tmp_path: Path, lines: list[tuple[str, str]], latest: str) -> None:
    assert runs_in(tmp_path, [drop(*line) for line in lines]).latest == latest


def test_a_time_that_cannot_be_read_makes_no_run_the_latest(tmp_path: Path) -> None:
    odd = replace(drop("0000000b", "12:00"), time="yesterday")
    runs = runs_in(tmp_path, [drop("0000000a", "10:00"), odd])
    assert (runs.latest, len(runs)) == ("0000000a", 2)
    assert runs.span == (parse_time("2026-11-21T10:00:00Z"),) * 2


def test_if_there_are_too_many_runs_the_latest_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_MAX_RUNS", 10)
    many = RunPeriods()
    for number in range(1000):
        many.note(f"{number:08x}", 1 + (number * 7) % 1000)
    assert len(many) <= 20
    assert many.latest == f"{857:08x}"  # 857 × 7 = 5,999
