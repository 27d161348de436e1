"""Small realistic pages of the kinds that a filter is easily wrong about get the verdict that a person would give."""

from pathlib import Path

from tests.support.families.all import FAMILIES
from tests.support.families.cases import Expected
from tests.support.families.judging import Judge, trials
from tests.support.families.known import KNOWN


def test_each_verdict_is_that_of_a_person_except_the_known_mistakes(tmp_path: Path) -> None:
    with Judge(tmp_path / "index") as judge:
        outcomes = {trial.name: judge.judge(trial) for trial in trials()}
    mistakes = {
        name: f"{outcome.mistake}\n{outcome.trial.case.why}" for name, outcome in outcomes.items() if outcome.mistake
    }
    assert {name: mistake for name, mistake in mistakes.items() if name not in KNOWN} == {}
    assert KNOWN.keys() <= mistakes.keys(), "a verdict is right now, or its trial is gone"


def test_a_family_has_enough_cases_of_both_kinds() -> None:
    for family in FAMILIES:
        duplicates = sum(case.expected is Expected.DUPLICATE for case in family.cases)
        names = [case.name for case in family.cases]
        assert len(names) == len(set(names)) >= 6
        assert 3 <= duplicates <= len(names) - 3
        per_host = [page.url.split("/")[2] for page in family.make_other_pages()]
        assert all(per_host.count(host) >= 20 for host in set(per_host))
