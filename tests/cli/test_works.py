"""``crawler-dedup works``: what a publisher does with a library, its matches and its report."""

import gzip
import os
import re
import shlex
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from crawler_dedup import Config, Deduplicator
from crawler_dedup.cli import app
from crawler_dedup.works.library import FILE as LIBRARY
from crawler_dedup.works.library import Library
from crawler_dedup.works.matches import FILE, Matches
from tests.support.chinese import chinese
from tests.support.commandline import PROGRAM, environment, invoke, json_lines, lines_by_type, printed_text
from tests.support.crawling import Answer, Site, html
from tests.support.processes import start
from tests.support.prose import html as text_page
from tests.support.works import BEFORE, COPY, FROM_NOVEL, NOVEL, PAGE, TRAM, WORKS, make_library, write_files

pytestmark = pytest.mark.usefixtures("forked_workers")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return make_library(tmp_path / "library")


def works(command: str, *arguments: object, library: Path, status: int = 0) -> Result:
    return invoke("works", command, *arguments, "--library", library, status=status)


def check(*inputs: object, library: Path, status: int = 0, jobs: int = 1) -> dict[str, list[dict[str, Any]]]:
    return lines_by_type(works("check", *inputs, "--json", "-j", jobs, library=library, status=status))


# The library


def test_files_are_added_once_and_listed(tmp_path: Path) -> None:
    folder, library = write_files(tmp_path / "works"), tmp_path / "library"
    assert "3 works added or changed; the library has 3 works." in works("add", folder, "-j", 2, library=library).output
    assert "0 works added or changed" in works("add", folder, "-j", 1, library=library).output
    (folder / "tram.txt").write_text(TRAM + "The end, at last.")
    assert "1 work added or changed" in works("add", folder, "-j", 1, library=library).output
    listed = json_lines("works", "list", "--json", "--library", library)
    assert [(work["title"], work["scheme"], work["chars"]) for work in listed] == [
        ("novel", "pinyin", len(NOVEL)),
        ("另一本", "pinyin", len(WORKS["other.md"].decode())),
        ("tram", "winnowing", len(TRAM) + 17),
    ]
    assert "另一本" in works("list", library=library).output
    works("remove", "tram", "1", library=library)
    assert len(json_lines("works", "list", "--json", "--library", library)) == 1
    assert "There is no work tram." in works("remove", "tram", "2", library=library, status=1).output
    assert len(json_lines("works", "list", "--json", "--library", library)) == 1


def test_names_of_files_are_kept_as_far_as_they_can_be_written(tmp_path: Path) -> None:
    folder, library = (
        write_files(tmp_path / "works", {"Vol. 1.txt.gz": gzip.compress(TRAM.encode())}),
        tmp_path / "library",
    )
    try:
        (folder / os.fsdecode(b"\xff.txt")).write_bytes(NOVEL.encode())
    except OSError:
        pytest.skip("the file system has names in Unicode only")
    for count in (2, 0):
        assert f"{count} works added or changed" in works("add", folder, "-j", 1, library=library).output
    listed = json_lines("works", "list", "--json", "--library", library)
    assert {work["title"] for work in listed} == {"Vol. 1", r"\udcff"}


def test_an_option_chooses_the_scheme(tmp_path: Path) -> None:
    folder, library = write_files(tmp_path / "works", {"novel.txt": NOVEL.encode()}), tmp_path / "library"
    for scheme in ("winnowing", "pinyin"):
        works("add", folder, "--scheme", scheme, "-j", 1, library=library)
        (listed,) = json_lines("works", "list", "--json", "--library", library)
        assert listed["scheme"] == scheme


def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_added(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "works", {**WORKS, "bad.epub": b"no zip", "short.txt": b"tea"})
    added = works("add", folder, "-j", 1, library=tmp_path / "library", status=2)
    assert "3 works added or changed" in added.output
    assert [line.split(": ")[0] for line in added.stderr.splitlines()] == ["Error", "Error"]


def test_wrong_calls_are_refused_in_a_sentence(library: Path, tmp_path: Path) -> None:
    refused = printed_text(invoke("works", "list", status=2))
    assert refused == "Error: No library is named: give --library DIR, or set DEDUP_WORKS."
    for command in ("list", "matches"):
        assert "There is no library in" in works(command, library=tmp_path / "none", status=2).output
    assert not (tmp_path / "none").exists()
    assert (
        "does not exist, and is not an address" in works("check", tmp_path / "none", library=library, status=2).output
    )
    (tmp_path / "empty").mkdir()
    assert "there is no file to read" in works("add", tmp_path / "empty", library=library, status=2).output
    assert "There is no match 7" in works("show", 7, library=library, status=2).output
    assert "is neither a time" in works("matches", "--since", "yesterday", library=library, status=2).output
    assert "is not in the range" in works("show", 1 << 63, library=library, status=2).output
    works("mark", 7, "licensed", library=library, status=1)


# Checking


def test_new_matches_give_another_exit_status_and_known_ones_are_brought_up_to_date(
    library: Path, tmp_path: Path
) -> None:
    page = write_files(tmp_path, {"page.txt": PAGE.encode()}) / "page.txt"
    found = check(page, library=library, status=1)
    (match,) = found["match"]
    assert found["checked"] == [{"type": "checked", "pages": 1, "matches": 1, "new": 1, "errors": 0}]
    assert (match["title"], match["url"], match["status"], match["passages"]) == ("novel", str(page), "open", 1)
    for name, expected in {"start": len(BEFORE), "end": len(BEFORE) + 600, "work_start": 1_000}.items():
        assert abs(match[name] - expected) <= 12
    works("mark", match["id"], "licensed", library=library)
    with closing(sqlite3.connect(library / FILE)) as connection, connection:
        connection.execute("update matches set first_seen = 1, last_seen = 1")
    page.write_text("tea\n" + PAGE)
    (again,) = check(page, library=library)["match"]
    assert (again["id"], again["status"], again["start"]) == (match["id"], "licensed", match["start"] + 4)
    assert again["first_seen"] == "1970-01-01T00:00:01Z" < match["last_seen"] <= again["last_seen"]


def test_files_folders_warcs_addresses_and_indexes_are_checked(library: Path, tmp_path: Path) -> None:
    warc = b"".join(
        b"WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: http://a.org/%d\r\nContent-Type: text/html\r\n"
        b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (number, len(body), body)
        for number, body in enumerate([text_page(PAGE), text_page(BEFORE), text_page(TRAM[:900])])
    )
    folder = write_files(tmp_path / "folder", {"page.html": text_page(PAGE), "crawl.warc": warc, "no.bin": b"x"})
    with Deduplicator.open(tmp_path / "index", Config(tokenizer="bigrams", store_text=True)) as index:
        index.check("http://b.org/", text_page(TRAM[:1_500]), encoding="utf-8")
    text = Answer(b"<1>  \n" * 100 + PAGE.encode(), headers=(("Content-Type", "text/plain"),))
    with Site({"/one": html(f"<p>{PAGE}"), "/two": html("<p>tea"), "/text": text}) as site:
        addresses = "\n".join(f"{site.url}/{path}" for path in ("one", "two", "none", "text"))
        write_files(tmp_path, {"urls": addresses.encode()})
        found = check(folder, tmp_path / "index", tmp_path / "urls", library=library, status=1, jobs=2)
    urls = {match["url"]: match["title"] for match in found["match"]}
    starts = {match["url"]: match["start"] for match in found["match"]}
    assert starts[f"{site.url}/text"] == starts[f"{site.url}/one"] + 600
    assert urls == {
        "http://a.org/0": "novel",
        "http://a.org/2": "tram",
        str(folder / "page.html"): "novel",
        "http://b.org/": "tram",
        f"{site.url}/one": "novel",
        f"{site.url}/text": "novel",
    }
    assert found["checked"] == [{"type": "checked", "pages": 8, "matches": 6, "new": 6, "errors": 1}]


def test_inputs_that_cannot_be_read_are_reported_each_in_a_sentence(library: Path, tmp_path: Path) -> None:
    folder = write_files(
        tmp_path / "folder", {"bad.epub": b"no zip", "bad.warc": b"no warc", "page.txt": BEFORE.encode()}
    )
    with Deduplicator.open(tmp_path / "index", Config(tokenizer="bigrams")) as index:
        index.check("http://b.org/", text_page(TRAM), encoding="utf-8")
    result = works("check", folder, tmp_path / "index", "-j", 2, library=library, status=2)
    assert "1 page checked; 0 matches, 0 new." in result.stdout
    assert len(result.stderr.splitlines()) == 3
    assert all(re.match(r"Error: .*\.$", line) for line in result.stderr.splitlines())


def kill_often(command: str, folder: Path, library: Path, *, table: str, step: int) -> Iterator[int]:
    """Kill a command twice, each time when the table has so many more rows; yield how many it has."""
    call = [PROGRAM, "works", command, str(folder), "--library", str(library), "-j", "1"]
    stored = 0
    while stored < 2 * step:
        process = start(call, env=environment())
        while (now := count_rows(library, table)) < stored + step and process.poll() is None:
            pass
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert now > stored
        yield (stored := now)


def test_no_match_is_lost_or_doubled_when_a_check_is_killed(library: Path, tmp_path: Path) -> None:
    texts = {f"{number:02}.txt": (PAGE + str(number) + BEFORE * 20).encode() for number in range(40)}
    folder = write_files(tmp_path / "folder", texts)
    *_, stored = kill_often("check", folder, library, table="matches", step=4)
    found = check(folder, library=library, status=1)
    assert len(found["match"]) == count_rows(library, "matches") == len(texts)
    assert found["checked"][0]["new"] <= len(texts) - stored


def test_a_library_is_whole_after_a_kill_while_works_are_added(tmp_path: Path) -> None:
    texts = {f"{number:02}.txt": f"{chinese(number % 30, 200)}{number}".encode() for number in range(40)}
    folder, library = write_files(tmp_path / "works", texts), tmp_path / "library"
    compared = 0
    for _ in kill_often("add", folder, library, table="works", step=8):
        with closing(Library(library)) as opened:
            sources = [Path(work.source).name for work in opened.works()]
            for name in sources[compared:]:
                found = opened.compare(texts[name].decode())
                assert name in [Path(match.work.source).name for match in found]
                assert found[0].comparison.share_of_text > 0.99
        compared = len(sources)
    left = works("add", folder, "-j", 1, library=library).output
    assert f"added or changed; the library has {len(texts)} works." in left


def count_rows(library: Path, table: str) -> int:
    """Count the rows of a table that another process fills; 0 if it is not there yet."""
    file = library / {"matches": FILE, "works": LIBRARY}[table]
    if not file.exists():
        return 0
    with closing(sqlite3.connect(file, timeout=30)) as connection:
        try:
            (count,) = connection.execute(f"select count(*) from {table}").fetchone()
        except sqlite3.OperationalError:
            return 0
    return int(count)


# Looking


@pytest.fixture
def matched(library: Path) -> Path:
    """Return a library with a match of the novel on a.org, and two of the tram."""
    with closing(Library(library)) as opened, closing(Matches(library)) as stored:
        pages = {
            "http://reader:secret@a.org/\x1b[31m": PAGE,
            "http://a.org/tram": TRAM[:2_000],
            "http://b.org/<b>": TRAM[500:1_500],
        }
        for url, text in pages.items():
            stored.store(url, text, opened.compare(text))
    return library


def test_matches_are_chosen_by_work_host_status_and_time(matched: Path) -> None:
    works("mark", 2, "confirmed", library=matched)
    with closing(sqlite3.connect(matched / FILE)) as connection, connection:
        connection.execute("update matches set last_seen = 978309000 where id = 1")
    for options, numbers in {
        (): [1, 2, 3],
        ("--work", "tram"): [2, 3],
        ("--work", "3", "--host", "b.org"): [3],
        ("--status", "open"): [1, 3],
        ("--status", "open", "--status", "confirmed", "--since", "1h"): [2, 3],
        ("--work", "tram", "--host", "www.A.org"): [2],
        ("--since", "2100-01-01"): [],
        ("--since", "2001-01-01T02:00+02:00"): [1, 2, 3],
        ("--since", "2001-01-01T01:00"): [2, 3],
    }.items():
        lines = json_lines("works", "matches", *options, "--json", "--library", matched)
        assert sorted(line["id"] for line in lines) == numbers, options
    assert "There is no such match." in works("matches", "--host", "none", library=matched).output


def test_both_passages_are_shown_with_homophones_marked(matched: Path) -> None:
    shown = works("show", 1, library=matched).output
    assert "page, characters" in shown
    assert "\x1b" not in shown
    exchanged = sum(ours != theirs for ours, theirs in zip(COPY, FROM_NOVEL, strict=True))
    inside = [part for part in re.findall(r"\[(.*?)\]", re.sub(r"[\s│]", "", shown)) if part]
    assert exchanged > 100
    assert len(inside) > 50
    with closing(Matches(matched)) as stored:
        _, (passage,) = stored.read(1)
    assert passage.work_text in NOVEL
    assert passage.text in PAGE
    assert "…" not in shown
    assert works("show", 2, library=matched).output.count(" …") == 2  # of a passage of 2,000 characters


def test_the_report_has_works_hosts_days_and_passages_and_trusts_no_page(matched: Path, tmp_path: Path) -> None:
    assert "3 matches." in works("report", "-o", tmp_path / "report.html", library=matched).output
    report = (tmp_path / "report.html").read_text()
    for part in ("novel", "tram", "a.org", "b.org", "<mark>", "Pages first seen, by day", "http://b.org/&lt;b&gt;"):
        assert part in report
    for part in ("secret", "\x1b", "<script", "/<b>"):
        assert part not in report
    assert report.count(" …</p>") == 2
    works("report", "--status", "dismissed", "-o", tmp_path / "none.html", library=matched)
    works("mark", 2, "licensed", library=matched)
    written = works("report", "--status", "licensed", "-o", tmp_path / "one.html", library=matched).output
    assert written.endswith(", 1 match.\n")
    assert "0 pages share" in (tmp_path / "none.html").read_text()


def test_works_of_the_same_title_are_apart_in_the_report(tmp_path: Path) -> None:
    library = make_library(tmp_path / "library", {f"{name}/novel.txt": NOVEL.encode() for name in "ab"})
    check(write_files(tmp_path / "folder", {"page.txt": PAGE.encode()}), library=library, status=1)
    works("report", "-o", tmp_path / "report.html", library=library)
    assert (tmp_path / "report.html").read_text().count('<span class="name">novel</span>') == 2


def test_people_can_query_the_table(matched: Path) -> None:
    with closing(sqlite3.connect(matched / FILE)) as connection:
        rows = connection.execute("select title, host, passages, status from matches order by id").fetchall()
    assert rows == [("novel", "a.org", 1, "open"), ("tram", "a.org", 1, "open"), ("tram", "b.org", 1, "open")]


# Every day


def test_the_example_for_a_daily_run_is_well_formed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "works.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert re.match(r"([\d*,/-]+ ){5}", line)
    for call in re.findall(r"crawler-dedup [^|]*", line):
        app.commands["works"].make_context(
            "works", shlex.split(call)[1:]
        )  # an unknown command or option raises an error
