"""``crawler-dedup plan``: estimate what designs of permuted tables cost, and find the one with the fewest tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.filesize import decimal
from rich.table import Table

from crawler_dedup import hamming
from crawler_dedup.cli.options import NumberRange, json_option
from crawler_dedup.cli.terminal import make_console, make_table, print_json
from crawler_dedup.errors import DedupError
from crawler_dedup.index.planning import DesignCost, estimate_cost, find_least_tables, find_longest_prefix

_IN_MEMORY = "The time of a look-up assumes that all tables are in memory."


@dataclass(frozen=True)
class _Design:
    """A design of permuted tables, and what it costs; ``None``: it does not find the wanted distance.

    Attributes:
        prefix_bits: the prefix bits of its tables, each number once.
        blocks: of the design with the fewest tables, the blocks of its splits; ``None``: a design of the paper.
    """

    tables: int
    prefix_bits: list[int]
    signatures: float
    distance: int
    max_distance: int
    blocks: list[int] | None = None
    probes: int | None = None
    candidates: float | None = None
    payload_bytes: int | None = None
    disk_bytes: int | None = None
    micros: float | None = None


@click.command()
@click.option(
    "--pages", metavar="N", type=NumberRange(1, 1e16), default=1e6, help="Number of signatures.  [default: 1e6]"
)
@click.option(
    "--distance",
    metavar="BITS",
    type=click.IntRange(0, hamming.MAX_DISTANCE),
    default=3,
    show_default=True,
    help="Largest Hamming distance at which signatures are found.",
)
@click.option(
    "--candidates",
    metavar="N",
    type=NumberRange(1e-3, 1e16),
    default=1_000.0,
    help="Maximum number of signatures that a probe compares.  [default: 1000]",
)
@click.option(
    "--tables", metavar="N", type=click.IntRange(1), help="Instead of --candidates: N tables with the longest prefixes."
)
@json_option
def plan(pages: float, distance: int, candidates: float, tables: int | None, json: bool) -> None:
    """Estimate the size and cost of an index of signatures.

    The first row splits the bits recursively (Manku, Jain and Das Sarma 2007, section 3.1.2). It has as few tables as
    --candidates allows or, with --tables, at most that many, with the longest prefixes. The other rows are
    the designs of the paper. A crawl uses the design with 4 tables, unless the option `tables` of simhash selects another.
    The figures assume evenly distributed signatures.

    The time of a look-up assumes that all tables are in memory. Each bucket on disk costs one more read.

    Exit status 2: no design has so few candidates.

    \b
    Examples:
      crawler-dedup plan --pages 1e9
      crawler-dedup plan --pages 8e9 --candidates 64
      crawler-dedup plan --pages 8e9 --tables 16
    """
    designs = [*_designs(pages, distance, candidates, tables)]
    if json:
        print_json("design", designs)
    else:
        make_console().print(_table(designs, pages, distance))


def _designs(pages: float, distance: int, candidates: float, tables: int | None) -> Iterator[_Design]:
    if tables is None:
        least = find_least_tables(hamming.BITS, distance, pages, candidates)
    else:
        least = find_longest_prefix(hamming.BITS, distance, tables)
    if least is None:
        raise DedupError(
            f"No design finds distance {distance} among {pages:,.6g} signatures with {candidates:,.6g} candidates per probe:"
            " allow more with --candidates."
        )
    cost = _cost_fields(least.estimate_cost(pages, hamming.BITS))
    yield _Design(least.count, sorted(least.tables), pages, distance, distance, list(least.blocks), **cost)
    for design in hamming.DESIGNS.values():
        cost = _cost_fields(estimate_cost(design, pages, distance)) if distance <= design.max_distance else {}
        prefix_bits = sorted(set(design.prefix_bits))
        yield _Design(design.tables, prefix_bits, pages, distance, design.max_distance, **cost)


def _cost_fields(cost: DesignCost) -> dict[str, Any]:
    return {
        "probes": cost.probes,
        "candidates": cost.candidates,
        "payload_bytes": int(cost.payload_bytes),
        "disk_bytes": int(cost.disk_bytes),
        "micros": cost.micros,
    }


def _table(designs: Sequence[_Design], pages: float, distance: int) -> Table:
    columns = ("tables", "blocks", "prefix bits", "probes", "candidates compared", "signatures", "on disk, about")
    table = make_table(right=(*columns, "a look-up, about"))
    table.title, table.caption = f"{pages:,.0f} signatures, distance {distance}", _IN_MEMORY
    for line in designs:
        bits = line.prefix_bits
        blocks = "as in the paper" if line.blocks is None else ", then ".join(map(str, line.blocks)) or "1"
        shown = [f"{line.tables:,}", blocks, "–".join(map(str, [bits[0], bits[-1]][: len(bits)]))]
        if line.candidates is None or line.payload_bytes is None or line.disk_bytes is None:
            table.add_row(*shown, f"finds distances to {line.max_distance}")
            continue
        table.add_row(
            *shown,
            f"{line.probes:,}",
            f"{line.candidates:,.1f}" if line.candidates < 100 else f"{line.candidates:,.0f}",
            decimal(line.payload_bytes),
            decimal(line.disk_bytes),
            f"{line.micros:,.0f} µs",
        )
    return table
