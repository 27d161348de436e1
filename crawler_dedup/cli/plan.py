"""``crawler-dedup plan``: what the designs of permuted tables cost."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec.structs import replace
from rich.filesize import decimal
from rich.table import Table

from crawler_dedup import hamming
from crawler_dedup.cli.jsonlines import print_json
from crawler_dedup.cli.jsontypes.evaluation import Design
from crawler_dedup.cli.options import json_option
from crawler_dedup.cli.terminal import make_console
from crawler_dedup.index.planning import estimate_cost


@click.command()
@click.option(
    "--pages",
    metavar="N",
    type=click.FloatRange(1, 1e16),
    default=1e6,
    help="Number of signatures; 1e6, if it is not given.",
)
@click.option(
    "--distance",
    metavar="BITS",
    type=click.IntRange(0, hamming.MAX_DISTANCE),
    default=3,
    show_default=True,
    help="Greatest Hamming distance of signatures that are found.",
)
@json_option
def plan(pages: float, distance: int, json: bool) -> None:
    """Estimate the size and cost of an index of signatures.

    One row is printed for each design of permuted tables. The figures are computed for signatures that are evenly
    distributed (Manku, Jain and Das Sarma 2007, section 3.1.2).

    \b
    Examples:
      crawler-dedup plan --pages 1e9
      crawler-dedup plan --pages 5e6 --distance 2
    """
    lines = [_line(design, pages, distance) for design in hamming.DESIGNS.values()]
    if json:
        print_json(lines)
    else:
        make_console().print(_table(lines, pages, distance))


def _line(design: hamming.Design, pages: float, distance: int) -> Design:
    line = Design(
        tables=design.tables,
        prefix_bits=sorted(set(design.prefix_bits)),
        signatures=pages,
        distance=distance,
        max_distance=design.max_distance,
    )
    if distance > design.max_distance:
        return line
    cost = estimate_cost(design, pages, distance)
    return replace(
        line,
        probes=cost.probes,
        candidates=cost.candidates,
        payload_bytes=int(cost.payload_bytes),
        disk_bytes=int(cost.disk_bytes),
    )


def _table(lines: Sequence[Design], pages: float, distance: int) -> Table:
    table = Table(title=f"{pages:,.0f} signatures, distance {distance}")
    for column in ("tables", "prefix bits", "probes", "candidates compared", "signatures", "on disk, about"):
        table.add_column(column, justify="right", overflow="fold")
    for line in lines:
        bits = line.prefix_bits
        shown = [str(line.tables), "–".join(map(str, [bits[0], bits[-1]][: len(bits)]))]
        if line.candidates is None or line.payload_bytes is None or line.disk_bytes is None:
            table.add_row(*shown, f"finds distances to {line.max_distance}")
            continue
        table.add_row(
            *shown,
            str(line.probes),
            f"{line.candidates:,.1f}" if line.candidates < 100 else f"{line.candidates:,.0f}",
            decimal(line.payload_bytes),
            decimal(line.disk_bytes),
        )
    return table
