"""The output of commands, and an index with a journal that is made without a crawl, for the tests of commands."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from msgspec.structs import replace

from crawler_dedup import Config, Decision, Deduplicator, Verdict
from crawler_dedup.cli import app
from crawler_dedup.index.opening import open_index
from crawler_dedup.inspection.journals import read_lines
from crawler_dedup.journal.entry import VERSION, Entry, Event, entry_of
from crawler_dedup.journal.writer import JournalWriter
from tests.support import processes

FIRST = "journal-2026-11-21T18-00-00.jsonl"
SECOND = "journal-2026-11-21T19-00-00.jsonl"
PROGRAM = str(Path(sys.executable).with_name("crawler-dedup"))
# Outside of every project, even if a test in this process has set a project.
_ENVIRONMENT = {"COLUMNS": "200", "SCRAPY_SETTINGS_MODULE": None}
_EVENTS: dict[Verdict, Event] = {
    Verdict.DUPLICATE: "drop",
    Verdict.UNCHANGED: "unchanged",
    Verdict.UNCHECKED: "unchecked",
}


def invoke(*arguments: object, status: int = 0, typed: str | None = None) -> Result:
    """Run ``crawler-dedup`` in this process, with *typed* as its input."""
    result = CliRunner(env=_ENVIRONMENT).invoke(app, [*map(str, arguments)], input=typed)
    assert isinstance(result.exception, (SystemExit, type(None))), result.exception
    assert result.exit_code == status, result.output
    return result


def json_lines(*arguments: object, status: int = 0) -> list[dict[str, Any]]:
    """Return the objects that a command prints with ``--json``."""
    return lines_in(invoke(*arguments, status=status))


def lines_by_type(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Return the objects that were printed, by their type."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for line in lines_in(result):
        lines.setdefault(line["type"], []).append(line)
    return lines


def lines_in(result: Result) -> list[dict[str, Any]]:
    """Return the objects that were printed, each with the fields of its type in ``docs/reference/json.md``."""
    output = result.stdout.splitlines()
    for line in output:
        fields = json.loads(line)
        assert next(iter(fields)) == "type"
        assert {*fields} - {"type"} == documented_fields()[fields["type"]], fields
    return [json.loads(line) for line in output]


@cache
def documented_fields() -> dict[str, set[str]]:
    """Return the fields of each type of JSON Lines that ``docs/reference/json.md`` names."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    sections = (section.split("`\n", 1) for section in page.split("\n## `")[1:])
    return {
        kind: {name for item in content.split("\n- ")[1:] for name in re.findall("`(.*?)`", item.partition(":")[0])}
        for kind, content in sections
    }


def printed_text(result: Result) -> str:
    """Return the printed text with single spaces and without the lines of tables."""
    return " ".join(result.output.replace("│", " ").split())


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a command: outside of every project, in UTF-8, 200 columns wide, and with *variables*."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY_", "PYTHON"))}
    return {**kept, "COLUMNS": "200", "PYTHONUTF8": "1", **variables}


def command(
    directory: Path, *arguments: object, fresh: bool = False, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the script ``crawler-dedup`` in a process of its own.

    A forked process runs the commands of the checkout. Only *fresh* tests what is installed.

    Args:
        directory: its working directory.
        fresh: start the interpreter anew; ``tests/cli/test_installed.py`` does so for each command.
        variables: more environment variables.
    """
    return processes.run([PROGRAM, *map(str, arguments)], cwd=directory, env=environment(**variables), fresh=fresh)


def restorations_left(directory: Path) -> list[tuple[str, int]]:
    """Return the restorations that wait for a crawl: the end of the address, and the number of failures."""
    with closing(open_index(directory / "index")) as pages:
        overrides = pages.list_overrides()
    return [(each.urls[0].rpartition("/")[2], each.restorations[0].failures) for each in overrides if each.restorations]


def entry_about(url: str, kept: str = "http://a.org/kept", event: Event = "drop", **fields: str) -> Entry:
    """Return a line of a journal."""
    time = "2026-11-21T18:00:00.000Z"
    entry = Entry(VERSION, time, "0000abcd", event, "site", "site", url, duplicate_of=kept, rule="alike")
    return replace(entry, **fields)


def in_terminal(columns: int, *arguments: object) -> str:
    """Return what a command prints on a terminal of this width, without escape sequences."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    variables = environment(TERM="xterm")
    del variables["COLUMNS"]
    words = ["-m", "crawler_dedup", *map(str, arguments)]
    process = processes.start(words, env=variables, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    output = b""
    with suppress(OSError):  # the last process that had it open has ended
        while block := os.read(ours, 1 << 16):
            output += block
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", output.decode()).replace("\r\n", "\n")


def check_pages(
    directory: Path,
    pages: Mapping[str, str],
    *,
    journal: str = FIRST,
    marks: bool = False,
    scope: str = "site",
    **settings: object,
) -> list[Decision]:
    """Decide about *pages* (address → HTML) with the index in *directory* as a crawl does, and write a journal.

    Args:
        journal: the name of the journal; ``""``: no journal is written.
        marks: whether duplicates are marked and pass.
    """
    decisions, entries = [], []
    config = Config.from_settings({"DEDUP_TOKENIZER": "bigrams", **settings})
    with Deduplicator.open(directory, config) as deduplicator:
        for url, text in pages.items():
            page = deduplicator.sign(url, text.encode(), scope=scope)
            (decision,) = deduplicator.decide([page])
            decisions.append(decision)
            if event := _EVENTS.get(decision.verdict):
                event = "mark" if marks and event == "drop" else event
                entries.append(entry_of(event, decision, page, run=deduplicator.run, spider="site"))
    if journal:
        write(directory / journal, entries)
    return decisions


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Append *entries* to a journal."""
    journal = JournalWriter(path)
    for entry in entries:
        journal.write(entry)
    journal.close()


def entries_of(path: Path) -> list[Entry]:
    """Return the entries of a journal; a line that cannot be read fails the test."""
    return [_whole(entry) for _, entry in read_lines(path)]


def _whole(entry: Entry | None) -> Entry:
    assert entry is not None
    return entry
