"""Where output goes: closed pipes, files, terminals with and without colours, and encodings."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler_dedup import Config, Deduplicator
from tests.support import processes
from tests.support.commandline import FIRST, SECOND, check_pages, entries_of, in_terminal, invoke, write
from tests.support.crawling import article
from tests.support.droppedpages import HOSTILE
from tests.support.labelled import write_set

VARIABLES = ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM")
SCOPE = "http://a.org/" + "long/" * 60 + "茶馆"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of one page, in a scope with a long name."""
    directory = tmp_path_factory.mktemp("index")
    with Deduplicator.open(directory, Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check("http://a.org/1", article("x").encode(), scope=SCOPE)
    return directory


def environment(**variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return {**kept, "PYTHONUTF8": "1", **variables}


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    words = ["-m", "crawler_dedup", *map(str, arguments)]
    done = processes.run(words, env=environment(**variables))
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("call", ["--help", "settings", "index stats INDEX --json", "index stats INDEX"])
def test_a_closed_pipe_is_no_error(index: Path, call: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [str(index) if word == "INDEX" else word for word in call.split()]
    done = processes.run(["-m", "crawler_dedup", *words], env=environment(), stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_is_reported_in_a_sentence(index: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = processes.run(
            ["-m", "crawler_dedup", "index", "stats", str(index)], env=environment(), stdout=full.fileno()
        )
    assert (done.returncode, done.stderr) == (2, "Error: No space left on device.\n")


def test_output_to_a_file_is_neither_shortened_nor_coloured(index: Path) -> None:
    output = run("index", "stats", index).stdout
    assert f"scope {SCOPE}" in output
    assert "\x1b" not in output


def test_colours_are_forced_and_switched_off_by_the_usual_variables(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(article("x"), encoding="utf-8")
    call = "compare", *[tmp_path / "page.html"] * 2, "-s", "DEDUP_TOKENIZER=bigrams"
    assert "\x1b" not in run(*call).stdout
    assert "\x1b[" in run(*call, FORCE_COLOR="1").stdout
    colours = re.findall(r"\x1b\[[0-9;]*m", run(*call, FORCE_COLOR="1", NO_COLOR="1").stdout)
    assert not [code for code in colours if re.search(r"[;\[](3|4)\d", code)]


def test_a_table_is_not_wider_than_the_terminal(index: Path) -> None:
    for columns in [60, 100]:
        for output in (
            run("index", "stats", index, COLUMNS=str(columns)).stdout,
            in_terminal(columns, "index", "stats", index),
        ):
            lines = output.splitlines()
            assert max(map(len, lines)) <= columns
            shown = "".join(line.split("│")[1].strip() for line in lines if line.startswith("│"))
            assert SCOPE.replace("茶馆", "") in shown, "It is folded, not cut."


def test_a_character_that_a_terminal_cannot_show_is_a_question_mark_and_json_is_always_utf_8(index: Path) -> None:
    latin = environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    calls = "for options in ([], ['--json']): app(['index', 'stats', sys.argv[1], *options], standalone_mode=False)"
    code = f"import sys\nfrom crawler_dedup.cli import app\n{calls}"
    done = processes.run(["-c", code, str(index)], env=latin)
    assert (done.returncode, done.stderr) == (0, "")
    *table, _, scope, _ = done.stdout.splitlines()
    assert "long/??" in "".join(table)
    assert json.loads(scope)["scope"] == SCOPE


def test_what_pages_say_does_not_control_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = article(1).replace("<nav>", f"<nav>{HOSTILE}")
    for tag in ("title", "h1", "p"):
        source = source.replace(f"<{tag}>", f"<{tag}>{HOSTILE} ")
    url = f"http://a.org/{HOSTILE}"
    check_pages(tmp_path / "index", {f"{url}kept": source, f"{url}copy": f"{source} "})
    (entry,) = entries_of(tmp_path / "index" / FIRST)
    said = dict.fromkeys(("duplicate_of", "title", "scope", "spider", "rule", "run", "time"), HOSTILE)
    write(tmp_path / "index" / SECOND, [replace(entry, url=url, **said)])
    write_set(tmp_path, {"a": source, "b": article("x")}, [{"id_a": "a", "id_b": "b", "label": 1}])
    for call, status in [
        *((["why", address, "index"], 0) for address in (url, f"{url}kept", f"{url}copy", f"{url}kept/")),
        *((["drops", "index", *options], 0) for options in ([], ["--explain"], ["--summary"])),
        (["why", f"{url}unknown", "index"], 1),
        (["judge", "index"], 0),
        (["groups", "index"], 0),
        (["index", "stats", "index"], 0),
        (["compare", "html/a.html", "html/b.html", "--new-url", url], 1),
        (["evaluate", ".", "--errors", "1", "--jobs", "1"], 0),
        (["restore", url, "--index", "index"], 0),
        (["why", url, "index"], 0),  # which was restored
    ]:
        settings = [] if call[0] in ("drops", "groups", "index", "restore") else ["-s", "DEDUP_TOKENIZER=bigrams"]
        output = invoke(*call, *settings, status=status, typed="n\n" * 7).output
        assert all(character.isprintable() or character in "\n\t" for character in output)
        assert "owned" in output or call == ["index", "stats", "index"]
    for printed in (invoke("drops", "index", "--json").output, in_terminal(100, "drops", tmp_path / "index")):
        assert not {"\x1b", "\x07"} & {*printed}
