"""With Scrapyd: its daemon runs a project, which is an egg, in a directory without ``scrapy.cfg``."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def ask(url: str, **fields: str) -> Any:
    """Ask a service of the daemon; with *fields* it is a POST."""
    data = urlencode(fields).encode() if fields else None
    with urllib.request.urlopen(url, data, timeout=_SECONDS) as response:
        return json.load(response)


def answers(url: str) -> bool:
    try:
        return bool(ask(f"{url}/daemonstatus.json"))
    except urllib.error.URLError:
        return False


@contextmanager
def daemon(directory: Path) -> Iterator[tuple[str, Callable[[Callable[[], bool]], None]]]:
    """Yield the address of a daemon with the project ``news``, which runs in *directory*, and a function that waits."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "dbs_dir": directory / "dbs",
        "http_port": port,
        "max_proc": 2,
        "poll_interval": 0.1,
        "items_dir": "items",
    }
    lines = [f"{name} = {value}\n" for name, value in options.items()]
    (directory / "scrapyd.conf").write_text(f"[scrapyd]\n{''.join(lines)}")
    pack_project(directory / "eggs" / "news" / "1.egg")
    command = [sys.executable, "-W", "ignore", "-m", "scrapyd"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (directory / "daemon.log").open("w") as log:
        process = subprocess.Popen(command, cwd=directory, env=environment, stdout=log, stderr=subprocess.STDOUT)

    def wait_until(condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _SECONDS
        while not condition():
            assert process.poll() is None, (directory / "daemon.log").read_text()
            assert time.monotonic() < end, (directory / "daemon.log").read_text()
            time.sleep(0.1)

    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(url))
        yield url, wait_until
    finally:
        process.terminate()
        process.wait(_SECONDS)


def test_two_jobs_at_once_keep_each_text_once_in_one_index(tmp_path: Path) -> None:
    # Each text is sent only when both jobs have asked for it: they judge it at the same time.
    together = [threading.Barrier(2, timeout=_SECONDS) for _ in TEXTS]

    def meeting(half: str, number: int) -> Any:
        def answer() -> Answer:
            together[number].wait()
            return html(article(number, frame=half))

        return answer

    pages = {f"/{half}/{number}": meeting(half, number) for half in "ab" for number in TEXTS}
    with Site(pages) as site, daemon(tmp_path) as (url, wait_until):
        fields = {"project": "news", "spider": "walker", "site": site.url, "numbers": ",".join(map(str, TEXTS))}
        for half in "ab":
            ask(f"{url}/schedule.json", **fields, half=half, jobid=half, setting=f"DEDUP_DIR={tmp_path / 'index'}")
        wait_until(lambda: len(ask(f"{url}/listjobs.json?project=news")["finished"]) == 2)
    items = "".join((tmp_path / "items/news/walker" / f"{job}.jl").read_text() for job in "ab")
    titles = [json.loads(line)["title"] for line in items.splitlines()]
    assert sorted(titles) == sorted(f"Article {number}" for number in TEXTS)
    for job in "ab":
        assert " WARNING: " not in (tmp_path / "logs/news/walker" / f"{job}.log").read_text()
    with Deduplicator.open(tmp_path / "index", Config()) as deduplicator:
        assert len(deduplicator) == len(TEXTS)
