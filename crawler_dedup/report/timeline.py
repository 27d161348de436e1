"""Count kept pages and duplicates over a time whose length is not known beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crawler_dedup.report.data import Period

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_WIDTHS = (1, 5, 15, 30, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, _DAY, 7 * _DAY, 28 * _DAY)
_MAX_PERIODS = 5_000
_SHOWN = 48
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800  # the years 2000 to 2099: an imported record may have any time


@dataclass
class _Counts:
    kept: int = 0
    duplicates: int = 0


class Timeline:
    """Counts pages by periods of time, which are made longer when there are too many."""

    def __init__(self) -> None:
        self._step = 0
        self._counts: dict[int, _Counts] = {}

    def add(self, seconds: float, *, kept: int = 0, duplicates: int = 0) -> None:
        """Count pages at a time in seconds since 1970; times before 2000 and after 2099 are left out."""
        if not _EARLIEST <= seconds < _LATEST:
            return
        counts = self._counts.setdefault(int(seconds // _WIDTHS[self._step]), _Counts())
        counts.kept += kept
        counts.duplicates += duplicates
        if len(self._counts) > _MAX_PERIODS and self._step + 1 < len(_WIDTHS):
            self._widen()

    def middle(self) -> tuple[float, int]:
        """Return the start of the first period by whose end half of the duplicates were found, and how many were found
        since that start. Without duplicates the start is infinite.
        """
        left = total = sum(counts.duplicates for counts in self._counts.values())
        for number, counts in sorted(self._counts.items()):
            if left and 2 * (left - counts.duplicates) <= total:
                return float(number * _WIDTHS[self._step]), left
            left -= counts.duplicates
        return math.inf, 0

    def periods(self) -> tuple[int, list[Period]]:
        """Return the length of the periods in seconds, and the periods in order of time, including empty periods.

        There are at most 48 periods, as many as a chart takes, unless that would need periods of more than 28 days.
        """
        while self._span() > _SHOWN and self._step + 1 < len(_WIDTHS):
            self._widen()
        width = _WIDTHS[self._step]
        if not self._counts:
            return width, []
        numbers = range(min(self._counts), max(self._counts) + 1)
        counted = [(number, self._counts.get(number, _Counts())) for number in numbers]
        return width, [Period(number * width, counts.kept, counts.duplicates) for number, counts in counted]

    def _span(self) -> int:
        return max(self._counts) - min(self._counts) + 1 if self._counts else 0

    def _widen(self) -> None:
        old, self._step = _WIDTHS[self._step], self._step + 1
        narrower, self._counts = self._counts, {}
        for number, part in narrower.items():
            counts = self._counts.setdefault(number * old // _WIDTHS[self._step], _Counts())
            counts.kept += part.kept
            counts.duplicates += part.duplicates
