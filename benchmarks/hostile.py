"""What a hostile page costs, beside ``trafilatura.extract()``: ``python -m benchmarks.hostile [--rounds 3]``.

The cost of the filter includes everything up to the verdict, with parsing, in a running event loop as in a crawl: small
pages are signed on the event loop, larger pages in the signing thread. trafilatura gets the same bytes and its default
settings. Each is measured in a separate process that has everything loaded: seconds of processor time, the longest time for
which the event loop did not run, and the peak of memory above the memory in use before. The worst pages come last.

``--growth`` prints how the cost of each step grows with its input instead (:mod:`benchmarks.growth`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

import trafilatura
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scrapy.http import HtmlResponse

from benchmarks import growth
from crawler_dedup import Config, Decision, Deduplicator, SignedPage
from crawler_dedup.crawl import text
from crawler_dedup.crawl.background import signing_thread
from tests.support import peak
from tests.support.hostile_pages import PAGES, HostilePage

_DEADLINE = 60
_BEAT = 0.002


@dataclass(frozen=True)
class Cost:
    """The result for a page, its seconds and megabytes, and the longest time for which the event loop did not run."""

    answer: str
    seconds: float
    megabytes: float
    stalled: float = 0.0


def ours(page: HostilePage, tokenizer: str) -> Cost:
    """Measure everything up to the verdict, in this process."""
    config = Config.from_settings({"DEDUP_TOKENIZER": tokenizer})
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, config) as filtered:
        filtered.load()
        filtered.check("http://warm.up/", PAGES["valid"].make())
        body, start, before = _begin(page)
        try:
            decision, stalled = asyncio.run(_checked_in_a_loop(filtered, page, body))
            answer = decision.reason or decision.verdict.value
        except Exception as error:
            answer, stalled = type(error).__name__, 0.0
        return replace(_cost(answer, start, before), stalled=stalled)


async def _checked_in_a_loop(filtered: Deduplicator, page: HostilePage, body: bytes) -> tuple[Decision, float]:
    """Return the decision, and the longest time in seconds for which the event loop did not run."""
    headers = {"Content-Type": f"text/html; charset={page.encoding}" if page.encoding else "text/html"}
    response = HtmlResponse(page.url or "about:blank", body=body, headers=headers)

    def sign() -> SignedPage:
        tree = text.tree_of(response, Config())
        return filtered.sign_with_text(page.url, body, tree, encoding=page.encoding, scope=page.name)[0]

    gaps = [0.0]
    beating = asyncio.ensure_future(_beat(gaps))
    await asyncio.sleep(10 * _BEAT)
    signed = sign() if len(body) <= filtered.quick_bytes else await signing_thread.run(sign)
    (decision,) = await asyncio.wrap_future(filtered.submit([signed]))
    await asyncio.sleep(_BEAT)
    beating.cancel()
    return decision, max(gaps)


async def _beat(gaps: list[float]) -> None:
    while True:
        before = time.monotonic()
        await asyncio.sleep(_BEAT)
        gaps.append(time.monotonic() - before - _BEAT)


def peer(page: HostilePage) -> Cost:
    """Measure the extraction of the main text by trafilatura, in this process."""
    trafilatura.extract(PAGES["valid"].make())
    body, start, before = _begin(page)
    try:
        answer = f"{len(trafilatura.extract(body) or ''):,} letters"
    except Exception as error:
        answer = type(error).__name__
    return _cost(answer, start, before)


def _begin(page: HostilePage) -> tuple[bytes, float, float]:
    body = page.make()
    peak.forget()
    return body, time.process_time(), peak.megabytes()


def _cost(answer: str, start: float, before: float) -> Cost:
    return Cost(answer, time.process_time() - start, peak.megabytes() - before)


def measured(name: str, side: str, rounds: int) -> Cost | None:
    """Return the medians of *rounds* processes; ``None`` if a process does not end."""
    costs = []
    for _ in range(rounds):
        command = [sys.executable, "-m", "benchmarks.hostile", "--measure", side, name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE, check=False)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            return Cost(f"ended by {done.returncode}", 0, 0)
        costs.append(Cost(**json.loads(done.stdout)))
    return Cost(
        costs[0].answer,
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.megabytes for cost in costs),
        statistics.median(cost.stalled for cost in costs),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokenizer", default="jieba")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="pages, or with --growth steps, with one of these in their names"
    )
    parser.add_argument("--growth", action="store_true", help="how the cost of each step grows with its input")
    parser.add_argument("--pairs", type=int, default=40, help="pairs of fragments of markup, with --growth")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        side, page = given.measure[0], PAGES[given.measure[1]]
        print(json.dumps(asdict(peer(page) if side == "peer" else ours(page, side))))
        return
    if given.growth:
        growth.main(given.tokenizer, given.pairs, given.only)
        return
    rows = []
    names = [name for name in PAGES if any(word in name for word in given.only)]
    with suppress(KeyboardInterrupt):  # show what has been measured so far
        for name in track(names, console=Console(stderr=True)):
            costs = measured(name, given.tokenizer, given.rounds), measured(name, "peer", given.rounds)
            rows.append((name, len(PAGES[name].make()), *costs))
    rows.sort(key=lambda row: row[2].seconds if row[2] else _DEADLINE)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    title = f"hostile pages, median of {given.rounds} processes, tokenizer {given.tokenizer}, load {load}"
    table = Table(title=title)
    table.add_column("page", overflow="fold")
    for column in ("bytes", "answer", "s", "loop stands, ms", "MB", "trafilatura.extract", "s", "MB"):
        table.add_column(column, justify="right")
    for name, size, own_cost, peer_cost in rows:
        table.add_row(name, f"{size:,}", *_cells(own_cost, with_loop=True), *_cells(peer_cost))
    Console(width=140).print(table)


def _cells(cost: Cost | None, *, with_loop: bool = False) -> tuple[str, ...]:
    if cost is None:
        return ("does not end", f"> {_DEADLINE}", *[""] * (1 + with_loop))
    loop = (f"{1000 * cost.stalled:.0f}",) if with_loop else ()
    return cost.answer, f"{cost.seconds:.3f}", *loop, f"{cost.megabytes:.0f}"


if __name__ == "__main__":
    main()
