"""JSON Lines, also compressed with gzip or Zstandard. Copies are compressed as the input is."""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, cast

from crawler_dedup.batch.formats import Added, Copied, LeftOut
from crawler_dedup.batch.formats.records import REST_IS_DAMAGED, Columns, InputPage, PassedOver, read_fields
from crawler_dedup.errors import DedupError
from crawler_dedup.system.compression import zstd
from crawler_dedup.system.files import GZIP_ERRORS, open_maybe_gzipped
from crawler_dedup.system.processes import raise_if_stopped

DAMAGE = (*GZIP_ERRORS, zstd.ZstdError)
"""Exceptions that reading a damaged compressed file raises."""

_ESCAPED = 6  # bytes that an escaped byte takes in JSON: \u00e9
_BESIDE_CONTENT = 1 << 20  # bytes of a line beside the content
_LONGEST = 1 << 30  # bytes of a line that is copied


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


def copy_input(source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], added: Added) -> Copied:
    """Copy all lines but those of pages that are left out, with the fields that are added."""
    lines = 0
    with open_packed(source, target) as file:
        for number, line in _read_sound_lines(source):
            raise_if_stopped()
            lines += 1
            if number not in left_out:
                values = {name: value(number) for name, value in added.items()}
                file.write(_extend(line, values, f"{source}, line {number + 1}"))
    return Copied(lines, 0)


def count_records(path: Path) -> int:
    """Return how many lines a file has."""
    return sum(1 for _ in _read_sound_lines(path))


def _read_sound_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers. Raises :class:`DedupError` where it is damaged."""
    for number, line in read_lines(path, _LONGEST):
        if isinstance(line, PassedOver):
            raise DedupError(f"{path}, line {number + 1}: {line.reason}.")
        yield number, line


@contextmanager
def open_packed(source: Path, target: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield a file whose content is written into *target*, compressed as the suffix of *source* says."""
    match source.suffix.lower():
        case ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=target, mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        case ".zst":
            with zstd.ZstdFile(target, "wb") as packed:
                yield cast("IO[bytes]", packed)
        case _:
            yield target


def _extend(line: bytes, added: Mapping[str, str | None], place: str) -> bytes:
    """Return a line with the fields *added*, otherwise unchanged; a line that is no JSON object is returned as it is.

    Raises:
        DedupError: the line has one of these fields.
    """
    if not added:
        return line
    try:
        fields = decode_line(line)
    except ValueError:
        return line
    for name in added.keys() & fields.keys():
        raise DedupError(f"{place} already has a field {name!r}: rename it, or give --mark another name.")
    start, _, end = line.removeprefix(codecs.BOM_UTF8).rpartition(b"}")
    return b"%s%s%s}%s" % (start, b", " if fields else b"", json.dumps(added).encode()[1:-1], end)
