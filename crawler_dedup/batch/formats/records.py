"""The records that readers yield: pages, and those that are passed over."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice
from typing import Any

import msgspec

from crawler_dedup.signing.text import write_html
from crawler_dedup.urls import placeholder_address


class Columns(msgspec.Struct, frozen=True):
    """Places of the parts of a page: names of columns, of keys of JSON objects, or of WARC headers.

    Attributes:
        html: the HTML, as text or bytes. A WARC file has it in its records.
        text: the plain text, if there is no HTML, with empty lines between paragraphs; ``""``: there is HTML.
        url: the address; a page may have none.
        id: the identifier; ``""``: the address.
        time: seconds since 1970, a date and time as in ISO 8601, or a timestamp of Parquet; ``""``: not known. A WARC file
            has it in its records.
        encoding: the charset that the server has declared, of HTML as bytes; ``""``: not known. A WARC file has it in its
            records.
    """

    html: str = "html"
    text: str = ""
    url: str = "url"
    id: str = ""
    time: str = ""
    encoding: str = ""

    @property
    def content(self) -> str:
        """Place of the content."""
        return self.text or self.html


DEFAULT_COLUMNS = Columns()
REST_IS_DAMAGED = "the rest of the file is damaged"
"""Reason for which nothing more is read of a file."""
PART_IS_DAMAGED = "a part of the file is damaged"
"""Reason for which a part of a file is skipped."""
_NAMED = 20  # columns that a message names
_NAMED_LENGTH = 50  # characters of the name of each


@dataclass(frozen=True)
class InputPage:
    """A page as it is in a file.

    Attributes:
        record: its number in the file, from 0: of the line, row or record.
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
        detail: what exactly is wrong, and what helps.
    """

    record: int
    reason: str
    name: str = ""
    is_bad: bool = False
    detail: str = ""


def read_fields(record: int, fields: dict[str, Any], columns: Columns) -> InputPage | PassedOver:
    """Make a page from the fields of a row or a JSON object."""
    url = _without_surrogates(fields.get(columns.url))
    identifier = _without_surrogates(fields.get(columns.id)) if columns.id else None
    name = str(identifier if identifier is not None else url if url is not None else "")
    content = fields.get(columns.content)
    if content is None or content in ("", b""):
        detail = "" if columns.content in fields else _missing(columns.content, "html or --text", fields)
        return PassedOver(record, f"no {columns.content}", name, is_bad=True, detail=detail)
    if not isinstance(content, str | bytes) or not isinstance(url, str | None):
        wrong = columns.url if isinstance(content, str | bytes) else columns.content
        detail = f"{wrong} is not text, but {type(fields[wrong]).__name__}"
        return PassedOver(record, "a column of another type", name, is_bad=True, detail=detail)
    if not name:
        return PassedOver(
            record, "no address and no identifier", is_bad=True, detail=_missing("", "url or --id", fields)
        )
    if columns.id and identifier is None:
        detail = _missing(columns.id, "id", fields)
        return PassedOver(record, f"no {columns.id}", name, is_bad=True, detail=detail)
    body, encoding = _body_of(content, fields.get(columns.encoding), is_text=bool(columns.text))
    return InputPage(
        record,
        None if identifier is None else str(identifier),
        url or placeholder_address(name),
        body,
        encoding,
        seconds_of(fields.get(columns.time)) if columns.time else 0,
    )


def name_columns(names: Iterable[str]) -> str:
    """Return the first *names*, separated by commas."""
    first = [*islice(names, _NAMED + 1)]
    return ", ".join(_without_surrogates(name[:_NAMED_LENGTH]) for name in first[:_NAMED]) + ", …" * (
        len(first) > _NAMED
    )


def _missing(name: str, options: str, fields: dict[str, Any]) -> str:
    """Return a message that a field is missing, and which of *options* names it."""
    has = f"it has {f'no {name}, only ' if name else ''}{name_columns(fields)}" if fields else "it is empty"
    return f"{has}; name the right one with --{options}"


def _without_surrogates(value: Any) -> Any:
    """Return a text with its lone surrogates, which no encoding has, as ``\\ud800``; any other value unchanged."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def seconds_of(time: Any) -> int:
    """Return *time* in seconds since 1970; 0 if it is no time. A time without a time zone is in UTC."""
    if isinstance(time, str):
        time = _parse_time(time)
    elif isinstance(time, date) and not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    if isinstance(time, datetime):
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return int(time) if isinstance(time, int | float) and abs(time) < 1 << 62 else 0


def _parse_time(text: str) -> datetime | float | None:
    """Return the time of ``2026-11-22T18:00:00Z``, ``2026-11-22`` or ``1795341600``; ``None`` for anything else."""
    try:
        return datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text.strip()))
    except ValueError:
        return float(text) if re.fullmatch(r"\s*-?\d{1,18}(\.\d*)?\s*", text) else None


def _body_of(content: str | bytes, declared: str | None, *, is_text: bool) -> tuple[bytes, str | None]:
    """Return *content* as HTML, and its encoding as far as known."""
    if is_text:
        return read_plain_text(content if isinstance(content, str) else content.decode("utf-8", "replace"))
    return (content.encode("utf-8", "replace"), "utf-8") if isinstance(content, str) else (content, declared)


def read_plain_text(text: str) -> tuple[bytes, str]:
    """Return plain text as HTML, and its encoding. Without any empty line, each line is a paragraph."""
    text = re.sub(r"\r\n?", "\n", text).strip("\n")
    paragraphs = re.split(r"\n[^\S\n]*\n", text)
    return write_html("\n\n".join(paragraphs if len(paragraphs) > 1 else text.split("\n"))), "utf-8"
