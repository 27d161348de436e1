"""The periods in which runs are known to have been active."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

_MAX_RUNS = 100_000
_MAX_SPIDERS = 5


@dataclass
class RunPeriod:
    """The period in which a run was active.

    Attributes:
        first: first time at which the run is known to have been active, in seconds since 1970; 0: no time is known.
        last: last time at which the run is known to have been active.
        spiders: names of its spiders, at most five.
    """

    first: float = 0
    last: float = 0
    spiders: set[str] = field(default_factory=set)

    def note(self, seconds: float, spider: str = "") -> None:
        """Note that the run was active at a time, in seconds since 1970."""
        if seconds > 0:
            self.first = min(self.first or seconds, seconds)
            self.last = max(self.last, seconds)
        if spider and len(self.spiders) < _MAX_SPIDERS:
            self.spiders.add(spider)


class RunPeriods:
    """The runs of a journal or an index by number (8 hexadecimal digits).

    When there are 200,000 runs, those that began first are forgotten, and 100,000 remain.
    """

    def __init__(self) -> None:
        self._periods: dict[str, RunPeriod] = {}

    def note(self, run: str, seconds: float, spider: str = "") -> None:
        """Note that *run* was active at a time, in seconds since 1970. Nothing is noted for no run (``""``)."""
        if not run:
            return
        period = self._periods.get(run)
        if period is None:
            if len(self._periods) >= 2 * _MAX_RUNS:
                self._periods = dict(self.in_order()[-_MAX_RUNS:])
            period = self._periods[run] = RunPeriod()
        period.note(seconds, spider)

    def in_order(self) -> list[tuple[str, RunPeriod]]:
        """Return the runs in the order in which they began; runs that began at the same time are sorted by number."""
        return sorted(self._periods.items(), key=lambda item: (item[1].first, item[0]))

    @property
    def latest(self) -> str:
        """The run that began last, even if another run has ended later; ``""`` if there is none."""
        return self.latest_of(None)

    def latest_of(self, spider: str | None) -> str:
        """The run of *spider* (``None``: of any) that began last; ``""`` if there is none."""
        runs = (run for run, period in self._periods.items() if spider is None or spider in period.spiders)
        return max(runs, key=lambda run: (self._periods[run].first, run), default="")

    def get(self, run: str) -> RunPeriod:
        """Return the period of *run*; an empty one if it is not known."""
        return self._periods.get(run) or RunPeriod()

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last time at which any run was active, in seconds since 1970; 0: none is known."""
        known = [period for period in self._periods.values() if period.first]
        return min((period.first for period in known), default=0), max((period.last for period in known), default=0)

    def __len__(self) -> int:
        """Return how many runs there are."""
        return len(self._periods)


def parse_time(time: str) -> float:
    """Return a time in ISO 8601 as seconds since 1970; 0 if it cannot be read."""
    try:
        return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def format_period(first: float, last: float) -> str:
    """Return ``2026-11-20 10:00 to 2026-11-22 09:12 UTC`` for two times in seconds since 1970; 0 means unknown."""
    try:
        began, ended = (f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}" for seconds in (first, last))
    except (ValueError, OverflowError, OSError):  # a journal or an imported record may say anything
        return "time not known"
    if not first:
        return "time not known"
    if began == ended:
        return f"{began} UTC"
    return f"{began} to {ended[11:] if began[:10] == ended[:10] else ended} UTC"


def describe_runs(count: int, first: float, last: float) -> str:
    """Return ``3 runs, 2026-11-20 10:00 to 2026-11-22 09:12 UTC``."""
    return f"{count:,} run{'' if count == 1 else 's'}, {format_period(first, last)}" if count else "no run"
