"""The main texts of a folder of pages, or of an index that keeps them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

import zstandard

from crawler_dedup.engine import FILE
from crawler_dedup.errors import DedupError
from crawler_dedup.maintenance import open_pages
from crawler_dedup.signing import Signer
from crawler_dedup.texts import Text

_HTML = (".html", ".htm", ".html.gz", ".htm.gz")
_PLAIN = (".txt", ".txt.gz")
_BLOCK = 500


def texts_in(source: Path, signer: Signer) -> Iterator[Text]:
    """Every main text in *source*: a directory with an index, or one with HTML and text files, gzipped or not.

    Pages without a main text are left out.

    Raises:
        DedupError: there is none.
    """
    count = 0
    for raw in _in_index(source) if (source / FILE).is_file() else _in_folder(source, signer):
        if raw.strip():
            count += 1
            yield signer.text_of(raw)
    if not count:
        raise DedupError(
            f"{source} holds no main text: neither HTML or text files, nor an index that was made with"
            " DEDUP_STORE_TEXT = True."
        )


def read_text(path: Path, signer: Signer) -> str:
    """The main text of an HTML file, or a text file (UTF-8) as it is; ``""`` where a page is beyond a limit.

    Raises:
        DedupError: it cannot be read.
    """
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise DedupError(f"{path} cannot be read: {error}") from None
    if path.name.lower().endswith(_PLAIN):
        return content.decode("utf-8", "replace")
    return signer.sign("http://file.invalid/", content, encoding=None, key=None, scope="")[1] or ""


def _in_folder(folder: Path, signer: Signer) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.name.lower().endswith(_HTML + _PLAIN) and path.is_file():
            yield read_text(path, signer)


def _in_index(directory: Path) -> Iterator[str]:
    pages = open_pages(directory)
    try:
        for block in pages.records(_BLOCK, standing=True):
            for record in block:
                if record.page.text:
                    yield zstandard.decompress(record.page.text).decode("utf-8", "replace")
    finally:
        pages.close()
