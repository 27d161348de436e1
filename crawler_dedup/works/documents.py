"""Files of works: text, Markdown, HTML and EPUB."""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import cast
from urllib.parse import unquote

from lxml import etree

from crawler_dedup.errors import BeyondLimits, DedupError
from crawler_dedup.signing.extractors import read_shown_text
from crawler_dedup.signing.parsing import decode_text, find_title, parse
from crawler_dedup.system.files import read_maybe_gzipped

MAX_BYTES = 64 << 20
"""Maximum size of a work, unpacked."""
_HTML = (".html", ".htm", ".xhtml")
_TEXT = (".txt", ".md", ".markdown")
SUFFIXES = (*(suffix + packing for suffix in (*_TEXT, *_HTML) for packing in ("", ".gz")), ".epub")
_FRONT_MATTER = re.compile(r"^(title|author): *[\"']?(.+?)[\"']? *$", re.MULTILINE | re.IGNORECASE)
_HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)
_HEAD_CHARS = 2_000
_MAX_NAME = 200
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_EPUB_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError),
    *(etree.XMLSyntaxError, LookupError, RuntimeError, ValueError),
)


@dataclass(frozen=True)
class Document:
    """A text with its title and author; they are ``""`` if they are not known."""

    text: str
    title: str = ""
    author: str = ""


def list_documents(path: Path) -> list[Path]:
    """Return the files with a text below a folder, or the file that *path* is."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if is_document(file) and file.is_file())


def is_document(file: Path) -> bool:
    """Return whether the name of a file says that it has a text."""
    return file.name.lower().endswith(SUFFIXES)


def _read_html(content: bytes) -> Document:
    tree = parse(content)
    title, authors = find_title(tree)[:_MAX_NAME], tree.xpath("string(//meta[@name='author']/@content)")
    return Document(read_shown_text(tree), title, str(authors).strip()[:_MAX_NAME])


def read_document(name: str, content: bytes, read_page: Callable[[bytes], Document] = _read_html) -> Document:
    """Read the content of a file; its *name* says which kind it is, HTML if it has no suffix that is known.

    Args:
        read_page: reads HTML.

    Raises:
        DedupError: it cannot be read; the message begins with *name*.
    """
    lower = name.lower().removesuffix(".gz")
    is_epub = lower.endswith(".epub")
    try:
        if is_epub:
            return _read_epub(content)
        if b"\0" in content[:_HEAD_CHARS] and not content.startswith(_UTF_16):
            raise DedupError(f"{name} is not text.")
        return _read_text(content) if lower.endswith(_TEXT) else read_page(content)
    except BeyondLimits as limit:
        raise DedupError(f"{name} has {limit}.") from None
    except _EPUB_ERRORS as error:
        raise DedupError(f"{name} cannot be read as {'an EPUB' if is_epub else 'a text'}: {error}.") from None


def read_content(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if its name ends in ``.gz``.

    Raises:
        DedupError: it cannot be read, or is too large.
    """
    content = read_maybe_gzipped(path, MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise DedupError(f"{path} has more than {MAX_BYTES >> 20} MB.")
    return content


def _read_text(content: bytes) -> Document:
    text = decode_text(content)
    names = {name.lower(): value for name, value in _FRONT_MATTER.findall(text[:_HEAD_CHARS])}
    heading = _HEADING.search(text[:_HEAD_CHARS])
    title = names.get("title") or (heading[1] if heading else "")
    return Document(text, title.strip()[:_MAX_NAME], names.get("author", "").strip()[:_MAX_NAME])


def _read_epub(content: bytes) -> Document:
    with zipfile.ZipFile(BytesIO(content)) as book:
        left = MAX_BYTES

        def read(name: str) -> bytes:
            nonlocal left
            with book.open(name) as file:
                part = file.read(left + 1)
            left -= len(part)
            if left < 0:
                raise BeyondLimits("too many bytes")
            return part

        package = _find(read("META-INF/container.xml"), "//*[local-name()='rootfile']/@full-path")[0]
        description = read(package)
        titles, authors = (
            [*_find(description, f"//*[local-name()='metadata']/*[local-name()='{name}']/text()"), ""]
            for name in ("title", "creator")
        )
        chapters = [read_shown_text(parse(read(part))) for part in _list_chapters(package, description)]
        return Document("\n\n".join(chapters), titles[0].strip()[:_MAX_NAME], authors[0].strip()[:_MAX_NAME])


def _list_chapters(package: str, description: bytes) -> Iterator[str]:
    """Yield the names of the files with the chapters, in reading order."""
    identifiers = _find(description, "//*[local-name()='manifest']/*/@id[../@href]")
    files = dict(zip(identifiers, _find(description, "//*[local-name()='manifest']/*[@id]/@href"), strict=True))
    for identifier in dict.fromkeys(_find(description, "//*[local-name()='spine']/*/@idref")):  # each is read once
        yield normpath(join(dirname(package), unquote(files[identifier])))


def _find(document: bytes, path: str) -> list[str]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    values = cast("list[str]", etree.fromstring(document, parser).xpath(path))
    return [*map(str, values)]
