"""The figures in the pages are those that benchmarks have written to docs/figures."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.processes import ROOT

FILES = sorted((ROOT / "docs" / "figures").glob("*.json"))


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "docs" / "figures.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_pages_show_the_figures_that_were_measured() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("shown", "changed"), [("-->509<!--", "-->510<!--"), ("| 509 |", "| 510 |")])
def test_another_figure_in_a_page_is_noticed(shown: str, changed: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    pages = [page for page in tmp_path.rglob("*.md") if shown in page.read_text(encoding="utf-8")]
    assert pages
    for page in pages:
        page.write_text(page.read_text(encoding="utf-8").replace(shown, changed), encoding="utf-8")
    done = check(tmp_path)
    assert done.returncode == 1
    assert changed in done.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_says_how_its_figures_were_measured(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    assert all(content[name] for name in ("command", "date", "commit", "machine", "tables"))


def test_the_pages_show_every_table_and_every_file() -> None:
    tables = tomllib.loads((ROOT / "docs" / "figures" / "tables.toml").read_text(encoding="utf-8"))
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))]
    shown = [name for page in pages for name in re.findall(r"<!-- table (\S+) -->\n+\|", page)]
    assert sorted(shown) == sorted(tables)
    cells = {name for page in pages for name in re.findall(r"<!-- (\S+): ", page)}
    assert {file.stem for file in FILES} == cells | {table.get("file", name) for name, table in tables.items()}
