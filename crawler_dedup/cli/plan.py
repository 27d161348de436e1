"""``crawler-dedup plan``: what the designs of permuted tables cost."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from crawler_dedup import hamming
from crawler_dedup.index.planning import estimate_cost


def plan(
    pages: Annotated[float, typer.Option(min=1, max=1e15, help="How many signatures, for example 1e9.")] = 1e6,
    distance: Annotated[int, typer.Option(min=0, max=hamming.MAX_DISTANCE, help="Hamming distance, in bits.")] = 3,
) -> None:
    """Print what each design of permuted tables costs for a number of pages.

    Arithmetic for signatures that are spread evenly (Manku, Jain and Das Sarma 2007, section 3.1.2).
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
    Console().print(table)
