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
from crawler_dedup.batch.writers import Added, Copied, LeftOut
from crawler_dedup.errors import DedupError
from crawler_dedup.system.compression import zstd
from crawler_dedup.system.processes import raise_if_stopped

_LONGEST = 1 << 30  # bytes of a line


def copy_input(source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], added: Added) -> Copied:
    """Copy all lines but those of pages that are left out, with the fields that are added."""
    lines = 0
    with open_packed(source, target) as file:
        for number, line in _read_sound_lines(source):
            raise_if_stopped()
            lines += 1
            if number not in left_out:
                file.write(_extend(line, {name: value(number) for name, value in added.items()}))
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


def _extend(line: bytes, added: Mapping[str, str | None]) -> bytes:
    """Return a line with the fields *added*, otherwise unchanged; a line that is no JSON object is returned as it is."""
    if not added:
        return line
    try:
        fields = decode_line(line)
    except ValueError:
        return line
    if not added.keys().isdisjoint(fields):
        return json.dumps({**fields, **added}).encode() + b"\n"
    start, _, end = line.removeprefix(codecs.BOM_UTF8).rpartition(b"}")
    return b"%s%s%s}%s" % (start, b", " if fields else b"", json.dumps(added).encode()[1:-1], end)
