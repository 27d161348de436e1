"""Find the signatures that have a neighbour, in their own collection or among others that are compared with it.

As in Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §3: signatures within distance k,
cut into b blocks, agree in b - k of these blocks. For each choice of b - k blocks, all signatures are sorted with these
blocks in front, so that signatures that agree in them are adjacent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hashes import Numbers, sort_distinct
from crawler_dedup.permutedtables import BITS

Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

LONG = 1_024
"""Maximum number of numbers with the same leading bits of which all pairs are compared."""

_MORE_BLOCKS = 4  # maximum of b - k
_SORTING, _COMPARING = 25, 0.6  # nanoseconds that it takes for a number, and for a pair
WORKING_BYTES = 26
"""Bytes that each signature takes while one table is searched."""
_PIECE = 1 << 16  # numbers that are processed at a time: their arrays fit into the cache of the processor
_TABLE_BYTES = 16  # bytes for each resident signature in a table: its permuted bits, and its place
_TRIES = 64  # in a long run of n numbers, so many times n pairs are compared at most


@dataclass(frozen=True)
class Table:
    """A permutation of the bits of signatures.

    Attributes:
        ranges: the lowest bit and the width of each range, in the order in which they are in permuted signatures.
        leading: how many bits lead.
    """

    ranges: tuple[tuple[int, int], ...]
    leading: int

    @property
    def mask(self) -> int:
        """The bits of a signature that lead in the table, as a mask."""
        bits, left = 0, self.leading
        for low, width in self.ranges:
            if left > 0:
                bits |= (1 << width) - 1 << low
            left -= width
        return bits

    def permute(self, signatures: Numbers) -> Numbers:
        """Return *signatures* with their bits in the order of the table."""
        permuted = np.zeros_like(signatures)
        for low, width, place in self._pieces():
            permuted |= (signatures >> low & (np.uint64(1) << width) - np.uint64(1)) << place
        return permuted

    def restore(self, permuted: Numbers) -> Numbers:
        """Return the signatures of which *permuted* is the permutation."""
        signatures = np.zeros_like(permuted)
        for low, width, place in self._pieces():
            signatures |= (permuted >> place & (np.uint64(1) << width) - np.uint64(1)) << low
        return signatures

    def _pieces(self) -> Iterator[tuple[np.uint64, np.uint64, np.uint64]]:
        """Yield lowest bit, width, and lowest bit in permuted signatures of each range."""
        place = BITS
        for low, width in self.ranges:
            place -= width
            yield np.uint64(low), np.uint64(width), np.uint64(place)


@cache
def _choose_tables(max_distance: int, blocks: int, agreeing: int) -> tuple[Table, ...]:
    bits = BITS - agreeing
    ranges = [
        (bits * place // blocks, bits * (place + 1) // blocks - bits * place // blocks) for place in range(blocks)
    ]
    tables = []
    for chosen in combinations(range(blocks), blocks - max_distance):
        remaining = [place for place in range(blocks) if place not in chosen]
        leading = agreeing + sum(ranges[place][1] for place in chosen)
        first = [(bits, agreeing)] if agreeing else []
        tables.append(Table((*first, *(ranges[place] for place in (*chosen, *remaining))), leading))
    return tuple(tables)


def tables_for(max_distance: int, count: int, agreeing: int = 0) -> tuple[Table, ...]:
    """Return the tables with which finding the neighbours of *count* evenly distributed signatures costs least.

    Args:
        agreeing: how many of the highest bits are the same in all signatures that are compared.
    """
    bits = BITS - agreeing

    def cost(blocks: int) -> float:
        leading = bits * (blocks - max_distance) // blocks
        return comb(blocks, max_distance) * (_SORTING + _COMPARING * count * 0.5 ** (leading + 1))

    choices = range(max(2, max_distance + 1), min(bits, max_distance + _MORE_BLOCKS) + 1)
    return _choose_tables(max_distance, min(choices, key=cost), agreeing)


def is_among(numbers: Numbers, others: Numbers) -> Flags:
    """Return for each of *numbers* whether it is one of *others*."""
    if not len(others):
        return np.zeros(len(numbers), dtype=bool)
    ascending = np.sort(others)
    flags = np.empty(len(numbers), dtype=bool)
    for first in range(0, len(numbers), _PIECE):
        sought = numbers[first : first + _PIECE]
        order = np.argsort(sought)  # ascending numbers are looked up several times as fast
        sought = sought[order]
        flags[first + order] = ascending.take(ascending.searchsorted(sought), mode="clip") == sought
    return flags


def is_repeated(numbers: Numbers) -> Flags:
    """Return for each of *numbers* whether it occurs more than once."""
    return is_among(numbers, _find_repeated(numbers))


def _find_repeated(numbers: Numbers) -> Numbers:
    ascending = np.sort(numbers)
    repeated: Numbers = ascending[1:][ascending[1:] == ascending[:-1]]
    return repeated


def find_neighbours(signatures: Numbers, max_distance: int) -> Flags:
    """Return for each of *signatures* whether another signature equals it or is within *max_distance*."""
    distinct = sort_distinct(signatures)
    near = _find_repeated(signatures)
    if max_distance and len(distinct) > 1:
        for table in tables_for(max_distance, len(distinct)):
            near = sort_distinct(np.concatenate([near, _near_in(table, distinct, max_distance)]))
    return is_among(signatures, near)


def _near_in(table: Table, signatures: Numbers, max_distance: int) -> Numbers:
    """Return the signatures with a neighbour that shares their leading bits in *table*."""
    pieces = range(0, len(signatures), _PIECE)
    values = np.concatenate([table.permute(signatures[first : first + _PIECE]) for first in pieces])
    values.sort()
    return table.restore(values[flag_near(values, table.leading, max_distance)])


def flag_near(values: Numbers, leading: int, max_distance: int) -> Flags:
    """Return for each of *values*, which ascend, whether there is a near value with the same leading bits.

    Values that have these bits in common with too many others are sorted again, by more of their bits.
    """
    flags = np.zeros(len(values), dtype=bool)
    left = np.flatnonzero(flag_runs(values, BITS - leading, max_distance, flags))
    if len(left):
        for table in tables_for(max_distance, len(left), leading):
            permuted = table.permute(values[left])
            order = np.argsort(permuted)
            near = flag_near(permuted[order], table.leading, max_distance)
            flags[left[order[near]]] = True
    return flags


class Runs:
    """The ends and lengths of runs of sorted numbers that agree in all but their last *rest_bits* bits."""

    def __init__(self, values: Numbers, rest_bits: int) -> None:
        prefixes = values >> np.uint64(rest_bits)
        self.ends = np.append(np.flatnonzero(prefixes[1:] != prefixes[:-1]) + 1, len(values))
        self.lengths = np.diff(self.ends, prepend=0)
        self.are_long = self.lengths > LONG

    def compare_short(self, values: Numbers, max_distance: int) -> Iterator[tuple[Places, Places]]:
        """Yield the places of near numbers in runs that are not long, many pairs at a time."""
        following = np.repeat(self.ends, self.lengths) - np.arange(len(values)) - 1  # in the same run
        left = np.flatnonzero(~np.repeat(self.are_long, self.lengths) & (following > 0))
        step = 1
        while len(left):
            near = left[np.bitwise_count(values[left] ^ values[left + step]) <= max_distance]
            yield near, near + step
            step += 1
            left = left[following[left] >= step]


def flag_runs(values: Numbers, rest_bits: int, max_distance: int, flags: Flags) -> Flags:
    """Flag the numbers of a sorted array that have a near number with the same leading bits.

    Args:
        values: the numbers.
        rest_bits: how many bits follow the leading bits.
        max_distance: the largest distance of near numbers, in bits.
        flags: is set for near numbers.

    Returns:
        Which numbers were not compared with all others, because too many have the same leading bits.
    """
    runs = Runs(values, rest_bits)
    for near, other in runs.compare_short(values, max_distance):
        flags[near] = flags[other] = True
    unfinished = np.zeros(len(values), dtype=bool)
    for run in np.flatnonzero(runs.are_long).tolist():
        part = slice(int(runs.ends[run] - runs.lengths[run]), int(runs.ends[run]))
        unfinished[part] = not _flag_long_run(values[part], max_distance, flags[part])
    return unfinished


def _flag_long_run(values: Numbers, max_distance: int, flags: Flags) -> bool:
    """Flag near numbers of a long run: if it is dense, few comparisons flag all. Return whether all are flagged."""
    for _ in range(_TRIES):
        if flags.all():
            return True
        place = int(np.argmin(flags))
        near = np.bitwise_count(values ^ values[place]) <= max_distance
        if near.sum() == 1:
            return False
        flags |= near
    return bool(flags.all())


class ResidentSignatures:
    """Signatures that are held in memory, sorted once for each permuted table, with which others are compared.

    As in §3.3 of the same paper: the tables are made of the new signatures, which are few and fit into memory, and the file
    of existing ones is read once.

    Args:
        signatures: the signatures, each once.
        max_distance: largest distance of near signatures, in bits.
        agreeing: how many of the highest bits are the same in all signatures that are compared.
    """

    def __init__(self, signatures: Numbers, max_distance: int, agreeing: int = 0) -> None:
        self._max_distance = max_distance
        tables = tables_for(max_distance, len(signatures), agreeing) if len(signatures) else ()
        self._tables = [_SortedTable(table, signatures, max_distance) for table in tables]
        self.flags = np.zeros(len(signatures), dtype=bool)
        """For each signature, whether a near one was among those that it was compared with."""

    def match(self, others: Numbers) -> Flags:
        """Return which of *others* are near a resident signature, and flag the resident signatures near one of *others*."""
        near_some = np.zeros(len(others), dtype=bool)
        for sorted_table in self._tables:
            permuted = sorted_table.table.permute(others)
            order = np.argsort(permuted)
            values = permuted[order]
            own, flags = np.zeros(len(self.flags), dtype=bool), np.zeros(len(others), dtype=bool)
            remaining_bits = BITS - sorted_table.table.leading
            unfinished = _cross_runs(sorted_table.values, values, remaining_bits, self._max_distance, own, flags)
            if unfinished.any():
                flags[unfinished] = sorted_table.crowd.match(values[unfinished])
                own[sorted_table.are_crowded] |= sorted_table.crowd.flags
            near_some[order[flags]] = True
            self.flags[sorted_table.order[own]] = True
        return near_some


class _SortedTable:
    """Signatures in the order of one permuted table."""

    def __init__(self, table: Table, signatures: Numbers, max_distance: int) -> None:
        self.table = table
        permuted = table.permute(signatures)
        self.order = np.argsort(permuted)
        self.values = permuted[self.order]
        self._max_distance = max_distance

    @cached_property
    def are_crowded(self) -> Flags:
        """For each signature, whether very many others have the same leading bits."""
        runs = Runs(self.values, BITS - self.table.leading)
        return np.repeat(runs.are_long, runs.lengths)

    @cached_property
    def crowd(self) -> ResidentSignatures:
        """The crowded signatures (:attr:`are_crowded`), sorted by more of their bits."""
        return ResidentSignatures(self.values[self.are_crowded], self._max_distance, self.table.leading)


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
