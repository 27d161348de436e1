"""Dates in short lines: every notation of the languages of the table, and numbers that only look like dates."""

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.signing.dates import DateInLine, find_date
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.wordtables import read_date_names
from tests.support.cases import read_cases

CASES = read_cases(__file__)["dates"]

ROOT = Path(__file__).parents[2]
EXAMPLES = [line.split("\t") for line in (ROOT / "tests/signing/dates.tsv").read_text("utf-8").splitlines()]
MONTHS = read_date_names("month")
WEEKDAYS = read_date_names("weekday")


def find(line: str) -> DateInLine | None:
    return find_date(normalise(line))


def readings(line: str) -> tuple[str, ...]:
    """Return the readings of a line that is a date and nothing else."""
    found = find(line)
    assert found is not None
    assert (found.before.strip(), found.after.strip(" .")) == ("", ""), found
    return found.readings


def test_a_date_is_recognised_in_every_notation_of_the_cldr_that_has_a_year_of_four_digits() -> None:
    for language in sorted({language for language, *_ in EXAMPLES}):
        for iso, line in [example for of_language, *example in EXAMPLES if of_language == language]:
            assert iso in readings(line)


def test_the_notations_of_a_date_are_one_date() -> None:
    for line in CASES["notations"]:
        assert readings(line) == ("2011-08-10",)


def test_a_notation_that_is_ambiguous_has_both_readings() -> None:
    for line, wanted in CASES["ambiguous"]:
        assert readings(line) == (*wanted,)


def test_numbers_that_only_look_like_a_date_are_none() -> None:
    for line in CASES["none"]:
        assert find(line) is None


def test_the_time_is_told_from_the_text_around_a_date() -> None:
    for line, time, before, after in CASES["times"]:
        assert find(line) == DateInLine(("2011-08-10",), time, before, after)


@pytest.mark.parametrize("line", ["Sunday, 10 August 2011", "sat 2011-08-10", "Mar 10 August 2011"])
def test_a_weekday_that_is_not_that_of_the_date_stays_in_the_text(line: str) -> None:
    found = find(line)
    assert found is not None
    assert found.before.strip(" ,") in ("sunday", "sat", "mar")


TEXTS = st.sampled_from(["", "posted on ", "发表于 ", "№ 5, ", "by kim, ", "(", "от ", "2010: "])
NOTATIONS = st.sampled_from(
    ["{d} {m} {y}", "{d}. {m} {y}", "{m} {d}, {y}", "{y} {m} {d}", "{y}. {m} {d}.", "{d}-{m}-{y}", "{d} de {m} de {y}"]
)


@given(
    year=st.integers(1900, 2199),
    day=st.integers(1, 28),
    name=st.sampled_from(sorted(MONTHS)),
    notation=NOTATIONS,
    before=TEXTS,
    after=st.sampled_from(["", " by sam", " (3)", ")", " | 5 comments", " 10 may", "、", ": 12"]),
)
def test_a_date_is_recognised_with_every_name_of_its_month_and_the_text_around_it_stays(
    year: int, day: int, name: str, notation: str, before: str, after: str
) -> None:
    isos = tuple(f"{year}-{month:02}-{day:02}" for month in MONTHS[name])
    found = find_date(before + notation.format(d=day, m=name, y=year) + after)
    assert found is not None
    assert (found.readings, found.time, found.before, found.after.removeprefix(".")) == (isos, "", before, after)


@given(st.dates(date(1900, 1, 1), date(2199, 12, 31)), st.sampled_from(sorted(WEEKDAYS)))
def test_every_name_of_a_weekday_is_recognised_on_its_day_only(day: date, name: str) -> None:
    found = find_date(f"{name}, {day}")
    assert found is not None
    assert found.before == ("" if day.isoweekday() in WEEKDAYS[name] else f"{name}, ")


@given(st.text(st.sampled_from("10/-. :2011may月日augsept٢थ"), max_size=40))
def test_whatever_a_line_has_a_date_is_a_date_and_a_part_of_the_line(line: str) -> None:
    found = find_date(line)
    if found is not None:
        assert line.startswith(found.before)
        assert line.endswith(found.after)
        assert len(found.before) + len(found.after) + len("2011 8") <= len(line)
        for reading in found.readings:
            date.fromisoformat(reading if reading[7:] else f"{reading}-01")


def test_the_names_are_normalised() -> None:
    assert [name for name in [*MONTHS, *WEEKDAYS] if normalise(name) != name] == []
    assert {number for numbers in MONTHS.values() for number in numbers} == set(range(1, 13))
    assert {number for numbers in WEEKDAYS.values() for number in numbers} == set(range(1, 8))


@pytest.mark.slow
def test_the_names_and_the_examples_equal_what_the_cldr_says(tmp_path: Path) -> None:
    babel = pytest.importorskip("babel")
    if f" Babel {babel.__version__} " not in (ROOT / "crawler_dedup/data/README.md").read_text("utf-8"):
        pytest.skip("the table was made from another version of Babel")
    subprocess.run([sys.executable, "-m", "benchmarks.date_names", tmp_path], cwd=ROOT, check=True, timeout=120)
    for file in (ROOT / "crawler_dedup/data/dates.txt", ROOT / "tests/signing/dates.tsv"):
        assert file.read_text("utf-8") == (tmp_path / file.name).read_text("utf-8")
