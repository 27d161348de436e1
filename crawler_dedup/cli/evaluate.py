"""``crawler-dedup evaluate``: how often the filter is right about labelled pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from crawler_dedup.cli import evaluation_output
from crawler_dedup.cli.options import SettingsOption
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import config_or_exit
from crawler_dedup.cli.terminal import errors_as_messages
from crawler_dedup.config import Config
from crawler_dedup.evaluation import calibration, curves, scheme_comparison
from crawler_dedup.evaluation.calibration import Grid
from crawler_dedup.evaluation.documents import sign_documents
from crawler_dedup.evaluation.labelled import read_folder
from crawler_dedup.evaluation.pairs import PairResult, evaluate_pairs
from crawler_dedup.signing.schemes import NAMES, scheme_of
from crawler_dedup.system.callbacks import Start

FolderArgument = Annotated[
    Path, typer.Argument(exists=True, file_okay=False, help="Labelled pages (docs/evaluation.md).")
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes that sign pages.")]
DEFAULT_JOBS = os.cpu_count() or 1


def evaluate(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    folder: FolderArgument,
    settings: SettingsOption = None,
    jobs: JobsOption = DEFAULT_JOBS,
    errors: Annotated[int, typer.Option(min=0, metavar="N", help="List up to N pairs that are judged wrongly.")] = 0,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Calibrate without each site in turn, and evaluate on it.")
    ] = False,
    precision: Annotated[float, typer.Option(min=0, max=1, help="What --leave-one-out calibrates for.")] = 0.99,
    plot: Annotated[
        Path | None, typer.Option(dir_okay=False, help="SVG file to write: precision and recall by distance.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    scheme: Annotated[
        list[str] | None,
        typer.Option(help='Schemes to set side by side, as DEDUP_SCHEME names them, or "all"; may be repeated.'),
    ] = None,
    lookups: Annotated[
        int, typer.Option(min=0, help="Pages of the index in which --scheme times look-ups; 0: none.")
    ] = 100_000,
) -> None:
    """Say how often the filter is right about labelled pairs of pages.

    A pair counts as called a duplicate if one of its pages would be dropped while the other is kept.
    """
    config = config_or_exit(settings)
    if scheme and (errors or leave_one_out or plot):
        raise typer.BadParameter("--errors, --leave-one-out and --plot do not go with --scheme.")
    if scheme:
        _compare_schemes(folder, scheme, config, jobs, lookups, json)
        return
    if (plot or leave_one_out) and config.scheme != "simhash":
        raise typer.BadParameter("--plot and --leave-one-out are about the distances of simhash.")
    with errors_as_messages():
        with progress_bars() as start:
            results = evaluate_folder(folder, config, jobs, start)
            left_out = calibration.leave_one_out(grid_of(results, config, start), precision) if leave_one_out else None
        evaluation = evaluation_output.Evaluation(results, config, errors, left_out, precision)
        if json:
            evaluation_output.print_json(evaluation)
        else:
            evaluation_output.print_tables(evaluation)
        if plot is not None:
            curves.draw_curves(results, config, plot)


def evaluate_folder(folder: Path, config: Config, jobs: int, start: Start) -> list[PairResult]:
    """Decide about every labelled pair in *folder*."""
    sets = read_folder(folder)
    advance = start("signing", sum(len(labelled_set.documents) for labelled_set in sets))
    return evaluate_pairs(sets, sign_documents(folder, sets, config, jobs, advance), config)


def grid_of(results: Sequence[PairResult], config: Config, start: Start) -> Grid:
    """Decide about pairs that are not grey at every point of the grid of thresholds."""
    labelled = [result for result in results if result.labelled.label != "grey"]
    return calibration.build_grid(labelled, config, start("calibrating", len(labelled)))


def _compare_schemes(folder: Path, schemes: Sequence[str], config: Config, jobs: int, lookups: int, json: bool) -> None:
    names = list(dict.fromkeys(name for word in schemes for name in (NAMES if word == "all" else [word])))
    with errors_as_messages(), progress_bars() as start:
        for name in names:  # a wrong name is refused before the work begins
            _ = scheme_of(name, config).depends_on
        sets = read_folder(folder)
        results = list(scheme_comparison.compare_schemes(folder, sets, names, config, jobs, lookups, start))
    if json:
        evaluation_output.print_schemes_json(results)
    else:
        evaluation_output.print_schemes(results)
