"""What a hostile page costs, beside ``trafilatura.extract()``: ``python -m benchmarks.hostile [--rounds 3]``.

Ours counts everything to the verdict, the parsing too; the peer gets the same bytes and its defaults. Each is measured in
a process of its own that has everything loaded: seconds of processor time, and the peak of memory above what was in use
before. The worst come last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass

import trafilatura
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks import peak
from benchmarks.hostile_pages import PAGES, HostilePage
from crawler_dedup import Config, Deduplicator

_DEADLINE = 60


@dataclass(frozen=True)
class Cost:
    """What came of a page, the seconds and megabytes that it took."""

    answer: str
    seconds: float
    megabytes: float


def ours(page: HostilePage, tokenizer: str) -> Cost:
    """The way to the verdict, in this process."""
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, Config(tokenizer=tokenizer)) as filtered:
        filtered.load()
        filtered.check("http://warm.up/", PAGES["valid"].make())
        body, start, before = _begin(page)
        try:
            decision = filtered.check(page.url, body, encoding=page.encoding, scope=page.name)
            answer = decision.reason or decision.verdict.value
        except Exception as error:
            answer = type(error).__name__
        return _cost(answer, start, before)


def peer(page: HostilePage) -> Cost:
    """The extraction of the main text alone, in this process."""
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
    """The medians of some processes; ``None``: it does not end."""
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
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokenizer", default="jieba")
    parser.add_argument("--only", nargs="+", default=[""], help="pages with one of these in their names")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        side, page = given.measure[0], PAGES[given.measure[1]]
        print(json.dumps(asdict(peer(page) if side == "peer" else ours(page, side))))
        return
    rows = []
    names = [name for name in PAGES if any(word in name for word in given.only)]
    with suppress(KeyboardInterrupt):  # what is measured so far is shown
        for name in track(names, console=Console(stderr=True)):
            costs = measured(name, given.tokenizer, given.rounds), measured(name, "peer", given.rounds)
            rows.append((name, len(PAGES[name].make()), *costs))
    rows.sort(key=lambda row: row[2].seconds if row[2] else _DEADLINE)
    table = Table(title=f"hostile pages, median of {given.rounds} processes, tokenizer {given.tokenizer}")
    table.add_column("page", overflow="fold")
    for column in ("bytes", "answer", "s", "MB", "trafilatura.extract", "s", "MB"):
        table.add_column(column, justify="right")
    for name, size, own, other in rows:
        table.add_row(name, f"{size:,}", *_cells(own), *_cells(other))
    Console(width=140).print(table)


def _cells(cost: Cost | None) -> tuple[str, str, str]:
    if cost is None:
        return "does not end", f"> {_DEADLINE}", ""
    return cost.answer, f"{cost.seconds:.3f}", f"{cost.megabytes:.0f}"


if __name__ == "__main__":
    main()
