from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from crawler_dedup.cli import Application, LazyCommand, app
from tests.support import processes
from tests.support.commandline import invoke, printed_text


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
