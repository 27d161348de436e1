"""What the help of each command says: a summary, examples that can be run, and no line that is too long."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
import pytest

from crawler_dedup.cli import LazyCommand, app
from tests.support.commandline import invoke

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
