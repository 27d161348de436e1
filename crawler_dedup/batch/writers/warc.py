"""Copies of WARC files (ISO 28500).

A response with the same payload as a kept one becomes a ``revisit`` record. A response that is only similar must not,
because a reader would show the other page in its place. It is left out, and a ``metadata`` record names its representative.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha1
from pathlib import Path
from typing import IO, Any

from fastwarc.warc import WarcRecord, WarcRecordType

from crawler_dedup.batch.readers.gzipmembers import GzipMembers
from crawler_dedup.batch.readers.warc import DAMAGE, damaged_parts, open_stream, read_records
from crawler_dedup.batch.writers import LeftOut, Payload
from crawler_dedup.batch.writers.jsonl import open_packed
from crawler_dedup.errors import DedupError
from crawler_dedup.system.processes import raise_if_stopped

_REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_PIECE = 1 << 20


def copy_input(source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], mark: str) -> int:
    """Copy all records that are whole, except responses that are left out; return how many parts of *source* are damaged."""
    if mark:
        raise DedupError(f"{source} is a WARC file, which cannot be marked: --mark is for JSON Lines and Parquet.")
    cut_off = 0
    with source.open("rb") as file:
        stream = open_stream(file, source.name)
        for number, record in _number_records(source, stream):
            raise_if_stopped()
            page = None if number is None else left_out.get(number)
            start = target.tell()
            with open_packed(source, target) as member:
                is_whole = _write_record(record, page, member)
            if not is_whole:
                if not isinstance(stream, GzipMembers):
                    raise DedupError(f"{source} cannot be read: a record is cut off.")
                cut_off += 1
                target.seek(start)
                target.truncate()
        return max(cut_off, len(damaged_parts(stream)))


def _write_record(record: Any, page: LeftOut | None, target: IO[bytes]) -> bool:
    """Write a record, or what takes its place if *page* is left out; return whether the record is not cut off."""
    if page is None:
        record.write(target)
        return bool(record.reader.tell() >= record.content_length)
    if page.payload is not None:
        _make_revisit(record, page.payload).write(target)
    else:
        _make_note(record, page).write(target)
    return True


def read_payloads(source: Path, wanted: Collection[int]) -> dict[int, Payload]:
    """Return the payloads of the responses with the numbers *wanted*."""
    payloads: dict[int, Payload] = {}
    with source.open("rb") as file:
        for number, record in _number_records(source, open_stream(file, source.name)):
            if len(payloads) == len(wanted):
                break
            if number is not None and number in wanted:
                record.parse_http(auto_decode="none")
                digest = sha1(usedforsecurity=False)
                while piece := record.reader.read(_PIECE):
                    digest.update(piece)
                payloads[number] = Payload(
                    f"sha1:{b32encode(digest.digest()).decode()}",
                    record.headers.get("WARC-Record-ID") or "",
                    record.headers.get("WARC-Target-URI") or "",
                    record.headers.get("WARC-Date") or "",
                )
    return payloads


def _number_records(source: Path, stream: IO[bytes] | GzipMembers) -> Iterator[tuple[int | None, Any]]:
    """Yield the records of *source* with the numbers of responses. Raises :class:`DedupError`."""
    number = 0
    try:
        for record in read_records(stream):
            is_response = record.record_type == WarcRecordType.response
            yield number if is_response else None, record
            number += is_response
    except DAMAGE as error:
        raise DedupError(f"{source} cannot be read: {error}") from None


def _make_revisit(response: Any, kept: Payload) -> Any:
    """Return a ``revisit`` record, which says that *response* has the payload of a kept response."""
    headers = _copy_headers(response)
    response.parse_http(auto_decode="none")
    head = response.http_headers
    lines = [head.status_line_bytes or b"", *(name + b": " + value for name, value in head.items_bytes())]
    revisit = WarcRecord()
    revisit.init_headers(WarcRecordType.revisit)
    for name, value in headers:
        if name.lower() in ("warc-record-id", "warc-date"):  # a new record already has these
            revisit.headers[name] = value
        else:
            revisit.headers.append(name, value)  # some occur several times
    revisit.headers["WARC-Profile"] = _REVISIT
    revisit.headers["WARC-Payload-Digest"] = kept.digest
    refers_to = {"WARC-Refers-To": kept.id, "WARC-Refers-To-Target-URI": kept.url, "WARC-Refers-To-Date": kept.date}
    for name, value in refers_to.items():
        if value:
            revisit.headers[name] = value
    revisit.set_bytes_content(b"\r\n".join([*lines, b"", b""]))
    return revisit


def _make_note(response: Any, page: LeftOut) -> Any:
    """Return a ``metadata`` record that names the representative of *response*."""
    note = WarcRecord()
    note.init_headers(WarcRecordType.metadata)
    for name in ("WARC-Target-URI", "WARC-Date", "WARC-Warcinfo-ID"):
        if value := response.headers.get(name):
            note.headers[name] = value
    note.headers["WARC-Refers-To"] = response.headers.get("WARC-Record-ID") or ""
    note.headers["Content-Type"] = "application/warc-fields"
    fields = {
        "near-duplicate-of": page.representative,
        "rule": page.rule,
        "resemblance": f"{page.resemblance:.2f}",
        "coverage": f"{page.coverage:.2f}",
    }
    lines = [f"{name}: {' '.join(value.split())}\r\n" for name, value in fields.items()]
    note.set_bytes_content("".join(lines).encode())
    return note


def _copy_headers(record: Any) -> list[tuple[str, str]]:
    """Return the headers of a record, except those that describe its type and content."""
    changed = {"warc-type", "content-length", "warc-block-digest", "warc-payload-digest", "warc-profile"}
    return [(name, value) for name, value in record.headers.to_tuples() if name.lower() not in changed]
