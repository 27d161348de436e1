"""Reading dropped pages from WARC files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
from fastwarc.warc import ArchiveIterator, WarcRecordType

from crawler_dedup.journal.entry import VERSION
from crawler_dedup.warc.droppedpage import Drop, DroppedPage, find_files

_decode = msgspec.json.Decoder(Drop).decode


class DroppedPages:
    """The dropped pages in the WARC files of a directory, those of the oldest file first.

    Attributes:
        problems: a sentence for each file that could not be read to its end; valid after the iteration.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.problems: list[str] = []

    def __iter__(self) -> Iterator[DroppedPage]:
        self.problems.clear()
        for path in find_files(self._directory):
            try:
                with path.open("rb") as file:
                    yield from _read(file)
            except Exception as error:  # FastWARC raises many kinds of errors for a damaged file
                self.problems.append(f"{path} was not read to its end: {error}.")


def _read(file: IO[bytes]) -> Iterator[DroppedPage]:
    response = None
    for record in ArchiveIterator(file, record_types=WarcRecordType.response | WarcRecordType.metadata):
        content = record.reader.read()
        if record.record_type == WarcRecordType.response:
            response = record.headers["WARC-Record-ID"]
            headers, body = tuple(record.http_headers.items()), content
        elif response is not None and record.headers.get("WARC-Concurrent-To") == response:
            drop = _decode(content)
            if drop.version != VERSION:
                raise ValueError(f"another version of crawler-dedup has written it (schema {drop.version})")
            yield DroppedPage(drop, headers, body)
            response = None
    if response is not None:
        raise EOFError("its last page is cut off")
