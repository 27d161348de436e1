"""Find the pages that have to be decided together: each page, with all pages that its look-up can return.

The numbers of rows are exchanged between executors: equal numbers are sent to the same part, where their rows are linked.
Near signatures are sent to one part, too, once for each permuted table, by its leading bits. A group of pages is decided in
one task, by the code of the index; groups are not clusters. Not all pairs are linked: there are only as many links as it
takes to have all pages with near signatures in one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawler_dedup.batch.neighbours import Places, Runs, Table, flag_near
from crawler_dedup.batch.shard import TEXT, KeyEntries, arrow_schema, decode_page, prepare_page
from crawler_dedup.hashes import Numbers, sort_distinct
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.permutedtables import BITS
from crawler_dedup.rules.matcher import RuleMatcher

SENT_COLUMNS = "part int, kind int, number long, row long"
"""Part: rows of one part meet. Kind: what the number is, or which table. Number: 64 bits, or the other row of a link."""

LINKS, NAMES, TITLES, KEYS, SIGNATURES = range(-1, 4)
"""Kinds: links, which are pairs of rows, and the kinds of numbers that rows can share."""

_SCHEMA = arrow_schema(SENT_COLUMNS)
_ROWS = 1 << 16  # rows of a batch
_PART_BITS = 12
_MOST_BITS = 16  # bits of the number of a part
_PENDING = 1 << 22  # number of links above which they are reduced to groups
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

Batches = Iterable[pa.RecordBatch]


class Links(NamedTuple):
    """Pairs of rows that belong to one group.

    Attributes:
        first: a row of each pair.
        second: the other row of each pair.
    """

    first: Places
    second: Places


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


def spread_numbers(batches: Batches, *, by_distance: bool) -> Iterator[pa.RecordBatch]:
    """Send the numbers of rows to parts: the names of pages, the titles of texts, and the signatures of texts.

    Args:
        batches: rows with the columns row, kind, signature, name and title.
        by_distance: whether texts are found by the distance of their signatures.
    """
    for batch in batches:
        rows, titles = batch.column("row").to_numpy(), _read_numbers(batch.column("title"))
        yield from _send_equal(NAMES, _read_numbers(batch.column("name")), rows)
        yield from _send_equal(TITLES, titles[titles != 0], rows[titles != 0])
        if by_distance:
            texts = pc.equal(batch.column("kind"), TEXT).to_numpy(zero_copy_only=False)
            yield from _send_equal(SIGNATURES, _read_numbers(batch.column("signature"))[texts], rows[texts])


def spread_keys(batches: Batches, *, matcher: RuleMatcher, profiles: FrozenProfiles) -> Iterator[pa.RecordBatch]:
    """Send the keys under which pages are filed or looked up to parts; *batches* have the columns row and page."""
    for batch in batches:
        entries = KeyEntries()
        for row, content in zip(*(batch.column(name).to_pylist() for name in ("row", "page")), strict=True):
            page = prepare_page(decode_page(content), matcher, profiles)
            entries.add(row, page.scope, (*matcher.keys(page), *matcher.probes(page)))
        yield from _send_equal(KEYS, entries.keys, entries.places)


def link_rows_with_equal_numbers(batches: Batches, *, tables: Sequence[Table]) -> Iterator[pa.RecordBatch]:
    """Yield the links of a partition's rows that share a number, and each permuted signature, to one part of each table."""
    bits = min(_PART_BITS, _MOST_BITS - len(tables).bit_length())
    for kind, numbers, rows in _receive(batches):
        links, distinct, firsts = link_equal(numbers, rows)
        yield from _send_links(links)
        for number, table in enumerate(tables if kind == SIGNATURES else ()):
            permuted = table.permute(distinct)
            leading = min(bits, table.leading)
            parts = permuted >> np.uint64(BITS - leading) | np.uint64(number << bits)
            yield from _send(number, parts, permuted, firsts)


def link_rows_with_near_signatures(
    batches: Batches, *, tables: Sequence[Table], max_distance: int
) -> Iterator[pa.RecordBatch]:
    """Yield links: those that a partition receives, and those of its rows whose signatures are near each other."""
    for kind, numbers, rows in _receive(batches):
        if kind == LINKS:
            yield from _send_links(Links(numbers.view(np.int64), rows))
        else:
            yield from _send_links(link_near(tables, kind, numbers, rows, max_distance))


def link_equal(numbers: Numbers, rows: Places) -> tuple[Links, Numbers, Places]:
    """Link the *rows* with equal *numbers* to one of these rows; also return each number with this row."""
    order = np.argsort(numbers)
    ascending, rows = numbers[order], rows[order]
    is_first = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    firsts = rows[is_first]
    is_repeated = ~is_first
    return Links(firsts[np.cumsum(is_first)[is_repeated] - 1], rows[is_repeated]), ascending[is_first], firsts


def link_near(tables: Sequence[Table], number: int, permuted: Numbers, rows: Places, max_distance: int) -> Links:
    """Link *rows* whose signatures are near each other and agree in the leading bits of a table.

    Args:
        tables: all tables of the signatures. Pairs that agree in the leading bits of an earlier table are linked there.
        number: the number of the table.
        permuted: different signatures, with their bits in the order of the table.
    """
    table = tables[number]
    order = np.argsort(permuted)
    values = permuted[order]
    order = order[flag_near(values, table.leading, max_distance)]
    near, rows = permuted[order], rows[order]
    runs = Runs(near, BITS - table.leading)
    # Very many signatures with the same leading bits are linked without comparing them: a group may be larger than needed.
    labels = np.arange(len(near))
    labels[np.repeat(runs.are_long, runs.lengths)] = np.repeat(
        (runs.ends - runs.lengths)[runs.are_long], runs.lengths[runs.are_long]
    )
    for first, second in runs.compare_short(near, max_distance):
        is_new = labels[first] != labels[second]
        first, second = first[is_new], second[is_new]  # noqa: PLW2901
        is_new = ~_agree_before(tables[:number], table.restore(near[first] ^ near[second]))
        join_labels(labels, first[is_new], second[is_new])
    linked = np.flatnonzero(labels != np.arange(len(labels)))
    return Links(rows[labels[linked]], rows[linked])


def _agree_before(tables: Sequence[Table], differences: Numbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for pairs of signatures, of which *differences* has the differing bits, whether one of *tables* links them."""
    agree = np.zeros(len(differences), dtype=bool)
    for table in tables:
        agree |= differences & np.uint64(table.mask) == 0
    return agree


def join_labels(labels: Places, first: Places, second: Places) -> None:
    """Give linked places the same label: the smallest label of all places that are linked with them.

    Args:
        labels: the label of each place, which is changed here. The label of a label is itself.
    """
    while True:
        low, high = labels[first], labels[second]
        differ = low != high
        if not differ.any():
            return
        first, second, low, high = first[differ], second[differ], low[differ], high[differ]
        np.minimum.at(labels, np.maximum(low, high), np.minimum(low, high))
        while not np.array_equal(shorter := labels[labels], labels):
            labels[:] = shorter


class Groups(NamedTuple):
    """Rows that are linked with others, ascending, and the group of each: its lowest row."""

    rows: Places
    numbers: Places


def find_groups(links: Iterable[Links]) -> Groups:
    """Find the groups that *links* make. The memory it takes grows with the number of linked rows, not of links."""
    groups = Groups(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    pending: list[Links] = []
    count = 0
    for batch in links:
        pending.append(batch)
        count += len(batch.first)
        if count > max(_PENDING, len(groups.rows)):
            groups, pending, count = _regroup(groups, pending), [], 0
    return _regroup(groups, pending)


def _regroup(groups: Groups, links: Sequence[Links]) -> Groups:
    first = np.concatenate([groups.numbers, *(batch.first for batch in links)])
    second = np.concatenate([groups.rows, *(batch.second for batch in links)])
    rows = sort_distinct(np.concatenate([first, second]))
    labels = np.arange(len(rows))
    join_labels(labels, np.searchsorted(rows, first), np.searchsorted(rows, second))
    return Groups(rows, rows[labels])
