"""WARC files (ISO 28500), also in WACZ files: the pages among their records, and copies of files.

In a copy, a response that is left out is replaced by a ``metadata`` record, which names its representative. It is no
``revisit`` record, because a reader would show the other page in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from fastwarc.warc import WarcRecord, WarcRecordType
from w3lib.encoding import http_content_type_encoding

from crawler_dedup.batch.formats import Added, Copied, LeftOut
from crawler_dedup.batch.formats.http import LONGEST_HEAD, decode_body, is_html, parse_message, says_html
from crawler_dedup.batch.formats.jsonl import open_packed
from crawler_dedup.batch.formats.records import (
    PART_IS_DAMAGED,
    REST_IS_DAMAGED,
    Columns,
    InputPage,
    PassedOver,
    read_plain_text,
    seconds_of,
)
from crawler_dedup.batch.formats.warcrecords import DAMAGE, Record, WarcRecords
from crawler_dedup.errors import DedupError
from crawler_dedup.system.processes import raise_if_stopped

_OTHER_TYPES = ("warcinfo", "request", "metadata", "revisit", "continuation")
_STORED_TYPES = ("resource", "conversion")
_ZIP_MAGIC, _FOLDER, _SUFFIXES = b"PK\3\4", "archive/", (".warc", ".warc.gz")  # of WACZ files
_NO_PAGES = ("urn:", "about:", "dns:", "metadata:")  # addresses of records that describe a crawl
_PIECE = 1 << 20
_FIRST_LINE = re.compile(rb"WARC/(?:1\.[01]|0\.1[78])[ \t]*\r\n")
_LENGTH = re.compile(rb"^content-length[ \t]*:.*", re.IGNORECASE | re.MULTILINE)
_SINGLE = re.compile(
    rb"^(warc-type|content-type)[ \t]*:.*", re.IGNORECASE | re.MULTILINE
)  # FastWARC reads no second one
_ADDRESS = re.compile(rb"^warc-target-uri[ \t]*:", re.IGNORECASE)
_WITH_ADDRESS = ("response", "request", "revisit")


def read_pages(path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:
    """Yield the pages of a file: responses with status 200 and HTML, which a crawl checks, too, and stored HTML or text.

    Of a WACZ file (Web Archive Collection Zipped, version 1.1.1), these are the pages of each WARC file in turn.
    """
    with path.open("rb") as file:
        if not _is_archive(file):
            yield from read_stream(file, 0, str(path), columns, max_bytes)
            return
        number = 0
        try:
            with ZipFile(file) as archive:
                for name in archive.namelist():
                    if name.startswith(_FOLDER) and name.lower().endswith(_SUFFIXES):
                        with archive.open(name) as part:
                            for record in read_stream(part, number, f"{path}/{name}", columns, max_bytes):
                                yield record
                                number = record.record + 1
        except (*DAMAGE, NotImplementedError, RuntimeError):  # the last: a part is encrypted
            yield PassedOver(number, REST_IS_DAMAGED, str(path), is_bad=True)


def _is_archive(file: IO[bytes]) -> bool:
    """Return whether *file*, which is at its start, is a WACZ file."""
    start = file.read(len(_ZIP_MAGIC))
    file.seek(0)
    return start == _ZIP_MAGIC


def read_stream(
    file: IO[bytes], number: int, name: str, columns: Columns, max_bytes: int
) -> Iterator[InputPage | PassedOver]:
    """Yield the pages of an open file.

    Args:
        number: number of its first record.
        name: name of the file.
    """
    places: Sequence[int] = ()
    try:
        records = WarcRecords(file, name)
        for record in records:
            page = _read_record(number, record, columns, max_bytes)
            number += 1
            yield page
        places = records.damaged
    except DAMAGE:
        yield PassedOver(number, REST_IS_DAMAGED, name, is_bad=True)
    for record_number, place in enumerate(places, number):
        yield PassedOver(record_number, PART_IS_DAMAGED, f"{name}, from byte {place:,} on", is_bad=True)


def _read_record(number: int, record: Record, columns: Columns, max_bytes: int) -> InputPage | PassedOver:
    """Read a record, which may be a page."""
    record_type = (record.fields.first("warc-type") or "").lower()
    if record_type != "response" and record_type not in _STORED_TYPES:
        kind = f"{record_type} record" if record_type in _OTHER_TYPES else "record of another type"
        return PassedOver(number, kind)
    url = address_of(record)
    content = record.read(LONGEST_HEAD + 2 * max_bytes + 1)  # more encoded bytes exceed the limit of a page
    page: InputPage | PassedOver
    if record.is_cut_off:
        page = PassedOver(number, "a record that is cut off", url, is_bad=True)
    elif not url or url.startswith(_NO_PAGES):
        page = PassedOver(number, "no address of a page", url, is_bad=not url)
    elif record.fields.first("warc-truncated") or record.fields.first("warc-segment-number"):
        page = PassedOver(number, "incomplete", url)
    elif record_type == "response":
        page = _read_response(number, url, content, max_bytes)
    else:
        page = _read_stored(number, url, content, record.fields.first("content-type") or "")
    return _describe(page, record, columns) if isinstance(page, InputPage) else page


def _describe(page: InputPage, record: Record, columns: Columns) -> InputPage | PassedOver:
    """Return *page* with the identifier and the time that its record names."""
    identifier = record.fields.first(columns.id.lower()) if columns.id else None
    if columns.id and identifier is None:
        return PassedOver(page.record, f"no {columns.id}", page.url, is_bad=True)
    date = re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", record.fields.first("warc-date") or "")
    return replace(page, id=identifier, time=seconds_of(date[0]) if date else 0)


def address_of(record: Record) -> str:
    """Return the address of a record; ``""`` if it has none."""
    return (record.fields.first("warc-target-uri") or "").strip("<>")


def _read_response(number: int, url: str, content: bytes, max_bytes: int) -> InputPage | PassedOver:
    """Read a response."""
    message = parse_message(content)
    if message is None:
        return PassedOver(number, "no HTTP message", url, is_bad=True)
    if message.status != 200:
        return PassedOver(number, "another status than 200", url)
    content_type = message.fields.last("content-type")
    if says_html(content_type) is False:
        return PassedOver(number, "no HTML", url)
    try:
        body = decode_body(content[message.body_start :], message.fields, max_bytes + 1)
    except ValueError:
        return PassedOver(number, "a body that cannot be decoded", url, is_bad=True)
    if not is_html(content_type, url, body):
        return PassedOver(number, "no HTML", url)
    return InputPage(number, None, url, body, http_content_type_encoding(content_type))


def _read_stored(number: int, url: str, content: bytes, content_type: str) -> InputPage | PassedOver:
    """Read a record that has a page without an HTTP message."""
    encoding = http_content_type_encoding(content_type)
    if is_html(content_type, url, content):
        return InputPage(number, None, url, content, encoding)
    if content_type.partition(";")[0].strip().lower() == "text/plain":
        body, encoding = read_plain_text(content.decode(encoding or "utf-8", "replace"))
        return InputPage(number, None, url, body, encoding)
    return PassedOver(number, "no HTML", url)


def copy_input(source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], added: Added) -> Copied:
    """Copy all records that are whole, except pages that are left out: of each of these, the copy has a record."""
    if added:
        raise DedupError(
            f"{source} is a WARC file, which cannot be marked: --mark and --own-text are for JSON Lines and Parquet."
        )
    count = noted = 0
    cut_off: list[str] = []
    with source.open("rb") as file:
        if _is_archive(file):
            raise DedupError(
                f"{source}: WACZ files are not written: unpack them, and use the WARC files in their folder archive."
            )
        records = WarcRecords(file, source.name)
        for number, record in _number_records(source, records):
            raise_if_stopped()
            count += 1
            page = left_out.get(number)
            start = target.tell()
            with open_packed(source, target) as member:
                if page is None:
                    _write_record(record, member)
                else:
                    _make_note(record, page).write(member)
                    noted += 1
            if record.is_cut_off:
                cut_off.append(address_of(record) or f"record {number}")
                target.seek(start)
                target.truncate()
    return Copied(count, noted, cut_off, len(records.damaged))


def count_records(path: Path) -> int:
    """Return how many records a file has."""
    with path.open("rb") as file:
        records = WarcRecords(file, path.name)
        count = sum(1 for _ in _number_records(path, records))
    if records.damaged:
        raise DedupError(f"{path} is damaged from byte {records.damaged[0]:,} on.")
    return count


def _write_record(record: Record, target: IO[bytes]) -> None:
    """Write a record: as it is, if its head is written as readers expect it."""
    target.write(record.head if _is_regular(record) else _mend_head(record))
    while piece := record.read(_PIECE):
        target.write(piece)
    target.write(b"\r\n\r\n")


def _is_regular(record: Record) -> bool:
    """Return whether warcio and FastWARC read a record with this head as we do."""
    single = [name.lower() for name in _SINGLE.findall(record.head)]
    return (
        _FIRST_LINE.match(record.head) is not None
        and not re.search(rb"(?<!\r)\n", record.head)
        and _LENGTH.findall(record.head) == [b"Content-Length: %d\r" % record.length]
        and len(single) == len(set(single))
        and not _lacks_address(record)
    )


def _lacks_address(record: Record) -> bool:
    return (record.fields.first("warc-type") or "").lower() in _WITH_ADDRESS and not address_of(record)


def _mend_head(record: Record) -> bytes:
    """Return the head of a record, in which what :func:`_is_regular` looks at is as the standard says."""
    first_line, *lines = record.head.rstrip(b"\r\n").replace(b"\r\n", b"\n").split(b"\n")
    version = first_line.strip().upper()
    mended = [version if _FIRST_LINE.match(version + b"\r\n") else b"WARC/1.1"]
    names: set[bytes] = set()
    lacks_address = _lacks_address(record)
    for line in lines:
        single = _SINGLE.match(line)
        is_repeated = single is not None and single[1].lower() in names
        names |= {single[1].lower()} if single else set()
        if not (is_repeated or _LENGTH.match(line) or (lacks_address and _ADDRESS.match(line))):
            mended.append(line)
    mended += [b"WARC-Target-URI: " + _name_record(record).encode()] if lacks_address else []
    return b"\r\n".join([*mended, b"Content-Length: %d" % record.length, b"", b""])


def _name_record(record: Record) -> str:
    """Return the identifier of a record as an address that is none of a page."""
    identifier = (record.fields.first("warc-record-id") or "").strip("<>")
    return identifier if identifier.startswith("urn:") else "about:blank"


def _number_records(source: Path, records: WarcRecords) -> Iterator[tuple[int, Record]]:
    """Yield the records of *source* with their numbers. Raises :class:`DedupError`."""
    try:
        yield from enumerate(records)
    except DAMAGE as error:
        raise DedupError(f"{source} cannot be read: {error}") from None


def _make_note(response: Record, page: LeftOut) -> Any:
    """Return a ``metadata`` record that names the representative of *response*."""
    note = WarcRecord()
    note.init_headers(WarcRecordType.metadata)
    for name in ("WARC-Target-URI", "WARC-Date", "WARC-Warcinfo-ID"):
        if value := response.fields.first(name.lower()):
            note.headers[name] = value
    note.headers["WARC-Refers-To"] = response.fields.first("warc-record-id") or ""
    note.headers["Content-Type"] = "application/warc-fields"
    fields = {"near-duplicate-of": page.representative, "rule": page.rule}
    lines = [f"{name}: {' '.join(value.split())}\r\n" for name, value in fields.items()]
    note.set_bytes_content("".join(lines).encode())
    return note
