"""Counts of pages by host, for the statistics of a crawl."""

from __future__ import annotations

from crawler_dedup.counting.heavyhitters import HeavyHitters
from crawler_dedup.urls import host_of

COUNTED_HOSTS = 1000
"""Number of hosts with a counter. Up to this number, the counts are exact."""
_MAX_HOST_CHARS = 100


class HostCounts:
    """Counts pages by host in bounded memory, however many hosts there are: see :class:`HeavyHitters`."""

    def __init__(self, counters: int = COUNTED_HOSTS) -> None:
        self._hosts: HeavyHitters[str, None] = HeavyHitters(counters, lambda: None)

    def add(self, url: str) -> None:
        """Count the page at *url*. An address without a host is not counted."""
        if host := host_label(url):
            self._hosts.add(host)

    def top(self, number: int) -> list[tuple[str, int]]:
        """Return (host, least possible number of its pages) of the *number* hosts with most pages, in this order."""
        return [(host, count) for host, count, _ in self._hosts.top(number)]


def host_label(url: str) -> str:
    """Return the host of *url* to show: without user name and password, printable, and only the end of a long host."""
    shown = "".join(character if character.isprintable() else "?" for character in host_of(url))
    return shown if len(shown) <= _MAX_HOST_CHARS else "…" + shown[1 - _MAX_HOST_CHARS :]
