"""The rows of a signed collection: the few numbers of each page that are held in memory. Pages are read by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from crawler_dedup.batch.collection import Receipt, Shard
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.batch.shard import TEXT, THIN, decode_page, read_columns
from crawler_dedup.errors import DedupError
from crawler_dedup.hamming import Numbers
from crawler_dedup.signedpage import SignedPage

ROW_BYTES = 42
"""Bytes of memory that a row takes."""
ORDERS = ("time", "size", "chars")
"""Columns by which rows can be ordered."""


class StoredPages(NamedTuple):
    """A batch of pages as a shard contains them.

    Attributes:
        rows: their numbers in the collection, ascending.
        records: the numbers of their records in the input.
        contents: the signed pages, to be decoded.
    """

    rows: Places
    records: Places
    contents: Sequence[bytes]


@dataclass(frozen=True)
class Rows:
    """All pages of a collection, in the order of the inputs and of the records in each.

    Attributes:
        shards: the shards, in their order.
        starts: the first row of each shard, followed by the number of all rows.
        signatures: the signature of each page, as a number.
        names: 64 bits that stand for key and scope of each page.
        titles: 64 bits that stand for the title under which each text is filed; 0: under none.
        sites: 64 bits that stand for the site of each page; 0: it has none.
        texts: whether a page is compared by its main text.
        thins: whether a page is thin. Pages that are neither are not signed.
        order_keys: numbers by which rows are ordered; ``None``: they are in order.
    """

    shards: Sequence[Shard]
    starts: Places
    signatures: Numbers
    names: Numbers
    titles: Numbers
    sites: Numbers
    texts: Flags
    thins: Flags
    order_keys: Places | None

    def __len__(self) -> int:
        """Return how many rows there are."""
        return int(self.starts[-1])

    def sort(self, rows: Places) -> Places:
        """Return the indexes of *rows*, which ascend, in the order in which their pages are decided."""
        if self.order_keys is None:
            return np.arange(len(rows))
        return np.argsort(self.order_keys[rows], kind="stable")

    def read_contents(self, wanted: Flags) -> Iterator[StoredPages]:
        """Yield the *wanted* rows, ascending, in batches. Raises :class:`DedupError` where a shard is damaged."""
        for shard, first, end in zip(self.shards, self.starts.tolist(), self.starts[1:].tolist(), strict=False):
            if not wanted[first:end].any():
                continue
            start = first
            for batch in read_columns(shard.data, ("record", "page")):
                places = np.flatnonzero(wanted[start : start + len(batch)])
                if len(places):
                    picked = batch.take(places)
                    records = picked.column("record").to_numpy()
                    yield StoredPages(places + start, records, picked.column("page").to_pylist())
                start += len(batch)

    def read_pages(self, wanted: Flags) -> Iterator[tuple[int, SignedPage]]:
        """Yield the *wanted* rows with their pages, ascending. Raises :class:`DedupError` where a shard is damaged."""
        for stored in self.read_contents(wanted):
            yield from zip(stored.rows.tolist(), map(decode_page, stored.contents), strict=True)


def read_rows(shards: Sequence[Shard], receipts: Sequence[Receipt], order: str = "") -> Rows:
    """Read the rows of all shards.

    Args:
        order: a column of :data:`ORDERS`, with a minus in front of it for the largest first; ``""``: order of the inputs.

    Raises:
        DedupError: a shard is damaged, or there is no such column.
    """
    require_order(order)
    column = order.removeprefix("-")
    starts = np.concatenate([[0], np.cumsum([receipt.pages for receipt in receipts])]).astype(np.int64)
    count = int(starts[-1])
    signatures, names, titles, sites = (np.empty(count, dtype=np.uint64) for _ in range(4))
    texts, thins = (np.empty(count, dtype=bool) for _ in range(2))
    order_keys = np.empty(count, dtype=np.int64) if column else None
    columns = ["kind", "signature", "name", "title", "site", *filter(None, [column])]
    for shard, first, end in zip(shards, starts.tolist(), starts[1:].tolist(), strict=False):
        at = first
        for batch in read_columns(shard.data, columns):
            part = slice(at, at + len(batch))
            at = part.stop
            if at > end:
                break
            columns_of_numbers = (("signature", signatures), ("name", names), ("title", titles), ("site", sites))
            for name, numbers in columns_of_numbers:
                numbers[part] = batch.column(name).to_numpy()
            for kind, flags in ((TEXT, texts), (THIN, thins)):
                flags[part] = pc.equal(batch.column("kind"), kind).to_numpy(zero_copy_only=False)
            if order_keys is not None:
                keys = batch.column(column).to_numpy()
                order_keys[part] = -keys if order.startswith("-") else keys
        if at != end:
            raise DedupError(f"{shard.data} is damaged: it has another number of pages than its receipt says.")
    return Rows(shards, starts, signatures, names, titles, sites, texts, thins, order_keys)


def require_order(order: str) -> None:
    """Raise :class:`DedupError` unless rows can be ordered by *order*, a column with or without a minus, or ``""``."""
    if order and order.removeprefix("-") not in ORDERS:
        column = order.removeprefix("-")
        raise DedupError(f"Pages cannot be ordered by {column!r}; they can by {', '.join(ORDERS)}, also with a minus.")
