import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from crawler_dedup.inspection.journals import Journals, sample
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.writer import JournalWriter
from tests.support.commandline import FIRST, entries_of, entry_about

DEFAULT = "journal-%(time)s.jsonl"


def urls(entries: Sequence[Entry]) -> list[str]:
    return [entry.url for entry in entries]


def journal_of(directory: Path, name: str, runs: int) -> list[str]:
    """Write a journal of *runs* crawls with a drop each; return the addresses in it, in their order."""
    written = [f"http://a.org/{number}" for number in range(runs)]
    for url in written:
        journal = JournalWriter(directory / name)
        journal.write(entry_about(url))
        journal.close()
    return written


# Which files


def test_the_journals_beside_an_index_are_in_the_order_of_the_numbers_in_their_names(tmp_path: Path) -> None:
    names = [f"journal-{number}.jsonl" for number in (9, 10, 100)]
    for name in (*names, "journal.txt", "other.jsonl", "data.mdb"):
        (tmp_path / name).touch()
    assert [path.name for path in Journals.beside(tmp_path, DEFAULT).files] == names


@pytest.mark.parametrize(
    "name",
    [
        *("%(name)s.jsonl", "notes/%(name)s-%(time)s.log", "journal", "%(time)s-drops", "a.b", "drops[1].jsonl"),
        *("%(name)s/drops.jsonl", "%(time)s/%(name)s.jsonl", "%(name)s"),
    ],
)
def test_a_journal_of_every_allowed_name_is_found(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "index"
    written = journal_of(directory, name % {"name": "my.spider", "time": "2026-11-21T18-00-00"}, 3)
    (directory / "data.mdb").touch()
    for beside, setting in ((directory, name), (tmp_path, str(directory / name))):
        assert urls([entry for path in Journals.beside(beside, setting).files for entry in entries_of(path)]) == written


def test_without_a_name_there_is_no_journal(tmp_path: Path) -> None:
    journal_of(tmp_path, FIRST, 2)
    assert Journals.beside(tmp_path, "").files == []


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    assert Journals([tmp_path / FIRST, tmp_path / FIRST]).files == [tmp_path / FIRST]


# A sample


def test_every_pair_is_drawn_equally_often() -> None:
    entries = [entry_about(str(number)) for number in range(5)]
    times = Counter(tuple(urls(sample(entries, 2, random.Random(seed)))) for seed in range(4_000))
    # 400 each, standard deviation 19; in their order, so that each pair occurs in one.
    assert len(times) == 10
    assert all(abs(count - 400) < 100 for count in times.values()), times


def test_a_sample_has_the_requested_size_and_the_order_of_the_entries() -> None:
    for size, drawn in [(0, 0), (1, 1), (7, 7), (50, 50), (80, 50)]:
        entries = [entry_about(str(number)) for number in range(50)]
        drawn_urls = [int(entry.url) for entry in sample(iter(entries), size, random.Random(size))]
        assert len(set(drawn_urls)) == drawn
        assert drawn_urls == sorted(drawn_urls)
