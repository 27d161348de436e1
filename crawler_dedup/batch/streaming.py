"""Compare a stream of existing signatures with the signatures of a collection, and flag those near one of the other set.

Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §3.3: the tables are made of the new
signatures, which are few and fit into memory, and the file of existing ones is read once.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from crawler_dedup.batch.neighbours import LONG, Flags, Table, tables_for
from crawler_dedup.hamming import BITS, Numbers

_TABLE_BYTES = 16  # bytes for each signature in a table: its permuted bits, and its place


class ResidentSignatures:
    """Signatures that are held in memory, sorted once for each permuted table.

    Args:
        signatures: the signatures, each once.
        max_distance: largest distance of near signatures, in bits.
        agreeing: how many of the highest bits are the same in all signatures that are compared.
    """

    def __init__(self, signatures: Numbers, max_distance: int, agreeing: int = 0) -> None:
        self._signatures = signatures
        self._max_distance = max_distance
        tables = tables_for(max_distance, len(signatures), agreeing) if len(signatures) else ()
        self._tables = [_SortedTable(table, signatures) for table in tables]
        self.flags = np.zeros(len(signatures), dtype=bool)
        """For each signature, whether a near one has passed by."""

    def pass_by(self, others: Numbers) -> Flags:
        """Return for each of *others* whether a resident signature is near it, and flag the resident signatures that are."""
        near_some = np.zeros(len(others), dtype=bool)
        for sorted_table in self._tables:
            permuted = sorted_table.table.permute(others)
            order = np.argsort(permuted)
            values = permuted[order]
            own, flags = np.zeros(len(self.flags), dtype=bool), np.zeros(len(others), dtype=bool)
            remaining_bits = BITS - sorted_table.table.leading
            unfinished = _cross_runs(sorted_table.values, values, remaining_bits, self._max_distance, own, flags)
            if unfinished.any():
                crowd = sorted_table.crowd(self._max_distance)
                flags[unfinished] = crowd.pass_by(values[unfinished])
                own[sorted_table.are_crowded] |= crowd.flags
            near_some[order[flags]] = True
            self.flags[sorted_table.order[own]] = True
        return near_some


class _SortedTable:
    """Signatures in the order of one permuted table."""

    def __init__(self, table: Table, signatures: Numbers) -> None:
        self.table = table
        permuted = table.permute(signatures)
        self.order = np.argsort(permuted)
        self.values = permuted[self.order]
        self._crowd: ResidentSignatures | None = None

    @cached_property
    def are_crowded(self) -> Flags:
        """For each signature, whether very many others have the same leading bits."""
        prefixes = self.values >> np.uint64(BITS - self.table.leading)
        ends = np.append(np.flatnonzero(prefixes[1:] != prefixes[:-1]) + 1, len(prefixes))
        lengths = np.diff(ends, prepend=0)
        return np.repeat(lengths > LONG, lengths)

    def crowd(self, max_distance: int) -> ResidentSignatures:
        """Return the crowded signatures (:attr:`are_crowded`), sorted by more of their bits."""
        if self._crowd is None:
            values = self.values[self.are_crowded]
            self._crowd = ResidentSignatures(values, max_distance, self.table.leading)
        return self._crowd


def estimate_bytes(count: int, max_distance: int) -> int:
    """Return the bytes of memory that the tables of *count* signatures take."""
    return _TABLE_BYTES * count * len(tables_for(max_distance, count))


def _cross_runs(
    first: Numbers, second: Numbers, rest_bits: int, max_distance: int, first_flags: Flags, second_flags: Flags
) -> Flags:
    """Flag the numbers of two sorted arrays that have a near number with the same leading bits in the other.

    Returns:
        Which numbers of the second array were not compared, because too many of the first have the same leading bits.
    """
    shift = np.uint64(rest_bits)
    prefixes, sought = first >> shift, second >> shift
    starts, ends = (np.searchsorted(prefixes, sought, side) for side in ("left", "right"))
    unfinished: Flags = ends - starts > LONG
    left = np.flatnonzero(~unfinished & (ends > starts))
    step = 0
    while len(left):
        places = starts[left] + step
        near = np.bitwise_count(first[places] ^ second[left]) <= max_distance
        first_flags[places[near]] = True
        second_flags[left[near]] = True
        step += 1
        left = left[starts[left] + step < ends[left]]
    return unfinished
