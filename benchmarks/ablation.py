"""What each part of the decision adds: ``python -m benchmarks.ablation [FOLDER]``.

The labelled pairs are judged by more and more of the rules. The first row is the obvious design: trafilatura's text and a
simhash within 3 bits. In the rows before *thin pages*, every page is judged by its main text, however short. In the rows
before *site profiles*, nothing is known about any site.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.evaluate import KnownPair, count_by_property, without_knowledge
from crawler_dedup import Config
from crawler_dedup.evaluation.labelled import Counts, LabelledSet, read_folder
from crawler_dedup.evaluation.pairs import DirectionResult, PairResult, evaluate_pairs, sign_documents
from crawler_dedup.rules.table import OTHER_LINKS, SAME_BYTES, TABLE, Rule, decide
from tests.support.data import DATA, require_data

_TEXT = ("too little text", "signatures far apart")
_COVERED = (*_TEXT, "not covered")
_THIN = (*_COVERED, SAME_BYTES, "nothing of its own")
_TITLES = (*_THIN, "other titles")
_LINKS = (*_TITLES, OTHER_LINKS)


@dataclass(frozen=True)
class Stage:
    """A row of the table: its name, its configuration, the names of its rules, and whether site profiles are known."""

    name: str
    extractor: str
    max_distance: int
    min_features: int
    rules: Sequence[str]
    knows_sites: bool = False


STAGES = (
    Stage("trafilatura, distance 3", "trafilatura", 3, 1, _TEXT),
    Stage("paragraphs, distance 3", "paragraphs", 3, 1, _TEXT),
    Stage("+ distance 7, cover", "paragraphs", 7, 1, _COVERED),
    Stage("+ thin pages", "paragraphs", 7, Config.min_features, _THIN),
    Stage("+ titles", "paragraphs", 7, Config.min_features, _TITLES),
    Stage("+ site profiles", "paragraphs", 7, Config.min_features, _TITLES, knows_sites=True),
    Stage("+ other links: all rules", "paragraphs", 7, Config.min_features, _LINKS, knows_sites=True),
    Stage("all rules, without site profiles", "paragraphs", 7, Config.min_features, _LINKS),
    Stage("all rules, trafilatura", "trafilatura", 7, Config.min_features, _LINKS, knows_sites=True),
)


_NO_THIN_PAGES = Rule("no thin pages", lambda pair: pair.are_thin, lambda _: "")
"""Two pages without any text are different until their blocks are compared."""


def evaluate_stage(folder: Path, sets: Sequence[LabelledSet], stage: Stage) -> list[PairResult]:
    """Decide about all pairs by the rules of *stage*."""
    config = Config(
        extractor=stage.extractor,
        max_distance=stage.max_distance,
        min_features=stage.min_features,
        tokenizer="rjieba",
    )
    signed = sign_documents(folder, sets, config, os.cpu_count() or 1, lambda _: None)
    rules = [rule for rule in TABLE if rule.name in (*stage.rules, "alike")]
    if SAME_BYTES not in stage.rules:
        rules.insert(0, _NO_THIN_PAGES)
    results = evaluate_pairs(sets, signed, config)
    if not stage.knows_sites:
        results = [without_knowledge(result, config) for result in results]
    return [
        replace(result, forward=_decide(result.forward, rules), backward=_decide(result.backward, rules))
        for result in results
    ]


def _decide(direction: DirectionResult, rules: Sequence[Rule]) -> DirectionResult:
    return DirectionResult(direction.pair, *decide(direction.pair, rules))


def _cell(counts: Counts) -> str:
    shares = (counts.precision.value, counts.recall.value)
    figures = " / ".join("–" if share is None else f"{share:.3f}" for share in shares)
    return f"{figures}  ({counts.found} of {counts.found + counts.missed}, {counts.false} false)"


def main() -> None:
    """Judge the pairs by each stage, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    given = parser.parse_args()
    require_data(given.folder)
    sets = read_folder(given.folder, KnownPair)
    rows = ("all", "page–page", "lists", "human", "templated-entity", "templated-reference")
    table = Table("", *rows, title="precision / recall on labelled pairs")
    for stage in STAGES:
        parts = count_by_property(evaluate_stage(given.folder, sets, stage))
        counts_of_row = {part or name or "all": counts for name, part, counts in parts}
        table.add_row(stage.name, *(_cell(counts_of_row[name]) if name in counts_of_row else "–" for name in rows))
    Console(width=190).print(table)


if __name__ == "__main__":
    main()
