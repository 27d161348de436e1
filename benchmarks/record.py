"""Run benchmarks again, and write the tables that they print to ``docs/figures``: ``python -m benchmarks.record NAME…``.

``python -m benchmarks.record NAME -- MODULE ARGUMENT…`` writes NAME.json for another command. A variable such as
``$CRAWLER_DEDUP_DATA`` stays in the file by its name. ``python docs/figures.py`` puts the figures into the pages.
"""

from __future__ import annotations

import json
import os
import platform
import runpy
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

from rich.console import Console
from rich.table import Table
from rich.text import Text

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"


def run(command: Sequence[str]) -> list[dict[str, Any]]:
    """Run a module with its arguments, and return the tables that it prints."""
    tables: list[dict[str, Any]] = []
    print_unrecorded = Console.print

    def print_recorded(console: Console, *objects: Any, **options: Any) -> None:
        tables.extend(_content(printed) for printed in objects if isinstance(printed, Table))
        print_unrecorded(console, *objects, **options)

    arguments = [os.path.expandvars(word) for word in command]
    with mock.patch.object(Console, "print", print_recorded), mock.patch.object(sys, "argv", arguments):
        try:
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        except SystemExit as end:
            if end.code:
                raise
    return tables


def _content(table: Table) -> dict[str, Any]:
    return {
        "title": str(table.title or ""),
        "columns": [" ".join(str(column.header).split()) for column in table.columns],
        "rows": [
            [Text.from_markup(str(cell)).plain.strip() for cell in row]
            for row in zip(*(column.cells for column in table.columns), strict=True)
        ],
    }


def record(name: str, command: Sequence[str]) -> None:
    """Run *command* and write its tables, with what they depend on."""
    load = os.getloadavg()[0]
    tables = run(command)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    content = {
        "command": shlex.join(command),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "load": f"{load:.1f}, then {os.getloadavg()[0]:.1f}",
        "tables": tables,
    }
    (FIGURES / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Record one command, or again those that are named."""
    if "--" in sys.argv:
        _, name, _, *command = sys.argv
        record(name, command)
        return
    for name in sys.argv[1:]:
        command = shlex.split(json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8"))["command"])
        subprocess.run([sys.executable, "-m", "benchmarks.record", name, "--", *command], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
