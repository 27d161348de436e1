"""Which hosts the duplicates come from, in bounded memory."""

from __future__ import annotations

import heapq

from crawler_dedup.urls import host_of

COUNTERS = 1000
"""Hosts with a counter. Up to so many are counted exactly."""

_MAX_CHARS = 100


class Hosts:
    """Counts pages by host, whatever number of hosts there is.

    Space-Saving (Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams",
    ICDT 2005): a host without a counter takes over the smallest one, and with it its count, which is then too high by what
    it has inherited. Every host of more than a share of 1 / *counters* of all pages has a counter. :meth:`top` leaves out
    what was inherited: a host has at least so many pages, and exactly so many where no counter was ever taken over.
    """

    def __init__(self, counters: int = COUNTERS) -> None:
        self._counters = counters
        self._counts: dict[str, int] = {}
        self._inherited: dict[str, int] = {}
        self._equal: dict[int, dict[str, None]] = {}  # count → hosts that have it, the oldest first

    def add(self, url: str) -> None:
        """Count the page at *url*. One without a host is not counted."""
        host = label(url)
        if not host:
            return
        count = self._counts.get(host, 0)
        if count:
            self._remove(host, count)
        elif len(self._counts) >= self._counters:
            count = self._take_over(host)
        self._counts[host] = count + 1
        self._equal.setdefault(count + 1, {})[host] = None

    def top(self, number: int) -> list[tuple[str, int]]:
        """The *number* hosts with most pages, and how many, in this order."""
        counts = ((host, count - self._inherited.get(host, 0)) for host, count in self._counts.items())
        return heapq.nsmallest(number, counts, key=lambda one: (-one[1], one[0]))

    def _take_over(self, host: str) -> int:
        """Give the smallest counter to *host*; returns its count."""
        least = min(self._equal)
        loser = next(iter(self._equal[least]))
        self._remove(loser, least)
        del self._counts[loser]
        self._inherited.pop(loser, None)
        self._inherited[host] = least
        return least

    def _remove(self, host: str, count: int) -> None:
        equal = self._equal[count]
        del equal[host]
        if not equal:
            del self._equal[count]


def label(url: str) -> str:
    """The host of *url* as it can be shown: without user name and password, printable, and of a long one the end."""
    shown = "".join(character if character.isprintable() else "?" for character in host_of(url))
    return shown if len(shown) <= _MAX_CHARS else "…" + shown[1 - _MAX_CHARS :]
