"""What ``crawler-dedup evaluate`` and ``calibrate`` print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.terminal import printable
from crawler_dedup.config import Config, setting_name
from crawler_dedup.evaluation import pairs
from crawler_dedup.evaluation.calibration import LEFT_OUT_MIN, THRESHOLDS, Grid, LeftOut
from crawler_dedup.evaluation.contest import Standing
from crawler_dedup.evaluation.counts import Counts, Share
from crawler_dedup.evaluation.pairs import Judged, Mean, SignedDocument
from crawler_dedup.urls import text_without_credentials, without_credentials

_WIDE = 0.2
"""Width of an interval of the recall from which on more labelled duplicates are asked for."""

_TABLE_WIDTH = 1000  # it takes what it needs, whatever the terminal has
_COUNTED = ("found", "missed", "false", "apart", "precision (95 %)", "recall (95 %)")


@dataclass(frozen=True)
class Evaluation:
    """What was found out.

    Attributes:
        judged: all pairs.
        config: the settings they were judged with.
        shown: how many wrong pairs to show.
        left_out: the sites that were left out in turn; ``None`` if that was not asked for.
        precision: what was calibrated for without them.
    """

    judged: Sequence[Judged]
    config: Config
    shown: int
    left_out: Sequence[LeftOut] | None
    precision: float

    @property
    def wrong(self) -> list[Judged]:
        """The wrong pairs, those first that are called duplicates and are none: they cost a page."""
        return sorted((one for one in self.judged if one.wrong), key=lambda one: not one.duplicate)


def print_tables(found: Evaluation) -> None:
    """Print an evaluation for people."""
    console = Console()
    console.print(_counts_table(found.judged))
    console.print(_macro_line(*pairs.macro_average(found.judged)), soft_wrap=True)
    if grey := pairs.grey_shares(found.judged):
        console.print(_grey_table(grey))
    if found.left_out is not None:
        console.print(_left_out_table(found.left_out, found.precision))
    if found.shown:
        typer.echo(f"\n{len(found.wrong)} wrong pairs, {min(len(found.wrong), found.shown)} of them here:")
    for one in found.wrong[: found.shown]:
        typer.echo(_error_lines(one))


def print_json(found: Evaluation) -> None:
    """Print an evaluation for programs."""
    means = dict(zip(("precision", "recall"), pairs.macro_average(found.judged), strict=True))
    report: dict[str, Any] = {
        "settings": asdict(replace(found.config, journal=without_credentials(found.config.journal))),
        "sets": [
            {"set": name, "part": part, **_counts_json(counts)} for name, part, counts in pairs.breakdown(found.judged)
        ],
        "mean_over_sites": {name: mean._asdict() for name, mean in means.items()},
        "grey": [{"j_sub": name, **_share_json(share)} for name, share in pairs.grey_shares(found.judged)],
        "errors": [_error_json(one) for one in found.wrong[: found.shown]],
    }
    if found.left_out is not None:
        report["leave_one_out"] = {
            "wanted_precision": found.precision,
            "sites": [
                {"site": one.source, "thresholds": one.config and _thresholds(one.config), **_counts_json(one.counts)}
                for one in found.left_out
            ],
            "all": _counts_json(_sum(found.left_out)),
        }
    typer.echo(msgspec.json.format(msgspec.json.encode(report)))


def print_standings(standings: Sequence[Standing]) -> None:
    """Print schemes side by side for people."""
    table = Table(title="precision, recall and F1 of the scheme alone, and with the rules of the crawl")
    for column in ("scheme", "set"):
        table.add_column(column, no_wrap=True)
    for column in ("P", "R", "F1", "P rules", "R rules", "F1 rules", "sign µs", "bytes", "look-up µs"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in standings:
        table.add_section()
        costs = [f"{one.sign_micros:,.0f}", f"{one.size:,.0f}", _or_dash(one.lookup_micros, ",.0f")]
        for number, row in enumerate(one.rows):
            ruled = _three(row.ruled) if row.ruled is not None else [""] * 3
            first = number == 0
            table.add_row(
                Text(one.name) if first else "",
                Text(row.name),
                *_three(row.alone),
                *ruled,
                *(costs if first else [""] * 3),
            )
    Console(width=_TABLE_WIDTH).print(table)


def print_standings_json(standings: Sequence[Standing]) -> None:
    """Print schemes side by side for programs."""
    report = [
        {
            "scheme": one.name,
            "sign_micros": one.sign_micros,
            "bytes": one.size,
            "lookup_micros": one.lookup_micros,
            "sets": [
                {
                    "set": row.name,
                    "alone": _counts_json(row.alone),
                    "with_rules": None if row.ruled is None else _counts_json(row.ruled),
                }
                for row in one.rows
            ],
        }
        for one in standings
    ]
    typer.echo(msgspec.json.format(msgspec.json.encode(report)))


def _three(counts: Counts) -> list[str]:
    return [_or_dash(one, ".3f") for one in (counts.precision.value, counts.recall.value, counts.f1)]


def _or_dash(figure: float | None, form: str) -> str:
    return "–" if figure is None else format(figure, form)


def print_settings(grid: Grid, point: int, precision: float, given: Mapping[str, Any]) -> None:
    """Print calibrated settings as lines of a settings module, with what to expect of them.

    Args:
        given: settings that were asked for, by the names of their fields: the figures hold with them only.
    """
    counts = grid.counts(point)
    lines = [
        f"# Expected on pages like these: precision {shown(counts.precision)}, recall {shown(counts.recall)}.",
        "# That is a little too good, because the thresholds were chosen on the same pairs;"
        " `crawler-dedup evaluate --leave-one-out` says by how much.",
    ]
    if counts.precision.interval[0] < precision:
        lines.append(
            f"# There are too few labelled pairs to be sure of a precision of {precision}:"
            f" it may be as low as {_figure(counts.precision.interval[0])}."
        )
    low, high = counts.recall.interval
    if high - low > _WIDE:
        lines.append(
            f"# There are too few labelled duplicates to know the recall: it may be {_figure(low)} or {_figure(high)}."
        )
    settings = {**given, **_thresholds(grid.points[point])}
    lines += [f"{setting_name(name)} = {value!r}" for name, value in settings.items()]
    typer.echo(text_without_credentials("\n".join(lines)))


def print_unreached(grid: Grid, precision: float) -> None:
    """Say that no thresholds have the wanted precision, and which come nearest."""
    point = grid.most_precise()
    if point is None:
        typer.echo("With no thresholds a labelled duplicate is found; `crawler-dedup evaluate --errors 20` says why.")
        return
    counts = grid.counts(point)
    thresholds = ", ".join(
        f"{setting_name(name)} = {value!r}" for name, value in _thresholds(grid.points[point]).items()
    )
    typer.echo(
        f"No thresholds reach a precision of {precision}. The greatest is {shown(counts.precision)}, with a recall of"
        f" {shown(counts.recall)}, at {thresholds}. `crawler-dedup evaluate --errors 20` shows the wrong pairs."
    )


def _counts_table(judged: Sequence[Judged]) -> Table:
    table = _table("", *_COUNTED)
    for name, part, counts in pairs.breakdown(judged):
        if not name and not part:
            table.add_section()
        table.add_row(Text(f"  {part}" if part else name or "all"), *_cells(counts))
    return table


def _macro_line(precision: Mean, recall: Mean) -> str:
    return (
        f"Mean over sites: precision {_figure(precision.value)} (of {precision.sites} sites),"
        f" recall {_figure(recall.value)} (of {recall.sites})"
    )


def _grey_table(grey: Sequence[tuple[str, Share]]) -> Table:
    table = _table("grey pairs, by j_sub", "pairs", "dropped", "share (95 %)")
    for name, share in grey:
        table.add_row(name, str(share.of), str(share.hits), shown(share))
    return table


def _left_out_table(left_out: Sequence[LeftOut], precision: float) -> Table:
    table = _table("site left out", "thresholds", *_COUNTED)
    table.title = f"Calibrated on the other sites for a precision of {precision}"
    table.caption = (
        f"Thresholds: {', '.join(THRESHOLDS)}. Sites with {LEFT_OUT_MIN} duplicates and {LEFT_OUT_MIN} others at least."
    )
    for one in left_out:
        if one.config is None:
            table.add_row(Text(one.source), "none found")
        else:
            thresholds = " / ".join(str(value) for value in _thresholds(one.config).values())
            table.add_row(Text(one.source), thresholds, *_cells(one.counts))
    table.add_section()
    table.add_row("all of these", "", *_cells(_sum(left_out)))
    return table


def _table(first: str, *others: str) -> Table:
    table = Table()
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right")
    return table


def _cells(counts: Counts) -> list[str]:
    numbers = [str(number) for number in asdict(counts).values()]
    return [*numbers, shown(counts.precision), shown(counts.recall)]


def shown(share: Share) -> str:
    """A share with its interval, ``0.950 (0.764–0.991)``."""
    low, high = share.interval
    return f"{_figure(share.value)} ({_figure(low)}–{_figure(high)})" if share.of else "–"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _sum(left_out: Iterable[LeftOut]) -> Counts:
    return sum((one.counts for one in left_out), Counts())


def _thresholds(config: Config) -> dict[str, Any]:
    return {name: getattr(config, name) for name in THRESHOLDS}


def _error_lines(judged: Judged) -> str:
    pair, rule, duplicate = judged.decisive
    first = f"\n{'false' if duplicate else 'missed'}, label {judged.labelled.label}: {rule}"
    if judged.signed:
        first += "" if pair.distance is None else f", distance {pair.distance}"
        first += f", resemblance {pair.resemblance:.2f}, coverage {pair.coverage:.2f}"
    return "\n".join([first, _page_line(judged.a), _page_line(judged.b)])


def _page_line(document: SignedDocument) -> str:
    return printable(f"  {document.page.url}  {document.opening}")


def _counts_json(counts: Counts) -> dict[str, Any]:
    return {**asdict(counts), "precision": _share_json(counts.precision), "recall": _share_json(counts.recall)}


def _share_json(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {**asdict(share), "value": share.value, "low": low, "high": high}


def _error_json(judged: Judged) -> dict[str, Any]:
    pair, rule, _ = judged.decisive
    return {
        "set": judged.set_name,
        "label": judged.labelled.label,
        "rule": rule,
        "distance": pair.distance if judged.signed else None,
        "resemblance": pair.resemblance if judged.signed else None,
        "coverage": pair.coverage if judged.signed else None,
        "a": {"id": judged.labelled.id_a, "url": judged.a.page.url, "opening": judged.a.opening},
        "b": {"id": judged.labelled.id_b, "url": judged.b.page.url, "opening": judged.b.opening},
    }
