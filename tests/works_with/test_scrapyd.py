"""With Scrapyd: its daemon runs a project, which is an egg, in a directory without ``scrapy.cfg``."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from crawler_dedup import Config, Deduplicator
from tests.support.crawling import Answer, Site, article, html
from tests.support.packages import needs_package
from tests.support.processes import ROOT
from tests.support.projects import ADDON

pytestmark = [needs_package("scrapyd"), pytest.mark.slow]

TEXTS = range(12)
SETTINGS = ADDON + "BOT_NAME = 'news'\nSPIDER_MODULES = ['news.spiders']\nDEDUP_SCOPE = 'global'\n"
SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "walker"
    custom_settings = {"CONCURRENT_REQUESTS": 4, "CONCURRENT_REQUESTS_PER_DOMAIN": 4, "DOWNLOAD_DELAY": 0}

    async def start(self):
        for number in map(int, self.numbers.split(",")):
            yield scrapy.Request(f"{self.site}/{self.half}/{number}")

    def parse(self, response):
        yield {"title": response.css("h1::text").get()}
"""
_SECONDS = 60


def pack_project(path: Path) -> None:
    """Write the project as ``scrapyd-deploy`` packs it."""
    files = {
        "news/__init__.py": "",
        "news/settings.py": SETTINGS,
        "news/spiders.py": SPIDER,
        "EGG-INFO/PKG-INFO": "Metadata-Version: 1.0\nName: project\nVersion: 1.0\n",
        "EGG-INFO/entry_points.txt": "[scrapy]\nsettings = news.settings\n",
    }
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


class Daemon:
    """A daemon with the project ``news``; its files are in *directory*, in which it runs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._url = f"http://127.0.0.1:{free.getsockname()[1]}"
        options = {"dbs_dir": directory / "dbs", "http_port": self._url.rpartition(":")[2], "max_proc": 2}
        lines = [
            f"{name} = {value}\n" for name, value in (options | {"poll_interval": 0.1, "items_dir": "items"}).items()
        ]
        (directory / "scrapyd.conf").write_text(f"[scrapyd]\n{''.join(lines)}")
        pack_project(directory / "eggs" / "news" / "1.egg")
        with (directory / "daemon.log").open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "scrapyd"],
                cwd=directory,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.wait_until(self._answers)

    def wait_until(self, condition: Any) -> None:
        end = time.monotonic() + _SECONDS
        while not condition():
            assert self._process.poll() is None, (self.directory / "daemon.log").read_text()
            assert time.monotonic() < end, (self.directory / "daemon.log").read_text()
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            return bool(self.ask("daemonstatus"))
        except urllib.error.URLError:
            return False

    def ask(self, service: str, **fields: str) -> Any:
        """Ask a service of the daemon; with *fields* it is a POST."""
        data = urlencode(fields).encode() if fields else None
        with urllib.request.urlopen(f"{self._url}/{service}.json", data, timeout=_SECONDS) as response:
            return json.load(response)

    def finished_jobs(self) -> int:
        with urllib.request.urlopen(f"{self._url}/listjobs.json?project=news", timeout=_SECONDS) as response:
            return len(json.load(response)["finished"])

    def log(self, job: str) -> str:
        return (self.directory / "logs" / "news" / "walker" / f"{job}.log").read_text()

    def titles(self, job: str) -> list[str]:
        lines = (self.directory / "items" / "news" / "walker" / f"{job}.jl").read_text().splitlines()
        return [json.loads(line)["title"] for line in lines]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(_SECONDS)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    yield daemon
    daemon.stop()


def test_two_jobs_at_once_keep_each_text_once_in_one_index(daemon: Daemon) -> None:
    # Each text is sent only when both jobs have asked for it: they judge it at the same time.
    together = [threading.Barrier(2, timeout=_SECONDS) for _ in TEXTS]

    def meeting(half: str, number: int) -> Any:
        def answer() -> Answer:
            together[number].wait()
            return html(article(number, frame=half))

        return answer

    index = daemon.directory / "index"
    with Site({f"/{half}/{number}": meeting(half, number) for half in "ab" for number in TEXTS}) as site:
        fields = {"project": "news", "spider": "walker", "site": site.url, "numbers": ",".join(map(str, TEXTS))}
        for half in "ab":
            daemon.ask("schedule", **fields, half=half, jobid=half, setting=f"DEDUP_DIR={index}")
        daemon.wait_until(lambda: daemon.finished_jobs() == 2)
    titles = [title for job in "ab" for title in daemon.titles(job)]
    assert sorted(titles) == sorted(f"Article {number}" for number in TEXTS)
    assert not [line for job in "ab" for line in daemon.log(job).splitlines() if " WARNING: " in line]
    with Deduplicator.open(index, Config()) as deduplicator:
        assert len(deduplicator) == len(TEXTS)
