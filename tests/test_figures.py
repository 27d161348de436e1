"""The figures in the pages are those that benchmarks have written to docs/figures."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
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


def test_another_figure_in_a_page_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(page.replace("-->509<!--", "-->510<!--"), encoding="utf-8")
    done = check(tmp_path)
    assert done.returncode == 1
    assert "-->510<!--" in done.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_says_how_its_figures_were_measured_and_a_page_shows_them(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    assert all(content[name] for name in ("command", "date", "commit", "machine", "tables"))
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    assert any(f"{file.stem}" in page.read_text(encoding="utf-8") for page in pages)
