"""WARC files (ISO 28500): the HTML pages among their responses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastwarc.warc import ArchiveIterator, WarcRecordType
from w3lib.encoding import http_content_type_encoding

from crawler_dedup.batch.readers.records import REST_IS_DAMAGED, Columns, InputPage, PassedOver

_HTML = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")


def read_pages(path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:
    """Yield the pages of a file: answers with status 200 and HTML, as a crawl judges them."""
    number = 0
    with path.open("rb") as file:
        records = ArchiveIterator(file, record_types=WarcRecordType.response, auto_decode="all")
        while True:
            try:
                record = next(records, None)
                if record is None:
                    return
                page = _read_response(number, record, columns, max_bytes)
            except (OSError, ValueError, EOFError):
                yield PassedOver(number, REST_IS_DAMAGED, str(path), is_bad=True)
                return
            yield page
            number += 1


def _read_response(number: int, record: Any, columns: Columns, max_bytes: int) -> InputPage | PassedOver:
    url = (record.headers.get("WARC-Target-URI") or "").strip("<>")
    reason = _reason_to_pass_over(record, url)
    if reason:
        return PassedOver(number, reason, url, is_bad=reason == "no HTTP message")
    identifier = record.headers.get(columns.id) if columns.id else None
    if columns.id and identifier is None:
        return PassedOver(number, f"no {columns.id}", url, is_bad=True)
    try:
        body = record.reader.read(max_bytes + 1)
    except (OSError, ValueError):
        return PassedOver(number, "a body that cannot be decoded", url, is_bad=True)
    encoding = http_content_type_encoding(record.http_headers.get("Content-Type"))
    date = record.record_date
    return InputPage(number, identifier, url, body, encoding, int(date.timestamp()) if date else 0)


def _reason_to_pass_over(record: Any, url: str) -> str:
    """Return why a response is no page; ``""`` if it is one."""
    if not url or not record.is_http or record.http_headers is None or record.http_headers.status_code is None:
        return "no HTTP message"
    if record.http_headers.status_code != 200:
        return "another status than 200"
    if record.headers.get("WARC-Truncated"):
        return "incomplete"
    content_type = (record.http_headers.get("Content-Type") or "").partition(";")[0].strip().lower()
    return "" if content_type in _HTML else "no HTML"
