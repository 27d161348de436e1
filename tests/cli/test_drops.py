"""``crawler-dedup drops`` and ``groups`` list what was dropped, by the journal and the index."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from crawler_dedup.index.opening import open_index
from crawler_dedup.inspection.droptable import DropTable
from crawler_dedup.inspection.journals import Journals
from crawler_dedup.journal.entry import run_started
from tests.support.commandline import (
    FIRST,
    SECOND,
    check_pages,
    entries_of,
    in_terminal,
    invoke,
    json_lines,
    lines_in,
    printed_text,
    write,
)
from tests.support.crawling import article
from tests.support.droppedpages import COPIES, KEPT, PAGES, explained
from tests.support.servers import Server

pytestmark = pytest.mark.usefixtures("outside")


def columns(result: Result) -> list[list[str]]:
    """Return the lines of `drops`, in columns."""
    return [line.split("\t") for line in result.stdout.splitlines()]


def urls(result: Result) -> list[str]:
    """Return the pages that `drops` lists."""
    return [url for _, _, url, _, _ in columns(result)]


# A line a drop


def test_a_drop_is_listed_in_a_line_with_its_representative_and_the_reason(dropped: Path) -> None:
    entries = entries_of(dropped / FIRST)
    result = invoke("drops", dropped)
    assert columns(result) == [[entry.time, "drop", entry.url, KEPT, "alike"] for entry in entries]
    assert urls(result) == COPIES
    assert result.stderr.startswith(f"6 drops in run {entries[0].run}, {entries[0].time[:10]} ")


def test_the_journal_of_an_index_of_an_earlier_version_on_a_server_can_be_read(dropped: Path, server: Server) -> None:
    server.empty()
    arguments = ("drops", "--journal", dropped / FIRST, server.url())
    assert "There is no index in" in invoke(*arguments, status=2).stderr
    for header in ('abcd{"format":10,"spec":{"scheme":"simhash"},"libraries":{}}', "damaged"):
        server.run("HSET", "{index:0}", "header", header)
        assert urls(invoke(*arguments)) == COPIES


def test_a_marked_page_is_distinguished_from_a_dropped_one_and_other_events_are_not_listed(tmp_path: Path) -> None:
    check_pages(tmp_path / "index", {**PAGES, "http://a.org/short": "<p>short</p>"}, marks=True)
    check_pages(tmp_path / "index", {KEPT: PAGES[KEPT]}, journal=SECOND)  # unchanged
    result = invoke("drops", tmp_path / "index")
    assert urls(result) == COPIES
    assert {event for _, event, *_ in columns(result)} == {"mark"}


def test_pages_of_a_dry_run_are_never_called_drops(tmp_path: Path) -> None:
    check_pages(tmp_path / "index", PAGES, marks=True)
    listed, summed = invoke("drops", tmp_path / "index"), invoke("drops", tmp_path / "index", "--summary", "--top", 1)
    assert listed.stderr.startswith("6 marked pages in run ")
    assert invoke("drops", tmp_path / "index", "--sample", 2).stderr.startswith("2 of 6 marked pages in run ")
    assert summed.stdout.startswith("6 marked pages in run ")
    assert summed.stdout.count(" duplicates ┃") == summed.stdout.count("┏") == 4, summed.stdout
    assert "Marked as duplicates, and passed: 6 pages." in summed.stdout
    assert not re.search("drop", listed.stderr + summed.stdout)
    assert invoke("judge", tmp_path / "index", typed="q\n").stderr.startswith("6 marked pages in run ")
    write(tmp_path / "index" / SECOND, [run_started(0xABC, "site", is_dry=True)])
    empty = invoke("drops", tmp_path / "index", "--summary", "--run", "abc").stdout
    assert "No page was dropped or marked in run 00000abc" in empty
    assert "dry run" in empty


def test_marks_of_a_dry_run_no_longer_count_once_a_later_run_has_decided_about_the_page(tmp_path: Path) -> None:
    """That run meets a copy first, which it keeps; another copy is unchecked, and three are not visited."""
    index = tmp_path / "index"
    check_pages(index, PAGES, marks=True, DEDUP_ACTION="mark")
    later = {COPIES[0]: PAGES[COPIES[0]], KEPT: PAGES[KEPT], COPIES[1]: PAGES[COPIES[1]], COPIES[2]: "<p>short</p>"}
    check_pages(index, later, journal=SECOND)
    dropped, marked = [KEPT, COPIES[1]], COPIES[3:]
    listed = invoke("drops", index)
    assert [line[1:3] for line in columns(listed)] == [
        *(["mark", url] for url in marked),
        *(["drop", url] for url in dropped),
    ]
    assert listed.stderr.startswith("5 dropped or marked pages in 2 runs")
    assert explained(invoke("judge", index, typed="s\n" * 9)) == [*marked, *dropped]
    with closing(DropTable(7)) as table, closing(open_index(index)) as pages:
        table.read_index(pages)
        table.read_journals(Journals([index / FIRST, index / SECOND]))
        table.find_last()
        assert sorted(drop.entry.url for drop in table.find({}, 0, 9)) == sorted([*dropped, *marked])
    run = entries_of(index / FIRST)[0].run
    assert urls(invoke("drops", index, "--run", run)) == COPIES
    journals = ("--journal", index / FIRST, "--journal", index / SECOND)
    assert urls(invoke("drops", *journals)) == [COPIES[0], *marked, *dropped], "only the index knows that one is kept"


def test_an_explanation_has_the_titles_and_all_measures(dropped: Path) -> None:
    (entry,) = (entry for entry in entries_of(dropped / FIRST) if entry.url == COPIES[0])
    result = invoke("drops", dropped, "--explain")
    assert result.stdout.splitlines()[:3] == [
        f"{COPIES[0]}  “Article 1”",
        f"  ← {KEPT}",
        f"    rule “alike”, distance 0; {entry.time[:10]} {entry.time[11:19]} UTC, run {entry.run}",
    ]
    assert explained(result) == COPIES


def test_addresses_are_complete_in_a_pipe_and_on_a_terminal(dropped: Path) -> None:
    (entry, *_) = entries_of(dropped / FIRST)
    url = f"http://a.org/{'x' * 500}/end"
    write(dropped / SECOND, [replace(entry, url=url, duplicate_of=KEPT, run="0000000b")])
    assert urls(invoke("drops", dropped, "--run", "b")) == [url]
    printed = in_terminal(80, "drops", dropped, "--run", "b").splitlines()[:2]
    assert printed == [f"{entry.time[:19].replace('T', ' ')} UTC  drop  {url}", f"  ← {KEPT}  alike"]


# Options


def test_drops_that_meet_all_options_are_listed(mixed: Path) -> None:
    for options, numbers in [
        ((), "1234"),
        (("--host", "b.org"), "12"),
        (("--host", "www.B.org"), "12"),
        (("--host", "b.org:8080"), "2"),
        (("--host", "org"), ""),
        (("--rule", "same bytes"), "1"),
        (("--run", "0000000B"), "2"),
        (("--since", "2026-01-02"), "234"),
        (("--since", "2026-01-02T10:00"), "234"),
        (("--since", "2026-01-02T10:00:01Z"), "34"),
        (("--since", "2026-01-02T12:00:00+02:00"), "234"),
        (("--since", "1h"), "4"),
        (("--since", "300m"), "34"),
        (("--since", "0.5d"), "34"),
        (("--since", "1h", "--host", "b.org"), ""),
        (("--rule", "alike", "--run", "0000000b"), "2"),
    ]:
        result = invoke("drops", mixed, *options)
        assert "".join(url[-1] for url in urls(result)) == numbers
        if not numbers:
            assert result.stderr.startswith("No page with the given host or rule was dropped or marked in ")


def test_an_invalid_value_is_reported_in_a_sentence(dropped: Path) -> None:
    for options, sentence in [
        (("--since", "yesterday"), "neither a time"),
        (("--since", "5x"), "neither a time"),
        (("--since", "2026-13-01"), "neither a time"),
        (("--since", "999999999999d"), "neither a time"),
        (("--run", "0x12"), "is not the number of a run"),
        (("--rule", "alkie"), "No rule 'alkie' drops pages"),
        (("--run", "0000000g"), "is not the number of a run"),
        (("--run", "0000000b", "--last"), "cannot be combined"),
        (("--sample", "-1"), "--sample"),
        (("--seed", "x"), "--seed"),
    ]:
        assert sentence in printed_text(invoke("judge", dropped, *options, status=2))


def test_without_a_journal_nothing_can_be_listed_judged_or_reviewed(tmp_path: Path) -> None:
    check_pages(tmp_path / "index", PAGES, journal="")
    for command in ("drops", "judge", "review"):
        assert "There is no journal beside the index" in invoke(command, tmp_path / "index", status=2).stderr


def test_a_journal_that_is_given_requires_neither_an_index_nor_a_project(dropped: Path, tmp_path: Path) -> None:
    journal = (dropped / FIRST).rename(tmp_path / "copied.jsonl")
    assert urls(invoke("drops", "--journal", journal)) == COPIES
    assert invoke("drops", "--journal", journal, "--summary", "--last").stdout.startswith("6 drops in run ")
    assert "name the directory of the index" in invoke("drops", status=2).stderr
    assert "There is no index in" in invoke("drops", "--journal", journal, tmp_path / "mistyped", status=2).stderr
    assert "cannot be read" in invoke("drops", "--journal", tmp_path / "missing.jsonl", status=2).stderr
    wrong = invoke("drops", "--journal", journal, "-s", "DEDUP_ACTON=mark", status=2)
    assert "did you mean DEDUP_ACTION?" in wrong.stderr


def test_a_seed_draws_the_same_sample_again_and_in_its_order(dropped: Path) -> None:
    drawn = [urls(invoke("drops", dropped, "--sample", 3, "--seed", seed)) for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len({tuple(sample) for sample in drawn}) > 1
    assert all(len(sample) == 3 and sample == sorted(sample) for sample in drawn)
    assert len(urls(invoke("drops", dropped, "--sample", 100))) == 6


def test_json_lines_are_lines_of_a_journal(dropped: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text(invoke("drops", dropped, "--json").stdout, encoding="utf-8")
    assert entries_of(tmp_path / "lines.jsonl") == entries_of(dropped / FIRST)
    assert urls(invoke("drops", dropped, "--journal", tmp_path / "lines.jsonl")) == COPIES
    assert json_lines("drops", dropped, "--json")[0]["duplicate_of"] == KEPT
    assert json_lines("drops", dropped, "--json", "--host", "none.org") == []


# Runs


@pytest.fixture
def runs(dropped: Path) -> Path:
    """Return an index with the journals of three runs: the second one has dropped a page, the third one nothing."""
    (journal,) = (path for path in dropped.glob("*.jsonl"))
    entries = [replace(entry, run="0000000a", time="2026-11-20T10:00:00.000Z") for entry in entries_of(journal)]
    journal.unlink()
    entry_of_other_run = replace(
        entries[0], url="http://b.org/copy", run="0000000b", time="2026-11-21T10:30:00.000Z", event="mark"
    )
    idle = replace(run_started(0xC, "news"), time="2026-11-22T09:12:00.000Z")
    write(dropped / FIRST, [*entries, entry_of_other_run])
    write(dropped / SECOND, [idle])
    return dropped


def test_the_number_of_runs_is_reported_over_which_drops_are_counted(runs: Path) -> None:
    runs_read = "3 runs, 2026-11-20 10:00 to 2026-11-22 09:12 UTC; --last counts the latest run only."
    for options in ((), ("--json",)):
        assert invoke("drops", runs, *options).stderr == f"7 dropped or marked pages in {runs_read}\n"
    assert invoke("drops", runs, "--run", "b").stderr == "1 marked page in run 0000000b, 2026-11-21 10:30 UTC.\n"
    assert invoke("drops", runs, "--run", "a").stderr == "6 drops in run 0000000a, 2026-11-20 10:00 UTC.\n"
    assert invoke("drops", runs, "--sample", 2).stderr.startswith("2 of 7 dropped or marked pages in 3 runs, ")
    assert "2 runs" in invoke("drops", runs, "--since", "2026-11-21").stderr


def test_the_latest_run_can_be_selected_and_may_have_dropped_nothing(runs: Path) -> None:
    for options in ((), ("--json",)):
        result = invoke("drops", runs, "--last", *options)
        assert result.stdout == ""
        assert result.stderr == "No page was dropped or marked in run 0000000c, 2026-11-22 09:12 UTC.\n"
    (runs / SECOND).unlink()
    assert urls(invoke("drops", runs, "--last")) == ["http://b.org/copy"]
    (runs / FIRST).write_bytes(b"")
    assert "No journal says which run is the latest" in invoke("drops", runs, "--last", status=2).stderr
    assert invoke("drops", runs).stderr == "The journal is empty.\n"


def test_a_summary_counts_by_run_rule_host_and_representative(runs: Path) -> None:
    result = invoke("drops", runs, "--summary")
    first, *table = result.stdout.splitlines()
    assert first.startswith("7 dropped or marked pages in 3 runs, ")
    rows = [" ".join(line.replace("│", " ").split()) for line in table if line.startswith("│")]
    assert rows == [
        "0000000a site 2026-11-20 10:00 UTC 6",
        "0000000b site 2026-11-21 10:30 UTC 1",
        "0000000c news 2026-11-22 09:12 UTC 0",
        "alike 7 100.0%",
        "a.org 6 85.7%",
        "b.org 1 14.3%",
        f"{KEPT} 7 100.0%",
    ]
    assert re.findall(r"┃ (rule|host|kept page) +┃ duplicates", result.stdout) == ["rule", "host", "kept page"]
    assert "Marked as duplicates, and passed: 1 page." in result.stdout


def test_a_summary_can_be_printed_as_json_lines(runs: Path) -> None:
    lines = json_lines("drops", runs, "--summary", "--json", "--top", 1)
    assert [(line["run"], line["spiders"], line["drops"]) for line in lines if line["type"] == "run"] == [
        ("0000000a", ["site"], 6),
        ("0000000b", ["site"], 1),
        ("0000000c", ["news"], 0),
    ]
    assert lines[2]["first"] == "2026-11-22T09:12:00Z"
    counts = [(line["by"], line["value"], line["drops"]) for line in lines if line["type"] == "drop_count"]
    assert counts == [("rule", "alike", 7), ("host", "a.org", 6), ("duplicate_of", KEPT, 7)]


def test_a_summary_says_which_runs_are_dry_runs(runs: Path) -> None:
    write(runs / "journal-3.jsonl", [replace(run_started(0xB, "site", is_dry=True), time="2026-11-21T09:30:00.000Z")])
    rows = [line for line in invoke("drops", runs, "--summary").stdout.splitlines() if line.startswith("│ 0000000")]
    assert ["dry run" in row for row in rows] == [False, True, False]
    for since, runs_before in (((), {"0000000a": False}), (("--since", "2026-11-21T10:00:00+00:00"), {})):
        lines = json_lines("drops", runs, "--summary", "--json", *since)
        are_dry = {line["run"]: line["is_dry"] for line in lines if "run" in line}
        assert are_dry == {**runs_before, "0000000b": True, "0000000c": False}


def test_a_summary_lists_the_latest_runs(runs: Path) -> None:
    output = invoke("drops", runs, "--summary", "--top", 1).stdout
    assert "The latest 1 of 3 runs:" in output
    assert "0000000c" in output
    assert "0000000a" not in output
    assert "The 1 of 2 hosts with the most duplicates:" in output
    assert "cannot be combined" in printed_text(invoke("drops", runs, "--summary", "--sample", 3, status=2))


# Groups


def test_a_group_has_the_addresses_of_its_duplicates_with_rule_and_time(dropped: Path) -> None:
    (group,) = lines_in(invoke("groups", dropped, "--json"))
    times = {entry.url: entry.time for entry in entries_of(dropped / FIRST)}
    assert (group["url"], group["scope"], group["is_kept"]) == (KEPT, "site", True)
    assert group["duplicates"] == [
        {"url": url, "rule": "alike", "time": times[url], "event": "drop"} for url in sorted(COPIES)
    ]
    assert invoke("groups", dropped).stdout.splitlines() == [KEPT, *(f"  ← {url}  (alike)" for url in sorted(COPIES))]


def test_a_page_that_was_kept_after_its_drop_is_in_no_group(dropped: Path) -> None:
    invoke("keep", COPIES[0], "--index", dropped)
    check_pages(dropped, {COPIES[0]: article(1, frame="again")}, journal="")
    (group,) = json_lines("groups", dropped, "--json")
    assert [member["url"] for member in group["duplicates"]] == sorted(COPIES[1:])


def test_a_representative_that_was_forgotten_is_not_called_kept(dropped: Path) -> None:
    invoke("forget", dropped, "--url", KEPT)
    assert [group["is_kept"] for group in json_lines("groups", dropped, "--json")] == [False]
