"""``crawler-dedup calibrate``: choose the thresholds that suit labelled pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from crawler_dedup.cli.evaluate import evaluate_folder, folder_argument, grid_of
from crawler_dedup.cli.evaluation_json import counts_part
from crawler_dedup.cli.evaluation_output import format_figure, format_share, threshold_settings
from crawler_dedup.cli.jsonlines import print_json
from crawler_dedup.cli.jsontypes.evaluation import Calibration
from crawler_dedup.cli.options import jobs_option, json_option, precision_option, settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_labelled_pages, read_config
from crawler_dedup.config import PREFIX, setting_name
from crawler_dedup.evaluation.calibration import THRESHOLD_NAMES, Grid
from crawler_dedup.signing.segmentation import resolve_tokenizer
from crawler_dedup.urls import text_without_credentials

_WIDE_INTERVAL = 0.2
"""Width of the interval of the recall above which the command says that there are too few labelled duplicates."""


@click.command()
@folder_argument
@precision_option("Least share of true duplicates among the pairs that are called duplicates.")
@jobs_option
@json_option
@settings_option
def calibrate(folder: Path | None, precision: float, settings: Sequence[str], jobs: int, json: bool) -> None:
    """Choose the thresholds that suit labelled pairs of pages.

    FOLDER holds labelled pages (`crawler-dedup evaluate --help` describes it); without it, the answers of `crawler-dedup
    judge` about this Scrapy project are used. Of all thresholds that reach the wanted precision, those that find most
    duplicates are printed, as lines for a settings module.

    Exit status 0: done. 1: no thresholds reach the precision. 2: the folder cannot be used.

    \b
    Examples:
      crawler-dedup calibrate labelled
      crawler-dedup calibrate labelled --precision 0.95 >> settings.py
    """
    config = resolve_tokenizer(read_config(settings))
    folder = find_labelled_pages(folder, config)
    chosen_settings = {name: getattr(config, _field_of(name)) for name in (word.partition("=")[0] for word in settings)}
    if chosen := sorted(chosen_settings.keys() & set(map(setting_name, THRESHOLD_NAMES))):
        raise click.BadParameter(f"{', '.join(chosen)}: this is what `calibrate` chooses.")
    if config.scheme != "simhash":
        raise click.BadParameter("calibrate chooses the thresholds of simhash.")
    with progress_bars() as start:
        grid = grid_of(evaluate_folder(folder, config, jobs, start), config, start)
    point = grid.best(precision)
    if json:
        print_json([_line(grid, point, precision, chosen_settings)])
    elif point is None:
        _print_nearest(grid, precision)
    else:
        _print_settings(grid, point, precision, chosen_settings)
    if point is None:
        raise click.exceptions.Exit(1)


def _field_of(setting: str) -> str:
    """Return the field of a setting: ``max_distance`` for ``DEDUP_MAX_DISTANCE``."""
    return setting.removeprefix(PREFIX).lower()


def _line(grid: Grid, point: int | None, precision: float, chosen_settings: Mapping[str, Any]) -> Calibration:
    """Return the chosen thresholds, or the nearest ones if none reach the precision."""
    shown = grid.most_precise() if point is None else point
    return Calibration(
        wanted_precision=precision,
        reached=point is not None,
        settings={} if shown is None else {**chosen_settings, **threshold_settings(grid.points[shown])},
        counts=None if shown is None else counts_part(grid.counts(shown)),
    )


def _print_settings(grid: Grid, point: int, precision: float, chosen_settings: Mapping[str, Any]) -> None:
    """Print calibrated settings as lines of a settings module, with the expected precision and recall.

    Args:
        chosen_settings: settings of the command line, with which alone the figures hold.
    """
    counts = grid.counts(point)
    lines = [
        f"# Expected on pages like these: precision {format_share(counts.precision)},"
        f" recall {format_share(counts.recall)} (tokenizer {grid.points[point].tokenizer}).",
        "# These figures are a little too good, because the thresholds were chosen on the same pairs;"
        " `crawler-dedup evaluate --leave-one-out` measures by how much.",
    ]
    if counts.precision.interval[0] < precision:
        lines.append(
            f"# There are too few labelled pairs to be sure of a precision of {precision}:"
            f" it may be as low as {format_figure(counts.precision.interval[0])}."
        )
    low, high = counts.recall.interval
    if high - low > _WIDE_INTERVAL:
        lines.append(
            "# There are too few labelled duplicates to know the recall:"
            f" it may be from {format_figure(low)} to {format_figure(high)}."
        )
    settings = {**chosen_settings, **threshold_settings(grid.points[point])}
    lines += [f"{name} = {value!r}" for name, value in settings.items()]
    click.echo(text_without_credentials("\n".join(lines)))


def _print_nearest(grid: Grid, precision: float) -> None:
    """Print that no thresholds have the wanted precision, and which come nearest."""
    point = grid.most_precise()
    if point is None:
        click.echo("No thresholds find a labelled duplicate; `crawler-dedup evaluate --errors 20` shows why.")
        return
    counts = grid.counts(point)
    thresholds = ", ".join(f"{name} = {value!r}" for name, value in threshold_settings(grid.points[point]).items())
    click.echo(
        f"No thresholds reach a precision of {precision}. The greatest is {format_share(counts.precision)}, with a recall"
        f" of {format_share(counts.recall)}, at {thresholds}. `crawler-dedup evaluate --errors 20` shows the wrong pairs."
    )
