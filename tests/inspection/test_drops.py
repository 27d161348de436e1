from __future__ import annotations

import random
from collections import Counter

import pytest

from crawler_dedup.inspection import drops
from crawler_dedup.inspection.drops import DropReader, DropSummary, summarise_drops
from crawler_dedup.journal.entry import DUPLICATES, VERSION, Entry, run_started
from crawler_dedup.journal.reader import Selection


def entries(size: int, hosts: int, seed: int) -> list[Entry]:
    """Return drops whose hosts, representatives, rules and runs are drawn at random, most from the first ones."""
    source = random.Random(seed)

    def few(most: int) -> int:
        return int(most * source.random() ** 3)

    return [
        Entry(
            VERSION,
            f"2026-11-2{few(3)}T10:00:{number % 60:02d}.000Z",
            f"{few(5):08x}",
            source.choice(["drop", "drop", "mark"]),
            "site",
            "site",
            f"http://h{few(hosts)}.org/{number}",
            duplicate_of=f"http://a.org/{few(hosts)}",
            rule=source.choice(["alike", "same bytes"]),
        )
        for number in range(size)
    ]


def summary_of(journal_entries: list[Entry], size: int = 5, selection: Selection | None = None) -> DropSummary:
    return summarise_drops(DropReader(selection or Selection(DUPLICATES)), journal_entries, size)


def most(values: list[str], size: int) -> list[tuple[str, int]]:
    return sorted(Counter(values).items(), key=lambda item: (-item[1], item[0]))[:size]


@pytest.mark.parametrize("seed", range(3))
def test_a_summary_counts_what_a_plain_count_gives(seed: int) -> None:
    journal_entries = entries(2_000, 50, seed)
    summary = summary_of(journal_entries)
    assert (summary.drops, summary.marked) == (2_000, sum(entry.event == "mark" for entry in journal_entries))
    assert summary.rules == most([entry.rule for entry in journal_entries], 9)
    assert summary.hosts == most([entry.url.split("/")[2] for entry in journal_entries], 5)
    assert summary.representatives == most([entry.duplicate_of for entry in journal_entries], 5)
    assert summary.representative_count == len({entry.duplicate_of for entry in journal_entries})
    assert {run.run: run.drops for run in summary.runs} == Counter(entry.run for entry in journal_entries)
    assert not summary.is_incomplete


def test_runs_without_drops_are_named_unless_the_selection_excludes_them() -> None:
    journal_entries = [*entries(10, 3, 0), run_started(0xFF, "site")]
    assert summary_of(journal_entries).runs[-1].drops == 0
    of_run = summary_of(journal_entries, selection=Selection(DUPLICATES, run="000000ff"))
    assert [(run.run, run.drops) for run in of_run.runs] == [("000000ff", 0)]
    assert of_run.drops == 0
    elsewhere = summary_of(journal_entries, selection=Selection(DUPLICATES, host="none.org"))
    assert len(elsewhere.runs) == len(summary_of(journal_entries).runs)


def test_if_there_are_too_many_hosts_the_most_frequent_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drops, "_COUNTERS", 100)
    rare = [
        Entry(VERSION, "", "1", "drop", "", "", f"http://rare{n}.org/", duplicate_of="http://a/") for n in range(500)
    ]
    often = [
        Entry(VERSION, "", "1", "drop", "", "", f"http://often.org/{n}", duplicate_of="http://a/") for n in range(99)
    ]
    journal_entries = rare + often
    random.Random(1).shuffle(journal_entries)
    summary = summary_of(journal_entries, 1)
    assert summary.is_incomplete
    assert summary.host_count == 100
    ((host, count),) = summary.hosts
    assert host == "often.org"
    assert count <= 99
    assert summary.representatives == [("http://a/", 599)]
