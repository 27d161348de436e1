"""What a hostile page costs, beside ``trafilatura.extract()``: ``python -m benchmarks.hostile [--rounds 3]``.

The cost of the filter includes everything up to the verdict: a worker signs the page and decides about it, beside a running
event loop as in a crawl. trafilatura gets the same bytes and its default settings. Each is measured in a process that has
everything loaded: seconds of processor time, with that of the worker, the longest time for which the event loop did not run,
and the peak of memory above the memory in use before, with the filter that of the worker. The worst pages come last. Pages
whose names begin with "odd" sleep, loop in C, take memory or crash (``tests/support/odd_extractor.py``).

``--growth`` prints how the cost of each step grows with its input instead (:mod:`benchmarks.growth`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import trafilatura
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import growth
from crawler_dedup import Config
from crawler_dedup.crawl.supervision import DIED, NOT_IN_TIME
from crawler_dedup.crawl.workers import Workers
from crawler_dedup.errors import DedupError
from crawler_dedup.worker.messages import Failure
from tests.support import peak, processes
from tests.support.hostile_pages import PAGES, HostilePage, chinese
from tests.support.signing import Log, check, open_workers

ODD = {
    f"odd: {what}": HostilePage(f"odd: {what}", f"<title>odd</title><p>{what}".encode, "")
    for what in ("sleep", "loop in C", "memory", "crash")
}
_ALL = {**PAGES, **ODD}
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
    """Measure everything up to the verdict, in this process and in a worker."""
    extractor = "tests.support.odd_extractor.extract" if page.name in ODD else "paragraphs"
    seconds = 3.0 if page.name in ODD else Config.timeout
    config = Config(tokenizer=tokenizer, extractor=extractor, timeout=seconds)  # type: ignore[arg-type]
    log = Log()  # the workers refer to it weakly
    with tempfile.TemporaryDirectory() as folder:
        workers = open_workers(Path(folder, "index"), log, config)
        try:
            return asyncio.run(_check_in_a_loop(workers, page))
        finally:
            workers.kill()


async def _answer(workers: Workers, url: str, body: bytes, encoding: str | None) -> str:
    try:
        decision = (await workers.ask(*check(body, url, scope=url, encoding=encoding))).decision
    except DedupError as error:
        return str(error) or type(error).__name__
    return decision.message if isinstance(decision, Failure) else decision.reason or decision.verdict.value


async def _check_in_a_loop(workers: Workers, page: HostilePage) -> Cost:
    await _answer(workers, "http://warm.up/", PAGES["valid"].make(), None)
    await _answer(workers, "http://warm.up/zh", chinese().encode(), None)
    (pid,) = processes.children(os.getpid())
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
    body, start, _ = _begin(page)
    child_start, before = processes.seconds_of(pid), _peak_of(pid)
    gaps = [0.0]
    beating = asyncio.ensure_future(_beat(gaps))
    await asyncio.sleep(10 * _BEAT)
    answer = await _answer(workers, page.url, body, page.encoding)
    await asyncio.sleep(_BEAT)
    beating.cancel()
    seconds, megabytes = time.process_time() - start, 0.0
    if answer not in (NOT_IN_TIME, DIED):
        seconds += processes.seconds_of(pid) - child_start
        megabytes = _peak_of(pid) - before
    return Cost(answer, seconds, megabytes, max(gaps))


def _peak_of(process: int) -> float:
    (line,) = re.findall(r"VmHWM:\s*(\d+)", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    return int(line) / 1024


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
        side, page = given.measure[0], _ALL[given.measure[1]]
        print(json.dumps(asdict(peer(page) if side == "peer" else ours(page, side))))
        return
    if given.growth:
        growth.main(given.tokenizer, given.pairs, given.only)
        return
    rows = []
    names = [name for name in _ALL if any(word in name for word in given.only)]
    with suppress(KeyboardInterrupt):  # show what has been measured so far
        for name in track(names, console=Console(stderr=True)):
            costs = measured(name, given.tokenizer, given.rounds), measured(name, "peer", given.rounds)
            rows.append((name, len(_ALL[name].make()), *costs))
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
