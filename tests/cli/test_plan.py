"""``crawler-dedup plan``."""

from __future__ import annotations

from tests.support.commandline import invoke


def test_a_plan_has_every_design() -> None:
    result = invoke("plan", "--pages", "1e9", "--distance", 3, "--candidates", 30)
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines() if "│" in line]
    assert [line[:5] for line in lines] == [
        ["10", "5", "25–26", "10", "209"],
        ["4", "as in the paper", "16", "4", "61,035"],
        ["10", "as in the paper", "25–26", "10", "209"],
        ["16", "as in the paper", "28", "16", "59.6"],
        ["20", "as in the paper", "31–33", "20", "5.1"],
    ]
    assert "1,000,000,000 signatures, distance 3" in result.output


def test_a_plan_shows_which_designs_find_a_distance() -> None:
    result = invoke("plan", "--pages", "1e9", "--distance", 6)
    assert result.output.count("finds distances to 3") == 3
    invoke("plan", "--distance", 8, status=2)


def test_a_plan_has_the_fewest_tables_for_the_allowed_candidates() -> None:
    for candidates, tables, blocks in ((8, "20", "6"), (64, "16", "4, then 4"), (512, "10", "5"), (2**18, "4", "4")):
        result = invoke("plan", "--pages", 2.0**34, "--candidates", candidates)
        first = next(line for line in result.output.splitlines() if line.startswith("│"))
        assert [cell.strip() for cell in first.split("│")[1:3]] == [tables, blocks]


def test_a_plan_has_the_longest_prefixes_for_a_number_of_tables() -> None:
    for tables, (count, prefix) in {1: ("1", "0"), 9: ("4", "16"), 10: ("10", "25–26"), 16: ("16", "28")}.items():
        result = invoke("plan", "--pages", 2.0**34, "--tables", tables)
        first = next(line for line in result.output.splitlines() if line.startswith("│"))
        cells = [cell.strip() for cell in first.split("│")[1:-1]]
        assert (cells[0], cells[2]) == (count, prefix)


def test_a_value_that_is_not_a_number_is_refused() -> None:
    for option in ("--pages", "--candidates"):
        assert "'nan' is not a number" in invoke("plan", option, "nan", status=2).output


def test_a_plan_that_no_tables_fulfil_is_reported_in_a_sentence() -> None:
    result = invoke("plan", "--pages", "1e16", "--distance", 7, "--candidates", 0.001, status=2)
    assert " ".join(result.output.split()).startswith("Error: No design finds distance 7 among")
    assert "--candidates" in result.output
