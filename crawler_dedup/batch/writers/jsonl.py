"""Copies of JSON Lines, compressed as the input is."""

from __future__ import annotations

import codecs
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from crawler_dedup.batch.readers.jsonl import decode_line, read_lines
from crawler_dedup.batch.readers.records import PassedOver
from crawler_dedup.batch.writers import Copied, LeftOut
from crawler_dedup.errors import DedupError
from crawler_dedup.system.compression import zstd
from crawler_dedup.system.processes import raise_if_stopped

_LONGEST = 1 << 30  # bytes of a line


def copy_input(source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], mark: str) -> Copied:
    """Copy all lines but those of pages that are left out; or add a field with the mark to all lines."""
    lines = marked = 0
    with open_packed(source, target) as file:
        for number, line in _read_sound_lines(source):
            raise_if_stopped()
            lines += 1
            if mark:
                file.write(_mark(line, mark, left_out.get(number)))
                marked += number in left_out
            elif number not in left_out:
                file.write(line)
    return Copied(lines, marked)


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


def _mark(line: bytes, mark: str, left_out: LeftOut | None) -> bytes:
    """Return a line with the mark and otherwise unchanged; a line that is no JSON object is returned as it is."""
    try:
        fields = decode_line(line)
    except ValueError:
        return line
    name, value = (json.dumps(text).encode() for text in (mark, left_out and left_out.representative))
    if mark in fields:
        return json.dumps({**fields, mark: left_out and left_out.representative}).encode() + b"\n"
    start, _, end = line.removeprefix(codecs.BOM_UTF8).rpartition(b"}")
    return b"%s%s%s: %s}%s" % (start, b", " if fields else b"", name, value, end)
