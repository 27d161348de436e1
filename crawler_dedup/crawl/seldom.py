"""One log line of a kind a minute: what happens to every page must not fill the log."""

from __future__ import annotations

import time
from dataclasses import dataclass

_INTERVAL = 60.0
_MAX_KINDS = 1000


@dataclass
class _Told:
    at: float
    held_back: int = 0


class Seldom:
    """Says when a line of a kind is due again."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}

    def due(self, kind: str) -> int | None:
        """How many lines of *kind* were held back since the last one; ``None`` if this one is held back too."""
        now = time.monotonic()
        told = self._told.get(kind)
        if told is not None and now < told.at + _INTERVAL:
            told.held_back += 1
            return None
        if told is None and len(self._told) >= _MAX_KINDS:
            return None
        self._told[kind] = _Told(now)
        return 0 if told is None else told.held_back
