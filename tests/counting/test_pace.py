from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from crawler_dedup.counting.pace import Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    yield now
    monkeypatch.undo()


def test_the_pace_is_measured_since_the_last_update(clock: list[float]) -> None:
    measured = Pace()
    clock[0] += 30
    assert measured.update(10) == 20
    clock[0] += 60
    assert measured.update(15) == 5
    clock[0] += 1
    assert measured.update(15) == 0


def test_a_pace_without_elapsed_time_is_no_error(clock: list[float]) -> None:
    assert Pace().update(0) == 0
    assert Pace().update(1) == 60_000
