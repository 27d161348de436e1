"""Exchange of the numbers of rows between executors: rows with equal or near numbers meet, and are linked.

Equal numbers are sent to the same part. Near signatures are, too, once for each permuted table, by its leading bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawler_dedup.batch.neighbours import Places, Table
from crawler_dedup.batch.rows import KeyEntries, prepare_page
from crawler_dedup.batch.shard import TEXT, arrow_schema, decode_page
from crawler_dedup.batch.spark.linking import Links, link_equal, link_near
from crawler_dedup.hamming import BITS, Numbers
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.rules.matcher import RuleMatcher

SENT_COLUMNS = "part int, kind int, number long, row long"
"""Part: rows of one part meet. Kind: what the number is, or which table. Number: 64 bits, or the other row of a link."""

LINKS, NAMES, TITLES, KEYS, SIGNATURES = range(-1, 4)
"""Kinds: links, which are pairs of rows, and the kinds of numbers that rows can share."""

_SCHEMA = arrow_schema(SENT_COLUMNS)
_ROWS = 1 << 16  # rows of a batch
_PART_BITS = 12
_MOST_BITS = 16  # bits of the number of a part
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

Batches = Iterable[pa.RecordBatch]


def _read_numbers(column: pa.Array | pa.ChunkedArray) -> Numbers:
    """Return the 64-bit numbers of a column of Spark."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64).view(np.uint64)


def _send(kind: int, parts: Numbers, numbers: Numbers, rows: Places) -> Iterator[pa.RecordBatch]:
    kinds = np.full(len(rows), kind, dtype=np.int32)
    columns = [parts.astype(np.int32), kinds, numbers.view(np.int64), rows]
    return iter(pa.table([*map(pa.array, columns)], schema=_SCHEMA).to_batches(_ROWS))


def _send_links(links: Links) -> Iterator[pa.RecordBatch]:
    """Send links to arbitrary parts: they are only passed on until all are collected."""
    numbers = links.first.view(np.uint64)
    return _send(LINKS, numbers & np.uint64(0xFFFF), numbers, links.second)


def _send_equal(kind: int, numbers: Numbers, rows: Places) -> Iterator[pa.RecordBatch]:
    return _send(kind, numbers * _SPREAD >> np.uint64(BITS - _PART_BITS), numbers, rows)


def _receive(batches: Batches) -> Iterator[tuple[int, Numbers, Places]]:
    """Yield each kind of what a partition receives, with its numbers and rows."""
    table = pa.Table.from_batches(batches, _SCHEMA)
    for kind in pc.unique(table["kind"]).to_pylist():
        own = table.filter(pc.equal(table["kind"], kind))
        yield kind, _read_numbers(own["number"]), own["row"].to_numpy()


@dataclass(frozen=True)
class SpreadNumbers:
    """Sends the numbers of rows to parts: the names of pages, the titles of texts, and the signatures of texts.

    Attributes:
        by_distance: whether texts are found by the distance of their signatures.
    """

    by_distance: bool

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the numbers of rows with the columns row, kind, signature, name and title."""
        for batch in batches:
            rows, titles = batch.column("row").to_numpy(), _read_numbers(batch.column("title"))
            yield from _send_equal(NAMES, _read_numbers(batch.column("name")), rows)
            yield from _send_equal(TITLES, titles[titles != 0], rows[titles != 0])
            if self.by_distance:
                texts = pc.equal(batch.column("kind"), TEXT).to_numpy(zero_copy_only=False)
                yield from _send_equal(SIGNATURES, _read_numbers(batch.column("signature"))[texts], rows[texts])


@dataclass(frozen=True)
class SpreadKeys:
    """Sends keys to parts: the keys under which pages are filed or looked up."""

    matcher: RuleMatcher
    profiles: FrozenProfiles

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the keys of rows with the columns row and page."""
        for batch in batches:
            entries = KeyEntries()
            for row, content in zip(*(batch.column(name).to_pylist() for name in ("row", "page")), strict=True):
                page = prepare_page(decode_page(content), self.matcher, self.profiles)
                entries.add(row, page.scope, (*self.matcher.keys(page), *self.matcher.probes(page)))
            yield from _send_equal(KEYS, entries.keys, entries.places)


@dataclass(frozen=True)
class LinkEqual:
    """Links the rows of a partition that share a number, and sends each signature to a part for each table."""

    tables: Sequence[Table]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield links and permuted signatures."""
        bits = min(_PART_BITS, _MOST_BITS - len(self.tables).bit_length())
        for kind, numbers, rows in _receive(batches):
            links, distinct = link_equal(numbers, rows)
            yield from _send_links(links)
            for number, table in enumerate(self.tables if kind == SIGNATURES else ()):
                permuted = table.permute(distinct.numbers)
                leading = min(bits, table.leading)
                parts = permuted >> np.uint64(BITS - leading) | np.uint64(number << bits)
                yield from _send(number, parts, permuted, distinct.rows)


@dataclass(frozen=True)
class LinkNear:
    """Links the rows of a partition whose signatures are near each other."""

    tables: Sequence[Table]
    max_distance: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield links: those that come, and those of rows that are near."""
        for kind, numbers, rows in _receive(batches):
            if kind == LINKS:
                yield from _send_links(Links(numbers.view(np.int64), rows))
            else:
                yield from _send_links(link_near(self.tables, kind, numbers, rows, self.max_distance))
