"""What does a dropped page cost with ``DEDUP_DROPPED_WARC``? ``python -m benchmarks.dropped_warc``.

Every page of the saved sites is dropped: bytes on disk, processor time of the event loop and of the thread that writes,
and by how much a timer of the event loop is late beside it.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from scrapy.http import HtmlResponse, Request

from crawler_dedup import Decision, Verdict
from crawler_dedup.crawl.gate import declared_encoding
from crawler_dedup.decision import Match
from crawler_dedup.warc.writer import WarcWriter
from tests.support.data import DATA, require_data

_PAUSE = 0.002
_HEADERS = {"Content-Type": "text/html", "Server": "nginx", "Date": "Thu, 26 Nov 2026 10:00:00 GMT", "ETag": '"5f-a"'}


async def drop(writer: WarcWriter, bodies: list[bytes], lateness: list[float]) -> float:
    """Hand all pages to the writer, as fast as a quick crawl; return the processor time that this took."""
    spent = 0.0
    for number, body in enumerate(bodies):
        url = f"https://example.com/{number}"
        match = Match("alike", 3, 0.9, 0.95)
        decision = Decision(Verdict.DUPLICATE, url, url, "s", duplicate_of="https://example.com/", match=match)
        response = HtmlResponse(url, body=body, headers=_HEADERS)
        began = time.thread_time()
        writer.add_response(decision, Request(url), response)
        spent += time.thread_time() - began
        due = time.perf_counter() + _PAUSE
        await asyncio.sleep(_PAUSE)
        lateness.append(time.perf_counter() - due)
    return spent


def main() -> None:
    require_data()
    bodies = [path.read_bytes() for path in sorted((DATA / "sites").rglob("*.html"))]
    table = Table(
        "writing", "kB a page", "kB on disk", "ms on the event loop", "ms in all", "a timer is late by ms", "most"
    )
    for name in ("with", "without"):
        lateness: list[float] = []
        with tempfile.TemporaryDirectory() as folder:
            writer = WarcWriter(Path(folder), 10**10, 1, "site", declared_encoding)
            if name == "without":
                writer.write = lambda _: None  # type: ignore[assignment, method-assign]
            before = time.process_time()
            spent = asyncio.run(drop(writer, bodies, lateness))
            writer.close()
            total = time.process_time() - before
            size = sum(path.stat().st_size for path in Path(folder).iterdir())
        sums = sum(map(len, bodies)) / 1000, size / 1000
        times = 1000 * spent / len(bodies), 1000 * total / len(bodies), 1000 * statistics.median(lateness)
        table.add_row(
            name,
            *(f"{kilobytes / len(bodies):.1f}" for kilobytes in sums),
            *(f"{milliseconds:.2f}" for milliseconds in (*times, 1000 * max(lateness))),
        )
    table.title = f"{len(bodies):,} pages"
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
