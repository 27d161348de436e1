"""``compare --index``: decisions are repeated by what was known of the sites when they were made."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler_dedup import Config, Deduplicator
from crawler_dedup.index import opening
from crawler_dedup.inspection.comparison import PairSites, find_sites
from crawler_dedup.journal.reader import Journals
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.rules.sites import UNKNOWN_SITE
from tests.support.commandline import FIRST, SECOND, check_pages, entries_of, invoke, json_lines, printed_text, write
from tests.support.crawling import article

KEPT, COPY = "http://a.org/0", "http://a.org/copy"
NAME = "</title>", " | Tea House</title>"
UNNAMED = "<title>Article", "<title>Gazette"  # which no heading names
LATER = 24


def retitled_copy() -> str:
    """Return a copy of a page whose title lacks what the site writes into all others."""
    return article(0, count=60, frame="copy").replace(*NAME).replace(*UNNAMED)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an index in which a copy was dropped with knowledge of the site that has changed since."""
    monkeypatch.chdir(tmp_path)
    named = {
        f"http://a.org/{number}": article(number, count=60).replace(*NAME).replace(*UNNAMED)
        for number in range(1, MIN_PAGES)
    }
    named[KEPT] = article(0, count=60).replace(*UNNAMED)
    check_pages(tmp_path / "index", {**named, COPY: retitled_copy()})
    later_pages = {f"http://a.org/later/{number}": article(f"later {number}") for number in range(LATER)}
    check_pages(tmp_path / "index", later_pages, journal=SECOND)
    (tmp_path / "kept.html").write_text(named[KEPT])
    (tmp_path / "copy.html").write_text(retitled_copy())
    return tmp_path / "index"


def compare(index: Path, *arguments: object, status: int) -> str:
    files = "copy.html", "kept.html", "--new-url", COPY, "--kept-url", KEPT, "--brief"
    return printed_text(invoke("compare", *files, "--index", index, *arguments, status=status))


def find(index: Path) -> PairSites:
    pages = opening.open_index(index)
    try:
        return find_sites(pages, Journals.beside(index, "journal-%(time)s.jsonl"), "site", COPY, KEPT)
    finally:
        pages.close()


def change_journal(index: Path, **fields: object) -> None:
    """Let the journal say something else of the copy."""
    entries = entries_of(index / FIRST)
    (index / FIRST).unlink()
    write(index / FIRST, [replace(entry, **fields) if entry.url == COPY else entry for entry in entries])


def test_a_decision_is_repeated_with_what_was_known_then(index: Path) -> None:
    (entry,) = (entry for entry in entries_of(index / FIRST) if entry.url == COPY)
    assert (entry.snapshot, entry.kept_snapshot) == (MIN_PAGES, MIN_PAGES)
    output = compare(index, "--scope", "site", status=0)
    assert "used what was known about the sites at the time of the decision." in output
    assert output.endswith("duplicate: alike")
    (line,) = json_lines("compare", "copy.html", "kept.html", "--new-url", COPY, "--index", index, "--json", status=1)
    assert (line["snapshot"], line["kept_snapshot"]) == (0, 0)
    compare(index, "--scope", "elsewhere", status=1)  # another scope knows nothing of the site


def test_pages_without_a_decision_are_compared_with_what_is_known_now(index: Path) -> None:
    change_journal(index, url="http://a.org/elsewhere")
    output = compare(index, "--scope", "site", status=1)
    assert "used what the index knows about the sites now." in output
    assert output.endswith("different: other titles")
    assert (find(index).new.number, find(index).kept.number) == (32, 32)


def test_the_scope_of_the_sites_is_that_of_the_setting_unless_it_is_given(index: Path) -> None:
    with Deduplicator.open(index, Config(tokenizer="bigrams")) as deduplicator:
        for number in range(MIN_PAGES):
            deduplicator.check(f"http://a.org/{number}", article(number).encode())
    compared = "compare", "copy.html", "kept.html", "--new-url", COPY, "--index", index, "--json"
    (line,) = json_lines(*compared, status=1)
    assert (line["snapshot"], line["kept_snapshot"]) == (MIN_PAGES, MIN_PAGES)
    (line,) = json_lines(*compared, "--set", "DEDUP_SCOPE=domain", status=1)
    assert (line["snapshot"], line["kept_snapshot"]) == (0, 0)


def test_what_a_journal_does_not_say_or_an_index_no_longer_has_is_reported(index: Path) -> None:
    change_journal(index, snapshot=None, kept_snapshot=None)
    assert "is no longer kept" in compare(index, "--scope", "site", status=1)
    changes: list[dict[str, object]] = [
        {"snapshot": 9, "kept_snapshot": MIN_PAGES},
        {"snapshot": MIN_PAGES, "kept_snapshot": 9},
        {"snapshot": MIN_PAGES, "kept_snapshot": MIN_PAGES, "time": "2020-01-01T00:00:00.000Z"},
    ]
    for fields in changes:
        change_journal(index, **fields)
        assert "is no longer kept" in compare(index, "--scope", "site", status=1)
    change_journal(index, snapshot=0, kept_snapshot=0)  # it was made without knowledge
    sites = find(index)
    assert sites.new is sites.kept is UNKNOWN_SITE
