from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def crawl_demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scrapy", "crawl", "demo", *options],
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


def test_it_gives_the_same_result_again_and_leaves_nothing_behind(output: str) -> None:
    before = set(Path(tempfile.gettempdir()).glob("crawler-dedup-demo-*"))
    assert crawl_demo().stdout == output
    assert set(Path(tempfile.gettempdir()).glob("crawler-dedup-demo-*")) <= before
