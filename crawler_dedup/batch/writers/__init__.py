"""Writers of copies of collections, one file a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, NamedTuple, Protocol, cast

from crawler_dedup.errors import DedupError


class LeftOut(NamedTuple):
    """A page that is left out, because a kept page represents it.

    Attributes:
        representative: identifier of the kept page.
        rule: the rule that has decided.
        resemblance: resemblance of the two pages.
        coverage: share of the page that the kept page has, too.
    """

    representative: str
    rule: str
    resemblance: float
    coverage: float


class Copied(NamedTuple):
    """The counts of a copy.

    Attributes:
        records: how many records the input has.
        noted: how many records with a mark, or about a page that is left out, the copy has.
        cut_off: the records that are left out because they are cut off: address, or number in the input.
        damaged: how many places of the input are damaged.
    """

    records: int
    noted: int
    cut_off: Sequence[str] = ()
    damaged: int = 0


class Writer(Protocol):
    """A module that writes one format."""

    def copy_input(self, source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], mark: str) -> Copied:
        """Copy an input, without the pages that are left out or with a mark on them.

        Args:
            left_out: the pages that kept ones represent, by the numbers of their records.
            mark: the column that gets the identifier of the kept page; ``""``: such pages are left out of the copy.

        Raises:
            DedupError: the input cannot be marked, or it is damaged and its format has no parts that could be skipped.
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
