from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from crawler_dedup.cli import Application, LazyCommand, app
from tests.support.commandline import invoke, printed_text

SECTIONS = {
    "Try:": ["demo", "crawl", "settings"],
    "Look:": ["drops", "why", "compare", "groups", "report"],
    "Correct:": ["review", "forget", "restore", "keep", "separate"],
    "Measure:": ["judge", "evaluate", "replay"],
    "Operate:": ["index", "batch", "lexicon", "works"],
}


def test_help_lists_every_command_by_what_people_do() -> None:
    sections: dict[str, list[str]] = {}
    for block in invoke("--help").stdout.split("\n\n")[-len(SECTIONS) :]:
        heading, *lines = block.splitlines()
        sections[heading] = [line.split()[0] for line in lines]
    assert sections == SECTIONS
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(app.commands)


def lazy_commands(group: click.Group) -> Iterator[LazyCommand]:
    """Yield every command of *group* and of the groups in it."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from lazy_commands(command)
        else:
            assert isinstance(command, LazyCommand)
            yield command


def test_the_summary_of_a_command_is_the_first_paragraph_of_its_help() -> None:
    for command in lazy_commands(app):
        loaded = command.load()
        assert loaded.help is not None
        assert (loaded.name, " ".join(loaded.help.split("\n\n")[0].split())) == (command.name, command.short_help)


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


def test_commands_that_need_no_index_load_no_large_package_and_help_loads_no_command() -> None:
    for arguments in [("--help",), ("settings",), ("drops", "--help"), ("crawl", "--help")]:
        loaded = modules_of(*arguments)
        assert "crawler_dedup.cli" in loaded
        assert not loaded & {"numpy", "lmdb", "lxml", "scrapy", "matplotlib", "trafilatura"}
        commands = {module for module in loaded if module.startswith("crawler_dedup.cli.")}
        assert (commands == {"crawler_dedup.cli.terminal"}) == (arguments == ("--help",))


def test_an_unknown_command_is_answered_with_the_nearest_name() -> None:
    assert "No such command 'forge'. Did you mean 'forget'?" in printed_text(invoke("forge", status=2))


def test_a_command_that_fails_ends_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, statement, status, printed in [
        ("memory", "raise MemoryError", 2, "Error: There is not enough memory for this.\n"),
        ("refusal", "raise DedupError('Not so.')", 2, "Error: Not so.\n"),
        ("file", "open('absent')", 2, "Error: absent: No such file or directory.\n"),
        ("interrupt", "raise KeyboardInterrupt", 130, "\nInterrupted.\n"),
        ("pipe", "raise BrokenPipeError", 0, ""),
    ]:
        program = (
            f"import click\nfrom crawler_dedup import DedupError\n@click.command\ndef command():\n    {statement}\n"
        )
        (tmp_path / f"failing_{name}.py").write_text(program, encoding="utf-8")
        group = Application("group", sections={"Try": [LazyCommand("fail", f"failing_{name}:command", "Fail.")]})
        result = CliRunner().invoke(group, ["fail"])
        assert (result.exit_code, result.stdout, result.stderr) == (status, "", printed)
