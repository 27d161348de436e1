"""The pace of a crawl."""

from __future__ import annotations

import time


class Pace:
    """The pace of a crawl in pages a minute, measured since the last update."""

    def __init__(self) -> None:
        self._last = time.monotonic(), 0

    def update(self, pages: int) -> float:
        """Record the page count, and return the pages a minute."""
        then, before = self._last
        self._last = now, _ = time.monotonic(), pages
        return 60 * (pages - before) / max(0.001, now - then)
