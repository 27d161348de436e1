"""Find the pages that have to be decided together: each page, with all pages that its look-up can return.

A group of pages is decided in one task, by the code of the index; groups are not clusters. Not all pairs are linked: there
are only as many links as it takes to have all pages with near signatures in one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from crawler_dedup.batch.neighbours import Places, Runs, Table, flag_near
from crawler_dedup.hamming import BITS, Numbers, sort_distinct

_PENDING = 1 << 22  # number of links above which they are reduced to groups


class Links(NamedTuple):
    """Pairs of rows that belong to one group.

    Attributes:
        first: a row of each pair.
        second: the other row of each pair.
    """

    first: Places
    second: Places


class Distinct(NamedTuple):
    """Different numbers, ascending, each with one of its rows."""

    numbers: Numbers
    rows: Places


def link_equal(numbers: Numbers, rows: Places) -> tuple[Links, Distinct]:
    """Link the *rows* with equal *numbers* to one of these rows; also return each number with this row."""
    order = np.argsort(numbers)
    ascending, rows = numbers[order], rows[order]
    is_first = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    firsts = rows[is_first]
    is_repeated = ~is_first
    return Links(firsts[np.cumsum(is_first)[is_repeated] - 1], rows[is_repeated]), Distinct(ascending[is_first], firsts)


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
