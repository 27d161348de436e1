"""``crawler-dedup plan``: estimate what designs of permuted tables cost, and find the one with the fewest tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import click
from rich.filesize import decimal
from rich.table import Table

from crawler_dedup import hamming
from crawler_dedup.cli.options import NumberRange, json_option
from crawler_dedup.cli.terminal import make_console, print_json
from crawler_dedup.errors import DedupError
from crawler_dedup.index.planning import DesignCost, estimate_cost, find_least_tables

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
    "--pages",
    metavar="N",
    type=NumberRange(1, 1e16),
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
@click.option(
    "--candidates",
    metavar="N",
    type=NumberRange(1e-3, 1e16),
    default=1_000.0,
    help="Most signatures that a probe should compare; 1000, if it is not given.",
)
@click.option(
    "--bits",
    metavar="N",
    type=click.IntRange(8, 128),
    default=hamming.BITS,
    show_default=True,
    help="Bits of a signature. The designs of the paper have 64.",
)
@json_option
def plan(pages: float, distance: int, candidates: float, bits: int, json: bool) -> None:
    """Estimate the size and cost of an index of signatures.

    The first row is the design of permuted tables with the fewest tables in which no probe compares more signatures than
    --candidates, of all that recursive splits of the bits make (Manku, Jain and Das Sarma 2007, section 3.1.2). The
    others are the designs of the paper, of which a crawl uses the one with 4 tables, or another one with the option
    `tables` of simhash. The figures are computed for signatures that are evenly distributed.

    The time of a look-up assumes that all tables are in memory. Each bucket that is not takes a read from the disk besides.

    Exit status 2: no tables have so few candidates.

    \b
    Examples:
      crawler-dedup plan --pages 1e9
      crawler-dedup plan --pages 8e9 --candidates 64
    """
    lines = [*_lines(pages, distance, candidates, bits)]
    if json:
        print_json("design", lines)
    else:
        make_console().print(_table(lines, pages, distance))


def _lines(pages: float, distance: int, candidates: float, bits: int) -> Iterator[_Design]:
    least = find_least_tables(bits, distance, pages, candidates)
    if least is None:
        raise DedupError(
            f"No tables of {bits} bits find distance {distance} with {candidates:,.6g} candidates a probe of {pages:,.6g}"
            " signatures: allow more with --candidates."
        )
    line = _line(least.count, least.tables, pages, distance, distance)
    yield replace(_with_cost(line, least.estimate_cost(pages, bits)), blocks=list(least.blocks))
    for design in hamming.DESIGNS.values() if bits == hamming.BITS else ():
        line = _line(design.tables, design.prefix_bits, pages, distance, design.max_distance)
        if distance <= design.max_distance:
            line = _with_cost(line, estimate_cost(design, pages, distance))
        yield line


def _line(tables: int, prefix_bits: Iterable[int], pages: float, distance: int, max_distance: int) -> _Design:
    return _Design(
        tables=tables,
        prefix_bits=sorted(set(prefix_bits)),
        signatures=pages,
        distance=distance,
        max_distance=max_distance,
    )


def _with_cost(line: _Design, cost: DesignCost) -> _Design:
    return replace(
        line,
        probes=cost.probes,
        candidates=cost.candidates,
        payload_bytes=int(cost.payload_bytes),
        disk_bytes=int(cost.disk_bytes),
        micros=cost.micros,
    )


def _table(lines: Sequence[_Design], pages: float, distance: int) -> Table:
    table = Table(title=f"{pages:,.0f} signatures, distance {distance}", caption=_IN_MEMORY)
    columns = ("tables", "blocks", "prefix bits", "probes", "candidates compared", "signatures", "on disk, about")
    for column in (*columns, "a look-up, about"):
        table.add_column(column, justify="right", overflow="fold")
    for line in lines:
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
