"""The completions that a shell offers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from click.shell_completion import ShellComplete

from crawler_dedup.cli import app
from tests.support import processes


def offered(*words: str) -> list[str]:
    """Return what the shell offers for the last of *words*."""
    completion = ShellComplete(app, {}, "crawler-dedup", "_CRAWLER_DEDUP_COMPLETE")
    return [item.value for item in completion.get_completions([*words[:-1]], words[-1])]


def test_commands_options_and_values_are_offered() -> None:
    for words, names in [
        (["d"], ["demo", "drops"]),
        (["index", ""], ["compact", "export", "import", "overrides", "stats", "verify"]),
        (["--ver"], ["--version"]),
        (["drops", "--su"], ["--summary"]),
    ]:
        assert sorted(offered(*words)) == names


def test_commands_are_offered_without_importing_them() -> None:
    program = """
import os, sys
from crawler_dedup.cli import app
os.environ |= {"_CRAWLER_DEDUP_COMPLETE": "bash_complete", "COMP_WORDS": "crawler-dedup ", "COMP_CWORD": "1"}
try:
    app(prog_name="crawler-dedup")
finally:
    print(*sys.modules)
"""
    done = processes.run(["-c", program], fresh=True)
    *commands, modules = done.stdout.splitlines()
    assert "plain,drops" in commands
    assert not {"numpy", "lmdb", "scrapy", "rich", "msgspec"} & set(modules.split())


def test_bash_completes_a_command() -> None:
    script = Path(sys.executable).with_name("crawler-dedup")
    program = f"""
        eval "$(_CRAWLER_DEDUP_COMPLETE=bash_source {script})"
        COMP_WORDS=(crawler-dedup index st) COMP_CWORD=2
        _crawler_dedup_completion {script}
        echo "${{COMPREPLY[@]}}"
    """
    assert subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout == "stats\n"
