"""Check hostile pages in a separate process with a timeout: a page that hangs must fail its test, not the test run.

Started as a program, this file is that process: it reads lines with names of pages, and prints a line with each answer.
"""

import json
import resource
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from crawler_dedup import Config, Decision, Deduplicator
from tests.support import peak
from tests.support.hostile_pages import PAGES
from tests.support.processes import ROOT

_DEADLINE = 180
"""Seconds after which a page that hangs fails its test. No test waits for it."""
_MEMORY = 1 << 30
"""Bytes of address space that checks may take beyond those in use before the first check."""


class Checker:
    """A process that checks hostile pages, one after another. If a page hangs, the process is killed and started again.

    Args:
        config: the configuration of the index, which is empty at first.
    """

    def __init__(self, **config: Any) -> None:
        self._config = config
        self._process: subprocess.Popen[str] | None = None

    def check(self, name: str) -> dict[str, Any]:
        """Check the page *name* twice. Return ``answers`` (the verdicts; for ``unchecked`` the reason) and ``megabytes``
        (the peak of memory above the memory in use before).
        """
        command = [sys.executable, "-m", "tests.support.hostile", json.dumps(self._config)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
        process = self._process = self._process or subprocess.Popen(command, cwd=ROOT, **pipes)
        assert process.stdin is not None
        assert process.stdout is not None
        ended = threading.Timer(_DEADLINE, process.kill)
        ended.start()
        print(name, file=process.stdin, flush=True)
        line = process.stdout.readline()
        ended.cancel()
        if not line:
            self.close()
            raise AssertionError(f"{name!r} hangs, or ended the process.")
        answer: dict[str, Any] = json.loads(line)
        if answer["error"]:
            raise AssertionError(f"{name!r} raises {answer['error']}")
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# The process


def _main() -> None:
    warnings.simplefilter("error")
    # A map of the default size would exceed the allowed memory.
    config = Config(map_size=64 << 20, **json.loads(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, config) as deduplicator:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of jieba's source, if pip has not compiled it
            deduplicator.signer.load()
        deduplicator.check("http://warm.up/", PAGES["valid"].make())
        if sys.platform == "linux":
            taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + _MEMORY, resource.RLIM_INFINITY))
        for line in sys.stdin:
            print(json.dumps(_check_twice(deduplicator, line.rstrip("\n"))), flush=True)


def _check_twice(deduplicator: Deduplicator, name: str) -> dict[str, Any]:
    page = PAGES[name]
    body = page.make()
    peak.forget()
    before = peak.megabytes()
    answers, error = [], ""
    try:
        answers = [answer(deduplicator.check(page.url, body, encoding=page.encoding, scope=name)) for _ in range(2)]
    except BaseException as raised:
        error = repr(raised)[:500]
    return {"answers": answers, "error": error, "megabytes": peak.megabytes() - before}


def answer(decision: Decision) -> str:
    """Return the verdict of *decision*; for ``unchecked``, return the reason."""
    assert type(decision) is Decision
    return decision.reason or decision.verdict.value


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        _main()
