"""``crawler-dedup evaluate``: measure how often the filter is right about labelled pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from crawler_dedup.cli import evaluation_output
from crawler_dedup.cli.options import jobs_option, json_option, settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_labelled_pages, read_config
from crawler_dedup.config import Config
from crawler_dedup.evaluation.documents import sign_documents
from crawler_dedup.evaluation.labelled import read_folder
from crawler_dedup.evaluation.pairs import PairResult, evaluate_pairs
from crawler_dedup.signing.segmentation import resolve_tokenizer
from crawler_dedup.system.callbacks import Start

folder_argument = click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))


@click.command()
@folder_argument
@jobs_option
@click.option(
    "--errors", type=click.IntRange(0), default=0, metavar="N", help="List up to N pairs that are judged wrongly."
)
@json_option
@settings_option
def evaluate(
    folder: Path | None,
    settings: Sequence[str],
    jobs: int,
    errors: int,
    json: bool,
) -> None:
    """Measure precision and recall on labelled pairs of pages.

    FOLDER holds labelled pages; without it, the answers of `crawler-dedup judge` about this Scrapy project are used. A pair
    counts as a duplicate if one of its pages would be dropped while the other is kept.

    Two files in FOLDER describe the pages, with a JSON object on each line. docs.jsonl has the pages, each with its HTML
    file in FOLDER; pairs.jsonl has pairs of them. Label 1: a crawl may drop one of the two because the other is kept. 0: it
    may not. "grey": people would argue about it.

    \b
      docs.jsonl   {"id": "1", "url": "https://example.org/1", "html": "1.html"}
      pairs.jsonl  {"id_a": "1", "id_b": "2", "label": 1}

    With --json, the output is not one JSON document: each line is an object of its own, and its field "type" says whether it
    has the settings, a row of a table, or a wrong pair.

    \b
    Examples:
      crawler-dedup evaluate labelled
      crawler-dedup evaluate labelled -s DEDUP_MAX_DISTANCE=4 --errors 20
      crawler-dedup evaluate labelled -s DEDUP_SCHEME=minhash
    """
    config = resolve_tokenizer(read_config(settings))
    folder = find_labelled_pages(folder, config)
    with progress_bars() as start:
        results = evaluate_folder(folder, config, jobs, start)
    evaluation = evaluation_output.Evaluation(results, config, errors)
    if json:
        evaluation_output.print_lines(evaluation)
    else:
        evaluation_output.print_tables(evaluation)


def evaluate_folder(folder: Path, config: Config, jobs: int, start: Start) -> list[PairResult]:
    """Decide about every labelled pair in *folder*."""
    sets = read_folder(folder)
    advance = start("signing", sum(len(labelled_set.documents) for labelled_set in sets))
    return evaluate_pairs(sets, sign_documents(folder, sets, config, jobs, advance), config)
