import time
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler_dedup import Config, Deduplicator, SignedPage, Verdict
from crawler_dedup.cli.terminal import quantity
from crawler_dedup.index import opening, runs
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record
from crawler_dedup.journal.entry import run_started
from tests.support.commandline import FIRST, SECOND, check_pages, entries_of, invoke, json_lines, printed_text, write
from tests.support.crawling import article
from tests.support.droppedpages import COPIES, KEPT, PAGES
from tests.support.indexcommands import PAGES as FILED
from tests.support.indexcommands import is_sound, kept
from tests.support.indexing import FILING

pytestmark = pytest.mark.usefixtures("outside")


# Which pages


@pytest.mark.parametrize(
    ("options", "forgotten"),
    [
        (["--url", "http://a.org/1"], {"http://a.org/1"}),
        (["--url", "http://a.org/"], set()),
        (["--host", "a.org"], {"http://a.org/1", "http://a.org/2"}),
        (["--host", "B.org"], {"http://b.org/1", "https://b.org:8080/2"}),
        (["--host", "org"], set()),
        (["--older-than", "90d"], {"http://a.org/1", "http://b.org/1"}),
        (["--older-than", "12h"], {"http://a.org/1", "http://a.org/2", "http://b.org/1"}),
        (["--older-than", "20w"], set()),
        (["--older-than", "2099-01-01"], {*FILED}),
        (["--older-than", "30s"], {*FILED}),
        (["--run", "00000001"], {"http://a.org/1", "https://b.org:8080/2"}),
        (["--run", "abc", "--host", "b.org"], {"http://b.org/1"}),
        (["--older-than", "90d", "--host", "a.org"], {"http://a.org/1"}),
        (["--older-than", "90d", "--host", "a.org", "--run", "abc"], set()),
    ],
)
def test_the_pages_that_meet_all_options_are_forgotten_and_no_others(
    pages: Path, options: list[str], forgotten: set[str]
) -> None:
    unknown = 1 if "--url" in options else 0
    first = invoke("forget", pages, *options, status=0 if forgotten else unknown)
    assert printed_text(first).startswith(f"{quantity(len(forgotten), 'page')} forgotten.")
    assert kept(pages) == {*FILED} - forgotten
    assert is_sound(pages)
    assert printed_text(invoke("forget", pages, *options, status=unknown)).startswith("0 pages forgotten.")


def test_a_host_can_be_forgotten_beside_page_keys_that_are_not_addresses(pages: Path) -> None:
    broken = [SignedPage(url, url, "", signature=number) for number, url in enumerate(["http://[broken", "", "x y"])]
    with closing(DirectoryIndex.attach(pages)) as store:
        store.merge([Record(page, settled=1) for page in broken], FILING)
    assert printed_text(invoke("forget", pages, "--host", "a.org")).startswith("2 pages forgotten.")


def test_an_invalid_call_forgets_nothing(pages: Path) -> None:
    for options, sentence in [
        ([], "Say what to forget: --url, --host, --older-than, --last or --run."),
        (["--older-than", "90"], "'90' is neither a time"),
        (["--older-than", "d"], "'d' is neither a time"),
        (["--older-than", "-1d"], "'-1d' is neither a time"),
        (["--older-than", "ten days"], "'ten days' is neither a time"),
        (["--run", "xyz"], "'xyz' is not the number of a run"),
    ]:
        assert sentence in printed_text(invoke("forget", pages, *options, status=2))
        assert kept(pages) == {*FILED}


# Their duplicates


def exported(dropped: Path, tmp_path: Path, *options: object) -> list[str]:
    invoke("forget", dropped, *options, "--export", tmp_path / "urls.txt")
    return (tmp_path / "urls.txt").read_text(encoding="utf-8").splitlines()


def test_a_forgotten_page_is_new_again_and_its_duplicates_are_exported(dropped: Path) -> None:
    result = invoke("forget", dropped, "--url", KEPT)
    assert "1 page forgotten" in result.stdout
    assert [line.strip() for line in result.stdout.splitlines() if line.startswith("  ")] == COPIES
    with Deduplicator.open(dropped, Config(tokenizer="bigrams")) as deduplicator:
        page = deduplicator.sign(COPIES[0], PAGES[COPIES[0]].encode(), scope="site")
        assert deduplicator.decide([page])[0].verdict is Verdict.NEW


def test_the_export_has_the_duplicates_of_a_page_that_are_not_kept_now(dropped: Path, tmp_path: Path) -> None:
    unrelated = {"http://b.org/copy": article(2, frame="copy")}  # because of another page
    changed = {COPIES[0]: article(3)}  # kept by now
    check_pages(dropped, {COPIES[1]: article(4)}, journal="", scope="another")  # which keeps another address
    passed = {"http://a.org/mark": article(1, frame="mark")}
    check_pages(dropped, {**unrelated, **changed}, journal=SECOND)
    check_pages(dropped, passed, journal="journal-2026-11-21T20-00-00.jsonl", marks=True)
    assert exported(dropped, tmp_path, "--url", KEPT) == [*COPIES[1:], *passed]


def test_duplicates_that_another_page_represents_now_are_not_exported(dropped: Path, tmp_path: Path) -> None:
    (entry,) = (entry for entry in entries_of(dropped / FIRST) if entry.url == COPIES[2])
    write(dropped / SECOND, [replace(entry, duplicate_of="http://b.org/other")])
    assert exported(dropped, tmp_path, "--url", KEPT) == [copy for copy in COPIES if copy != COPIES[2]]


def test_several_pages_are_forgotten_at_once(dropped: Path, tmp_path: Path) -> None:
    check_pages(dropped, {"http://b.org/copy": article(2, frame="copy")}, journal=SECOND)
    assert exported(dropped, tmp_path, "--older-than", "0s") == [*COPIES, "http://b.org/copy"]


def test_the_duplicates_of_a_page_that_was_forgotten_before_are_still_exported(dropped: Path, tmp_path: Path) -> None:
    invoke("forget", dropped, "--host", "a.org")
    assert exported(dropped, tmp_path, "--url", KEPT) == COPIES


def test_an_export_that_cannot_be_written_or_lacks_its_journal_changes_nothing(dropped: Path, tmp_path: Path) -> None:
    result = invoke("forget", dropped, "--url", KEPT, "--export", tmp_path / "no" / "urls.txt", status=2)
    assert result.stderr == f"Error: {tmp_path / 'no' / 'urls.txt'}: No such file or directory.\n"
    if Path("/dev/full").exists():
        assert "No space left" in invoke("forget", dropped, "--url", KEPT, "--export", "/dev/full", status=2).stderr
    (dropped / SECOND).write_text('{"version":0,"time":"","run":"","event":"drop","spider":"","scope":"","url":""}\n')
    result = invoke("forget", dropped, "--url", KEPT, "--export", tmp_path / "urls.txt", status=2)
    assert "older version" in result.stderr
    (dropped / SECOND).unlink()
    assert invoke("why", KEPT, dropped).stdout.startswith(f"{KEPT} is kept")


def test_without_a_journal_there_is_no_export_and_nothing_is_forgotten(tmp_path: Path) -> None:
    check_pages(tmp_path / "index", PAGES, journal="")
    result = invoke("forget", tmp_path / "index", "--url", KEPT, "--export", tmp_path / "urls.txt", status=2)
    assert "There is no journal" in result.stderr
    assert not (tmp_path / "urls.txt").exists()
    result = invoke("forget", tmp_path / "index", "--url", KEPT)
    assert result.stdout.startswith("1 page forgotten.")
    assert "There is no journal" in result.stderr


def test_duplicates_of_a_page_that_stays_are_not_exported(dropped: Path, tmp_path: Path) -> None:
    export = tmp_path / "urls.txt"
    result = invoke("forget", dropped, "--url", KEPT, "--older-than", "1d", "--export", export, status=1)
    assert f"There is no kept page with the address {KEPT} to which the other options apply." in result.stderr
    assert export.read_text() == ""


def test_an_address_without_a_page_is_reported(dropped: Path) -> None:
    result = invoke("forget", dropped, "--url", "http://a.org/typo", status=1)
    assert result.stdout == "0 pages forgotten.\n"
    assert result.stderr == "There is no kept page with the address http://a.org/typo.\n"


@pytest.mark.parametrize("event", ["dropped", "marked"])
def test_for_a_page_that_was_dropped_the_kept_page_and_its_rule_are_named(dropped: Path, event: str) -> None:
    (entry,) = (entry for entry in entries_of(dropped / FIRST) if entry.url == COPIES[1])
    if event == "marked":
        entry = replace(entry, event="mark", time="2099-01-01T00:00:00.000Z", run="0000000b")
        write(dropped / SECOND, [entry])
    result = invoke("forget", dropped, "--url", COPIES[1], status=1)
    assert result.stdout == "0 pages forgotten.\n"
    said = result.stderr.splitlines()
    assert said[:2] == [
        f"There is no kept page with the address {COPIES[1]}.",
        f"It was {event} as a duplicate of {KEPT}; `crawler-dedup why {COPIES[1]}` says why.",
    ]
    assert "`crawler-dedup separate http" in said[2]


def test_forgotten_pages_can_be_printed_as_a_json_line(dropped: Path) -> None:
    assert json_lines("forget", dropped, "--url", KEPT, "--json") == [
        {"type": "forgotten", "pages": 1, "duplicates": COPIES}
    ]
    assert json_lines("forget", dropped, "--host", "b.org", "--json") == [
        {"type": "forgotten", "pages": 1, "duplicates": None}
    ]


# The latest run


def is_kept(url: str, directory: Path) -> bool:
    with closing(opening.open_index(directory)) as pages:
        return url in {record.page.url for record in pages.records()}


@pytest.mark.parametrize("journal", [SECOND, ""])
def test_the_pages_of_the_latest_run_with_or_without_a_journal_can_be_forgotten(
    dropped: Path, journal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "time", lambda: time.time() + 2)  # an index knows whole seconds
    check_pages(dropped, {"http://c.org/later": article(7)}, journal=journal)
    assert printed_text(invoke("forget", dropped, "--last")).startswith("1 page of run ")
    assert not is_kept("http://c.org/later", dropped)
    assert is_kept(KEPT, dropped)


def test_a_latest_run_that_filed_nothing_has_nothing_to_forget(dropped: Path) -> None:
    write(dropped / SECOND, [replace(run_started(0xC, "site"), time="2099-01-01T00:00:00.000Z")])
    assert printed_text(invoke("forget", dropped, "--last")).startswith("0 pages of run 0000000c forgotten.")
    assert is_kept(KEPT, dropped)
