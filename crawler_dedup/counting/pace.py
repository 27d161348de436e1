"""The pace of a crawl."""

from __future__ import annotations

import time
from collections import deque


class Pace:
    """The pace of a crawl in pages a minute.

    Args:
        window: seconds over which the pace is measured; the time since the last update if that is longer.
    """

    def __init__(self, window: float = 0.0) -> None:
        self._window = window
        self._updates = deque([(time.monotonic(), 0)])

    def update(self, pages: int) -> float:
        """Note that there are *pages* by now, and return the pages a minute."""
        now = time.monotonic()
        self._updates.append((now, pages))
        while len(self._updates) > 2 and now - self._updates[0][0] > self._window:
            self._updates.popleft()
        then, before = self._updates[0]
        return 60 * (pages - before) / max(0.001, now - then)
