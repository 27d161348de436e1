"""The commands: what is loaded and offered, and what the help of each says."""

import os
import re
import shlex
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from crawler_dedup.cli import Application, LazyCommand, app
from tests.support import processes
from tests.support.commandline import invoke, printed_text

# What examples read.
FOLDERS = "novels suspects labelled pages signed decisions .scrapy/dedup".split()
FILES = ("article.html book.epub poem.txt new.html kept.html pages.dedup urls.txt crawl.warc.gz corpus.parquet").split()


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], LazyCommand]]:
    """Yield every command that is no group, with the words by which it is called."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            assert isinstance(command, LazyCommand)
            yield (*path, name), command


LAZY = dict(commands(app))
ALL = {path: command.load() for path, command in LAZY.items()}
GROUPS = (("index",), ("batch",), ("lexicon",), ("works",))


def examples(command: click.Command) -> list[str]:
    """Return the lines of the help under "Examples:"."""
    _, _, block = cleandoc(command.help or "").partition("\n\b\nExample")
    lines = block.split("\n\n")[0].splitlines()
    assert lines[0] in (":", "s:")
    assert lines[1:]
    return [line.strip() for line in lines[1:]]


def test_every_example_is_a_valid_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in FOLDERS:
        (tmp_path / name).mkdir(parents=True)
    for name in FILES:
        (tmp_path / name).touch()
    for path, command in ALL.items():
        called = set()
        for example in examples(command):
            words = shlex.split(example, comments=True)
            call = words[: min(words.index(sign) if sign in words else len(words) for sign in ("|", ">", ">>", "&&"))]
            assert call.pop(0) == "crawler-dedup"
            called_path = (call[0],) if (call[0],) in ALL else (call[0], call[1])
            ALL[called_path].make_context(called_path[-1], call[len(called_path) :])
            called.add(called_path)
        assert path in called


def test_the_help_is_readable_in_80_columns() -> None:
    for path in ((), *GROUPS, *ALL):
        lines = invoke(*path, "--help").stdout.splitlines()
        assert max(map(len, lines)) <= 80, path


def test_every_argument_is_explained_and_every_option_has_a_sentence() -> None:
    for path, command in ALL.items():
        text = cleandoc(command.help or "").partition("\n\b\n")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, path
                assert re.match(r"[A-Z].*[.)\]]$", parameter.help.partition("  [default")[0]), parameter.help
            else:
                name = (parameter.metavar or parameter.name or "").strip("[].").upper()
                assert re.search(rf"\b{name}\b", text), path


SECTIONS = {
    "Try:": ["demo", "crawl", "settings"],
    "Look:": ["drops", "why", "compare", "groups", "report"],
    "Correct:": ["review", "forget", "restore", "keep", "separate"],
    "Measure:": ["judge", "evaluate"],
    "Operate:": ["index", "batch", "lexicon", "works"],
}


def test_help_lists_every_command_by_what_people_do() -> None:
    sections: dict[str, list[str]] = {}
    for block in invoke("--help").stdout.split("\n\n")[-len(SECTIONS) :]:
        heading, *lines = block.splitlines()
        sections[heading] = [line.split()[0] for line in lines]
    assert sections == SECTIONS
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(app.commands)


def test_the_summary_of_a_command_is_the_first_paragraph_of_its_help() -> None:
    for path, command in LAZY.items():
        loaded = ALL[path]
        assert loaded.help is not None
        assert (loaded.name, " ".join(loaded.help.split("\n\n")[0].split())) == (command.name, command.short_help)


# What is loaded and offered


def printed_lines(*arguments: str, **variables: str) -> set[str]:
    """Call ``crawler-dedup`` in a process of its own; return the printed lines, and each module imported at its end."""
    code = f"""import sys
from crawler_dedup.cli import app
try:
    app({arguments!r}, prog_name="crawler-dedup")
finally:
    print(*sys.modules, sep="\\n")"""
    return set(processes.run(["-c", code], env={**os.environ, **variables}, fresh=True).stdout.splitlines())


def test_commands_that_need_no_index_load_no_large_package_and_help_loads_no_command() -> None:
    for arguments in [("--help",), ("settings",), ("drops", "--help"), ("crawl", "--help")]:
        loaded = printed_lines(*arguments)
        assert "crawler_dedup.cli" in loaded
        assert not loaded & {"numpy", "lmdb", "lxml", "scrapy", "matplotlib", "trafilatura"}
        commands = {module for module in loaded if module.startswith("crawler_dedup.cli.")}
        assert (commands == {"crawler_dedup.cli.terminal"}) == (arguments == ("--help",))


def test_a_shell_is_offered_commands_options_and_values() -> None:
    for words, names in [
        (["d"], ["demo", "drops"]),
        (["index", ""], ["compact", "export", "import", "overrides", "stats", "verify"]),
        (["--ver"], ["--version"]),
        (["drops", "--su"], ["--summary"]),
    ]:
        completion = ShellComplete(app, {}, "crawler-dedup", "_CRAWLER_DEDUP_COMPLETE")
        assert sorted(item.value for item in completion.get_completions(words[:-1], words[-1])) == names


def test_a_shell_is_offered_commands_without_importing_them() -> None:
    asked = {"_CRAWLER_DEDUP_COMPLETE": "bash_complete", "COMP_WORDS": "crawler-dedup ", "COMP_CWORD": "1"}
    printed = printed_lines(**asked)
    assert "plain,drops" in printed
    assert not printed & {"numpy", "lmdb", "scrapy", "rich", "msgspec"}


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
