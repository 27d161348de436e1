"""List the pairs of near signatures, each pair once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from crawler_dedup.batch.neighbours import FEW, Flags, Places, Runs, tables_for
from crawler_dedup.hamming import BITS, Numbers

Pairs = tuple[Places, Places]
ListRuns = Callable[[Numbers, int, int, Flags], Iterator[Pairs]]
"""A function that yields the places of near numbers with the same leading bits in a sorted array, many pairs at a time.

Arguments: the numbers, how many bits follow the leading bits, the largest distance, flags. It sets the flags of numbers
that were not compared, because too many others have the same leading bits.
"""


def list_near_pairs(
    signatures: Numbers, max_distance: int, crowded: Flags, *, list_runs: ListRuns | None = None
) -> Iterator[Pairs]:
    """Yield the places of signatures that are equal or within *max_distance*, each pair once, the smaller place first.

    Args:
        crowded: flags that are set for signatures that were not compared with all others in a table, because too many have
            the same leading bits.
        list_runs: the implementation; ``None``: the fastest that is installed.
    """
    if len(signatures) < 2:
        return
    list_runs = list_runs or _fastest(len(signatures))
    masks: list[np.uint64] = []
    for table in tables_for(max_distance, len(signatures)):
        permuted = table.permute(signatures)
        order = np.argsort(permuted)
        values, own = permuted[order], np.zeros(len(order), dtype=bool)
        for firsts, seconds in list_runs(values, BITS - table.leading, max_distance, own):
            ends = order[firsts], order[seconds]
            differing = signatures[ends[0]] ^ signatures[ends[1]]
            is_new = np.ones(len(differing), dtype=bool)  # whether no earlier table has this pair
            for mask in masks:
                is_new &= differing & mask != 0
            yield np.minimum(*ends)[is_new], np.maximum(*ends)[is_new]
        crowded[order[own]] = True
        masks.append(np.uint64(table.mask))


def _fastest(count: int) -> ListRuns:
    if count < FEW:
        return list_runs_in_numpy
    try:
        from crawler_dedup.batch.kernel import list_runs  # noqa: PLC0415  (slow to load)
    except ImportError:
        return list_runs_in_numpy
    return list_runs


def list_runs_in_numpy(values: Numbers, rest_bits: int, max_distance: int, crowded: Flags) -> Iterator[Pairs]:
    """List near numbers as :data:`ListRuns` says, without numba."""
    runs = Runs(values, rest_bits)
    yield from runs.compare_short(values, max_distance)
    crowded |= np.repeat(runs.are_long, runs.lengths)
