"""Names of spiders as names of files."""

from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler_dedup.inspection.journals import Journals
from crawler_dedup.journal.paths import safe_name
from tests.support.commandline import entries_of
from tests.support.crawling import WALK, article, crawl_pages, html

DEVICES = ["CON", "nul", "Aux.txt", "com1", "LPT9.log", "COM¹", "nul .x", "CONIN$"]
OUTSIDE = [*r"../x ..\x /etc/passwd .. . a/../b C:x .hidden -rf a%41 a*".split(), "a\0b", "x\n", "", "\udc80"]


@pytest.mark.parametrize(
    "name", ["walker", "example.com", "news_2024-01", "my spider", "a+b=c@(d)", "новости", "新聞", "हिन्दी", "x" * 120]
)
def test_an_ordinary_name_is_not_changed(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "name", [*OUTSIDE, *DEVICES, "x" * 121, "ü" * 100, "end.", "end ", "u\u0308", "a\u202eb", "a?b#c"]
)
def test_every_other_name_is_changed(name: str) -> None:
    assert safe_name(name) != name


@example("000'" + "\U0001d400" * 25)
@given(st.text() | st.sampled_from(OUTSIDE + DEVICES) | st.text(alphabet="./\\. :\0aA1", max_size=8))
def test_a_safe_name_is_a_single_part_of_a_path_on_every_system(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe.encode()) <= 120
    assert Path("folder", safe).name == safe == PureWindowsPath("folder", safe).name
    assert not safe.startswith((".", "-", " "))
    assert not safe.endswith((".", " "))
    assert not set(safe) & set('<>:"/\\|?*%#\0\n')
    device = safe.partition(".")[0].strip().upper()
    assert device not in {"CON", "PRN", "AUX", "NUL"} | {
        f"{port}{number}" for port in ("COM", "LPT") for number in "123456789¹²³"
    }
    assert safe_name(safe) == safe


@given(st.lists(st.text(alphabet="./\\_:x", max_size=5), unique=True))
def test_different_names_have_different_files(names: list[str]) -> None:
    assert len({safe_name(name) for name in names}) == len(names)


def test_a_spider_with_an_unsafe_name_writes_its_journal_into_its_directory_whose_path_need_not_be_valid_text(
    tmp_path: Path,
) -> None:
    source = WALK.replace("class Spider(Walker):", "class Spider(Walker):\n    name = '../x'")
    pages = {"/first": html(article("one")), "/copy": html(article("one", frame="copy"))}
    crawl = crawl_pages(tmp_path, pages, source, {"DEDUP_JOURNAL": "caf\udce9/%(name)s.jsonl"})
    written = entries_of(tmp_path / "index" / "caf\udce9" / f"{safe_name('../x')}.jsonl")
    assert [(entry.event, entry.spider) for entry in written] == [("started", "../x"), ("drop", "../x")]
    assert written[1].bytes == crawl.counts()["bytes_dropped"] > 0
    assert not list(tmp_path.rglob("x.jsonl"))


def test_the_commands_find_the_journal_of_a_spider_with_an_unsafe_name(tmp_path: Path) -> None:
    file = tmp_path / f"{safe_name('../x')}.jsonl"
    file.touch()
    assert Journals.beside(tmp_path, "%(name)s.jsonl").files == [file]
