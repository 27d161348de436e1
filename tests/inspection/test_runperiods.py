from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler_dedup.inspection.journaltable import JournalTable
from crawler_dedup.journal import reader
from crawler_dedup.journal.entry import VERSION, Entry, parse_time
from crawler_dedup.journal.reader import Journals, RunPeriods
from tests.support.commandline import FIRST, SECOND, write
from tests.support.crawling import WALK, Site, article, html, run_script


def drop(run: str, time: str, spider: str = "site") -> Entry:
    time = f"2026-11-21T{time}:00.000Z"
    return Entry(VERSION, time, run, "drop", spider, "site", "http://a.org/1", duplicate_of="http://a.org/kept")


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
    monkeypatch.setattr(reader, "_MAX_RUNS", 10)
    many = RunPeriods()
    for number in range(1000):
        many.note(f"{number:08x}", 1 + (number * 7) % 1000)
    assert len(many) <= 20
    assert many.latest == f"{857:08x}"  # 857 × 7 = 5,999


def test_each_crawl_names_its_run_in_the_journal(tmp_path: Path) -> None:
    numbers = []
    with Site({"/": html(article("one"))}) as site:
        for _ in range(2):  # the second one has nothing to drop
            done = run_script(tmp_path, WALK, {"DEDUP_DIR": str(tmp_path / "index")}, site=site.url, paths=["/"])
            (line,) = done.lines("INFO", "run ")
            numbers.append(line.split("run ")[1][:8])
    runs = find_runs(tmp_path / "index")
    assert [(run, period.spiders) for run, period in runs.in_order()] == [(run, {"walker"}) for run in numbers]
    assert runs.latest == numbers[1]
