"""Instructions of a crawl for each page, with and without the filter: ``python -m benchmarks.instructions``.

The processor time of the same crawl varies by a third on a machine that others use, and grows with what runs on the other
cores; the number of instructions does not. Three kinds of crawls: without the filter (*off*), with a downloader and a spider
middleware that do nothing (*empty*), and with the filter (*mark*), whose worker is not counted. A
spider follows all links. Each crawl is stopped after a few pages and runs to its end, so that the start and the end of a
crawl are subtracted. Needs valgrind, under which the crawl takes twenty times as long.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from scrapy.http import Request, Response

from benchmarks.speed import SITES
from tests.support.data import DATA, require_data, served
from tests.support.processes import ROOT

_FEW = 60
_MARK = {"DEDUP_ACTION": "mark", "DEDUP_TOKENIZER": "rjieba", "DEDUP_TIMEOUT": 600, "DEDUP_MAP_SIZE": 1 << 30}
_EMPTY = {
    "DEDUP_ENABLED": False,
    "DOWNLOADER_MIDDLEWARES": json.dumps({"benchmarks.instructions.EmptyDownloaderMiddleware": 40}),
    "SPIDER_MIDDLEWARES": json.dumps({"benchmarks.instructions.EmptySpiderMiddleware": 10}),
}
_KINDS: dict[str, dict[str, object]] = {"off": {"DEDUP_ENABLED": False}, "empty": _EMPTY, "mark": _MARK}


class EmptyDownloaderMiddleware:
    """Lets each response pass after two turns of the event loop: a filter needs one to ask a worker."""

    async def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002
        """Wait for two turns of the event loop."""
        for _ in range(2):
            await asyncio.sleep(0)
        return response


class EmptySpiderMiddleware:
    """Lets each output of a callback pass."""

    async def process_spider_output_async(
        self,
        response: Response,  # noqa: ARG002
        result: AsyncIterator[Any],
    ) -> AsyncIterator[Any]:
        """Yield the outputs."""
        async for output in result:
            yield output

    def process_spider_output(
        self,
        response: Response,  # noqa: ARG002
        result: Iterable[Any],
    ) -> Iterable[Any]:
        """Yield the outputs."""
        yield from result


def main() -> None:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", action="append", help=f"may be given again; default: {', '.join(SITES)}")
    parser.add_argument("--kind", choices=_KINDS, action="append", help="may be given again; default: all")
    parser.add_argument("--folder", type=Path, default=DATA, help="has sites/")
    given = parser.parse_args()
    require_data()
    table = Table("site", "filter", "pages", "million instructions a page", "over plain", "of plain")
    for column in table.columns[2:]:
        column.justify = "right"
    for site in given.site or SITES:
        plain = 0.0
        for kind in given.kind or _KINDS:
            (few, instructions_of_few), (pages, instructions) = (
                _count(site, given.folder, kind, stop=stop) for stop in (_FEW, 0)
            )
            each = (instructions - instructions_of_few) / (pages - few) / 1e6
            plain = plain or each
            table.add_row(site, kind, str(pages - few), f"{each:.2f}", f"{each - plain:+.2f}", f"{each / plain:.3f}")
    Console(width=120).print(table)


def _count(site: str, folder: Path, kind: str, *, stop: int) -> tuple[int, int]:
    """Return the pages and the instructions of a crawl that ends after *stop* pages (0: after all)."""
    with tempfile.TemporaryDirectory() as working, served(site, folder=folder) as origin:
        settings = {"DEDUP_DIR": f"{working}/index", "CLOSESPIDER_PAGECOUNT": stop, **_KINDS[kind]}
        command = [
            "valgrind",
            "--tool=cachegrind",
            "--cache-sim=no",
            f"--cachegrind-out-file={working}/counts",
            sys.executable,
        ]
        command += [
            "-m",
            "benchmarks.sitecrawl",
            f"{origin}/_all.html",
            f"{working}/result.json",
            "--spider",
            "links",
        ]
        command += [
            "--items",
            f"{working}/items",
            *(word for name in settings for word in ("-s", f"{name}={settings[name]}")),
        ]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, check=True)
        pages = json.loads(Path(working, "result.json").read_text(encoding="utf-8"))["pages"]
    counted = re.search(r"I +refs: +([\d,]+)", done.stderr)
    assert counted is not None, done.stderr
    return pages, int(counted[1].replace(",", ""))


if __name__ == "__main__":
    main()
