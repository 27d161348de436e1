"""A dropped page, and the records of a WARC file (ISO 28500) in which it is stored."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO

import msgspec
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from crawler_dedup.errors import DedupError
from crawler_dedup.journal.entry import VERSION, Entry
from crawler_dedup.urls import text_without_credentials

_FILE_NAME = re.compile(r"dropped-\d{8}T\d{12}Z-[0-9a-f]{8}-.*\.warc\.gz")
_SECRET = re.compile(r"cookie|auth|token|secret|passw|session|key|[cx]srf|jwt|credential", re.IGNORECASE)
_OF_THE_TRANSFER = ("connection", "content-length", "keep-alive", "transfer-encoding")
_GZIP = 31  # zlib's number for a gzip member
_MEMORY = 2_000  # of a page without body and headers


class Drop(Entry, frozen=True):
    """The entry of a drop, as in the journal, with what else is known about the page.

    Attributes:
        key: identity of the page in the index.
        method: the method of its request.
        charset: the charset that the response declares; ``""``: none.
    """

    key: str = ""
    method: str = "GET"
    charset: str = ""


@dataclass(frozen=True)
class DroppedPage:
    """A response that was dropped as a duplicate.

    Attributes:
        drop: why it was dropped.
        headers: names and values of its HTTP headers; :func:`to_warc` leaves out those that may hold credentials.
        body: its body, decoded from any ``Content-Encoding`` that is not in *headers*.
    """

    drop: Drop
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def size(self) -> int:
        """Estimated memory that the page takes, in bytes."""
        return _MEMORY + len(self.body) + sum(len(name) + len(value) for name, value in self.headers)


def find_files(directory: Path) -> list[Path]:
    """Return the files with dropped pages in *directory*, in the order in which they were begun."""
    return sorted(path for path in directory.glob("dropped-*") if _FILE_NAME.fullmatch(path.name))


def to_warc(page: DroppedPage) -> bytes:
    """Return *page* as a ``response`` record and a ``metadata`` record with its :class:`Drop` in JSON, both gzipped."""
    head = [f"{name}: {text_without_credentials(value)}" for name, value in page.headers if _is_stored(name)]
    message = "\r\n".join(["HTTP/1.1 200 OK", *map(_one_line, head), f"Content-Length: {len(page.body)}", "", ""])
    about = {"WARC-Target-URI": _one_line(page.drop.url), "WARC-Date": page.drop.time}
    types = {"Content-Type": "application/http; msgtype=response"}
    response = _make_record(WarcRecordType.response, about | types, message.encode("latin-1", "replace") + page.body)
    fields = about | {"Content-Type": "application/json", "WARC-Concurrent-To": response.headers["WARC-Record-ID"]}
    return _compress(response) + _compress(
        _make_record(WarcRecordType.metadata, fields, msgspec.json.encode(page.drop))
    )


def make_warcinfo() -> bytes:
    """Return the record with which a file begins, gzipped."""
    content = b"software: crawler-dedup\r\ndescription: pages that were dropped as near-duplicates\r\n"
    return _compress(_make_record(WarcRecordType.warcinfo, {"Content-Type": "application/warc-fields"}, content))


def _is_stored(name: str) -> bool:
    return not _SECRET.search(name) and name.lower() not in _OF_THE_TRANSFER


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _make_record(kind: WarcRecordType, fields: dict[str, str], content: bytes) -> WarcRecord:
    record = WarcRecord()
    record.init_headers(kind)
    for name, value in fields.items():
        record.headers[name] = value
    record.set_bytes_content(content)
    return record


def _compress(record: WarcRecord) -> bytes:
    plain = BytesIO()
    record.write(plain, checksum_data=True)
    compressor = zlib.compressobj(wbits=_GZIP)
    return compressor.compress(plain.getvalue()) + compressor.flush()


_decode = msgspec.json.Decoder(Drop).decode


def read_pages(path: Path, problems: list[str], start: int = 0) -> Iterator[tuple[DroppedPage, int]]:
    """Yield the pages in a file, each with its offset, up to where the file is damaged or cut off.

    Args:
        problems: gets a sentence if the file cannot be read to its end.
        start: the offset of the first page that is wanted.
    """
    try:
        with path.open("rb") as file:
            file.seek(start)
            yield from _read(file)
    except Exception as error:  # FastWARC raises many kinds of errors for a damaged file
        problems.append(f"{path} was not read to its end: {error}.")


def read_at(path: Path, offset: int) -> DroppedPage:
    """Read the page at an offset that :func:`read_pages` has yielded. Raises :class:`DedupError` if it is not there."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            page, _ = next(_read(file))
    except Exception as error:
        raise DedupError(f"{path} was changed or removed: {error}") from None
    return page


def _read(file: IO[bytes]) -> Iterator[tuple[DroppedPage, int]]:
    """Yield the pages from the present offset of *file* on, each with the offset of its first record."""
    response = None
    for record in ArchiveIterator(file, record_types=WarcRecordType.response | WarcRecordType.metadata):
        content = record.reader.read()
        if record.record_type == WarcRecordType.response:
            response, offset = record.headers["WARC-Record-ID"], record.stream_pos
            headers, body = tuple(record.http_headers.items()), content
        elif response is not None and record.headers.get("WARC-Concurrent-To") == response:
            drop = _decode(content)
            if drop.version != VERSION:
                raise ValueError(f"another version of crawler-dedup has written it (schema {drop.version})")
            yield DroppedPage(drop, headers, body), offset
            response = None
    if response is not None:
        raise EOFError("its last page is cut off")
