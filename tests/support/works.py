"""Libraries of works, and pages that have copied from them, for tests."""

import zipfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from crawler_dedup.works.documents import read_document
from crawler_dedup.works.library import Library, digest_of, sign_work
from tests.support.chinese import chinese, with_homophones
from tests.support.prose import prose

NOVEL, OTHER, TRAM = chinese(0, 120), chinese(1, 120), prose(3, 120)
WORKS = {"novel.txt": NOVEL.encode("gb18030"), "other.md": f"# 另一本\n\n{OTHER}".encode(), "tram.txt": TRAM.encode()}
"""Three works: name of the file → content."""
FROM_NOVEL = NOVEL[1_000:1_600]
COPY = with_homophones(FROM_NOVEL)
BEFORE, AFTER = chinese(7, 20), chinese(8, 20)
PAGE = BEFORE + COPY + AFTER
"""A text with 600 characters of the novel, of which a third is replaced by homophones."""


def write_files(folder: Path, files: Mapping[str, bytes] = WORKS) -> Path:
    """Write *files* into *folder*, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def make_library(directory: Path, files: Mapping[str, bytes] = WORKS) -> Path:
    """Make a library of *files* in *directory*, and return this."""
    with closing(Library(directory, writable=True)) as library:
        for name, content in files.items():
            library.add(sign_work(name, digest_of(content, "auto"), read_document(name, content), None))
    return directory


def write_epub(path: Path, chapters: Mapping[str, str], *, title: str, author: str) -> Path:
    """Write a book of *chapters*, name of the file → XHTML, in this order."""
    items = "".join(f'<item href="text/{name}" id="c{at}"/>' for at, name in enumerate(sorted(chapters)))
    spine = "".join(f'<itemref idref="c{sorted(chapters).index(name)}"/>' for name in chapters)
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title><dc:creator>{author}</dc:creator></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="book/package.opf"/></rootfiles></container>'
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        files = {"META-INF/container.xml": container, "book/package.opf": package}
        for name, content in {**files, **{f"book/text/{name}": text for name, text in chapters.items()}}.items():
            book.writestr(name, content)
    return path
