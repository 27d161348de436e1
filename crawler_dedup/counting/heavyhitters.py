"""Which keys come most often, counted in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
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
    """Counts keys, however many there are, and holds a value for each key that has a counter.

    Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams",
    ICDT 2005): a key without a counter takes over the smallest one, and with it its count, which is then too high by what
    it has inherited. Every key that makes up more than a share of 1 / *capacity* has a counter. :meth:`top` leaves out
    what was inherited: a key came at least so often, and exactly so often where no counter was ever taken over.

    Args:
        capacity: the number of counters. Up to so many keys are counted exactly.
        make_value: makes the value of a key that gets a counter.

    Attributes:
        has_forgotten: whether a counter was ever taken over.
    """

    def __init__(self, capacity: int, make_value: Callable[[], _Value]) -> None:
        self._capacity = capacity
        self._make_value = make_value
        self._counters: dict[_Key, _Counter[_Value]] = {}
        self._keys: dict[int, dict[_Key, None]] = {}  # count → keys that have it, the oldest first
        self._smallest = 0
        self.has_forgotten = False

    def add(self, key: _Key) -> _Value:
        """Count *key* once more; returns its value."""
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
        """Return the *number* most frequent keys, most frequent first; of equally frequent ones in their order.

        Each with how often it came at least, and its value.
        """
        hitters = ((key, held.count - held.inherited, held.value) for key, held in self._counters.items())
        return heapq.nsmallest(number, hitters, key=lambda hitter: (-hitter[1], hitter[0]))

    def values(self) -> Iterator[_Value]:
        """Yield the values of all keys that have a counter."""
        return (counter.value for counter in self._counters.values())

    def __len__(self) -> int:
        """Return how many keys have a counter."""
        return len(self._counters)

    def _take_over(self) -> _Counter[_Value]:
        """Take the smallest counter from the key that has had it for longest."""
        count = self._smallest
        loser = next(iter(self._keys[count]))
        self._remove(loser, count)
        del self._counters[loser]
        self.has_forgotten = True
        return _Counter(count, count, self._make_value())

    def _remove(self, key: _Key, count: int) -> None:
        """Remove *key* from those with this count. A key is about to have the next one."""
        keys = self._keys[count]
        del keys[key]
        if not keys:
            del self._keys[count]
            if count == self._smallest:
                self._smallest = count + 1
