from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from crawler_dedup.cli import app
from crawler_dedup.cli.lazy import LazyCommand, LazyGroup
from tests.support.noting import invoke, said

NAMES = """settings compare why drops judge forget report plan evaluate calibrate trace index lexicon""".split()


def test_help_lists_every_command_in_order() -> None:
    lines = [line.split() for line in invoke("--help").stdout.partition("Commands:\n")[2].splitlines()]
    assert [line[0] for line in lines] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_summary_of_a_command_is_the_first_paragraph_of_its_help(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert command.name == name
    assert command.help is not None
    assert " ".join(command.help.split("\n\n")[0].split()) == app.lazy_commands[name].summary


def modules_of(*arguments: str) -> set[str]:
    """Call ``crawler-dedup`` in a process of its own; return what is imported at its end."""
    code = f"""import sys
from crawler_dedup.cli import app
try:
    app({arguments!r})
finally:
    print(*sys.modules, sep="\\n")"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, timeout=60)
    return set(done.stdout.splitlines())


@pytest.mark.parametrize("arguments", [("--help",), ("settings",), ("drops", "--help")], ids=" ".join)
def test_what_needs_no_index_loads_none_of_the_large_packages(arguments: tuple[str, ...]) -> None:
    loaded = modules_of(*arguments)
    assert "crawler_dedup.cli" in loaded
    assert not loaded & {"numpy", "lmdb", "lxml", "scrapy", "matplotlib", "trafilatura"}


def test_help_imports_no_command() -> None:
    own = {module for module in modules_of("--help") if module.startswith("crawler_dedup.cli.")}
    assert own == {"crawler_dedup.cli.lazy", "crawler_dedup.cli.terminal"}


def test_a_name_that_is_no_command_is_answered_with_the_nearest_one() -> None:
    assert "No such command 'drop'. Did you mean 'drops'?" in said(invoke("drop", status=2))


def test_a_command_without_memory_ends_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "greedy.py").write_text(
        "import click\n@click.command\ndef greedy():\n    raise MemoryError\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)

    greedy = LazyCommand("greedy:greedy", "Take all memory.")
    result = CliRunner().invoke(LazyGroup("group", lazy_commands={"greedy": greedy}), ["greedy"])
    assert (result.exit_code, result.stderr) == (2, "Error: There is not enough memory for this.\n")
