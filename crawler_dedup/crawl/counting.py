"""Counts of one crawl in bounded memory: the most frequent of any number of keys, and duplicates by host and kept page.

A kept page that represents suspiciously many other pages may be an error page, a form or a captcha.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from crawler_dedup.decision import Decision
from crawler_dedup.urls import hash_page_key, host_of

COUNTED_HOSTS = 1000
"""Number of hosts with a counter. Up to this number, the counts are exact."""
MAX_WATCHED = 10_000
"""Maximum number of kept pages, and of dropped pages, whose counts are remembered."""
MAX_DUPLICATES = 50
"""Maximum number of duplicates of a kept page on one site in a run without a warning: few pages have as many copies."""
MAX_CHARS = 500
"""Maximum length of an address in a warning."""
_EXAMPLES = 5
_SHOWN_HOSTS = 50
"""Maximum number of hosts in the statistics."""
_MAX_HOST_CHARS = 100

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


@dataclass(slots=True)
class Use:
    """The pages of one host that have something in common.

    Attributes:
        count: how many there are.
        examples: addresses of the last of them before the warning.
    """

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, url: str, limit: int) -> bool:
        """Count the page at *url*; return whether there are *limit* pages now."""
        self.count += 1
        if limit - _EXAMPLES < self.count <= limit:
            self.examples.append(url[:MAX_CHARS])
        return self.count == limit


class DuplicateCounts:
    """Duplicates of one crawl by host, and by host and kept page.

    Each kept page is identified by a hash of its address, because addresses may be long, and there are many.
    """

    def __init__(self) -> None:
        self._used = HeavyHitters[bytes, Use](MAX_WATCHED, Use)
        self._hosts = {outcome: HeavyHitters[str, int](COUNTED_HOSTS, int) for outcome in ("dropped", "marked")}

    def add(self, decision: Decision) -> Use | None:
        """Count the duplicate of *decision* for its kept page.

        Returns the use of the kept page to warn about, once for each kept page and site; otherwise ``None``.
        """
        use = self._used.add(hash_page_key(decision.scope, f"{host_label(decision.url)} {decision.duplicate_of}"))
        return use if use.add(decision.url, MAX_DUPLICATES + 1) else None

    def add_to_host(self, url: str, outcome: str) -> None:
        """Count a duplicate that was "dropped" or "marked" for its host."""
        if host := host_label(url):
            self._hosts[outcome].add(host)

    def by_host(self) -> dict[str, int]:
        """Return the counts of the hosts with most duplicates by the names of their statistics."""
        return {
            f"{outcome}_by_host/{host}": count
            for outcome, hosts in self._hosts.items()
            for host, count, _ in hosts.top(_SHOWN_HOSTS)
        }


def host_label(url: str) -> str:
    """Return the host of *url* to show: without user name and password, printable, and only the end of a long host."""
    host = host_of(url)
    shown = host if host.isprintable() else "".join(character if character.isprintable() else "?" for character in host)
    return shown if len(shown) <= _MAX_HOST_CHARS else "…" + shown[1 - _MAX_HOST_CHARS :]
