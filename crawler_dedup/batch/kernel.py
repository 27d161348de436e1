"""The search for near numbers, compiled with numba."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from crawler_dedup.hamming import Numbers

_LONG = 1_024  # a run of more numbers with the same leading bits is long
_ROOM = _LONG * _LONG // 2  # pairs that are listed at a time: at least those of one run that is not long
_TRIES = 64  # the search of a long run of n numbers ends after so many times n comparisons
_ONES, _TWOS, _FOURS = (np.uint64(mask) for mask in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_SUM = np.uint64(0x0101010101010101)
_SHIFT_1, _SHIFT_2, _SHIFT_4, _SHIFT_56 = (np.uint64(shift) for shift in (1, 2, 4, 56))


def _compile(function: Any) -> Any:
    """Compile a function with numba; the result is stored for other processes if there is a folder to write it to."""
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # no such folder
        return numba.njit(function)


def _count_bits(number: Any) -> Any:
    number -= number >> _SHIFT_1 & _ONES
    number = (number & _TWOS) + (number >> _SHIFT_2 & _TWOS)
    number = number + (number >> _SHIFT_4) & _FOURS
    return number * _SUM >> _SHIFT_56


_count = numba.njit(inline="always")(_count_bits)


def _flag(values: Any, rest_bits: Any, max_distance: Any, flags: Any, unfinished: Any) -> None:
    start, count = 0, len(values)
    while start < count:
        prefix = values[start] >> rest_bits
        end = start + 1
        while end < count and values[end] >> rest_bits == prefix:
            end += 1
        if end - start <= _LONG:
            for first in range(start, end - 1):
                for second in range(first + 1, end):
                    if _count(values[first] ^ values[second]) <= max_distance:
                        flags[first] = True
                        flags[second] = True
        else:  # if a long run is dense, few comparisons flag all of its numbers
            left = _TRIES * (end - start)
            for first in range(start, end):
                if flags[first]:
                    continue
                for second in range(start, end):
                    left -= 1
                    if second != first and _count(values[first] ^ values[second]) <= max_distance:
                        flags[first] = True
                        flags[second] = True
                        break
                if left < 0:
                    unfinished[start:end] = True
                    break
        start = end


_compiled = _compile(_flag)


def flag_runs(values: Numbers, rest_bits: int, max_distance: int, flags: Any) -> Any:
    """Flag near numbers as :data:`crawler_dedup.batch.neighbours.FlagRuns` says."""
    unfinished = np.zeros(len(values), dtype=bool)
    _compiled(values, np.uint64(rest_bits), np.uint64(max_distance), flags, unfinished)
    return unfinished


def _list(
    values: Any, rest_bits: Any, max_distance: Any, start: Any, firsts: Any, seconds: Any, crowded: Any
) -> tuple[Any, Any]:
    """List near numbers from *start* on while there is room; return the number of pairs, and the place to continue at."""
    listed, count = 0, len(values)
    while start < count:
        prefix = values[start] >> rest_bits
        end = start + 1
        while end < count and values[end] >> rest_bits == prefix:
            end += 1
        if end - start > _LONG:
            crowded[start:end] = True
        elif listed + (end - start) * (end - start - 1) // 2 > len(firsts):
            break
        else:
            for first in range(start, end - 1):
                for second in range(first + 1, end):
                    if _count(values[first] ^ values[second]) <= max_distance:
                        firsts[listed] = first
                        seconds[listed] = second
                        listed += 1
        start = end
    return listed, start


_compiled_list = _compile(_list)


def list_runs(values: Numbers, rest_bits: int, max_distance: int, crowded: Any) -> Iterator[Any]:
    """List near numbers as :data:`crawler_dedup.batch.nearpairs.ListRuns` says."""
    firsts, seconds = (np.empty(_ROOM, dtype=np.int64) for _ in range(2))
    limits = np.uint64(rest_bits), np.uint64(max_distance)
    start = 0
    while start < len(values):
        listed, start = _compiled_list(values, *limits, start, firsts, seconds, crowded)
        yield firsts[:listed].copy(), seconds[:listed].copy()


def _cross(
    first: Any, second: Any, rest_bits: Any, max_distance: Any, first_flags: Any, second_flags: Any, unfinished: Any
) -> None:
    start = end = place = 0
    while place < len(second):
        prefix = second[place] >> rest_bits
        # Leap to the numbers with this prefix: they are not far if both arrays have about as many numbers.
        leap = 1
        start = end
        while start + leap < len(first) and first[start + leap] >> rest_bits < prefix:
            leap *= 2
        low, high = start, min(start + leap + 1, len(first))
        while low < high:
            middle = (low + high) // 2
            if first[middle] >> rest_bits < prefix:
                low = middle + 1
            else:
                high = middle
        start = end = low
        while end < len(first) and first[end] >> rest_bits == prefix:
            end += 1
        while place < len(second) and second[place] >> rest_bits == prefix:
            if end - start > _LONG:
                unfinished[place] = True
            else:
                for other in range(start, end):
                    if _count(first[other] ^ second[place]) <= max_distance:
                        first_flags[other] = True
                        second_flags[place] = True
            place += 1


_compiled_cross = _compile(_cross)


def cross_runs(
    first: Numbers, second: Numbers, rest_bits: int, max_distance: int, first_flags: Any, second_flags: Any
) -> Any:
    """Flag near numbers as :data:`crawler_dedup.batch.streaming.CrossRuns` says."""
    unfinished = np.zeros(len(second), dtype=bool)
    limits = np.uint64(rest_bits), np.uint64(max_distance)
    _compiled_cross(first, second, *limits, first_flags, second_flags, unfinished)
    return unfinished
