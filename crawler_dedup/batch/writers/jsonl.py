"""Copies of JSON Lines, compressed as the input is."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import msgspec

from crawler_dedup.batch.readers.jsonl import decode_line, read_lines
from crawler_dedup.batch.readers.records import PassedOver
from crawler_dedup.batch.writers import LeftOut
from crawler_dedup.errors import DedupError
from crawler_dedup.system.compression import zstd
from crawler_dedup.system.processes import raise_if_stopped

_LONGEST = 1 << 30  # bytes of a line


def copy_input(source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], mark: str) -> int:
    """Copy all lines but those of pages that are left out; or add a field with the mark to all lines."""
    with open_packed(source, target) as file:
        for number, line in read_lines(source, _LONGEST):
            raise_if_stopped()
            if isinstance(line, PassedOver):
                raise DedupError(f"{source}, record {number}: {line.reason}.")
            if mark:
                file.write(_mark(line, mark, left_out.get(number)))
            elif number not in left_out:
                file.write(line)
    return 0


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
    """Return a line with the mark; a line that is no JSON object is returned unchanged."""
    fields = decode_line(line)
    if fields is None:
        return line
    fields[mark] = None if left_out is None else left_out.representative
    return msgspec.json.encode(fields) + b"\n"
