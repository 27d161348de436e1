"""``crawler-dedup plan``."""

from __future__ import annotations

from tests.support.noting import invoke


def test_a_plan_has_every_design() -> None:
    result = invoke("plan", "--pages", "1e9", "--distance", 3)
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines() if "│" in line]
    assert [line[:4] for line in lines] == [
        ["4", "16", "4", "61,035"],
        ["10", "25–26", "10", "209"],
        ["16", "28", "16", "59.6"],
        ["20", "31–33", "20", "5.1"],
    ]
    assert "1,000,000,000 signatures, distance 3" in result.output


def test_a_plan_says_which_designs_find_a_distance() -> None:
    result = invoke("plan", "--pages", "1e9", "--distance", 6)
    assert result.output.count("finds distances to 3") == 3
    invoke("plan", "--distance", 8, status=2)
