"""Which index a command uses, and its message if there is none."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from crawler_dedup import Deduplicator
from tests.support.commandline import command, invoke, printed_text
from tests.support.crawling import article
from tests.support.indexcommands import CONFIG, cli, verify_says_that_it_is_damaged


def test_every_command_uses_the_index_of_its_project(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n")
    (tmp_path / "project_settings.py").write_text("DEDUP_DIR = 'my-index'\nDEDUP_TOKENIZER = 'bigrams'\n")
    with Deduplicator.open(tmp_path / ".scrapy" / "my-index", CONFIG) as deduplicator:
        deduplicator.check("http://a.org/1", article("x").encode())
    for words, output in (
        (("stats",), "bytes per page"),
        (("verify",), "The index is sound."),
        (("compact",), "and takes "),
        (("export", "file"), "1 page written to file"),
        (("import", "file"), "1 page read, 0 of them new."),
    ):
        done = command(tmp_path, "index", *words)
        assert (done.returncode, done.stderr) == (0, "")
        assert output in done.stdout


@pytest.mark.parametrize("words", [("stats",), ("verify",), ("compact",), ("export", "file")], ids=" ".join)
def test_without_a_project_the_index_must_be_given(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = command(tmp_path, "index", *words)
    assert done.stdout == ""
    assert done.stderr == "Error: There is no Scrapy project here: give the directory of the index.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[list[list[object]]]:
    yield [
        ["index", "stats"],
        ["index", "verify"],
        ["index", "compact"],
        ["forget", "--host", "a.org"],
        ["why", "http://a.org/"],
        ["index", "export", tmp_path / "file"],
    ]
    assert not (tmp_path / "file").exists()


def test_an_index_is_not_created_where_there_is_none(tmp_path: Path, calls: list[list[object]]) -> None:
    missing, folder = tmp_path / "none", tmp_path / "folder"
    folder.mkdir()
    for call, place in itertools.product(calls, (missing, folder)):
        assert f"There is no index in {place}." in printed_text(invoke(*call, place, status=2))
        assert [*tmp_path.rglob("*")] == [folder]


def test_an_environment_without_a_header_is_not_an_index(tmp_path: Path, calls: list[list[object]]) -> None:
    lmdb.open(str(tmp_path / "other"), max_dbs=8).close()
    for call in calls:
        assert "There is no index in" in printed_text(invoke(*call, tmp_path / "other", status=2))


def test_a_file_that_is_not_an_index_is_reported_in_a_sentence(pages: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(pages, tmp_path / "other")
    (broken / "data.mdb").write_bytes(os.urandom(50_000))
    assert str(broken) in printed_text(cli("stats", broken, status=2))
    verify_says_that_it_is_damaged(broken)
