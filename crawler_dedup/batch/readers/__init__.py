"""Readers of collections, one file a format."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from crawler_dedup.batch.readers.records import Columns, InputPage, PassedOver
from crawler_dedup.errors import DedupError

_PACKED = {"warc": "warc", "jsonl": "jsonl", "ndjson": "jsonl"}
_SUFFIXES = {
    **{f".{name}{packing}": kind for name, kind in _PACKED.items() for packing in ("", ".gz", ".zst")},
    ".wacz": "wacz",
    ".parquet": "parquet",
}


class Reader(Protocol):
    """A module that reads one format."""

    def read_pages(self, path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:
        """Yield the records of a file, in their order.

        Args:
            max_bytes: maximum length of a body. A reader that can stop reads little more of a longer body.

        Raises:
            OSError: the file cannot be read at all.
            DedupError: a column is missing.
        """


def reader_of(input_format: str) -> Reader:
    """Import and return the reader of a format."""
    return cast("Reader", import_module(f"{__name__}.{input_format}"))


def find_format(path: Path) -> str | None:
    """Return the format to which the suffix of a file belongs; ``None`` if there is none."""
    name = path.name.lower()
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


def format_of(path: Path) -> str:
    """Return the format to which the suffix of a file belongs; raise :class:`DedupError` if there is none."""
    if input_format := find_format(path):
        return input_format
    raise DedupError(
        f"{path}: its name does not show the format (it may end with {', '.join(_SUFFIXES)}): name the format with --format."
    )
