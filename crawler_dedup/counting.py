"""Counting the most frequent keys in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


@dataclass
class _Counter(Generic[_Value]):
    count: int
    inherited: int
    value: _Value


class HeavyHitters(Generic[_Key, _Value]):
    """Counters for the most frequent of any number of keys, each with a value for its key.

    Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams",
    ICDT 2005): a key without a counter takes over the smallest counter and its count, so that the count is too high by
    the inherited part. Every key with more than a share of 1 / *capacity* of all counted keys has a counter. :meth:`top`
    subtracts the inherited part: its counts are lower bounds, and exact if no counter was ever taken over.

    Args:
        capacity: the number of counters. Up to so many keys are counted exactly.
        make_value: returns the value of a key that gets a counter.
    """

    def __init__(self, capacity: int, make_value: Callable[[], _Value]) -> None:
        self._capacity = capacity
        self._make_value = make_value
        self._counters: dict[_Key, _Counter[_Value]] = {}
        self._keys: dict[int, dict[_Key, None]] = {}  # count → keys that have it, the oldest first
        self._smallest = 0

    def add(self, key: _Key) -> _Value:
        """Count *key* once more, and return its value."""
        counter = self._counters.get(key)
        if counter is not None:
            self._remove(key, counter.count)
        elif len(self._counters) < self._capacity:
            counter = self._counters[key] = _Counter(0, 0, self._make_value())
            self._smallest = 1
        else:
            counter = self._counters[key] = self._take_over()
        counter.count += 1
        self._keys.setdefault(counter.count, {})[key] = None
        return counter.value

    def get(self, key: _Key) -> _Value | None:
        """Return the value of *key*; ``None`` if it has no counter."""
        counter = self._counters.get(key)
        return None if counter is None else counter.value

    def top(self, number: int) -> list[tuple[_Key, int, _Value]]:
        """Return the *number* most frequent keys as (key, lower bound of its count, value), most frequent first.

        Equally frequent keys are in ascending order.
        """
        hitters = ((key, held.count - held.inherited, held.value) for key, held in self._counters.items())
        return heapq.nsmallest(number, hitters, key=lambda hitter: (-hitter[1], hitter[0]))

    def __len__(self) -> int:
        """Return the number of keys that have a counter."""
        return len(self._counters)

    def _take_over(self) -> _Counter[_Value]:
        """Take the smallest counter; of several equal counters, the one that has had its count for longest."""
        count = self._smallest
        loser = next(iter(self._keys[count]))
        self._remove(loser, count)
        del self._counters[loser]
        return _Counter(count, count, self._make_value())

    def _remove(self, key: _Key, count: int) -> None:
        """Remove *key* from the keys with this *count*; the caller then gives some key the next count."""
        keys = self._keys[count]
        del keys[key]
        if not keys:
            del self._keys[count]
            if count == self._smallest:
                self._smallest = count + 1
