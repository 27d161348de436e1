"""Which hosts the duplicates come from, in bounded memory."""

from __future__ import annotations

from crawler_dedup.counting.heavyhitters import HeavyHitters
from crawler_dedup.urls import host_of

COUNTERS = 1000
"""Hosts with a counter. Up to so many are counted exactly."""

_MAX_CHARS = 100


class Hosts:
    """Counts pages by host, whatever number of hosts there is: see :class:`HeavyHitters`."""

    def __init__(self, counters: int = COUNTERS) -> None:
        self._hosts: HeavyHitters[str, None] = HeavyHitters(counters, lambda: None)

    def add(self, url: str) -> None:
        """Count the page at *url*. One without a host is not counted."""
        if host := label(url):
            self._hosts.add(host)

    def top(self, number: int) -> list[tuple[str, int]]:
        """Return the *number* hosts with most pages, and how many they have at least, in this order."""
        return [(host, count) for host, count, _ in self._hosts.top(number)]


def label(url: str) -> str:
    """Return the host of *url* as it can be shown: without user name and password, printable, of a long one the end."""
    shown = "".join(character if character.isprintable() else "?" for character in host_of(url))
    return shown if len(shown) <= _MAX_CHARS else "…" + shown[1 - _MAX_CHARS :]
