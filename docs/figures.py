"""Put measured figures into the pages: ``python docs/figures.py [--check]``.

``python -m benchmarks.record`` has written them to ``docs/figures/NAME.json``. In a page, a comment names the cell that is
shown after it, up to the next comment:

    <!-- NAME: ROW; COLUMN -->2.71<!-- -->

ROW is the last row that begins with these words; ``/1 ROW`` is a row of the second table of the file. Below the comment
``<!-- table NAME -->``, the last cells of a table are those that ``docs/figures/tables.toml`` names. README.md has no
comments: ``docs/figures/readme.toml`` has its parts with figures, with the names of cells in braces.
With ``--check`` nothing is written, and the exit status is 1 if a page shows another figure.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
FIGURES = DOCS / "figures"
_CELL = re.compile(r"(<!-- (\S+): ([^;>\n]+); ([^;>\n]+) -->).*?(<!-- -->)")
_TABLE = re.compile(r"(<!-- table (\S+) -->\n+\|.*\n\|.*\n)((?:\|.*\n)+)")
_NAME = re.compile(r"\{(\S+): ([^;}]+); ([^;}]+)\}")
_SHOWN = tomllib.loads((FIGURES / "tables.toml").read_text(encoding="utf-8"))
_README_PARTS: list[str] = tomllib.loads((FIGURES / "readme.toml").read_text(encoding="utf-8"))["parts"]


@cache
def load(name: str) -> list[dict[str, Any]]:
    """Return the tables of a file."""
    tables: list[dict[str, Any]] = json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))["tables"]
    return tables


def find(name: str, row: str, column: str) -> str:
    """Return a cell of a recorded table, written as the pages write numbers."""
    number, beginning = row[1:].split(" ", 1) if row.startswith("/") else (0, row)
    table = load(name)[int(number)]
    cells = next((cells for cells in reversed(table["rows"]) if " ".join(cells).startswith(beginning)), None)
    if cells is None or column not in table["columns"]:
        sys.exit(f"docs/figures/{name}.json has no row {row!r} or no column {column!r}: {table}")
    cell: str = re.sub(r"^(\S+) \(\1 … \1\)$", r"\1", cells[table["columns"].index(column)])  # of one round
    return f"{int(cell):,}" if cell.isdecimal() else re.sub(r"(?<![\d.])0\.(?=\d{3}\b)", ".", cell)


def fill(match: re.Match[str]) -> str:
    """Return a table of a page with the recorded figures in the last cells of its rows."""
    head, name, body = match.groups()
    shown, lines = _SHOWN[name], body.splitlines()
    if len(shown["rows"]) != len(lines):
        sys.exit(
            f"docs/figures/tables.toml: {name} has {len(shown['rows'])} rows, and its table in the page {len(lines)}"
        )
    rendered = ""
    for row, line in zip(shown["rows"], lines, strict=True):
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        cells[-len(shown["columns"]) :] = [find(shown.get("file", name), row, column) for column in shown["columns"]]
        rendered += f"| {' | '.join(cells)} |\n"
    return head + rendered


def render(page: str) -> str:
    """Return the text of a page with the recorded figures."""
    page = _TABLE.sub(fill, page)
    return _CELL.sub(lambda match: match[1] + find_median(match[2], match[3], match[4]) + match[5], page)


def find_median(name: str, row: str, column: str) -> str:
    """Return a cell for a sentence: a median without the least and the greatest value."""
    return find(name, row, column).partition(" (")[0]


def render_readme(page: str) -> str:
    """Return README.md with the recorded figures."""
    for part in _README_PARTS:
        recorded = _NAME.sub(lambda match: find_median(match[1], match[2], match[3]), part)
        page, count = re.subn(r"[\d.,]+".join(map(re.escape, _NAME.split(part)[::4])), recorded, page)
        if count != 1:
            sys.exit(f"README.md has the sentence {count} times that docs/figures/readme.toml names: {part}")
    return page


def main() -> None:
    """Render all pages."""
    for path in [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]:
        page = path.read_text(encoding="utf-8")
        rendered = render_readme(page) if path.parent == DOCS.parent else render(page)
        if rendered != page and "--check" in sys.argv:
            wrong = set(page.splitlines()) - set(rendered.splitlines())
            sys.exit("\n".join([f"{path}: other figures were measured; `python docs/figures.py` shows them:", *wrong]))
        path.write_text(rendered, encoding="utf-8")


if __name__ == "__main__":
    main()
