"""A forked program has the environment of a fresh process; otherwise tests with it would prove nothing."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import processes

pytestmark = pytest.mark.skipif(not processes.FORKS, reason="no program is forked here")

SURROUNDINGS = """
import asyncio, json, logging, os, random, signal, sys, threading, warnings

with open("found.json", "w") as file:
    json.dump({
        "name": __name__,
        "main": sys.modules["__main__"].__dict__ is globals(),
        "argv": sys.argv,
        "orig_argv": sys.orig_argv,
        "path": sys.path,
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "files": sorted(map(int, os.listdir("/proc/self/fd"))),
        "streams": [
            [stream.name, stream.encoding, stream.errors, stream.line_buffering, stream.isatty(), stream.seekable()]
            for stream in (sys.stdin, sys.stdout, sys.stderr)
        ],
        "signals": {number: str(signal.getsignal(number)) for number in (2, 13, 15, 17)},
        "threads": threading.active_count(),
        "leads a session": os.getsid(0) == os.getpid(),
        "log": [len(logging.root.handlers), logging.root.level],
        "reactor": "twisted.internet.reactor" in sys.modules,
        "writes bytecode": not sys.dont_write_bytecode,
        "umask": os.umask(0),
        "flags": [sys.flags.optimize, sys.flags.dev_mode, sys.flags.utf8_mode, sys.flags.hash_randomization],
        "options for warnings": sys.warnoptions,
        "filters of warnings": list(map(str, warnings.filters)),
    }, file)
"""
CODE = ["-c", SURROUNDINGS]


@pytest.mark.parametrize(
    ("arguments", "new_session", "variables"),
    [
        (["-m", "surroundings"], False, {"PYTHONPATH": f"{processes.ROOT}:elsewhere", "ONE": "more"}),
        (["surroundings.py"], True, {"PYTHONPATH": str(processes.ROOT)}),
        *((CODE, False, {name: "1"}) for name in ("PYTHONOPTIMIZE", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")),
        (CODE, False, {"PYTHONUTF8": "0"}),
    ],
)
def test_a_forked_program_sees_what_a_fresh_one_sees(
    tmp_path: Path, arguments: Sequence[str], new_session: bool, variables: Mapping[str, str]
) -> None:
    fresh, forked = (
        surroundings(tmp_path, arguments, variables, fresh=fresh, start_new_session=new_session)
        for fresh in (True, False)
    )
    assert forked == fresh


def surroundings(
    directory: Path, arguments: Sequence[str], environment: Mapping[str, str], **options: bool
) -> dict[str, Any]:
    """Return what a program finds that has no variables of the interpreter but those of *environment*."""
    (directory / "surroundings.py").write_text(SURROUNDINGS)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env = {**kept, "PYTHONUTF8": "1", **environment}
    done = processes.run([*arguments, "an", "argument"], cwd=directory, env=env, **options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    findings: dict[str, Any] = json.loads((directory / "found.json").read_text())
    return findings


@pytest.mark.parametrize("fresh", [True, False])
def test_registered_functions_run_at_the_end_and_an_error_is_a_traceback(fresh: bool) -> None:
    code = "import atexit; atexit.register(print, 'the end'); raise ValueError('an error')"
    done = processes.run(["-c", code], fresh=fresh)
    assert (done.returncode, done.stdout) == (1, "the end\n")
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ValueError: an error\n")


def test_forked_programs_draw_different_random_numbers_and_hash_a_text_differently_from_the_tests() -> None:
    code = "import random, numpy; print(random.random(), numpy.random.default_rng().random(), hash('x'))"
    first, second = (processes.run(["-c", code]).stdout.split() for _ in range(2))
    assert not set(first[:2]) & set(second[:2])
    assert first[2] != str(hash("x"))


def test_the_end_of_the_parent_is_not_mistaken_for_that_of_the_process() -> None:
    status, of_the_parent = os.pipe()
    os.close(of_the_parent)
    process = processes.Forked(os.getpid(), ["program"], status, (None, None, None))
    with pytest.raises(RuntimeError, match="exit status is unknown"):
        process.wait()
    assert process.returncode is None
