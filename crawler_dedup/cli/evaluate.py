"""``crawler-dedup evaluate``: measure how often the filter is right about labelled pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.options import jobs_option, json_option, settings_option
from crawler_dedup.cli.project import JUDGED, read_config, usual_directory
from crawler_dedup.cli.terminal import make_console, make_table, print_json, printable, progress_bars
from crawler_dedup.config import Config, setting_name
from crawler_dedup.decision import describe_figures
from crawler_dedup.errors import DedupError
from crawler_dedup.evaluation import pairs
from crawler_dedup.evaluation.labelled import Counts, Share, read_folder
from crawler_dedup.evaluation.pairs import PairResult, SignedDocument, evaluate_pairs, sign_documents
from crawler_dedup.signing.segmentation import resolve_tokenizer
from crawler_dedup.urls import without_credentials

_LEGEND = (
    "found: duplicates called duplicates; missed: duplicates called different;"
    " false: different pages called duplicates, which a crawl loses; apart: different pages called different."
)
COUNT_COLUMNS = ("found", "missed", "false", "apart", "precision (95 % CI)", "recall (95 % CI)")


@click.command()
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@jobs_option
@click.option(
    "--errors", type=click.IntRange(0), default=0, metavar="N", help="List up to N pairs with a wrong decision."
)
@json_option
@settings_option("DEDUP_MAX_DISTANCE=4")
def evaluate(folder: Path | None, settings: Sequence[str], jobs: int, errors: int, json: bool) -> None:
    """Measure precision and recall on labelled pairs of pages.

    FOLDER holds labelled pages; without it, the answers of `crawler-dedup judge` about this Scrapy project are used. These
    measure no recall, because they are about dropped pages only. The filter finds a pair if it would drop one of the pages
    while the other is kept; this is compared with the label.

    Two files in FOLDER describe the pages, with a JSON object on each line. docs.jsonl has the pages, each with its HTML
    file in FOLDER; pairs.jsonl has pairs of them. Label 1: a crawl may drop one of the two because the other is kept. 0: it
    may not. "grey": people would argue about it, so it is not counted.

    \b
      docs.jsonl   {"id": "1", "url": "https://example.org/1", "html": "1.html"}
      pairs.jsonl  {"id_a": "1", "id_b": "2", "label": 1}

    \b
    Examples:
      crawler-dedup evaluate labelled
      crawler-dedup evaluate labelled -s DEDUP_MAX_DISTANCE=4 --errors 20
      crawler-dedup evaluate labelled -s DEDUP_SCHEME=minhash
    """
    config = resolve_tokenizer(read_config(settings))
    folder = folder or usual_directory(config, needs_project=True) / JUDGED
    if not folder.is_dir():
        raise DedupError(
            f"There is no folder {folder}. `crawler-dedup judge` writes such a folder, and `crawler-dedup evaluate"
            " --help` says how to make one by hand."
        )
    with progress_bars() as start:
        sets = read_folder(folder)
        advance = start("signing", sum(len(labelled_set.documents) for labelled_set in sets))
        results = evaluate_pairs(sets, sign_documents(folder, sets, config, jobs, advance), config)
    # Pairs that are wrongly called duplicates come first, because each costs a page.
    wrong = sorted((result for result in results if result.is_wrong), key=lambda result: not result.is_duplicate)
    if json:
        _print_lines(results, config)
        print_json("wrong_pair", map(_wrong_pair_fields, wrong[:errors]))
        return
    _print_tables(results, config)
    if errors:
        click.echo(f"\nPairs with a wrong decision: {len(wrong)}, of which {min(len(wrong), errors)} are shown:")
    for result in wrong[:errors]:
        click.echo(_error_lines(result))


def _print_tables(results: Sequence[PairResult], config: Config) -> None:
    console = make_console()
    console.print(counts_table(pairs.count_by_part(results)))
    console.print(_LEGEND, soft_wrap=True)
    console.print(f"Tokenizer: {config.tokenizer}")


def counts_table(rows: Iterable[tuple[str, str, Counts]]) -> Table:
    """Make a table of *rows* (set, part, counts); the set ``""`` is all sets, the part ``""`` a whole set."""
    table = make_table("", right=COUNT_COLUMNS)
    for name, part, counts in rows:
        if not name and not part:
            table.add_section()
        table.add_row(Text(f"  {part}" if part else name or "all"), *count_cells(counts))
    return table


def format_share(share: Share) -> str:
    """Return a share with its interval, ``0.950 (0.764–0.991)``."""
    low, high = share.interval
    return f"{share.value:.3f} ({low:.3f}–{high:.3f})" if share.total else "–"


def count_cells(counts: Counts) -> list[str]:
    """Return the cells of a row of a table of counts."""
    numbers = [str(number) for number in asdict(counts).values()]
    return [*numbers, format_share(counts.precision), format_share(counts.recall)]


def _error_lines(result: PairResult) -> str:
    pair, rule, is_duplicate = result.deciding_direction
    first = f"\n{'false' if is_duplicate else 'missed'}, label {result.labelled.label}: {rule}"
    if result.is_signed:
        first += f", {figures}" if (figures := describe_figures(pair.distance, *pair.shares)) else ""
    return "\n".join([first, _page_line(result.a), _page_line(result.b)])


def _page_line(document: SignedDocument) -> str:
    return printable(f"  {document.page.url}  {document.first_line}")


def _print_lines(results: Sequence[PairResult], config: Config) -> None:
    settings = asdict(replace(config, index=without_credentials(config.index)))
    print_json("evaluation", [{"settings": {setting_name(name): value for name, value in settings.items()}}])
    rows = (
        {"set": name, "part": part, "counts": _count_fields(counts)}
        for name, part, counts in pairs.count_by_part(results)
    )
    print_json("evaluation_counts", rows)


def _count_fields(counts: Counts) -> dict[str, Any]:
    return {**asdict(counts), "precision": _share_fields(counts.precision), "recall": _share_fields(counts.recall)}


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
        "a": _page_fields(result.labelled.id_a, result.a),
        "b": _page_fields(result.labelled.id_b, result.b),
    }


def _page_fields(identifier: str, document: SignedDocument) -> dict[str, str]:
    return {"id": identifier, "url": document.page.url, "opening": document.first_line}
