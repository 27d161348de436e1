"""Fixtures for all tests."""

import asyncio
import gc
import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest
from hypothesis import settings

from crawler_dedup import Config, Deduplicator
from tests.support import disks, processes, servers
from tests.support.data import DATA
from tests.support.examples import FULL
from tests.support.places import BACKENDS, Places
from tests.support.servers import Server

# The time that an example takes depends on the machine, not on the code.
settings.register_profile("default", deadline=None, derandomize=False, max_examples=25)
settings.register_profile("slow", settings.get_profile("default"), max_examples=FULL)
settings.load_profile("default")

MEMORY = Path("/dev/shm")
"""A file system in memory, on Linux."""
_ROOM = 4 << 30  # the files of all tests take a quarter of it


_written: list[str] = []
"""The folder there that this process has made."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Write temporary files into memory if there is room: an index waits for the disk after each transaction."""
    if not config.option.basetemp and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > _ROOM:
        config.option.basetemp = tempfile.mkdtemp(prefix="crawler-dedup-", dir=MEMORY)
        _written.append(config.option.basetemp)


gc.disable()  # all that is made while tests are collected is kept; looking for garbage there takes a quarter of the time


def pytest_collection_finish() -> None:
    """Look for garbage only among what tests make."""
    gc.freeze()
    gc.enable()


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs with Ctrl-C ignored, and the processes that tests start and interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), 120))
    return True


@pytest.fixture(autouse=True)
def _own_project() -> Iterator[None]:
    """Remove what Scrapy notes in the environment about the project it has found: the next test has another project."""
    _forget_project()
    yield
    _forget_project()


def _forget_project() -> None:
    for name in ("SCRAPY_PROJECT", "SCRAPY_SETTINGS_MODULE"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of labelled real pages, which do not belong to this project."""
    if not (DATA / "sites").is_dir():
        pytest.skip(f"no labelled pages in {DATA}; CRAWLER_DEDUP_DATA names their folder")
    return DATA


@pytest.fixture
def deduplicator(tmp_path: Path) -> Iterator[Deduplicator]:
    """Yield an empty index; `bigrams`, because loading jieba takes a second."""
    with Deduplicator.open(tmp_path / "index", Config(tokenizer="bigrams")) as opened:
        yield opened


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the processes that work for this one from a process that has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"crawler_dedup.{name}" for name in ("cli.index", "cli.works", "batch.sign")])
    monkeypatch.setattr("crawler_dedup.system.processes.get_context", lambda _: context)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of 4 MB."""
    with disks.mounted(tmp_path / "disk") as folder:
        yield folder


@pytest.hookimpl(trylast=True)  # when the workers of pytest-xdist have ended
def pytest_sessionfinish() -> None:
    """End the process that others were forked from, and remove the files in memory."""
    processes.close()
    for folder in _written:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server for all tests: they use indexes of different names, or empty it. It seems to have run for long."""
    with pytest.MonkeyPatch.context() as patch, servers.serving(tmp_path_factory.mktemp("server")) as running:
        patch.setattr("crawler_dedup.index.redis.runs.RENEWAL_SECONDS", 0)
        yield running


@pytest.fixture(params=BACKENDS)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    """Yield places for indexes, on every backend in turn."""
    if request.param == "directory":
        return Places(tmp_path)
    server: Server = request.getfixturevalue("server")
    server.empty()
    return Places(tmp_path, server)
