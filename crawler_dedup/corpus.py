"""The main texts of a folder of pages, or of an index that keeps them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import suppress
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
    """The main text of an HTML file, or a text file (UTF-8) as it is; ``""`` beyond a limit of the settings.

    Raises:
        DedupError: it cannot be read.
    """
    name = path.name.lower()
    try:
        with gzip.open(path) if name.endswith(".gz") else path.open("rb") as file:
            content = file.read(signer.config.max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DedupError(f"{path} cannot be read: {error}") from None
    if len(content) > signer.config.max_bytes:
        return ""
    return content.decode("utf-8", "replace") if name.endswith(_PLAIN) else signer.main_text(content)


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
                    with suppress(zstandard.ZstdError):  # damaged
                        yield zstandard.decompress(record.page.text).decode("utf-8", "replace")
    finally:
        pages.close()
