"""Small realistic pages of the kinds that a filter is easily wrong about get the verdict that a person would give."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.families.all import FAMILIES
from tests.support.families.cases import Expected
from tests.support.families.judging import Judge, Trial, trials
from tests.support.families.known import KNOWN

_TRIALS = {trial.name: trial for trial in trials()}


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    with Judge(tmp_path_factory.mktemp("families") / "index") as opened:
        yield opened


@pytest.mark.parametrize(
    "trial",
    [
        pytest.param(
            trial,
            id=name,
            marks=[pytest.mark.xfail(strict=True, raises=AssertionError, reason=KNOWN[name])] if name in KNOWN else [],
        )
        for name, trial in _TRIALS.items()
    ],
)
def test_the_verdict_is_that_of_a_person(judge: Judge, trial: Trial) -> None:
    outcome = judge.judge(trial)
    assert not outcome.mistake, f"{outcome.mistake}\n{trial.case.why}"


def test_each_known_mistake_is_one_of_the_trials() -> None:
    assert KNOWN.keys() <= _TRIALS.keys()
    assert all(KNOWN.values())


def test_a_family_has_enough_cases_of_both_kinds() -> None:
    for family in FAMILIES:
        duplicates = sum(case.expected is Expected.DUPLICATE for case in family.cases)
        names = [case.name for case in family.cases]
        assert len(names) == len(set(names)) >= 6
        assert 3 <= duplicates <= len(names) - 3
        per_host = [page.url.split("/")[2] for page in family.make_other_pages()]
        assert all(per_host.count(host) >= 20 for host in set(per_host))
