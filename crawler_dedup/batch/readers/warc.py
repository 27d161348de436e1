"""WARC files (ISO 28500): the pages among their records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from w3lib.encoding import http_content_type_encoding

from crawler_dedup.batch.readers.http import LONGEST_HEAD, decode_body, is_html, parse_message, says_html
from crawler_dedup.batch.readers.records import (
    PART_IS_DAMAGED,
    REST_IS_DAMAGED,
    Columns,
    InputPage,
    PassedOver,
    read_plain_text,
    seconds_of,
)
from crawler_dedup.batch.readers.warcrecords import DAMAGE, Record, WarcRecords

_OTHER_TYPES = ("warcinfo", "request", "metadata", "revisit", "continuation")
_STORED_TYPES = ("resource", "conversion")
_NO_PAGES = ("urn:", "about:", "dns:", "metadata:")  # addresses of records that describe a crawl


def read_pages(path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:
    """Yield the pages of a file: responses with status 200 and HTML, which a crawl checks, too, and stored HTML or text."""
    with path.open("rb") as file:
        yield from read_stream(file, 0, str(path), columns, max_bytes)


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
