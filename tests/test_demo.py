"""The demo, whose output is what users see first."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup.cli.crawl import OUTCOMES, print_summary
from tests.support.commandline import command, environment

ROOT = Path(__file__).parents[1]


# A clock that runs a hundred times as fast simulates a machine that is a hundred times as slow.
SLOW_MACHINE = """
import sys, time
monotonic = time.monotonic
began = monotonic()
time.monotonic = lambda: began + 100 * (monotonic() - began)
from scrapy.cmdline import execute
execute(["scrapy", *sys.argv[1:]])
"""


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory for temporary files, in which the demo leaves its index."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture(scope="module")
def output(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what ``crawler-dedup demo`` prints in an empty directory, 80 columns wide."""
    empty = tmp_path_factory.mktemp("empty")
    done = command(empty, "demo", fresh=True, TMPDIR=str(temporary), COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(empty.iterdir()) == []
    return done.stdout


def crawl_slowly(temporary: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run ``scrapy crawl demo`` in the checkout as on a slow machine."""
    return subprocess.run(
        [sys.executable, "-c", SLOW_MACHINE, "crawl", "demo", *options],
        cwd=ROOT,
        env=environment(TMPDIR=str(temporary), COLUMNS="80"),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


def without_paths(output: str) -> str:
    """Return *output* without the paths of the command and of its index."""
    return re.sub(r"\S*(crawler-dedup (?:report|crawl) )(/\S+)?", r"\1", output)


def test_copies_and_excerpts_are_dropped_but_no_page_with_another_or_an_edited_line(output: str) -> None:
    assert "37 pages: 11 dropped; 26 passed: 22 kept, 2 seen twice, 2 too short to judge.\n" in output
    table = output.split("dropped because of it")[1].split("\n\n", maxsplit=1)[0].splitlines()[1:]
    assert {" ".join(line.split()) for line in table} == {
        "/lighthouse /lighthouse?s=1 /print/lighthouse mirror/lighthouse",
        "/sourdough /print/sourdough /sourdough?ref=top mirror/sourdough",
        "/night-train /print/night-train",
        "/urban-bees /print/urban-bees",
        "/tide-mill /print/tide-mill",
        "/letterpress /print/letterpress",
        "/zh/tea-house /gbk/tea-house",
    }


def test_an_edited_copy_that_is_kept_is_shown_beside_the_original_with_the_different_words_marked(output: str) -> None:
    lines = [re.split(" *│ ?", line) for line in output.splitlines() if "│" in line]
    sign, edited, kept = (" ".join(filter(None, map(str.strip, column))) for column in zip(*lines, strict=True))
    assert sign == "≠"
    assert edited.startswith("kept, a fact differs: mirror/night-train … 1 equal line … The railway")
    assert "It filled {+300+}." in edited
    assert kept.startswith("kept: /night-train … 1 equal line … The railway")
    assert "It filled [-two hundred-]." in kept


def test_the_output_fits_80_columns_except_the_commands(output: str) -> None:
    shown, _, commands = output.rpartition("\n\n")
    assert max(map(len, shown.splitlines())) <= 80
    assert len(commands.splitlines()) == 2


def test_the_command_for_the_report_can_be_pasted(output: str, temporary: Path, tmp_path: Path) -> None:
    (line,) = re.findall("^Report for the browser:  (.*)$", output, re.MULTILINE)
    program, *arguments = shlex.split(line)
    assert Path(program).name == "crawler-dedup"
    assert Path(program).exists() or program == "crawler-dedup"
    assert arguments == ["report", *map(str, temporary.glob("crawler-dedup-demo-*"))]
    assert command(tmp_path, *arguments).returncode == 0
    assert "/lighthouse" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_recommended_command_names_the_extra_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    figures: dict[str, Any] = {
        **dict.fromkeys((*OUTCOMES, "items", "failed_feeds"), 1),
        "feeds": [],
        "index": str(tmp_path),
    }
    print_summary(figures, is_usual_index=True)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if " report " in line]
    assert line.startswith('Report for the browser (needs pip install "crawler-dedup[report]"):  ')


def test_the_index_of_the_demo_explains_each_drop_with_its_text(output: str, temporary: Path, tmp_path: Path) -> None:
    (index,) = temporary.glob("crawler-dedup-demo-*")
    listed = command(tmp_path, "drops", index).stdout
    (url,) = re.findall(r"\tdrop\t(http://[^/]+/lighthouse)\t", listed)
    assert "Today a diode" in command(tmp_path, "why", url, index).stdout


def test_the_checkout_has_the_same_demo_however_slow_the_machine_is(output: str, tmp_path: Path) -> None:
    second = crawl_slowly(tmp_path)
    assert without_paths(second.stdout) == without_paths(output)
    assert "Traceback" not in second.stderr
    assert " WARNING: " not in second.stderr
