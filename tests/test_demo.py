from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


# A clock that runs a hundred times as fast is a machine that is a hundred times as slow.
SLOW_MACHINE = """
import sys, time
monotonic = time.monotonic
began = monotonic()
time.monotonic = lambda: began + 100 * (monotonic() - began)
from scrapy.cmdline import execute
execute(["scrapy", *sys.argv[1:]])
"""


def crawl_demo(*options: str, slow: bool = False) -> subprocess.CompletedProcess[str]:
    scrapy = ["-c", SLOW_MACHINE] if slow else ["-m", "scrapy"]
    return subprocess.run(
        [sys.executable, *scrapy, "crawl", "demo", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def output() -> str:
    return crawl_demo().stdout


@pytest.mark.parametrize(
    "row",
    [
        "newspaper/zh/gbk/tea-house.html │ newspaper/zh/tea-house.html │ 0",
        "newspaper/articles/lighthouse.html?sid=1 │ newspaper/articles/lighthouse.html │ 0",
        "newspaper/print/lighthouse.html │ newspaper/articles/lighthouse.html │ 5",
        "newspaper/print/sourdough.html │ newspaper/articles/sourdough.html │ 2",
        "newspaper/articles/sourdough.html?utm_source= │ newspaper/articles/sourdough.html │ 0",
        "newspaper/print/night-train.html │ newspaper/articles/night-train.html │ 4",
        "newspaper/print/urban-bees.html │ newspaper/articles/urban-bees.html │ 2",
        "newspaper/print/tide-mill.html │ newspaper/articles/tide-mill.html │ 4",
        "newspaper/print/letterpress.html │ newspaper/articles/letterpress.html │ 3",
        "mirror/read/lighthouse │ newspaper/articles/lighthouse.html │ 1",
        "mirror/read/sourdough │ newspaper/articles/sourdough.html │ 0",
        "mirror/read/night-train │ newspaper/articles/night-train.html │ 2",
        "mirror/read/urban-bees │ newspaper/articles/urban-bees.html │ 1",
    ],
)
def test_every_copy_is_dropped_for_the_page_it_copies(output: str, row: str) -> None:
    assert row in re.sub(r" +", " ", output)


@pytest.mark.parametrize(
    "row",
    [
        "pages fetched and checked │ 37",
        "kept │ 16",
        "dropped as near-duplicates │ 13",
        "seen again, changed: passed │ 1",
        "seen again, unchanged: passed │ 1",
        "too little text to judge: passed │ 6",
        "links on dropped pages, not followed from there │ 26",
    ],
)
def test_nothing_else_is_dropped(output: str, row: str) -> None:
    assert row in re.sub(r" +", " ", output)


def test_it_gives_the_same_result_however_slow_the_machine_is_and_leaves_nothing_behind(output: str) -> None:
    before = set(Path(tempfile.gettempdir()).glob("crawler-dedup-demo-*"))
    again = crawl_demo(slow=True)
    assert again.stdout == output
    assert "Traceback" not in again.stderr
    assert " WARNING: " not in again.stderr
    assert set(Path(tempfile.gettempdir()).glob("crawler-dedup-demo-*")) <= before


def test_pages_for_which_there_was_no_time_are_told_apart_from_those_with_too_little_text() -> None:
    crawl = crawl_demo("-s", "DEDUP_TIMEOUT=1", slow=True)
    rows = dict(re.findall(r"^│ (.+?) +│ (\d+) +│$", crawl.stdout, re.MULTILINE))
    counts = {name: int(count) for name, count in rows.items()}
    late = counts["no decision in time: passed"]
    assert late > 0
    assert counts["too little text to judge: passed"] <= 6
    passed_or_dropped = list(counts.values())[1:-2]
    assert sum(passed_or_dropped) == counts["pages fetched and checked"]
    assert "TimeoutError: no answer within DEDUP_TIMEOUT" in crawl.stderr
    assert "Traceback" not in crawl.stderr
