"""Writers of copies of collections, one file a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, NamedTuple, Protocol, cast

from crawler_dedup.errors import DedupError


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


class Writer(Protocol):
    """A module that writes one format."""

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


def writer_of(input_format: str, path: Path) -> Writer:
    """Import and return the writer of the format of *path*. Raises :class:`DedupError` for a format that is only read."""
    if input_format == "wacz":
        raise DedupError(
            f"{path}: WACZ files are not written: unpack them, and use the WARC files in their folder archive."
        )
    return cast("Writer", import_module(f"{__name__}.{input_format}"))
