from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from crawler_dedup.inspection.dropped import StoredPages, id_of
from crawler_dedup.journal.entry import VERSION
from crawler_dedup.warc.droppedpage import Drop, DroppedPage, find_files, read_pages, to_warc
from crawler_dedup.warc.writer import WarcWriter

DROP = Drop(
    VERSION,
    "2026-11-20T10:00:00.000Z",
    "00000abc",
    "drop",
    "site",
    "site",
    "http://a/ü",
    "http://a/1",
    "alike",
    distance=3,
    key="k",
    method="POST",
    charset="utf-8",
)
HEADERS = (("Content-Type", "text/html"), ("Content-Length", "7"))
PAGES = [DroppedPage(replace(DROP, url=f"http://a/{number}"), HEADERS, b"<p>\xff\0\r\n") for number in range(3)]


def write(directory: Path, pages: list[DroppedPage] = PAGES) -> Path:
    """Write *pages* to a file, and return its path."""
    writer = WarcWriter(directory, 10**9, 0xABC, "site", lambda _: None)
    for page in pages:
        writer.write(page)
    writer.close()
    return max(directory.glob("dropped-*"))


def read_files(directory: Path, problems: list[str]) -> list[DroppedPage]:
    """Read the pages in all files of *directory*."""
    return [page for path in find_files(directory) for page, _ in read_pages(path, problems)]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    problems: list[str] = []
    assert read_files(tmp_path, problems) == PAGES
    assert problems == []


def test_a_file_that_is_cut_off_anywhere_is_read_up_to_there_and_so_are_others(tmp_path: Path) -> None:
    whole = write(tmp_path).read_bytes()
    cut_off = max(tmp_path.glob("dropped-*"))
    write(tmp_path, PAGES[:1])
    numbers, problems = set(), list[str]()
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
    path = write(tmp_path, PAGES[:2])
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
