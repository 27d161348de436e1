"""Counting by key in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from heapq import nsmallest
from typing import Generic, Protocol, TypeVar

LIMIT = 50_000
"""Keys that are kept in any case."""


class Counted(Protocol):
    """Something with a number by which it is ranked."""

    @property
    def number(self) -> int: ...


_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value", bound=Counted)


class Heaviest(Generic[_Key, _Value]):
    """A value for each key, of the keys with the largest numbers.

    Where there are twice *limit* keys, the lighter half is forgotten; a forgotten key that comes again begins anew. So the
    number of a key is never too large, and too small only where it was among the lighter ones for a while.

    Attributes:
        has_forgotten: whether that has happened.
    """

    def __init__(self, make: Callable[[], _Value], limit: int = LIMIT) -> None:
        self._make = make
        self._limit = limit
        self._values: dict[_Key, _Value] = {}
        self.has_forgotten = False

    def of(self, key: _Key) -> _Value:
        """The value of *key*, made if there is none."""
        value = self._values.get(key)
        if value is None:
            if len(self._values) >= 2 * self._limit:
                self._values = dict(self.top(self._limit))
                self.has_forgotten = True
            value = self._values[key] = self._make()
        return value

    def get(self, key: _Key) -> _Value | None:
        """The value of *key*, if there is one."""
        return self._values.get(key)

    def top(self, size: int) -> list[tuple[_Key, _Value]]:
        """The *size* largest, largest first; of equal ones the one whose key comes first."""
        return nsmallest(size, self._values.items(), key=lambda item: (-item[1].number, item[0]))

    def values(self) -> Iterable[_Value]:
        """Of all keys."""
        return self._values.values()

    def __len__(self) -> int:
        return len(self._values)
