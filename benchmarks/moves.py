"""The files that a duplicate enters: ``python -m benchmarks.moves [--list]``.

A crawl of a page and its copy runs with a profile function in each of its processes. From the arrival of the copy to its
drop, the table counts the files of the package in which a function is called, and the moves from one such file to another,
of all threads of a process. The last row leaves out ``signing/``, whose moves grow with the page.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.support.crawling import Site
from tests.support.crawling import html as answer
from tests.support.processes import ROOT
from tests.support.prose import html, prose

_PACKAGE = f"{ROOT / 'crawler_dedup'}{os.sep}"

# Python imports it in each process of the crawl. A worker ends without a clean-up, so that each call is written at once.
_PROFILE = f"""
import os, sys, threading, time

calls = os.open(f"{{os.environ['MOVES']}}/{{os.getpid()}}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def profile(frame, event, argument):
    path = frame.f_code.co_filename
    if event == "call" and path.startswith({_PACKAGE!r}):
        name = path.removeprefix({_PACKAGE!r})
        os.write(calls, f"{{time.monotonic()}} {{threading.get_ident()}} {{name}}\\n".encode())

threading.setprofile(profile)
sys.setprofile(profile)
"""

_SPIDER = """
import asyncio, os, time
from pathlib import Path
import scrapy
from scrapy import signals

class Spider(scrapy.Spider):
    name = "moves"
    period = []

    async def start(self):
        self.crawler.signals.connect(self.downloaded, signal=signals.response_downloaded)
        yield scrapy.Request(os.environ["MOVES_SITE"] + "/page")
        await asyncio.sleep(1)
        yield scrapy.Request(os.environ["MOVES_SITE"] + "/copy", errback=self.dropped)
        await asyncio.sleep(1)

    def downloaded(self, request):
        if request.url.endswith("/copy"):
            self.period.append(time.monotonic())

    def parse(self, response):
        yield {"url": response.url}

    def dropped(self, failure):
        self.period.append(time.monotonic())
        Path(os.environ["MOVES"], "period").write_text(" ".join(map(str, self.period)))
"""


def crawl(folder: Path) -> None:
    """Crawl a page and its copy; write the calls of each process and the period of the copy to *folder*."""
    page = html(prose(1)).decode().replace("<body>", "<title>A page</title><body>")
    (folder / "sitecustomize.py").write_text(_PROFILE)
    (folder / "spider.py").write_text(_SPIDER)
    settings = {"ADDONS": '{"crawler_dedup.Addon": 500}', "DEDUP_DIR": folder / "index", "LOG_LEVEL": "ERROR"}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    with Site({"/page": answer(page), "/copy": answer(page + " ")}) as site:
        added = {"MOVES": str(folder / "calls"), "MOVES_SITE": site.url, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
        (folder / "calls").mkdir()
        command = [sys.executable, "-m", "scrapy", "runspider", str(folder / "spider.py"), *options]
        subprocess.run(command, check=True, env=os.environ | added, cwd=folder)


def moves_of(calls: Path, begin: float, end: float, *, left_out: tuple[str, ...] = ()) -> Sequence[str]:
    """Return the file of each call in the period, thread by thread, without repetitions in a row.

    Args:
        left_out: the beginnings of the names of files whose calls do not count.
    """
    rows = [line.split(" ", 2) for line in calls.read_text().splitlines()]
    threads: dict[str, list[str]] = {}
    for moment, thread, name in rows:
        if begin <= float(moment) <= end and not name.startswith(left_out):
            threads.setdefault(thread, []).append(name)
    return [name for names in threads.values() for name, _ in groupby(names)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print each move")
    given = parser.parse_args()
    table = Table("process", "files entered", "moves")
    with tempfile.TemporaryDirectory() as folder:
        crawl(Path(folder))
        calls = Path(folder) / "calls"
        begin, end = map(float, (calls / "period").read_text().split())
        processes = sorted((path for path in calls.iterdir() if path.name != "period"), key=lambda path: int(path.name))
        for number, path in enumerate(processes):
            rows = {"worker": (), "worker without signing": ("signing/",)} if number else {"crawl": ()}
            for name, left_out in rows.items():
                if moves := moves_of(path, begin, end, left_out=left_out):
                    table.add_row(name, str(len(set(moves))), str(len(moves)))
                    if given.list:
                        print(f"{name}: {' → '.join(moves)}")
    Console().print(table)


if __name__ == "__main__":
    main()
