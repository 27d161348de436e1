"""``crawler-dedup plan``: what the designs of permuted tables cost."""

from __future__ import annotations

import click
from rich.filesize import decimal
from rich.table import Table

from crawler_dedup import hamming
from crawler_dedup.cli.terminal import make_console
from crawler_dedup.index.planning import estimate_cost


@click.command()
@click.option(
    "--pages",
    type=click.FloatRange(1, 1e15),
    default=1e6,
    show_default="1e6",
    help="Number of signatures, for example 1e9.",
)
@click.option(
    "--distance",
    type=click.IntRange(0, hamming.MAX_DISTANCE),
    default=3,
    show_default=True,
    help="Hamming distance, in bits.",
)
def plan(pages: float, distance: int) -> None:
    """Estimate the size and cost of an index of signatures.

    One row is printed for each design of permuted tables. The figures are computed for signatures that are evenly
    distributed (Manku, Jain and Das Sarma 2007, section 3.1.2).
    """
    table = Table(title=f"{pages:,.0f} signatures, distance {distance}")
    for column in ("tables", "prefix bits", "probes", "candidates compared", "signatures", "on disk, about"):
        table.add_column(column, justify="right")
    for design in hamming.DESIGNS.values():
        bits = sorted(set(design.prefix_bits))
        shown = [str(design.tables), "–".join(map(str, [bits[0], bits[-1]][: len(bits)]))]
        if distance > design.max_distance:
            table.add_row(*shown, f"finds distances to {design.max_distance}")
            continue
        cost = estimate_cost(design, pages, distance)
        table.add_row(
            *shown,
            str(cost.probes),
            f"{cost.candidates:,.1f}" if cost.candidates < 100 else f"{cost.candidates:,.0f}",
            decimal(int(cost.payload_bytes)),
            decimal(int(cost.disk_bytes)),
        )
    make_console().print(table)
