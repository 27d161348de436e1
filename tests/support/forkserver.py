"""The parent process from which the programs of :mod:`tests.support.processes` are forked."""

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from pathlib import Path
from typing import Any

_MODULES = {
    "scrapy": "cmdline core.scheduler dupefilters logformatter pqueues resolver squeues statscollectors",
    "scrapy.core.downloader.handlers": "datauri file http11 s3",
    "scrapy.extensions": "closespider corestats logcount logstats memdebug memusage remote_control spiderstate telnet"
    " throttle",
    "scrapy.downloadermiddlewares": "cookies defaultheaders downloadtimeout httpauth httpcache httpcompression httpproxy"
    " offsite redirect retry robotstxt stats useragent",
    "scrapy.spidermiddlewares": "depth httperror metacopy referer start urllength",
    "twisted.internet": "asyncioreactor",
    "crawler_dedup": "addon cli.drops cli.index cli.why crawl.workerprocess index.redis.index middleware"
    " review.pages settling worker.main",
    "numpy": "ma",
}
_PRELOADED = ["pytest", *(f"{package}.{module}" for package, modules in _MODULES.items() for module in modules.split())]
"""The modules that the parent imports, as far as they are installed; pytest for what tests share.

None of these modules starts a thread or installs a reactor (with Scrapy 2.13, that for FTP would), and none belongs to the
tests.
"""
_PYTHON = sys.executable
_WORKER = "crawler_dedup.worker.main"


def serve() -> None:
    """Fork a process for each order that is received, and report its exit status when it has ended.

    In a forked process this function does not return, except for ends that only the interpreter can report.
    """
    base = sys.path[1:]  # without "", which ``-c`` has added; paths that an installation has added stay
    filters = list(warnings.filters)
    for name in _PRELOADED:
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    assert "twisted.internet.reactor" not in sys.modules
    assert threading.active_count() == 1
    warnings.resetwarnings()  # also warns again at lines that have warned already
    warnings.filters.extend(filters)  # type: ignore[attr-defined]
    gc.freeze()
    on_interrupt = signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is meant for the tests and for forked processes
    control = socket.socket(fileno=int(sys.argv[1]))
    living = selectors.DefaultSelector()
    living.register(control, selectors.EVENT_READ)
    while True:
        for key, _ in living.select():
            if key.fileobj is not control:
                _reap(living, key)
                continue
            message, files, _, _ = socket.recv_fds(control, 1 << 18, 4)
            if not message:
                os._exit(0)
            pid = os.fork()
            if not pid:
                control.detach()
                signal.signal(signal.SIGINT, on_interrupt)
                _run_to_the_end(_program(json.loads(message), files, base))
                return
            *given, ended = files
            for file in given:
                os.close(file)
            living.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, ended))
            control.send(b"%d" % pid)


def _reap(living: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, ended = key.data
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(BrokenPipeError):
        os.write(ended, b"%d" % code)
    living.unregister(key.fileobj)
    os.close(key.fd)
    os.close(ended)


def _program(order: Mapping[str, Any], files: Sequence[int], base: Sequence[str]) -> Callable[[], object]:
    """Set up this process as *order* demands, and return its program."""
    for number in range(3):
        os.dup2(files[number], number)
    os.closerange(3, 1 << 10)
    if order["session"]:
        os.setsid()
    os.environ.clear()
    os.environ.update(order["env"])
    tempfile.tempdir = None  # TMPDIR may have changed
    sys.stdin, sys.stdout, sys.stderr = map(_stream, range(3))
    process_starter: Any = sys.modules["crawler_dedup.crawl.workerprocess"]
    process_starter.subprocess = types.SimpleNamespace(
        Popen=_popen, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired
    )
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    os.chdir(order["cwd"])
    kind, *rest = order["arguments"]
    sys.orig_argv[:] = [sys.executable, *order["arguments"]]
    given = map(os.path.abspath, filter(None, order["env"].get("PYTHONPATH", "").split(os.pathsep)))
    first = {"-c": "", "-m": os.getcwd()}.get(kind, str(Path(kind).resolve().parent))
    sys.path[:] = [first, *dict.fromkeys([*given, *base])]
    importlib.invalidate_caches()
    if kind == "-c":
        sys.argv[:] = [kind, *rest[1:]]
        return lambda: _execute(rest[0])
    sys.argv[:] = rest if kind == "-m" else [kind, *rest]
    if kind == "-m":
        return lambda: runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    return lambda: runpy.run_path(kind, run_name="__main__")


def _run_to_the_end(program: Callable[[], object]) -> None:
    """Run a program and end the process as the interpreter does, but without clearing all modules, which takes 0.1 s.

    A Ctrl-C, and an output that cannot be written any more, are left to the interpreter.
    """
    status = 0
    try:
        program()
    except SystemExit as end:
        if isinstance(end.code, int):
            status = end.code
        elif end.code is not None:
            print(end.code, file=sys.stderr)
            status = 1
    except Exception:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # Twisted logs an error that nobody has handled when its Deferred is deleted
    with suppress(OSError, ValueError):  # closed
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status & 0xFF)
    sys.exit(status)


class _ChildProcess:
    """A process that a crawl has forked, with the methods of :class:`subprocess.Popen` that the crawl calls.

    It differs from one that was started anew as a forked program does: the modules of the crawl are imported already.
    """

    def __init__(self, command: Sequence[str], *, pass_fds: Sequence[int], **_: object) -> None:
        self._status: int | None = None
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid:
            return
        atexit._clear()  # what the crawl has to do
        closed = 3
        for kept in (*sorted(pass_fds), 1 << 10):
            os.closerange(closed, kept)
            closed = kept + 1
        sys.argv[1:] = command[-2:]
        try:
            _run_to_the_end(sys.modules[_WORKER].main)
        finally:
            os._exit(1)

    def kill(self) -> None:
        if self._status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        if self._status is None:
            ended = os.pidfd_open(self.pid)
            has_ended = select.select([ended], [], [], timeout)[0]
            os.close(ended)
            if not has_ended:
                raise subprocess.TimeoutExpired(_WORKER, timeout or 0)
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status


def _popen(command: Sequence[str], **options: Any) -> _ChildProcess | subprocess.Popen[bytes]:
    """Fork such a process instead of starting it anew; but with other threads a fork is not safe."""
    if command[0] == _PYTHON and _WORKER in command and threading.active_count() == 1:
        return _ChildProcess(command, **options)
    return subprocess.Popen(command, **options)


def _execute(code: str) -> None:
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program
    exec(compile(code, "<string>", "exec"), program.__dict__)


def _stream(number: int) -> TextIOWrapper:
    """Return standard input, output or error as the interpreter creates it in its UTF-8 mode."""
    is_unbuffered = number > 0 and bool(os.environ.get("PYTHONUNBUFFERED"))
    file = FileIO(number, "w" if number else "r", closefd=False)
    file.name = ("<stdin>", "<stdout>", "<stderr>")[number]
    buffered = BufferedWriter if number else BufferedReader
    return TextIOWrapper(
        file if is_unbuffered else buffered(file),
        encoding="utf-8",
        errors="backslashreplace" if number == 2 else "surrogateescape",
        newline="\n" if number else None,
        line_buffering=not is_unbuffered and (number == 2 or os.isatty(number)),
        write_through=is_unbuffered,
    )
