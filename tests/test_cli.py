from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from crawler_dedup.cli import app
from crawler_dedup.config import settings_reference
from tests.crawling import article

runner = CliRunner()


LIST = "<ul>" + "".join(f'<li><a href="/{number}">story {number}</a>' for number in range(9)) + "</ul>"


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_settings_are_printed_as_documented() -> None:
    assert runner.invoke(app, ["settings"]).output == settings_reference()


@pytest.mark.parametrize(
    ("other", "status", "line"),
    [
        (article("x", frame="another template"), 0, "duplicate: alike"),
        (article("y"), 1, "different: signatures far apart"),
        (LIST, 1, "different: other kinds of page"),
    ],
)
def test_two_files_are_compared_by_the_rules_of_the_crawl(tmp_path: Path, other: str, status: int, line: str) -> None:
    paths = [write(tmp_path, "new.html", other), write(tmp_path, "kept.html", article("x"))]
    result = runner.invoke(app, ["compare", *paths, "--set", "DEDUP_TOKENIZER=bigrams"])
    assert result.exit_code == status
    assert result.output.splitlines()[-1] == line


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["absent.html", "absent.html"], "does not exist"),
        (["deep.html", "deep.html"], "nested too deep"),
        (["short.html", "short.html"], "too little text"),
        (["deep.html", "deep.html", "--set", "DEDUP_TOKENIZER=none"], "DEDUP_TOKENIZER"),
        (["deep.html", "deep.html", "--set", "DEDUP_MAX_DISTANCE=9"], "DEDUP_MAX_DISTANCE"),
    ],
)
def test_a_wrong_call_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "deep.html", "<div>" * 1000)
    write(tmp_path, "short.html", "<p>short</p>")
    result = runner.invoke(app, ["compare", *arguments])
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.replace("│", " ").split())
