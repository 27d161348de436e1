"""WARC files (ISO 28500): the HTML pages among their responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812

from fastwarc.warc import ArchiveIterator, WarcRecordType
from w3lib.encoding import http_content_type_encoding

from crawler_dedup.batch.readers.gzipmembers import MAGIC, GzipMembers
from crawler_dedup.batch.readers.records import PART_IS_DAMAGED, REST_IS_DAMAGED, Columns, InputPage, PassedOver

_ENCODINGS = (b"content-encoding", b"transfer-encoding")
DAMAGE = (OSError, ValueError, EOFError, BadZipFile, ZlibError)
"""Exceptions that reading a damaged file raises."""

_HTML = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")


def read_pages(path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:
    """Yield the pages of a file: responses with status 200 and HTML, which a crawl checks, too."""
    with path.open("rb") as file:
        yield from read_stream(file, 0, str(path), columns, max_bytes)


def read_stream(
    file: IO[bytes], number: int, name: str, columns: Columns, max_bytes: int
) -> Iterator[InputPage | PassedOver]:
    """Yield the pages of an open file.

    Args:
        number: number of its first response.
        name: name of the file.
    """
    try:
        stream = open_stream(file, name)
    except DAMAGE:
        yield PassedOver(number, REST_IS_DAMAGED, name, is_bad=True)
        return
    records = read_records(stream, WarcRecordType.response)
    while True:
        try:
            record = next(records, None)
            if record is None:
                break
        except DAMAGE:
            yield PassedOver(number, REST_IS_DAMAGED, name, is_bad=True)
            return
        try:
            page = _read_response(number, record, columns, max_bytes)
        except DAMAGE:
            if not isinstance(stream, GzipMembers):
                yield PassedOver(number, REST_IS_DAMAGED, name, is_bad=True)
                return
            page = PassedOver(
                number, "a record that is cut off", record.headers.get("WARC-Target-URI") or "", is_bad=True
            )
        yield page
        number += 1
    for record_number, place in enumerate(damaged_parts(stream), number):
        yield PassedOver(record_number, PART_IS_DAMAGED, f"{name}, from byte {place:,} on", is_bad=True)


def open_stream(file: IO[bytes], name: str) -> IO[bytes] | GzipMembers:
    """Return *file*, or the content of its members if it is compressed with gzip. *file* is at its start."""
    start = file.read(len(MAGIC))
    file.seek(0)
    is_damaged_gzip = name.lower().endswith(".gz") and start != b"WARC"[: len(MAGIC)]
    return GzipMembers(file) if start == MAGIC or is_damaged_gzip else file


def damaged_parts(stream: IO[bytes] | GzipMembers) -> Sequence[int]:
    """Return the places of the parts of a file that :func:`read_records` has skipped."""
    return stream.damaged if isinstance(stream, GzipMembers) else ()


def read_records(
    stream: IO[bytes] | GzipMembers, record_types: WarcRecordType = WarcRecordType.any_type
) -> Iterator[Any]:
    """Yield the records of a file, without those that are damaged if it has members (:func:`open_stream`).

    A record that is yielded may still be cut off.

    Raises:
        OSError, ValueError, EOFError: a file without members is damaged.
    """
    while True:
        try:
            yield from ArchiveIterator(stream, record_types=record_types, parse_http=False)
        except DAMAGE:
            if not isinstance(stream, GzipMembers):
                raise
        if not isinstance(stream, GzipMembers) or not stream.resume():
            return


def _read_response(number: int, record: Any, columns: Columns, max_bytes: int) -> InputPage | PassedOver:
    """Read a response. Raises :class:`OSError` or :class:`ValueError` where the file is damaged."""
    url = (record.headers.get("WARC-Target-URI") or "").strip("<>")
    reason = _reason_to_pass_over(record, url)
    if reason:
        return PassedOver(number, reason, url, is_bad=reason == "no HTTP message")
    identifier = record.headers.get(columns.id) if columns.id else None
    if columns.id and identifier is None:
        return PassedOver(number, f"no {columns.id}", url, is_bad=True)
    body = record.reader.read(2 * max_bytes + 1)  # so many encoded bytes are always too long for a page
    if len(body) < min(record.content_length, 2 * max_bytes + 1):
        raise EOFError(f"{len(body)} bytes of {record.content_length}")
    try:
        body = _decode_body(body, record.http_headers, max_bytes + 1)
    except (OSError, ValueError):
        return PassedOver(number, "a body that cannot be decoded", url, is_bad=True)
    encoding = http_content_type_encoding(record.http_headers.get("Content-Type"))
    date = record.record_date
    return InputPage(number, identifier, url, body, encoding, int(date.timestamp()) if date else 0)


def _decode_body(body: bytes, headers: Any, most: int) -> bytes:
    """Decode *body* as the HTTP *headers* say, and return at most its first *most* bytes.

    The body is decoded as a record of its own: after an error, FastWARC reads no further record of a file.
    """
    lines = [name + b": " + value for name, value in headers.items_bytes() if name.lower() in _ENCODINGS]
    if not lines or len(body) > 2 * (most - 1):
        return body[:most]
    message = b"\r\n".join([b"HTTP/1.1 200 OK", *lines, b"", body])
    head = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: "
    record = next(ArchiveIterator(BytesIO(head + b"%d\r\n\r\n%s\r\n\r\n" % (len(message), message)), auto_decode="all"))
    decoded: bytes = record.reader.read(most)
    return decoded


def _reason_to_pass_over(record: Any, url: str) -> str:
    """Return why a response is no page; ``""`` if it is one."""
    try:
        record.parse_http(auto_decode="none")
    except (OSError, ValueError):  # a header that is too long
        return "no HTTP message"
    if not url or not record.is_http or record.http_headers is None or record.http_headers.status_code is None:
        return "no HTTP message"
    if record.http_headers.status_code != 200:
        return "another status than 200"
    if record.headers.get("WARC-Truncated"):
        return "incomplete"
    content_type = (record.http_headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    return "" if content_type in _HTML else "no HTML"
