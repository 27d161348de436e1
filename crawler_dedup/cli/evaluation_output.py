"""The output of ``crawler-dedup evaluate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.terminal import make_console, print_json, printable, quantity
from crawler_dedup.config import Config, setting_name
from crawler_dedup.evaluation import pairs
from crawler_dedup.evaluation.counts import Counts, Share
from crawler_dedup.evaluation.documents import SignedDocument
from crawler_dedup.evaluation.pairs import PairResult, SiteMean
from crawler_dedup.urls import without_credentials

_LEGEND = (
    "found: duplicates called duplicates; missed: duplicates called different;"
    " false: different pages called duplicates, which a crawl loses; apart: different pages called different."
)
_COUNT_COLUMNS = ("found", "missed", "false", "apart", "precision (95 %)", "recall (95 %)")


@dataclass(frozen=True)
class Evaluation:
    """The results of an evaluation, and options for printing them.

    Attributes:
        results: the results of all pairs.
        config: the settings with which the pairs were evaluated.
        max_errors: how many wrong pairs to print.
    """

    results: Sequence[PairResult]
    config: Config
    max_errors: int

    @property
    def wrong(self) -> list[PairResult]:
        """The wrong pairs. Pairs that are wrongly called duplicates come first, because each costs a page."""
        return sorted(
            (result for result in self.results if result.is_wrong), key=lambda result: not result.is_duplicate
        )


def print_tables(evaluation: Evaluation) -> None:
    """Print an evaluation for people."""
    console = make_console()
    console.print(_counts_table(evaluation.results))
    console.print(_LEGEND, soft_wrap=True)
    console.print(_average_line(*pairs.average_over_sites(evaluation.results)), soft_wrap=True)
    console.print(f"Tokenizer: {evaluation.config.tokenizer}")
    if grey := pairs.grey_shares(evaluation.results):
        console.print(_grey_table(grey))
    if evaluation.config.scheme == "simhash":
        console.print(_distance_table(evaluation))
    wrong = evaluation.wrong
    if evaluation.max_errors:
        click.echo(f"\n{len(wrong)} wrong pairs, {min(len(wrong), evaluation.max_errors)} of them here:")
    for result in wrong[: evaluation.max_errors]:
        click.echo(_error_lines(result))


def format_share(share: Share) -> str:
    """Return a share with its interval, ``0.950 (0.764–0.991)``."""
    low, high = share.interval
    return f"{format_figure(share.value)} ({format_figure(low)}–{format_figure(high)})" if share.total else "–"


def format_figure(value: float | None) -> str:
    """Return ``0.950``, or a dash for ``None``."""
    return "–" if value is None else f"{value:.3f}"


def _counts_table(results: Sequence[PairResult]) -> Table:
    table = _make_table("", *_COUNT_COLUMNS)
    for name, part, counts in pairs.count_by_part(results):
        if not name and not part:
            table.add_section()
        table.add_row(Text(f"  {part}" if part else name or "all"), *_count_cells(counts))
    return table


def _average_line(precision: SiteMean, recall: SiteMean) -> str:
    return (
        f"Mean over sites: precision {format_figure(precision.value)} (of {quantity(precision.sites, 'site')}),"
        f" recall {format_figure(recall.value)} (of {recall.sites})"
    )


def _grey_table(grey: Sequence[tuple[str, Share]]) -> Table:
    table = _make_table("grey pairs, by j_sub", "pairs", "dropped", "share (95 %)")
    for name, share in grey:
        table.add_row(name, str(share.total), str(share.hits), format_share(share))
    return table


def _distance_table(evaluation: Evaluation) -> Table:
    table = _make_table("DEDUP_MAX_DISTANCE", *_COUNT_COLUMNS)
    for distance, counts in enumerate(pairs.count_by_distance(evaluation.results, evaluation.config)):
        table.add_row(str(distance), *_count_cells(counts))
    return table


def _make_table(first: str, *others: str) -> Table:
    table = Table()
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right", overflow="fold")
    return table


def _count_cells(counts: Counts) -> list[str]:
    numbers = [str(number) for number in asdict(counts).values()]
    return [*numbers, format_share(counts.precision), format_share(counts.recall)]


def _error_lines(result: PairResult) -> str:
    pair, rule, is_duplicate = result.deciding_direction
    first = f"\n{'false' if is_duplicate else 'missed'}, label {result.labelled.label}: {rule}"
    if result.is_signed:
        first += "" if pair.distance is None else f", distance {pair.distance}"
        first += f", resemblance {pair.resemblance:.2f}, coverage {pair.coverage:.2f}"
    return "\n".join([first, _page_line(result.a), _page_line(result.b)])


def _page_line(document: SignedDocument) -> str:
    return printable(f"  {document.page.url}  {document.first_line}")


def print_lines(evaluation: Evaluation) -> None:
    """Print an evaluation as JSON Lines."""
    results, config = evaluation.results, evaluation.config
    precision, recall = pairs.average_over_sites(results)
    settings = asdict(replace(config, index=without_credentials(config.index)))
    first = {
        "settings": {setting_name(name): value for name, value in settings.items()},
        "site_precision": precision._asdict(),
        "site_recall": recall._asdict(),
    }
    print_json("evaluation", [first])
    rows = (
        {"set": name, "part": part, "counts": _count_fields(counts)}
        for name, part, counts in pairs.count_by_part(results)
    )
    print_json("evaluation_counts", rows)
    grey = ({"j_sub": name, "dropped": _share_fields(share)} for name, share in pairs.grey_shares(results))
    print_json("grey_pairs", grey)
    if config.scheme == "simhash":
        distances = (
            {"max_distance": distance, "counts": _count_fields(counts)}
            for distance, counts in enumerate(pairs.count_by_distance(results, config))
        )
        print_json("distance_counts", distances)
    print_json("wrong_pair", map(_wrong_pair_fields, evaluation.wrong[: evaluation.max_errors]))


def _count_fields(counts: Counts) -> dict[str, Any]:
    return {
        **asdict(counts),
        "precision": _share_fields(counts.precision),
        "recall": _share_fields(counts.recall),
    }


def _share_fields(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {"hits": share.hits, "of": share.total, "value": share.value, "low": low, "high": high}


def _wrong_pair_fields(result: PairResult) -> dict[str, Any]:
    pair, rule, _ = result.deciding_direction
    return {
        "set": result.set_name,
        "label": result.labelled.label,
        "rule": rule,
        "distance": pair.distance if result.is_signed else None,
        "resemblance": pair.resemblance if result.is_signed else None,
        "coverage": pair.coverage if result.is_signed else None,
        "a": _page_fields(result.labelled.id_a, result.a),
        "b": _page_fields(result.labelled.id_b, result.b),
    }


def _page_fields(identifier: str, document: SignedDocument) -> dict[str, str]:
    return {"id": identifier, "url": document.page.url, "opening": document.first_line}
