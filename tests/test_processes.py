"""A forked program finds what it would find in a process that was started anew: else tests with it would prove nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import processes

pytestmark = pytest.mark.skipif(not processes.FORKS, reason="no program is forked here")

SURROUNDINGS = """
import asyncio, json, logging, os, random, signal, sys, threading

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
    }, file)
"""
KINDS = {
    "code": ["-c", SURROUNDINGS],
    "module": ["-m", "surroundings"],
    "file": ["surroundings.py"],
}


@pytest.mark.parametrize("new_session", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_forked_program_finds_what_a_fresh_one_finds(tmp_path: Path, kind: str, new_session: bool) -> None:
    (tmp_path / "surroundings.py").write_text(SURROUNDINGS)
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONPATH": str(processes.ROOT), "ONE": "more"}
    found: list[dict[str, Any]] = []
    for fresh in (True, False):
        done = processes.run(
            [*KINDS[kind], "an", "argument"],
            cwd=tmp_path,
            env=environment,
            start_new_session=new_session,
            fresh=fresh,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        found.append(json.loads((tmp_path / "found.json").read_text()))
    assert found[0] == found[1]


@pytest.mark.parametrize("fresh", [True, False])
def test_a_program_speaks_through_pipes_and_ends_with_its_status(fresh: bool) -> None:
    code = "import sys; print(sys.stdin.read().upper()); sys.stderr.write('é'); sys.exit(3)"
    process = processes.start(["-c", code], stdin=subprocess.PIPE, fresh=fresh)
    assert process.communicate("ä") == ("Ä\n", "é")
    assert process.wait() == process.poll() == 3


@pytest.mark.parametrize("fresh", [True, False])
def test_what_a_program_has_registered_runs_at_its_end_and_an_error_is_a_traceback(fresh: bool) -> None:
    code = "import atexit; atexit.register(print, 'the end'); raise ValueError('an error')"
    done = processes.run(["-c", code], fresh=fresh)
    assert (done.returncode, done.stdout) == (1, "the end\n")
    assert done.stderr.startswith("Traceback")
    assert done.stderr.endswith("ValueError: an error\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_forked_program_as_any_other(number: int) -> None:
    # Where the tests run in the background, an interrupt is ignored until somebody wants it.
    wanted = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    process = processes.start(["-c", f"{wanted}; import time; print('here', flush=True); time.sleep(60)"])
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    assert process.poll() is None
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == -number
    assert ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)


def test_forked_programs_draw_other_random_numbers() -> None:
    code = "import random, numpy; print(random.random(), numpy.random.default_rng().random())"
    assert processes.run(["-c", code]).stdout != processes.run(["-c", code]).stdout
