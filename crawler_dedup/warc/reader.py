"""Reading dropped pages from WARC files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
from fastwarc.warc import ArchiveIterator, WarcRecordType

from crawler_dedup.errors import DedupError
from crawler_dedup.journal.entry import VERSION
from crawler_dedup.warc.droppedpage import Drop, DroppedPage, find_files

_decode = msgspec.json.Decoder(Drop).decode


def read_directory(directory: Path, problems: list[str]) -> Iterator[DroppedPage]:
    """Yield the pages in the files of a directory, those of the oldest file first; *problems* as for :func:`read_pages`."""
    for path in find_files(directory):
        for page, _ in read_pages(path, problems):
            yield page


def read_pages(path: Path, problems: list[str], start: int = 0) -> Iterator[tuple[DroppedPage, int]]:
    """Yield the pages in a file, each with its place, up to where the file is damaged or cut off.

    Args:
        problems: gets a sentence if the file cannot be read to its end.
        start: the place of the first page that is wanted.
    """
    try:
        with path.open("rb") as file:
            file.seek(start)
            yield from _read(file)
    except Exception as error:  # FastWARC raises many kinds of errors for a damaged file
        problems.append(f"{path} was not read to its end: {error}.")


def read_at(path: Path, place: int) -> DroppedPage:
    """Read the page at a place that :func:`read_pages` has yielded. Raises :class:`DedupError` if it is not there."""
    try:
        with path.open("rb") as file:
            file.seek(place)
            page, _ = next(_read(file))
    except Exception as error:
        raise DedupError(f"{path} was changed or removed: {error}") from None
    return page


def _read(file: IO[bytes]) -> Iterator[tuple[DroppedPage, int]]:
    """Yield the pages from the present place of *file* on, each with the place of its first record."""
    response = None
    for record in ArchiveIterator(file, record_types=WarcRecordType.response | WarcRecordType.metadata):
        content = record.reader.read()
        if record.record_type == WarcRecordType.response:
            response, place = record.headers["WARC-Record-ID"], record.stream_pos
            headers, body = tuple(record.http_headers.items()), content
        elif response is not None and record.headers.get("WARC-Concurrent-To") == response:
            drop = _decode(content)
            if drop.version != VERSION:
                raise ValueError(f"another version of crawler-dedup has written it (schema {drop.version})")
            yield DroppedPage(drop, headers, body), place
            response = None
    if response is not None:
        raise EOFError("its last page is cut off")
