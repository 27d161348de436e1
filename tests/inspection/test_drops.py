from __future__ import annotations

import random

import pytest

from crawler_dedup.inspection import drops
from crawler_dedup.inspection.drops import DropReader, DropSummary, summarise_drops
from crawler_dedup.journal.entry import DUPLICATES, VERSION, Entry
from crawler_dedup.journal.reader import Selection


def summary_of(journal_entries: list[Entry], size: int = 5, selection: Selection | None = None) -> DropSummary:
    return summarise_drops(DropReader(selection or Selection(DUPLICATES)), journal_entries, size)


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
