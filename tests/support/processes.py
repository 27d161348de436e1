"""Start Python programs as separate processes that do not wait for the import of Scrapy.

On Linux a program is forked from a parent process that has imported what crawls need, once for all tests
(:mod:`tests.support.forkserver`). It is a process like any other: with its own working directory, environment, ``sys.argv``,
``sys.path``, files and signals. It differs in four ways from a process that is started anew: the modules of the parent are
imported already, from the checkout; the interpreter is in UTF-8 mode even without ``PYTHONUTF8``; texts have the same
``hash()`` in all forked processes, another one than in the process of the tests; and the worker that a crawl starts first is
forked from the crawl.
"""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
FORKS = sys.platform == "linux"
"""Whether programs are forked. On other systems each program is started anew."""
_HONOURED = {"PYTHONDONTWRITEBYTECODE": None, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": None, "PYTHONUTF8": "1"}
"""Variables of the interpreter that a forked process obeys, each with its only supported value, or ``None`` for any value.

Folders may follow the path, except those with a ``sitecustomize``. Before it, they could have modules that the parent has
imported from elsewhere.
"""


class Forked:
    """A process that was forked, with the interface of :class:`subprocess.Popen`."""

    def __init__(self, pid: int, args: Sequence[str], status: int, pipes: Sequence[IO[str] | None]) -> None:
        self.pid = pid
        self.args = args
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = pipes
        self._status = status

    def poll(self) -> int | None:
        """Return its exit status, ``None`` while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit status.

        Raises:
            RuntimeError: The parent has ended before the process, so that its exit status is unknown.
        """
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            status = os.read(self._status, 64)
            if not status:
                raise RuntimeError(f"The parent of {self.args} ended before it, so that its exit status is unknown.")
            self.returncode = int(status)
            self._close_status()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since then
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, input: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """Write *input*, read both outputs to their end, and wait for the end of the process."""
        written: dict[IO[str], str] = {}

        def read(pipe: IO[str]) -> None:
            written[pipe] = pipe.read()

        outputs = [pipe for pipe in (self.stdout, self.stderr) if pipe is not None and not pipe.closed]
        readers = [threading.Thread(target=read, args=[pipe], daemon=True) for pipe in outputs]
        for reader in readers:
            reader.start()
        if self.stdin is not None and not self.stdin.closed:
            with suppress(BrokenPipeError), self.stdin:
                self.stdin.write(input or "")
        for reader in readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        for pipe in outputs:
            pipe.close()
        self.wait(timeout)
        texts = ("" if pipe is None else written.get(pipe, "") for pipe in (self.stdout, self.stderr))
        return next(texts), next(texts)

    def _close_status(self) -> None:
        status, self._status = self._status, -1
        if status >= 0:
            os.close(status)

    def __del__(self) -> None:
        self._close_status()


Process = Forked | subprocess.Popen[str]


def start(
    arguments: Sequence[str],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    stdin: int | None = subprocess.DEVNULL,
    stdout: int | None = subprocess.PIPE,
    stderr: int | None = subprocess.PIPE,
    start_new_session: bool = False,
    fresh: bool = False,
) -> Process:
    """Start ``python ARGUMENTS``: ``-c CODE …``, ``-m MODULE …`` or ``FILE …``.

    Args:
        cwd: its working directory.
        env: its whole environment; that of this process by default.
        stdin: as for :class:`subprocess.Popen`, like *stdout* and *stderr*.
        start_new_session: whether the process leads a new session.
        fresh: start the interpreter anew, as users do, instead of forking. This is always done if *env* has a variable of
            the interpreter that a forked process cannot obey, such as ``PYTHONWARNINGS``.
    """
    environment = dict(os.environ if env is None else env)
    if fresh or not FORKS or not _can_be_forked(environment):
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=cwd,
            env=environment,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=start_new_session,
            encoding="utf-8",
        )
    order = {"arguments": [*arguments], "cwd": str(cwd), "env": environment, "session": start_new_session}
    return _parent().fork(order, (stdin, stdout, stderr))


def children(parent: int) -> list[int]:
    """Return the numbers of the processes that *parent* has started and that run, on Linux."""
    running = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, number = status.read_text().rpartition(")")[2].split()[:2]
            if int(number) == parent and state != "Z":
                running.append(int(status.parent.name))
    return running


def still_running(pids: Iterable[int]) -> list[int]:
    """Wait for the end of these processes, up to a minute, and return those that go on, on Linux."""

    def runs(pid: int) -> bool:
        with suppress(OSError):
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        return False

    until = time.monotonic() + 60
    while (running := [*filter(runs, pids)]) and time.monotonic() < until:
        time.sleep(0.01)
    return running


def workers() -> list[int]:
    """Return the numbers of the workers of crawls in this process."""
    from crawler_dedup.crawl import workerprocess  # this module is imported where Scrapy is not

    return sorted(child.pid for child in workerprocess._children if not child._has_ended)


def seconds_of(process: int) -> float:
    """Return the processor time that a process has used, on Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _can_be_forked(environment: Mapping[str, str]) -> bool:
    """Return whether a forked process can obey all variables of the interpreter in *environment*."""
    return all(
        name in _HONOURED and _HONOURED[name] in (None, value.partition(os.pathsep)[0])
        for name, value in environment.items()
        if value and re.match("PYTHON[A-Z]", name)
    )


def run(
    arguments: Sequence[str],
    *,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout: float = 120,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS`` to its end; see :func:`start`."""
    process = start(arguments, cwd=cwd, env=env, **options)
    try:
        output, errors = process.communicate(timeout=timeout)
    except BaseException:
        process.kill()
        process.wait()
        raise
    assert process.returncode is not None
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


class _Parent:
    """A parent process, seen from the tests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        prefixes = ("SCRAPY_", "PYTEST_", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from tests.support.forkserver import serve; serve()", str(theirs.fileno())],
                cwd=ROOT,  # to find the tests; a PYTHONPATH would hide whether the root is on the path without it
                # Threads of a numerical library would not survive the fork.
                env={**kept, "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, order: Mapping[str, Any], files: Sequence[int | None]) -> Forked:
        """Fork a process with these *files* as its standard streams."""
        theirs: list[int] = []
        ours: list[IO[str] | None] = []
        with ExitStack() as until_sent:

            def given(descriptor: int) -> int:
                until_sent.callback(os.close, descriptor)
                return descriptor

            for number, file in enumerate(files):
                pipe = None
                if file == subprocess.PIPE:
                    reading, writing = os.pipe()
                    is_input = number == 0
                    pipe = os.fdopen(writing if is_input else reading, "w" if is_input else "r", encoding="utf-8")
                    theirs.append(given(reading if is_input else writing))
                elif file == subprocess.DEVNULL:
                    theirs.append(given(os.open(os.devnull, os.O_RDWR)))
                elif file == subprocess.STDOUT:
                    theirs.append(theirs[1])
                else:
                    theirs.append(number if file is None else file)
                ours.append(pipe)
            status, ended = os.pipe()
            with self._lock:
                socket.send_fds(self._control, [json.dumps(order).encode()], [*theirs, given(ended)])
                pid = int(self._control.recv(64))
        return Forked(pid, [sys.executable, *order["arguments"]], status, ours)

    def close(self) -> None:
        self._control.close()
        self._process.wait()


@cache
def _parent() -> _Parent:
    """Return the parent; start it if it does not run yet."""
    return _Parent()


def close() -> None:
    """End the parent, if it runs."""
    if _parent.cache_info().currsize:
        _parent().close()
        _parent.cache_clear()
