"""What the commands print of two pages."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.diff import side_by_side
from crawler_dedup.cli.terminal import printable, quantity
from crawler_dedup.inspection.compare import Examined, RowSaid, rows
from crawler_dedup.rules.table import Pair, is_list

_SHOWN_TOKENS = 60


def print_pair(console: Console, new: Examined, kept: Examined, pair: Pair) -> None:
    """Print how two pages agree: figures, tokens that differ, and what every row of the rules says."""
    console.print(_figures(pair))
    for name, one, other in (("new", new, kept), ("kept", kept, new)):
        console.print(_tokens(name, one.lacking_in(other)))
    console.print(_rows(rows(pair)))
    console.print("The first row that says something decides (→); what stands in brackets was not asked.")


def print_texts(console: Console, new: Examined, kept: Examined) -> None:
    """Print both main texts side by side, and what was cut away of each page."""
    console.print(side_by_side(new.text, kept.text, folded=False))
    for name, one in (("new", new), ("kept", kept)):
        said = printable(" ⏐ ".join(one.cut_away)) or "nothing"
        console.print(Text.assemble((f"cut away of the {name} page: ", "bold"), (said, "dim")))


def _figures(pair: Pair) -> Table:
    table = Table()
    for column in ("", "new", "kept"):
        table.add_column(column, overflow="fold")
    both = (pair.new, pair.kept)
    table.add_row("address", *(Text(printable(page.url)) for page in both))
    table.add_row("title", *(Text(printable(page.title)) for page in both))
    table.add_row("kind", *(page.unsigned or page.kind.name.lower() for page in both))
    table.add_row("characters of main text", *(str(page.chars) for page in both))
    table.add_row("different features", *(str(page.features) for page in both))
    table.add_row("outlinks", *(str(page.link_count) for page in both))
    table.add_row("a list", *("yes" if is_list(page) else "no" for page in both))
    table.add_row("signature", *(f"{page.signature:016x}" for page in both))
    if any(page.unsigned for page in both):
        return table
    table.add_section()
    table.add_row("distance", "–" if pair.distance is None else str(pair.distance))
    table.add_row("resemblance", f"{pair.resemblance:.2f}")
    table.add_row("coverage of new by kept", f"{pair.coverage:.2f}")
    table.add_row("same links", "yes" if pair.same_links else "no")
    return table


def _tokens(name: str, lacking: list[tuple[str, int]]) -> Text:
    shown = [f"{token} ×{count}" if count > 1 else token for token, count in lacking[:_SHOWN_TOKENS]]
    more = f" … and {len(lacking) - _SHOWN_TOKENS} more" if len(lacking) > _SHOWN_TOKENS else ""
    said = printable(", ".join(shown)) + more if lacking else "none"
    return Text.assemble((f"{quantity(len(lacking), 'token')} only in {name}: ", "bold"), said)


def _rows(told: list[RowSaid]) -> Table:
    table = Table()
    for column in ("", "row", "says", "measured"):
        table.add_column(column, overflow="fold")
    decided = False
    for one in told:
        words = {True: "duplicate", False: "different", None: "–"}[one.duplicate]
        said = f"({words})" if decided and one.duplicate is not None else words
        style = "bold" if one.decides else "dim" if decided else ""
        table.add_row("→" if one.decides else "", one.name, said, Text(printable(one.measured)), style=style)
        decided = decided or one.decides
    return table
