"""The objects that commands print with ``--json``, one a line.

``docs/json.md`` is generated from these types: it has the docstring of each type, and the description of each field. Fields
have the same names as in the Python API and in the journal.
"""

from __future__ import annotations

from crawler_dedup.cli.jsontypes import comparison, crawl, evaluation, index, journal, settings
from crawler_dedup.cli.jsontypes.base import Line

LINES: tuple[type[Line], ...] = (
    settings.Setting,
    crawl.Crawl,
    journal.Drop,
    journal.Run,
    journal.DropCount,
    journal.Page,
    journal.Forgotten,
    journal.Report,
    index.Index,
    index.IndexScope,
    index.IndexRun,
    index.IndexProblem,
    comparison.Comparison,
    comparison.Source,
    evaluation.Evaluation,
    evaluation.EvaluationCounts,
    evaluation.DistanceCounts,
    evaluation.GreyPairs,
    evaluation.WrongPair,
    evaluation.Design,
)
"""All types of lines, in the order of ``docs/json.md``."""
