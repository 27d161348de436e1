"""``crawler-dedup evaluate`` and ``calibrate``: how often the filter is right about labelled pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from crawler_dedup.cli import evaluated
from crawler_dedup.cli.settings import Settings, config_of
from crawler_dedup.cli.terminal import progress, told_errors
from crawler_dedup.config import PREFIX, Config, setting_name
from crawler_dedup.evaluation import calibration, contest, curves, pairs
from crawler_dedup.evaluation.calibration import THRESHOLDS, Grid
from crawler_dedup.evaluation.labelled import read_folder
from crawler_dedup.evaluation.pairs import Judged
from crawler_dedup.signing.schemes import NAMES, scheme_of
from crawler_dedup.system.callbacks import Start

Folder = Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Labelled pages (docs/evaluation.md).")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes that sign pages.")]
_JOBS = os.cpu_count() or 1


def evaluate(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    folder: Folder,
    settings: Settings = None,
    jobs: Jobs = _JOBS,
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
    config = config_of(settings)
    if scheme and (errors or leave_one_out or plot):
        raise typer.BadParameter("--errors, --leave-one-out and --plot do not go with --scheme.")
    if scheme:
        _set_side_by_side(folder, scheme, config, jobs, lookups, json)
        return
    if (plot or leave_one_out) and config.scheme != "simhash":
        raise typer.BadParameter("--plot and --leave-one-out are about the distances of simhash.")
    with told_errors():
        with progress() as start:
            judged = _judge(folder, config, jobs, start)
            left_out = calibration.leave_one_out(_grid(judged, config, start), precision) if leave_one_out else None
        found = evaluated.Evaluation(judged, config, errors, left_out, precision)
        if json:
            evaluated.print_json(found)
        else:
            evaluated.print_tables(found)
        if plot is not None:
            curves.draw(judged, config, plot)


def calibrate(
    folder: Folder,
    precision: Annotated[
        float, typer.Option(min=0, max=1, help="Least share of true duplicates among the pairs that are called so.")
    ] = 0.99,
    settings: Settings = None,
    jobs: Jobs = _JOBS,
) -> None:
    """Find the thresholds that find most duplicates at a wanted precision, and print them as settings.

    Exit status 0: there are such thresholds. 1: there are none. 2: the folder cannot be used, or the call is wrong.
    """
    config = config_of(settings)
    given = {name: getattr(config, name) for name in (_field(one) for one in settings or [])}
    if chosen := sorted(setting_name(name) for name in given.keys() & set(THRESHOLDS)):
        raise typer.BadParameter(f"{', '.join(chosen)}: this is what `calibrate` chooses.")
    if config.scheme != "simhash":
        raise typer.BadParameter("calibrate chooses the thresholds of simhash.")
    with told_errors(), progress() as start:
        grid = _grid(_judge(folder, config, jobs, start), config, start)
    point = grid.best(precision)
    if point is None:
        evaluated.print_unreached(grid, precision)
        raise typer.Exit(1)
    evaluated.print_settings(grid, point, precision, given)


def _set_side_by_side(
    folder: Path, schemes: Sequence[str], config: Config, jobs: int, lookups: int, json: bool
) -> None:
    names = list(dict.fromkeys(name for one in schemes for name in (NAMES if one == "all" else [one])))
    with told_errors(), progress() as start:
        for name in names:  # what is wrong with one is said before the work begins
            _ = scheme_of(name, config).depends_on
        sets = read_folder(folder)
        standings = list(contest.stand(folder, sets, names, config, jobs, lookups, start))
    if json:
        evaluated.print_standings_json(standings)
    else:
        evaluated.print_standings(standings)


def _field(setting: str) -> str:
    """``DEDUP_MAX_DISTANCE=3`` → ``max_distance``."""
    return setting.split("=", 1)[0].removeprefix(PREFIX).lower()


def _judge(folder: Path, config: Config, jobs: int, start: Start) -> list[Judged]:
    sets = read_folder(folder)
    advance = start("signing", sum(len(one.documents) for one in sets))
    return pairs.judge_all(sets, pairs.sign_documents(folder, sets, config, jobs, advance), config)


def _grid(judged: Sequence[Judged], config: Config, start: Start) -> Grid:
    comparable = [one for one in judged if one.labelled.label != "grey"]
    return calibration.build_grid(comparable, config, start("calibrating", len(comparable)))
