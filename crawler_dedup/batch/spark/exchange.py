"""Exchange of the numbers of rows between executors. Thousands of numbers are packed into one row of Spark.

Equal numbers are sent to the same part. Near signatures are, too, once for each permuted table, by its leading bits. Rows
with equal or near numbers are linked there (:mod:`~crawler_dedup.batch.spark.linking`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawler_dedup.batch.keyentries import KeyEntries
from crawler_dedup.batch.neighbours import Places, Table
from crawler_dedup.batch.shard import TEXT, decode_page
from crawler_dedup.batch.spark.linking import Distinct, Links, link_equal, link_near
from crawler_dedup.batch.spark.schemas import arrow_schema
from crawler_dedup.hamming import BITS, Numbers
from crawler_dedup.index.profiles import FrozenProfiles, site_key
from crawler_dedup.rules.matcher import RuleMatcher

PACKED_COLUMNS = "part int, kind int, numbers binary, rows binary"
"""Part: rows of one part meet. Kind: what the numbers are, or which table. Numbers, rows: 64 bits for each entry."""

LINKS, NAMES, TITLES, KEYS, SIGNATURES = range(-1, 4)
"""Kinds: links, which are pairs of rows, and the kinds of numbers that rows can share."""

_SCHEMA = arrow_schema(PACKED_COLUMNS)
_PIECE = 1 << 20  # rows that are packed at a time
_PART_BITS = 12
_MOST_BITS = 16  # bits of the number of a part
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

Batches = Iterable[pa.RecordBatch]


def unsigned_numbers(column: pa.Array) -> Numbers:
    """Return the 64-bit numbers of a column of Spark."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64).view(np.uint64)


def in_pieces(batches: Batches, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batches* in larger batches, made of so many *rows* or more."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += len(batch)
        if count >= rows:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, count = [], 0
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _pack(parts: Numbers, kind: int, numbers: Numbers, rows: Places) -> Iterator[pa.RecordBatch]:
    """Yield packed entries: one row for each part. At most :data:`_PIECE` entries are packed at a time."""
    for first in range(0, len(parts), _PIECE):
        narrow = parts[first : first + _PIECE].astype(np.uint16)
        order = np.argsort(narrow, kind="stable")
        narrow = narrow[order]
        starts = np.flatnonzero(np.append(True, narrow[1:] != narrow[:-1]))
        offsets = pa.py_buffer((8 * np.append(starts, len(narrow))).astype(np.int32))
        packed = [
            pa.Array.from_buffers(pa.binary(), len(starts), [None, offsets, pa.py_buffer(values[first + order])])
            for values in (numbers, rows)
        ]
        kinds = np.full(len(starts), kind, dtype=np.int32)
        columns = [pa.array(narrow[starts].astype(np.int32)), pa.array(kinds), *packed]
        yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _pack_links(links: Links) -> Iterator[pa.RecordBatch]:
    """Yield packed links. Their part is arbitrary: they are only passed on until all links are collected."""
    parts = np.full(len(links.first), len(links.first) & 0xFFFF, dtype=np.uint64)
    return _pack(parts, LINKS, links.first.view(np.uint64), links.second)


def _pack_equal(kind: int, numbers: Numbers, rows: Places) -> Iterator[pa.RecordBatch]:
    """Yield packed numbers that rows share: each number once, with one of its rows, to which its other rows are linked."""
    links, distinct = link_equal(numbers, rows)
    yield from _pack_links(links)
    yield from _pack(distinct.numbers * _SPREAD >> np.uint64(BITS - _PART_BITS), kind, *distinct)


def read_links(batch: pa.RecordBatch) -> Links:
    """Return the links that are packed in a batch."""
    return Links(_unpack(batch.column("numbers")).view(np.int64), _unpack(batch.column("rows")).view(np.int64))


def _unpack(column: pa.Array) -> Numbers:
    values = [np.frombuffer(value.as_buffer(), dtype=np.uint64) for value in column]
    return np.concatenate([np.empty(0, dtype=np.uint64), *values])


class _Gathered:
    """The data received by a partition: numbers and rows by kind."""

    def __init__(self) -> None:
        self._parts: dict[int, list[tuple[Numbers, Numbers]]] = defaultdict(list)

    def add(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Collect the numbers in *batches*; yield the links, which are not changed."""
        for batch in batches:
            kinds = batch.column("kind").to_numpy()
            for kind in np.unique(kinds).tolist():
                own = batch.filter(pa.array(kinds == kind))
                if kind == LINKS:
                    yield own
                else:
                    self._parts[kind].append((_unpack(own.column("numbers")), _unpack(own.column("rows"))))

    def take(self) -> Iterator[tuple[int, Numbers, Places]]:
        """Yield each kind with its numbers and rows."""
        for kind in sorted(self._parts):
            numbers, rows = zip(*self._parts.pop(kind), strict=True)
            yield kind, np.concatenate(numbers), np.concatenate(rows).view(np.int64)


@dataclass(frozen=True)
class SpreadNumbers:
    """Sends the numbers of rows to parts: the names of pages, the titles of texts, and the signatures of texts.

    Attributes:
        by_distance: whether texts are found by the distance of their signatures.
    """

    by_distance: bool

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the packed numbers of rows with the columns row, kind, signature, name and title."""
        for batch in in_pieces(batches, _PIECE):
            rows = batch.column("row").to_numpy()
            yield from _pack_equal(NAMES, unsigned_numbers(batch.column("name")), rows)
            titles = unsigned_numbers(batch.column("title"))
            yield from _pack_equal(TITLES, titles[titles != 0], rows[titles != 0])
            if self.by_distance:
                texts = pc.equal(batch.column("kind"), TEXT).to_numpy(zero_copy_only=False)
                signatures = unsigned_numbers(batch.column("signature"))
                yield from _pack_equal(SIGNATURES, signatures[texts], rows[texts])


@dataclass(frozen=True)
class SpreadKeys:
    """Sends keys to parts: the keys under which pages are filed or looked up."""

    matcher: RuleMatcher
    profiles: FrozenProfiles

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the packed keys of rows with the columns row and page."""
        for batch in batches:
            entries = KeyEntries()
            for row, content in zip(*(batch.column(name).to_pylist() for name in ("row", "page")), strict=True):
                page = decode_page(content)
                page = self.matcher.prepare(page, self.profiles.snapshot(site_key(page.scope, page.url)))
                entries.add(row, page.scope, (*self.matcher.keys(page), *self.matcher.probes(page)))
            yield from _pack_equal(KEYS, entries.keys, entries.places)


@dataclass(frozen=True)
class LinkEqual:
    """Links the rows of a partition that share a number, and sends each signature to a part for each table."""

    tables: Sequence[Table]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield packed links and permuted signatures."""
        gathered = _Gathered()
        yield from gathered.add(batches)
        for kind, numbers, rows in gathered.take():
            links, distinct = link_equal(numbers, rows)
            yield from _pack_links(links)
            if kind == SIGNATURES:
                yield from self._spread(distinct)

    def _spread(self, signatures: Distinct) -> Iterator[pa.RecordBatch]:
        bits = min(_PART_BITS, _MOST_BITS - len(self.tables).bit_length())
        for number, table in enumerate(self.tables):
            permuted = table.permute(signatures.numbers)
            leading = min(bits, table.leading)
            parts = permuted >> np.uint64(BITS - leading) | np.uint64(number << bits)
            yield from _pack(parts, number, permuted, signatures.rows)


@dataclass(frozen=True)
class LinkNear:
    """Links the rows of a partition whose signatures are near each other."""

    tables: Sequence[Table]
    max_distance: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield packed links."""
        gathered = _Gathered()
        yield from gathered.add(batches)
        for number, permuted, rows in gathered.take():
            yield from _pack_links(link_near(self.tables, number, permuted, rows, self.max_distance))
