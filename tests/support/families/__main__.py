"""Print for each family how many verdicts agree with those of a person, and each verdict that does not."""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.support.families.all import FAMILIES
from tests.support.families.cases import Expected
from tests.support.families.judging import COLD, WARM, Judge, Outcome, trials
from tests.support.families.known import KNOWN

KINDS = ("drops", "misses")


def _print_row(name: str, row: Counter[str]) -> None:
    mistakes = [f"{row[f'{context} drops']:18} {row[f'{context} misses']:7}" for context in (COLD, WARM)]
    print(" | ".join([f"{name:16} {row['pairs']:6} {row['duplicates']:6}", *mistakes]))


def _print_table(outcomes: list[Outcome]) -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    for outcome in outcomes:
        kind = "drops" if outcome.is_drop else "misses" if outcome.mistake else "right"
        counts[outcome.trial.family.name, outcome.trial.context, kind] += 1
    print(
        " | ".join([f"{'':16} {'pairs':>6} {'dupl.':>6}", *[f"{name}: false drops  misses" for name in (COLD, WARM)]])
    )
    total = Counter[str]()
    for family in FAMILIES:
        duplicates = sum(case.expected is Expected.DUPLICATE for case in family.cases)
        mistakes = {
            f"{context} {kind}": counts[family.name, context, kind] for context in (COLD, WARM) for kind in KINDS
        }
        row = Counter({"pairs": len(family.cases), "duplicates": duplicates, **mistakes})
        total.update(row)
        _print_row(family.name, row)
    _print_row("all", total)


def main() -> None:
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory, Judge(Path(directory)) as judge:
        outcomes = [judge.judge(trial) for trial in trials() if not only or trial.family.name in only]
    _print_table(outcomes)
    for outcome in outcomes:
        if not outcome.mistake and outcome.trial.name in KNOWN:
            print(f"\n{outcome.trial.name}\n    Right, though known.py lists it.")
        if outcome.mistake:
            rule = outcome.new.match.rule if outcome.new.match else outcome.new.reason
            print(f"\n{outcome.trial.name}\n    {outcome.mistake} [{rule}]")


if __name__ == "__main__":
    main()
