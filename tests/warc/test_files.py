"""Files of dropped pages: what is written is read, whatever happens to a file, and all files have a limit."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from msgspec.structs import replace

from crawler_dedup.inspection.dropped import StoredPages, id_of
from crawler_dedup.journal.entry import VERSION
from crawler_dedup.warc import writer
from crawler_dedup.warc.droppedpage import Drop, DroppedPage, find_files, read_pages, to_warc
from crawler_dedup.warc.writer import WarcWriter
from tests.support.disks import fill_up, mounted

TIME = "2026-11-20T10:00:00.000Z"
DROP = Drop(VERSION, TIME, "00000abc", "drop", "site", "site", "http://a/2", "http://a/1", "alike", distance=3, key="k")
PAGE = DroppedPage(DROP, (("Content-Type", "text/html; charset=utf-8"),), "<title>标题</title>".encode())


def page_at(url: str, body: bytes = PAGE.body) -> DroppedPage:
    return DroppedPage(replace(DROP, url=url), PAGE.headers, body)


def random_pages(count: int, size: int = 20_000) -> Iterator[DroppedPage]:
    """Yield pages that cannot be compressed."""
    source = random.Random(count)
    for number in range(count):
        yield page_at(f"http://a/{number}", source.randbytes(size))


def open_writer(directory: Path, limit: int = 10**9, run: int = 0xABC) -> WarcWriter:
    return WarcWriter(directory, limit, run, "site", lambda _: None)


def write(directory: Path, pages: Iterable[DroppedPage], limit: int = 10**9, run: int = 0xABC) -> None:
    opened = open_writer(directory, limit, run)
    for page in pages:
        opened.write(page)
    opened.close()


def urls(directory: Path) -> list[str]:
    """Return the addresses of the responses in all files, the oldest file first."""
    read = []
    for path in sorted(directory.glob("*.warc.gz")):
        with path.open("rb") as file:
            read += [
                str(record.headers["WARC-Target-URI"])
                for record in ArchiveIterator(file, record_types=WarcRecordType.response)
            ]
    return read


def total_size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.warc.gz"))


def test_the_oldest_files_are_removed_when_the_limit_is_reached(tmp_path: Path) -> None:
    (tmp_path / "dropped-notes.warc.gz").write_bytes(bytes(10**6))  # a file of somebody else
    write(tmp_path, random_pages(100), 10**6)
    assert (tmp_path / "dropped-notes.warc.gz").exists()
    (tmp_path / "dropped-notes.warc.gz").unlink()
    kept = urls(tmp_path)
    assert kept == [f"http://a/{number}" for number in range(100 - len(kept), 100)]
    assert 0.7 * 10**6 < total_size(tmp_path) <= 10**6
    write(tmp_path, random_pages(10), 10**6, 0xDEF)
    assert total_size(tmp_path) <= 10**6
    assert "http://a/9" in urls(tmp_path)


def test_two_writers_share_a_limit(tmp_path: Path) -> None:
    both = [open_writer(tmp_path, 10**6, number) for number in range(2)]
    for number, page in enumerate(random_pages(100)):
        both[number % 2].write(page)
    for opened in both:
        opened.close()
    assert total_size(tmp_path) <= 10**6 + 10**5
    assert {path.name.split("-")[2] for path in tmp_path.iterdir()} == {"00000000", "00000001"}
    assert {"http://a/98", "http://a/99"} & {*urls(tmp_path)}  # whichever thread was the last


def test_a_file_that_is_removed_by_hand_is_followed_by_another(tmp_path: Path) -> None:
    opened = open_writer(tmp_path)
    opened.write(PAGE)
    while not urls(tmp_path):
        pass
    for path in tmp_path.iterdir():
        path.unlink()
    opened.write(page_at("http://a/3"))
    opened.close()
    assert urls(tmp_path) == ["http://a/3"]


def test_a_full_disk_costs_pages_and_later_ones_can_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with mounted(tmp_path / "disk") as disk:
        opened = open_writer(disk)
        opened.write(PAGE)
        while not urls(disk):
            pass
        fill_up(disk)
        for page in random_pages(5):
            opened.write(page)
        while "cannot be written" not in caplog.text:
            pass
        (disk / "else").unlink()
        opened.write(page_at("http://a/last"))
        opened.close()
        written = urls(disk)
        assert (written[0], written[-1]) == ("http://a/2", "http://a/last")
    warnings = [record.getMessage() for record in caplog.records]
    assert sum("cannot be written" in message for message in warnings) == 1
    assert f"{7 - len(written)} dropped pages are missing" in warnings[-1]


def test_pages_that_a_slow_disk_cannot_take_are_counted_and_not_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "MAX_WAITING_BYTES", 50_000)
    write(tmp_path, [page_at("http://a/1", bytes(60_000)), PAGE])
    assert urls(tmp_path) == ["http://a/2"]
    assert "1 dropped pages are missing" in caplog.text


# Reading

HEADERS = (*PAGE.headers, ("Content-Length", "7"))
PAGES = [
    DroppedPage(replace(DROP, url=f"http://a/ü{number}", method="POST", charset="utf-8"), HEADERS, b"<p>\xff\0\r\n")
    for number in range(3)
]


def read_files(directory: Path, problems: list[str]) -> list[DroppedPage]:
    """Read the pages in all files of *directory*."""
    return [page for path in find_files(directory) for page, _ in read_pages(path, problems)]


def test_a_file_that_is_cut_off_anywhere_is_read_up_to_there_and_so_are_others(tmp_path: Path) -> None:
    numbers, problems = set(), list[str]()
    write(tmp_path, PAGES)
    assert (read_files(tmp_path, problems), problems) == (PAGES, [])
    (cut_off,) = tmp_path.glob("dropped-*")
    whole = cut_off.read_bytes()
    write(tmp_path, PAGES[:1])
    for size in range(0, len(whole), 7):
        cut_off.write_bytes(whole[:size])
        of_size: list[str] = []
        *read, last = read_files(tmp_path, of_size)
        assert last == PAGES[0]
        assert read == PAGES[: len(read)]
        assert len(of_size) <= 1
        assert all(str(cut_off) in problem for problem in of_size)
        numbers.add(len(read))
        problems += of_size
    assert numbers >= {0, 1, 2}
    assert any("its last page is cut off" in problem for problem in problems)


def test_a_directory_without_files_and_files_of_others_have_no_pages(tmp_path: Path) -> None:
    (tmp_path / "dropped-20261120T100000000000Z-00000abc-site.warc.gz").write_bytes(b"no WARC file at all" * 9)
    problems: list[str] = []
    assert read_files(tmp_path, problems) == []
    assert len(problems) == 1


def test_pages_of_another_version_are_not_read(tmp_path: Path) -> None:
    write(tmp_path, [DroppedPage(replace(DROP, version=VERSION + 1), (), b"x")])
    problems: list[str] = []
    assert read_files(tmp_path, problems) == []
    assert "another version" in problems[0]


def test_only_what_was_added_to_a_file_is_read_and_a_file_that_was_removed_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, PAGES[:2])
    (path,) = tmp_path.glob("dropped-*")
    (tmp_path / "dropped-20261120T100000000000Z-00000abc-gone.warc.gz").symlink_to("gone")
    stored = StoredPages(tmp_path)
    stored.refresh()
    assert [id_of(page.drop) in stored for page in PAGES] == [True, True, False]
    content = path.read_bytes()
    path.write_bytes(bytes(50) + content[50:] + to_warc(PAGES[2]))
    stored.refresh()
    found = stored.find(id_of(PAGES[2].drop))
    assert found is not None
    assert found.body == PAGES[2].body
