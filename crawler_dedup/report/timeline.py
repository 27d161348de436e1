"""Kept pages and duplicates over time, without knowing beforehand how long that is."""

from __future__ import annotations

from dataclasses import dataclass

from crawler_dedup.report.figures import Bucket

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_WIDTHS = (1, 5, 15, 30, _MINUTE, 5 * _MINUTE, 15 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, _DAY, 7 * _DAY, 28 * _DAY)
_HELD = 5_000
_SHOWN = 48
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800  # the years 2000 to 2099: a record that was imported may say anything


@dataclass
class _Held:
    kept: int = 0
    duplicates: int = 0


class Timeline:
    """Counts by intervals of time, which become longer when there are too many."""

    def __init__(self) -> None:
        self._step = 0
        self._buckets: dict[int, _Held] = {}

    def add(self, seconds: float, *, kept: int = 0, duplicates: int = 0) -> None:
        """Count pages at a time in seconds since 1970; a time that cannot be is left out."""
        if not _EARLIEST <= seconds < _LATEST:
            return
        bucket = self._buckets.setdefault(int(seconds // _WIDTHS[self._step]), _Held())
        bucket.kept += kept
        bucket.duplicates += duplicates
        if len(self._buckets) > _HELD and self._step + 1 < len(_WIDTHS):
            self._widen()

    def shown(self) -> tuple[int, list[Bucket]]:
        """The width in seconds and the buckets in order of time, those without pages too; about as many as a chart takes.

        Only 28 days is never made wider.
        """
        while self._span() > _SHOWN and self._step + 1 < len(_WIDTHS):
            self._widen()
        width = _WIDTHS[self._step]
        if not self._buckets:
            return width, []
        numbers = range(min(self._buckets), max(self._buckets) + 1)
        held = [(number, self._buckets.get(number, _Held())) for number in numbers]
        return width, [Bucket(number * width, one.kept, one.duplicates) for number, one in held]

    def _span(self) -> int:
        return max(self._buckets) - min(self._buckets) + 1 if self._buckets else 0

    def _widen(self) -> None:
        old, self._step = _WIDTHS[self._step], self._step + 1
        narrower, self._buckets = self._buckets, {}
        for number, one in narrower.items():
            bucket = self._buckets.setdefault(number * old // _WIDTHS[self._step], _Held())
            bucket.kept += one.kept
            bucket.duplicates += one.duplicates
