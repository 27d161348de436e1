"""The records that readers yield: pages, and those that are passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any

import msgspec

from crawler_dedup.signing.plaintext import write_html
from crawler_dedup.urls import stand_in_address


class Columns(msgspec.Struct, frozen=True):
    """Places of the parts of a page: names of columns, of keys of JSON objects, or of WARC headers.

    Attributes:
        html: the HTML, as text or bytes. A WARC file has it in its records.
        text: the plain text, if there is no HTML, with empty lines between paragraphs; ``""``: there is HTML.
        url: the address; a page may have none.
        id: the identifier; ``""``: the address.
        time: seconds since 1970, a date and time as in ISO 8601, or a timestamp of Parquet; ``""``: not known. A WARC file
            has it in its records.
    """

    html: str = "html"
    text: str = ""
    url: str = "url"
    id: str = ""
    time: str = ""

    @property
    def content(self) -> str:
        """Place of the content."""
        return self.text or self.html


DEFAULT_COLUMNS = Columns()
REST_IS_DAMAGED = "the rest of the file is damaged"
"""Reason for which nothing more is read of a file."""
PART_IS_DAMAGED = "a part of the file is damaged"
"""Reason for which a part of a file is skipped."""


@dataclass(frozen=True)
class InputPage:
    """A page as it stands in a file.

    Attributes:
        record: its number in the file, from 0: of the line, row or response.
        id: its identifier; ``None``: its address.
        url: its address.
        body: its HTML.
        encoding: what is known about its encoding; ``None``: nothing.
        time: in seconds since 1970; 0: not known.
    """

    record: int
    id: str | None
    url: str
    body: bytes
    encoding: str | None = None
    time: int = 0


@dataclass(frozen=True)
class PassedOver:
    """A record in a file that is passed over: it is no page to be signed, or cannot be read.

    Attributes:
        record: its number in the file, counted as in :class:`InputPage`.
        reason: why, in a few words.
        name: its address or identifier, as far as known.
        is_bad: whether it should be a page, but cannot be read.
    """

    record: int
    reason: str
    name: str = ""
    is_bad: bool = False


def read_fields(record: int, fields: dict[str, Any], columns: Columns) -> InputPage | PassedOver:
    """Make a page from the fields of a row or a JSON object."""
    url, identifier = fields.get(columns.url), fields.get(columns.id) if columns.id else None
    name = str(identifier if identifier is not None else url if url is not None else "")
    content = fields.get(columns.content)
    if content is None or content in ("", b""):
        return PassedOver(record, f"no {columns.content}", name, is_bad=True)
    if not isinstance(content, str | bytes) or not isinstance(url, str | None):
        return PassedOver(record, "a column of another type", name, is_bad=True)
    if not name:
        return PassedOver(record, "no address and no identifier", is_bad=True)
    if columns.id and identifier is None:
        return PassedOver(record, f"no {columns.id}", name, is_bad=True)
    body, encoding = _body_of(content, is_text=bool(columns.text))
    return InputPage(
        record,
        None if identifier is None else str(identifier),
        url or stand_in_address(name),
        body,
        encoding,
        _seconds_of(fields.get(columns.time)) if columns.time else 0,
    )


def _seconds_of(time: Any) -> int:
    """Return *time* in seconds since 1970; 0 if it is no time. A time without a time zone is in UTC."""
    if isinstance(time, str):
        time = _parse_time(time)
    elif isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if isinstance(time, datetime):
        time = (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
    return int(time) if isinstance(time, int | float) and abs(time) < 1 << 62 else 0


def _parse_time(text: str) -> datetime | float | None:
    """Return the time of ``2026-11-22T18:00:00Z``, ``2026-11-22`` or ``1795341600``; ``None`` for anything else."""
    try:
        return datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text.strip()))
    except ValueError:
        return float(text) if re.fullmatch(r"\s*-?\d{1,18}(\.\d*)?\s*", text) else None


def _body_of(content: str | bytes, *, is_text: bool) -> tuple[bytes, str | None]:
    """Return *content* as HTML, and its encoding as far as known."""
    if is_text:
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        return write_html(text), "utf-8"
    return (content.encode("utf-8", "replace"), "utf-8") if isinstance(content, str) else (content, None)
