"""The figures in the pages are those that benchmarks have written to docs/figures; their pictures are up to date."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.processes import ROOT
from tests.support.versions import HAS_TODAYS_TABLES

FILES = sorted((ROOT / "docs" / "figures").glob("*.json"))


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "docs" / "figures.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_pages_show_the_figures_that_were_measured() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        ("docs/explanation/measured.md", r"(kB a page -->)\d", r"\g<1>99"),
        ("docs/explanation/measured.md", r"(\| all pairs \| )\d", r"\g<1>99"),
        ("README.md", r"(0 of )\d", r"\g<1>99"),
        ("README.md", "if a page causes", "if it causes"),
    ],
    ids=["in a sentence", "in a table", "in the README", "the sentence itself"],
)
def test_another_figure_or_sentence_in_a_page_is_noticed(page: str, old: str, new: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    changed, count = re.subn(old, new, (tmp_path / page).read_text(encoding="utf-8"), count=1)
    assert count == 1
    (tmp_path / page).write_text(changed, encoding="utf-8")
    done = check(tmp_path)
    assert done.returncode == 1
    assert (old if new == "if it causes" else page) in done.stderr


def test_a_file_says_how_its_figures_were_measured() -> None:
    for file in FILES:
        content = json.loads(file.read_text(encoding="utf-8"))
        assert all(content[name] for name in ("command", "date", "commit", "machine", "tables"))


def test_the_pages_show_every_table_and_every_file() -> None:
    tables = tomllib.loads((ROOT / "docs" / "figures" / "tables.toml").read_text(encoding="utf-8"))
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"))]
    shown = [name for page in pages for name in re.findall(r"<!-- table (\S+) -->\n+\|", page)]
    assert sorted(shown) == sorted(tables)
    cells = {name for page in pages for name in re.findall(r"<!-- (\S+): ", page)}
    assert {file.stem for file in FILES} == cells | {table.get("file", name) for name, table in tables.items()}


MARKED = re.compile(r"<!-- \S+: [^>]+ -->.*?<!-- -->|<!-- table \S+ -->\n+(?:\|.*\n)+")
CODE = re.compile(r"^( *)```.*?^\1```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"\d\S* (?:ms|µs|kB|MB|s of processor time|pages/s|pages a second)\b")
CELL = re.compile(r"(?<=\| )\d?[\d,]*\.?\d+(?: (?:%|ms|µs|s|kB|MB|bytes))?(?: / [\d.]+)?(?= \|)")


def find_unmarked(text: str) -> list[str]:
    """Return what looks like a measured number in a page, outside of markers."""
    text = CODE.sub("", MARKED.sub("", text))
    cells = (cell for line in text.splitlines() if line.startswith("| ") for cell in CELL.findall(line[1:]))
    return [*MEASURED.findall(text), *cells]


def test_no_marker_begins_a_line_which_would_end_the_paragraph() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        assert re.findall(r"^<!-- \S+: .*", page.read_text(encoding="utf-8"), re.MULTILINE) == [], page


@pytest.mark.parametrize("folder", ["explanation", "how-to", "tutorial"])
def test_measured_numbers_have_markers(folder: str) -> None:
    dated = {"decisions.md"}  # which says that its figures are those of the day of the decision
    pages = {page: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / folder).glob("*.md")}
    assert {page.name: found for page, text in pages.items() if (found := find_unmarked(text))}.keys() <= dated


# The pictures of a terminal

PICTURES = sorted(ROOT.glob("docs/*.svg"))


@pytest.mark.skipif(not HAS_TODAYS_TABLES, reason="Rich before 14.3 gives columns other widths")
def test_the_picture_of_the_demo_is_up_to_date() -> None:
    program = [sys.executable, str(ROOT / "docs/pictures.py"), "--check", "demo"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_picture_loads_nothing_from_elsewhere() -> None:
    for picture in PICTURES:
        svg = picture.read_text(encoding="utf-8")
        assert re.findall(r"(?:[\"']|url\()(https?://[^\s\"')<]+)", svg) == ["http://www.w3.org/2000/svg"]
        assert "<script" not in svg


def test_every_picture_is_made_by_the_program() -> None:
    source = (ROOT / "docs/pictures.py").read_text(encoding="utf-8")
    assert PICTURES
    for picture in PICTURES:
        assert f'"{picture.stem}":' in source
