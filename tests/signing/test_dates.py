"""Dates in short lines: every notation of the languages of the table, and numbers that only look like dates."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.signing.dates import DateInLine, find_date
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.tables import read_date_names

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
    for line in [
        *["2011-08-10", "2011/8/10", "2011. 8. 10.", "2011.08.10", "10.08.2011", "10. 8. 2011", "10th of August, 2011"],
        *["Aug 10th, 2011", "Aug. 10, 2011", "August 10 2011", "10 Aug 2011", "10-Aug-2011", "10AUG2011"],
        *["10. August 2011", "10 août 2011", "10 de agosto de 2011", "10 августа 2011 г.", "10 tháng 8 năm 2011"],
        *["2011年8月10日", "2011 年 8 月 10 日", "2011年8月10日(水)", "2011년 8월 10일", "2011. augusztus 10."],
        *["10 สิงหาคม 2554", "٢٠١١/٨/١٠", "۱۰ اوت ۲۰۱۱", "१० अगस्त २०११"],
        *["Wednesday, August 10th, 2011", "Mittwoch, den 10. August 2011", "Wed 10/08/2011"],
    ]:  # fmt: skip
        assert readings(line) == ("2011-08-10",)


def test_a_notation_that_is_ambiguous_has_both_readings() -> None:
    for line, wanted in [
        ("03/04/2011", ("2011-04-03", "2011-03-04")),
        ("3-4-2011", ("2011-04-03", "2011-03-04")),
        ("03.04.2011", ("2011-04-03",)),
        ("04/04/2011", ("2011-04-04",)),
        ("13/04/2011", ("2011-04-13",)),
        ("04/13/2011", ("2011-04-13",)),
        ("4.13.2011", ("2011-04-13",)),
        ("Sunday 03/04/2011", ("2011-04-03",)),
        ("listopad 2011", ("2011-10", "2011-11")),  # Croatian, and Czech or Polish
        ("August 2011", ("2011-08",)),
        ("2011年8月", ("2011-08",)),
    ]:
        assert readings(line) == wanted


def test_numbers_that_only_look_like_a_date_are_none() -> None:
    for line in [
        *["10.08.20.11", "192.168.20.11", "2011.8.10.1", "v2011.8.10", "1.10.08.2011", "+49 171-10-08-2011"],
        *["978-3-12-2011-5", "2010-2011", "2011-12", "2010/11", "10-12/2011", "May 2010-2011", "10.08.2011-12.08.2011"],
        *["what 2010 may bring", "10.08.11", "10 Aug '11", "31.02.2011", "99.99.2011"],
        *["2011年0月0日", "2011 年 11 月2", "room 12 2011", "August 12345"],
    ]:  # fmt: skip
        assert find(line) is None


def test_the_time_is_told_from_the_text_around_a_date() -> None:
    for line, time, before, after in [
        ("2011-08-10T17:07:00Z", "17:07:00z", "", ""),
        ("发表于 2011-08-10 17:07", "17:07", "发表于 ", ""),
        ("发表于2011年8月10日星期三 下午5:07", "下午5:07", "发表于", ""),
        ("on August 10, 2011 at 5:07 pm by Sam", "5:07 pm", "on ", " by sam"),
        ("Wed, 10 Aug 2011 17:07:00 +0200 (draft)", "17:07:00 +0200", "", " (draft)"),
        ("10 August 2011 (3 comments)", "", "", " (3 comments)"),
        ("10.08.2011 - 12.08.2011", "", "", " - 12.08.2011"),
    ]:
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
