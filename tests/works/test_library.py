"""The works of a library: added once, replaced when they change, removed without a trace, carried to another place."""

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_LZMA

import pytest

from crawler_dedup import DedupError
from crawler_dedup.works.documents import read_content, read_document
from crawler_dedup.works.library import FILE, Library, digest_of, sign_work
from crawler_dedup.works.matches import Matches
from tests.support.chinese import chinese
from tests.support.works import NOVEL, PAGE, WORKS, make_library, write_epub, write_files


def titles(directory: Path, text: str = PAGE) -> list[str]:
    with closing(Library(directory)) as library:
        return [found.work.title for found in library.compare(text)]


def count_runs(directory: Path) -> int:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        (count,) = connection.execute("select count(*) from runs").fetchone()
    return int(count)


def test_a_changed_work_replaces_its_earlier_state_under_the_same_number(tmp_path: Path) -> None:
    directory = make_library(tmp_path / "works")
    with closing(Library(directory)) as library:
        before = {work.source: work.id for work in library.works()}
    runs = count_runs(directory)
    make_library(directory, {"novel.txt": chinese(2, 120).encode()})
    assert titles(directory) == []
    with closing(Library(directory)) as library:
        assert {work.source: work.id for work in library.works()} == before
    make_library(directory)
    assert titles(directory) == ["novel"]
    assert count_runs(directory) == runs


def test_nothing_remains_of_a_removed_work_and_its_number_is_not_used_again(tmp_path: Path) -> None:
    directory = make_library(tmp_path / "works", {"novel.txt": WORKS["novel.txt"]})
    with closing(Library(directory, writable=True)) as library:
        (work,) = library.find("novel")
        library.remove(work)
    assert titles(directory) == []
    assert count_runs(directory) == 0
    make_library(directory)
    with closing(Library(directory)) as library:
        assert work.id not in [other.id for other in library.works()]


def test_a_work_that_is_added_while_the_library_is_open_is_found(tmp_path: Path) -> None:
    directory = make_library(tmp_path / "works", {"tram.txt": WORKS["tram.txt"]})
    with closing(Library(directory)) as library:
        assert library.compare(PAGE) == []
        make_library(directory)
        assert [found.work.title for found in library.compare(PAGE)] == ["novel"]


@pytest.mark.parametrize("name", [FILE, "matches.sqlite"])
def test_a_damaged_file_is_reported_in_a_sentence(tmp_path: Path, name: str) -> None:
    directory = make_library(tmp_path / "works")
    (directory / name).write_bytes(b"no database " * 1_000)
    with pytest.raises(DedupError, match=f"{name} cannot be used: file is not a database"), closing(Library(directory)):
        Matches(directory)


def test_a_damaged_work_is_reported_in_a_sentence(tmp_path: Path) -> None:
    directory = make_library(tmp_path / "works")
    with closing(sqlite3.connect(directory / FILE)) as connection, connection:
        connection.execute("update works set codes = x'00'")
    with pytest.raises(DedupError, match=r"library\.sqlite is damaged: "):
        titles(directory)


def test_letters_of_few_works_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make_library(tmp_path / "works")
    monkeypatch.setattr("crawler_dedup.works.library._REMEMBERED", 2_000)
    with closing(Library(directory)) as library:
        for text in (PAGE, WORKS["other.md"].decode(), PAGE):
            assert library.compare(text)
            assert len(library._letters) == 1


def test_a_work_is_not_removed_while_a_text_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make_library(tmp_path / "works")
    monkeypatch.setattr("crawler_dedup.works.database._WAIT", 0)
    look_up = Library._look_up

    def look_up_while_another_removes(library: Library, numbers: Any) -> Any:
        rows = look_up(library, numbers)
        with closing(Library(directory, writable=True)) as other, pytest.raises(DedupError, match="is locked"):
            other.remove(other.find("novel")[0])
        return rows

    monkeypatch.setattr(Library, "_look_up", look_up_while_another_removes)
    assert titles(directory) == ["novel"]


def test_matches_are_stored_after_another_process_had_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make_library(tmp_path / "works")
    monkeypatch.setattr("crawler_dedup.works.database._WAIT", 0)
    with closing(Library(directory)) as library, closing(Matches(directory)) as stored:
        found = library.compare(PAGE)
        with closing(sqlite3.connect(directory / "matches.sqlite", isolation_level=None)) as reader:
            reader.execute("begin")
            reader.execute("select * from matches").fetchall()
            with pytest.raises(DedupError, match="is locked"):
                stored.store("http://a.org/", PAGE, found)
        assert [is_new for _, is_new in stored.store("http://a.org/", PAGE, found)] == [True]


def test_matches_are_read_while_another_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = make_library(tmp_path / "works")
    Matches(directory).close()
    monkeypatch.setattr("crawler_dedup.works.database._WAIT", 0)
    with closing(sqlite3.connect(directory / "matches.sqlite", isolation_level=None)) as writer:
        writer.execute("begin immediate")
        with closing(Matches(directory)) as stored:
            assert list(stored.select()) == []


# Files


def test_a_book_has_its_title_its_author_and_its_chapters_in_their_order(tmp_path: Path) -> None:
    chapters = {"b.xhtml": "<p>First.</p>", "a b.xhtml": "<p>茶館</p><script>no()</script>"}
    book = write_epub(tmp_path / "book.epub", chapters, title="Tea &amp; trams", author="Lao She")
    document = read_document(str(book), book.read_bytes())
    assert (document.title, document.author, document.text.split()) == ("Tea & trams", "Lao She", ["First.", "茶館"])


def test_the_charset_of_a_text_is_detected() -> None:
    for charset in ["utf-8", "utf-8-sig", "gb18030", "big5", "utf-16"]:
        text = "茶馆里的老人在听说书。" * 40 if charset != "big5" else "茶館裡的老人在聽說書。" * 40
        assert read_document("a.txt", text.encode(charset)).text == text


def test_title_and_author_come_from_the_metadata_or_the_name_of_the_file(tmp_path: Path) -> None:
    html = f"<html><head><title>Tea</title><meta name='author' content='Lao She'></head><p>{NOVEL}</p></html>"
    named = read_document("a.html", html.encode())
    front = read_document("a.md", b'---\ntitle: "The tram"\nauthor: A. Driver\n---\n\n# Another\n')
    assert (named.title, named.author, front.title, front.author) == ("Tea", "Lao She", "The tram", "A. Driver")
    make_library(tmp_path, {"茶馆.2.txt": NOVEL.encode()})
    assert titles(tmp_path) == ["茶馆.2"]


def test_a_chapter_that_a_book_lists_many_times_is_read_once(tmp_path: Path) -> None:
    book = write_epub(tmp_path / "book.epub", {"a.xhtml": "<p>Tea.</p>"}, title="Tea", author="")
    with zipfile.ZipFile(book) as source, zipfile.ZipFile(tmp_path / "many.epub", "w") as many:
        for name in source.namelist():
            many.writestr(name, source.read(name).replace(b'<itemref idref="c0"/>', b'<itemref idref="c0"/>' * 100))
    assert read_document("many.epub", (tmp_path / "many.epub").read_bytes()).text.split() == ["Tea."]


def _bomb(path: Path) -> Path:
    entities = "".join(f'<!ENTITY e{at} "{f"&e{at - 1};" * 10 if at else "tea" * 100}">' for at in range(9))
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("META-INF/container.xml", f"<!DOCTYPE c [{entities}]><c>&e8;</c>")
    return path


def _damaged(path: Path, method: int) -> bytes:
    with zipfile.ZipFile(path, "w", method) as book:
        book.writestr("META-INF/container.xml", "<container/>" * 100)
    content = bytearray(path.read_bytes())
    content[62:70] = b"\xff" * 8  # after the name of the file, in what is packed
    return bytes(content)


def test_files_that_cannot_be_read_are_refused_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = {"a.xhtml": f"<p>{NOVEL}</p>"}
    book = write_epub(tmp_path / "book.epub", chapter, title="Tea", author="").read_bytes()
    files = {
        "no.epub": b"no zip",
        **{f"{method}.epub": _damaged(tmp_path / "damaged.epub", method) for method in (ZIP_BZIP2, ZIP_LZMA)},
        "cut.epub": book[:-200],
        "empty.epub": b"PK\x05\x06" + bytes(18),
        "bomb.epub": _bomb(tmp_path / "bomb.epub").read_bytes(),
        "picture.txt": b"\x89PNG\0\0\0" * 100,
        "cut.txt.gz": b"\x1f\x8b\x08",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DedupError, match=r"^\S+ (cannot be read|is not text).*\.$"):
            read_document(name, read_content(tmp_path / name))
    monkeypatch.setattr("crawler_dedup.works.documents.MAX_BYTES", 2_000)
    with pytest.raises(DedupError, match=r"^book\.epub has too many bytes\.$"):
        read_document("book.epub", book)
    with pytest.raises(DedupError, match=r"has more than 0 MB\.$"):
        read_content(write_files(tmp_path, {"large.txt": bytes(3_000)}) / "large.txt")
    with pytest.raises(DedupError, match=r"^a\.txt has fewer than 48 letters, the minimum for a comparison\.$"):
        sign_work("a.txt", digest_of(b"", "auto"), read_document("a.txt", b"tea"), None)
    monkeypatch.setattr("crawler_dedup.works.library._MAX_CHARS", 2_000)
    with pytest.raises(DedupError, match=r"^a\.txt has more than 2,000 characters\.$"):
        sign_work("a.txt", digest_of(b"", "auto"), read_document("a.txt", b"tea " * 501), None)
