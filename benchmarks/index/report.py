"""Tables on the terminal, and the summary at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table

_WIDTH = 140


@dataclass
class Report:
    """Prints each table when it is measured, and collects the lines of the summary."""

    console: Console = field(default_factory=lambda: Console(width=_WIDTH))
    summary: list[tuple[str, str]] = field(default_factory=list)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Print a table; its first column has the names of the rows."""
        table = Table(box=box.SIMPLE_HEAD)
        for place, column in enumerate(columns):
            table.add_column(column, justify="right" if place else "left", no_wrap=not place)
        for row in rows:
            table.add_row(*row)
        self.console.print(title, style="bold")
        self.console.print(table)

    def note(self, name: str, value: str) -> None:
        """Add a line to the summary."""
        self.summary.append((name, value))

    def print_summary(self) -> None:
        """Print the summary."""
        self.table("Summary", ("", ""), self.summary)
