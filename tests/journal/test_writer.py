import json
import os
import signal
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler_dedup import Config, ConfigError
from crawler_dedup.decision import Decision, DroppedRequest, Match, Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.inspection.journals import read_lines
from crawler_dedup.journal import writer
from crawler_dedup.journal.entry import Entry, Event, entry_of
from crawler_dedup.journal.writer import JournalWriter
from crawler_dedup.signedpage import SignedPage
from tests.support.commandline import write
from tests.support.indexing import program

PAGE = SignedPage("http://a/2", "http://a/2", "site", title="A title, ein Titel, 标题", size=1234, link_count=7)


def entry(number: int = 0, event: Event = "drop") -> Entry:
    match = Match("alike", 3, 0.91, 0.95)
    decision = Decision(Verdict.DUPLICATE, f"http://a/{number}", "k", "site", duplicate_of="http://a/1", match=match)
    request = DroppedRequest(callback="parse_page", meta={"rule": 0})
    return replace(entry_of(event, decision, PAGE, run=0xABC, spider="site"), request=request)


def entries(path: Path) -> list[Entry | None]:
    return [entry for _, entry in read_lines(path)]


def test_a_line_is_an_object_with_these_fields_and_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "journal.jsonl"
    write(path, [written := entry(2)])
    assert entries(path) == [written]
    fields = json.loads(path.read_text(encoding="utf-8"))
    names = "version time run event spider scope url duplicate_of rule distance resemblance coverage title bytes links"
    assert [*fields] == f"{names} links_followed reason text snapshot kept_snapshot count request".split()
    assert (fields["version"], fields["run"], fields["event"], fields["time"][-1]) == (2, "00000abc", "drop", "Z")
    assert fields["request"] == {"callback": "parse_page", "meta": {"rule": 0}}


def test_a_file_that_is_renamed_is_followed_by_a_new_one_and_no_line_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "FLUSH_SECONDS", 0.01)
    opened = JournalWriter(tmp_path / "journal.jsonl")
    for number in range(40):
        opened.write(entry(number))
        time.sleep(0.01)
        if number == 20:  # as logrotate does
            (tmp_path / "journal.jsonl").rename(tmp_path / "journal.jsonl.1")
    opened.close()
    urls = [[line and line.url for line in entries(tmp_path / name)] for name in ("journal.jsonl.1", "journal.jsonl")]
    assert all(urls)
    assert urls[0] + urls[1] == [f"http://a/{number}" for number in range(40)]


def test_another_schema_is_refused_whatever_its_fields(tmp_path: Path) -> None:
    for line, age in [
        ('{"version":1,"time":"","run":"","event":"drop","spider":"","scope":"","url":""}', "an older"),
        ('{"version":3,"time":"","run":"","event":"drop","spider":"","scope":"","url":""}', "a later"),
        ('{"version":0,"when":"then"}', "an older"),
        ('{"version":3,"event":"seen","url":1}', "a later"),
    ]:
        path = tmp_path / "journal.jsonl"
        path.write_text(f"{line}\n")
        with pytest.raises(
            DedupError, match=f"line 1, was written by {age} version .* schema {line[11]}; this one reads 2"
        ):
            entries(path)


def test_a_line_after_an_incomplete_line_of_a_run_that_died_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"version":2,"time":"2026')
    write(path, [entry(1), entry(2)])
    assert [entry and entry.url for entry in entries(path)] == [None, "http://a/1", "http://a/2"]


def test_two_runs_may_write_to_one_file(tmp_path: Path) -> None:
    both = [JournalWriter(tmp_path / "journal.jsonl") for _ in range(2)]
    for number in range(500):
        both[number % 2].write(entry(number))
    for open_writer in both:
        open_writer.close()
    read_entries = entries(tmp_path / "journal.jsonl")
    assert {entry.url for entry in read_entries if entry is not None} == {f"http://a/{number}" for number in range(500)}
    assert None not in read_entries


def test_lines_that_a_full_disk_does_not_take_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "FLUSH_SECONDS", 0.01)
    (tmp_path / "full").write_text("a file in the place of a directory")
    opened = JournalWriter(tmp_path / "full" / "journal.jsonl")
    opened.write(entry(1))
    while "cannot be written" not in caplog.text:
        time.sleep(0.01)
    (tmp_path / "full").unlink()
    time.sleep(0.1)  # some more attempts
    assert not (tmp_path / "full").exists(), "a directory that is gone is not made again"
    (tmp_path / "full").mkdir()
    opened.write(entry(2))
    opened.close()
    assert [entry and entry.url for entry in entries(tmp_path / "full" / "journal.jsonl")] == [
        "http://a/1",
        "http://a/2",
    ]
    assert caplog.text.count("cannot be written") == 1


def test_lines_that_wait_for_a_disk_take_a_limited_number_of_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "FLUSH_SECONDS", 0.01)
    (tmp_path / "full").write_text("a file in the place of a directory")
    opened = JournalWriter(tmp_path / "full" / "journal.jsonl")
    long = replace(entry(), text=b"t" * (1 << 20))  # 1.33 MB of JSON
    for _ in range(40):
        opened.write(long)
    (tmp_path / "full").unlink()
    (tmp_path / "full").mkdir()
    file = tmp_path / "full" / "journal.jsonl"
    size = -1
    while not file.exists() or file.stat().st_size != size:  # until nothing waits any more
        size = file.stat().st_size if file.exists() else -1
        time.sleep(0.3)
    assert writer.MAX_WAITING_BYTES - (3 << 20) < size <= writer.MAX_WAITING_BYTES
    opened.write(entry(41))  # there is room again
    opened.close()
    written = entries(file)
    assert (written[-1] and written[-1].url) == "http://a/41"
    assert f"{41 - len(written)} lines of the journal" in caplog.text


def test_a_name_that_is_not_utf_8_costs_a_line_and_no_page(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "journal.jsonl", [replace(entry(1), spider="\ud800"), entry(2)])
    assert [entry and entry.url for entry in entries(tmp_path / "journal.jsonl")] == ["http://a/2"]
    assert "1 lines of the journal" in caplog.text


_WRITER = """
    import sys, time
    from pathlib import Path
    from crawler_dedup.decision import Decision, Verdict
    from crawler_dedup.journal.entry import entry_of
    from crawler_dedup.journal.writer import JournalWriter
    from crawler_dedup.signedpage import SignedPage

    page = SignedPage("http://a/2", "http://a/2", "site")
    opened = JournalWriter(Path(sys.argv[1]))
    for number in range(10_000):
        decision = Decision(Verdict.DUPLICATE, f"http://a/{number}", "k", "site", duplicate_of="http://a/1")
        opened.write(entry_of("drop", decision, page, run=1, spider="site"))
        print(number, time.time(), flush=True)
        time.sleep(0.005)
"""


def test_a_kill_loses_no_line_older_than_a_second(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    process = program(_WRITER, path)
    assert process.stdout is not None
    written = [next(process.stdout).split() for _ in range(280)]
    killed = time.time()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    old = [int(number) for number, at in written if float(at) < killed - 1]
    written_urls = {entry.url for entry in entries(path) if entry is not None}
    assert len(old) > 20
    assert {f"http://a/{number}" for number in old} <= written_urls


def test_a_name_that_cannot_be_filled_in_is_reported() -> None:
    for name in ["%(date)s.jsonl", "100%.jsonl"]:
        with pytest.raises(ConfigError, match="DEDUP_JOURNAL"):
            Config(journal=name)
