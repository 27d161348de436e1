"""What the filter adds to the start and the memory of a small crawl: ``python -m benchmarks.startup [--before CHECKOUT]``.

An English and a Chinese site on this machine, each with a front page and twenty articles, are crawled by ``scrapy crawl``
with Scrapy's default settings in a new process: without the filter, with it, and with the filter of another checkout of this
repository. The kinds alternate. The tables show the time until the first page reaches its callback, the processor time
(user and system) until then and of the whole crawl, the largest resident memory (VmHWM), and at the end of the crawl the
proportional (PSS) and the private memory, all of the crawl's process, and the proportional memory of its worker.
The figures are medians; beside them is the median over the rounds of what the filter adds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from tests.support.crawling import Answer, Site
from tests.support.crawling import html as answer
from tests.support.processes import ROOT
from tests.support.prose import html, prose

_ARTICLES = 20

_SPIDER = """
import json, os, sys, time
from pathlib import Path
import scrapy

def kilobytes_of(process):
    text = "".join(Path(f"/proc/{process}/{name}").read_text() for name in ("status", "smaps_rollup"))
    fields = [line.partition(":")[::2] for line in text.splitlines()]
    return {name: int(value.split()[0]) for name, value in fields if value.endswith(" kB")}

class Spider(scrapy.Spider):
    name = "startup"
    figures = {}

    async def start(self):
        yield scrapy.Request(os.environ["STARTUP_SITE"])

    def parse(self, response):
        if not self.figures:
            self.figures = {"first": time.process_time(), "until": time.time() - float(os.environ["STARTUP_BEGAN"])}
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a")

    def closed(self, reason):
        kilobytes = kilobytes_of("self")
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        running = [child for child in children if b"crawler_dedup." in Path(f"/proc/{child}/cmdline").read_bytes()]
        self.figures["workers"] = sum(kilobytes_of(child)["Pss"] for child in running) / 1000
        self.figures["pages"] = self.crawler.stats.get_value("item_scraped_count")
        self.figures["peak"] = kilobytes["VmHWM"] / 1000
        self.figures["shared"] = kilobytes["Pss"] / 1000
        self.figures["private"] = (kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]) / 1000
        self.figures["whole"] = time.process_time()
        Path("figures.json").write_text(json.dumps(self.figures))
"""


class Kind(NamedTuple):
    """One kind of crawl.

    Attributes:
        name: its name in the table.
        checkout: the repository whose filter is used; ``None``: without the filter.
        tokenizer: the tokenizer of the filter; ``""``: its default.
    """

    name: str
    checkout: Path | None
    tokenizer: str = ""


@dataclass(frozen=True)
class Figures:
    """The measurements of a crawl: seconds of processor time, megabytes of memory.

    Attributes:
        until: seconds from the start until the first page reached its callback.
        first: processor time until then.
        whole: processor time until the end.
        peak: largest resident memory.
        shared: proportional memory at the end.
        private: private memory at the end.
        workers: proportional memory of the processes beside the crawl at the end.
        pages: how many pages were scraped.
    """

    until: float
    first: float
    whole: float
    peak: float
    shared: float
    private: float
    workers: float
    pages: int


def main() -> None:
    """Crawl both sites in rounds, and print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another checkout, for its filter")
    given = parser.parse_args()
    console = Console(width=150)
    load = os.getloadavg()[0]
    tokenizers = ["jieba", *(["rjieba"] if find_spec("rjieba") else [])]
    for name, words in (("English", [""]), ("Chinese", tokenizers)):
        kinds = [Kind("without", None)]
        for word in words:
            kinds += [Kind(f"before {word}", given.before.resolve(), word)] if given.before else []
            kinds.append(Kind(f"now {word}", ROOT, word))
        with Site(_site(chinese=name == "Chinese")) as site:
            crawled = _crawl_in_turns(site, kinds, given.rounds)
        title = (
            f"{name} site, {_ARTICLES + 1} pages, {given.rounds} rounds, Python {sys.version.split()[0]}, Scrapy"
            f" {version('scrapy')}, {os.cpu_count()} cores, load {load:.1f} … {os.getloadavg()[0]:.1f}"
        )
        console.print(_table(title, crawled))


def _site(*, chinese: bool) -> dict[str, Answer]:
    paths = [f"/{number}" for number in range(_ARTICLES)]
    links = " ".join(f'<a href="{path}">{path}</a>' for path in paths)
    front = html(prose(_ARTICLES, 20, chinese=chinese)).decode() + f"<footer>{links}</footer>"
    pages = {path: html(prose(at, chinese=chinese)).decode() for at, path in enumerate(paths)}
    return {path: answer(page) for path, page in {"/": front, **pages}.items()}


def _crawl_in_turns(site: Site, kinds: Sequence[Kind], rounds: int) -> dict[Kind, list[Figures]]:
    crawled: dict[Kind, list[Figures]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as compiled:
        for number in range(-1, rounds):  # the first round compiles what is imported, and is not counted
            for kind in kinds if number % 2 else reversed(kinds):
                figures = _crawl(site, kind, Path(compiled))
                if number >= 0:
                    crawled[kind].append(figures)
    return crawled


def _crawl(site: Site, kind: Kind, compiled: Path) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = startup_settings\n")
        settings = {"SPIDER_MODULES": ["startup_spider"], "LOG_LEVEL": "WARNING", "ROBOTSTXT_OBEY": True}
        if kind.checkout is not None:
            settings["ADDONS"] = {"crawler_dedup.Addon": 500}
        if kind.tokenizer:
            settings["DEDUP_TOKENIZER"] = kind.tokenizer
        (folder / "startup_settings.py").write_text("".join(f"{key} = {value!r}\n" for key, value in settings.items()))
        (folder / "startup_spider.py").write_text(_SPIDER)
        environment = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPATH": str(kind.checkout or ROOT),
            "PYTHONPYCACHEPREFIX": str(compiled),
            "STARTUP_BEGAN": str(time.time()),
            "STARTUP_SITE": site.url,
        }
        command = [sys.executable, "-m", "scrapy", "crawl", "startup", "-O", "items.jsonl"]
        subprocess.run(command, cwd=folder, env=environment, check=True)
        figures = Figures(**json.loads((folder / "figures.json").read_text()))
    assert figures.pages == _ARTICLES + 1
    return figures


def _table(title: str, crawled: dict[Kind, list[Figures]]) -> Table:
    table = Table(title=title)
    memory = ("peak MB", "PSS MB", "private MB", "worker, PSS MB")
    for column in ("filter", "first page after", "CPU until then", "CPU, whole crawl", *memory):
        table.add_column(column, justify="left" if column == "filter" else "right")
    (_, plain), *_ = crawled.items()
    for kind, rounds in crawled.items():
        is_plain = kind.checkout is None
        cells = []
        for field in ("until", "first", "whole"):
            seconds, plain_values = ([getattr(figures, field) for figures in measured] for measured in (rounds, plain))
            ratio = statistics.median(
                value / plain_value for value, plain_value in zip(seconds, plain_values, strict=True)
            )
            cells.append(f"{statistics.median(seconds):.2f} s" + ("" if is_plain else f" ({ratio:.2f}-fold)"))
        for field in ("peak", "shared", "private"):
            sizes, plain_values = ([getattr(figures, field) for figures in measured] for measured in (rounds, plain))
            difference = statistics.median(
                value - plain_value for value, plain_value in zip(sizes, plain_values, strict=True)
            )
            cells.append(f"{statistics.median(sizes):.1f}" + ("" if is_plain else f" ({difference:+.1f})"))
        cells.append(f"{statistics.median(figures.workers for figures in rounds):.1f}")
        table.add_row(kind.name, *cells)
    return table


if __name__ == "__main__":
    main()
