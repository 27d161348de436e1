"""Journals of earlier versions are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_dedup.journal.entry import VERSION, Entry
from crawler_dedup.journal.reader import Journals
from tests.support.commandline import FIRST, SECOND, entries_of, write

KEPT, COPY, SHORT = "http://a.org/kept", "http://a.org/copy", "http://a.org/short"
_START = '{"version":1,"time":"2026-11-22T11:18:01.097Z","run":"3ec52b92","event":'
_REST = '"title":"Article 1","bytes":1742,"links":3,'
_ALIKE = '"rule":"alike","distance":0,"resemblance":1.0,"coverage":1.0'
_NOTHING = '"rule":"","distance":null,"resemblance":null,"coverage":null'
_PAGE = '"spider":"site","scope":"site","url":'
# As version 1 has written them.
LINES = {
    "drop": f'{_START}"drop",{_PAGE}"{COPY}","kept_url":"{KEPT}",{_ALIKE},{_REST}"reason":"","text":""}}',
    "mark": f'{_START}"mark",{_PAGE}"{COPY}","kept_url":"{KEPT}",{_ALIKE},{_REST}"reason":"","text":"KLUv"}}',
    "unchanged": f'{_START}"unchanged",{_PAGE}"{KEPT}","kept_url":"{KEPT}",{_ALIKE},{_REST}"reason":"","text":""}}',
    "unchanged_dropped": f'{_START}"unchanged_dropped",{_PAGE}"{KEPT}","kept_url":"{KEPT}",{_ALIKE},{_REST}"reason":""}}',
    "unchecked": f'{_START}"unchecked",{_PAGE}"{SHORT}","kept_url":"",{_NOTHING},{_REST}"reason":"too little text"}}',
    "watchdog": f'{_START}"watchdog",{_PAGE}"{COPY}","kept_url":"{KEPT}",{_ALIKE},"title":"","bytes":0,"links":0}}',
    "released": f'{_START}"released",{_PAGE}"{KEPT}","kept_url":"",{_NOTHING},"title":"","bytes":0,"links":0}}',
}


def read_line(directory: Path, line: str) -> Entry:
    (directory / FIRST).write_text(f"{line}\n", encoding="utf-8")
    (entry,) = entries_of(directory / FIRST)
    return entry


@pytest.mark.parametrize("event", LINES)
def test_the_field_kept_url_of_version_1_is_read_as_duplicate_of(tmp_path: Path, event: str) -> None:
    entry = read_line(tmp_path, LINES[event])
    assert (entry.version, entry.event) == (VERSION, event)
    assert entry.duplicate_of == (KEPT if event in ("drop", "mark", "watchdog") else "")


def test_a_line_of_version_1_keeps_all_other_fields(tmp_path: Path) -> None:
    entry = read_line(tmp_path, LINES["mark"])
    assert entry == Entry(
        VERSION,
        "2026-11-22T11:18:01.097Z",
        "3ec52b92",
        "mark",
        "site",
        "site",
        COPY,
        KEPT,
        "alike",
        0,
        1.0,
        1.0,
        "Article 1",
        1742,
        3,
        text=b"(\xb5/",
    )


def test_an_unchanged_page_of_version_1_is_not_a_duplicate_of_itself(tmp_path: Path) -> None:
    entry = read_line(tmp_path, LINES["unchanged"])
    assert (entry.url, entry.duplicate_of, entry.rule) == (KEPT, "", "alike")


def test_a_page_that_was_alike_to_one_being_handled_names_that_page(tmp_path: Path) -> None:
    assert read_line(tmp_path, LINES["drop"].replace('"drop"', '"unchecked"')).duplicate_of == KEPT


def test_an_address_of_version_1_loses_its_password(tmp_path: Path) -> None:
    line = LINES["drop"].replace("http://a.org", "http://user:secret@a.org")
    assert (read_line(tmp_path, line).url, read_line(tmp_path, line).duplicate_of) == (COPY, KEPT)


DEEP = b'"", "other": ' + b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize("kept_url", [b'"http://a.org/\xff"', b"5", DEEP], ids=["no UTF-8", "a number", "too deep"])
def test_a_line_of_version_1_with_a_damaged_kept_url_is_damaged(tmp_path: Path, kept_url: bytes) -> None:
    line = LINES["drop"].encode().replace(f'"{KEPT}"'.encode(), kept_url)
    (tmp_path / FIRST).write_bytes(line + b"\n" + LINES["mark"].encode() + b"\n")
    journals = Journals([tmp_path / FIRST])
    assert [entry.event for entry in journals.entries()] == ["mark"]
    assert journals.damaged == {tmp_path / FIRST: 1}


def test_journals_of_two_versions_are_read_together(tmp_path: Path) -> None:
    old = read_line(tmp_path, LINES["drop"])
    write(tmp_path / SECOND, [old])
    with (tmp_path / SECOND).open("a", encoding="utf-8") as file:
        file.write(LINES["mark"] + "\n")
    entries = list(Journals.beside(tmp_path, "journal-%(time)s.jsonl").entries())
    assert [(entry.event, entry.duplicate_of) for entry in entries] == [("drop", KEPT), ("drop", KEPT), ("mark", KEPT)]
