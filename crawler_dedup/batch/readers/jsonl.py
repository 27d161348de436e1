"""JSON Lines, also compressed with gzip or Zstandard."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

from crawler_dedup.batch.readers.records import REST_IS_DAMAGED, Columns, InputPage, PassedOver, read_fields
from crawler_dedup.system.compression import zstd
from crawler_dedup.system.files import GZIP_ERRORS, open_maybe_gzipped

DAMAGE = (*GZIP_ERRORS, zstd.ZstdError)
"""Exceptions that reading a damaged compressed file raises."""

_ESCAPED = 6  # bytes that an escaped byte takes in JSON: \u00e9
_BESIDE_CONTENT = 1 << 20  # bytes of a line beside the content


def read_pages(path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:
    """Yield the pages of a file, one for each line."""
    for number, line in read_lines(path, _ESCAPED * max_bytes + _BESIDE_CONTENT):
        if isinstance(line, PassedOver):
            yield line
        elif line.removeprefix(codecs.BOM_UTF8).strip():
            yield _read_line(number, line, columns)


def _read_line(number: int, line: bytes, columns: Columns) -> InputPage | PassedOver:
    try:
        record = read_fields(number, decode_line(line), columns)
    except ValueError as error:
        record = PassedOver(number, "no JSON object", is_bad=True, detail=str(error))
    if isinstance(record, PassedOver):
        return replace(record, detail=f"line {number + 1}: {record.detail or record.reason}")
    return record


def decode_line(line: bytes) -> dict[str, Any]:
    """Return the object on a line, which may begin with a byte order mark.

    What Python's :mod:`json` accepts is read, too: NaN and infinite numbers, lone surrogates.

    Raises:
        ValueError: the line is not a JSON object; the message gives the reason.
    """
    try:
        fields = json.loads(line.removeprefix(codecs.BOM_UTF8))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos + 1}") from None
    if isinstance(fields, dict):
        return fields
    raise ValueError(f"it is not an object, but {type(fields).__name__}")


def read_lines(path: Path, longest: int) -> Iterator[tuple[int, bytes | PassedOver]]:
    """Yield the lines of a file with their numbers from 0. A line that cannot be read is a :class:`PassedOver`."""
    number = 0
    with open_lines(path) as file:
        while True:
            try:
                line = file.readline(longest + 1)
                is_too_long = len(line) > longest
                while is_too_long and line and not line.endswith(b"\n"):
                    line = file.readline(longest)
            except DAMAGE:
                yield number, PassedOver(number, REST_IS_DAMAGED, str(path), is_bad=True)
                return
            if not line:
                return
            yield number, PassedOver(number, "a line that is too long", is_bad=True) if is_too_long else line
            number += 1


def open_lines(path: Path) -> IO[bytes]:
    """Open a file to read lines. Raises :class:`OSError`."""
    if path.suffix.lower() == ".zst":
        return cast("IO[bytes]", zstd.open(path, "rb"))
    return cast("IO[bytes]", open_maybe_gzipped(path))
