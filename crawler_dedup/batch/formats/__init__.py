"""Formats of collections, one module each: what reads and copies files of that format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, NamedTuple, Protocol, cast

from crawler_dedup.batch.formats.records import Columns, InputPage, PassedOver
from crawler_dedup.errors import DedupError

_PACKED = {"warc": "warc", "jsonl": "jsonl", "ndjson": "jsonl"}
SUFFIXES = {
    **{f".{name}{packing}": kind for name, kind in _PACKED.items() for packing in ("", ".gz", ".zst")},
    ".wacz": "warc",
    ".parquet": "parquet",
}


class LeftOut(NamedTuple):
    """A page that is left out, because a kept page represents it.

    Attributes:
        representative: identifier of the kept page.
        rule: the rule that has decided.
    """

    representative: str
    rule: str


class Copied(NamedTuple):
    """The counts of a copy.

    Attributes:
        records: how many records the input has.
        noted: how many records of the copy are notes about pages that are left out.
        cut_off: the records that are left out because they are cut off: address, or number in the input.
        damaged: how many places of the input are damaged.
    """

    records: int
    noted: int
    cut_off: Sequence[str] = ()
    damaged: int = 0


Added = Mapping[str, Callable[[int], str | None]]
"""Columns that a copy gets: for each name, a function from the number of a record, which ascends, to the value."""


class Format(Protocol):
    """A module for one format."""

    def read_pages(self, path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:
        """Yield the records of a file, in their order.

        Args:
            max_bytes: maximum length of a body. A reader that can stop reads little more of a longer body.

        Raises:
            OSError: the file cannot be read at all.
            DedupError: a column is missing.
        """

    def copy_input(self, source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], added: Added) -> Copied:
        """Copy an input without the pages that are left out, and with columns that are added.

        Args:
            left_out: the pages that are left out, by the numbers of their records.
            added: the columns.

        Raises:
            DedupError: the input can get no columns, or it is damaged and its format has no parts that could be skipped.
        """

    def count_records(self, path: Path) -> int:
        """Return how many records a copy has. Raises :class:`DedupError` where it cannot be read."""


def module_of(input_format: str) -> Format:
    """Import and return the module of a format."""
    return cast("Format", import_module(f"{__name__}.{input_format}"))


def find_format(path: Path) -> str | None:
    """Return the format to which the suffix of a file belongs; ``None`` if there is none."""
    name = path.name.lower()
    return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)


def format_of(path: Path) -> str:
    """Return the format to which the suffix of a file belongs; raise :class:`DedupError` if there is none."""
    if input_format := find_format(path):
        return input_format
    raise DedupError(
        f"{path}: its name does not show the format (it may end with {', '.join(SUFFIXES)}): name the format with --format."
    )
