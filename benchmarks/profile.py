"""Where the filter's processor time goes in a crawl: ``python -m benchmarks.profile [--site devtang-2015] [--processes 1]``.

A saved site is crawled by a spider that only follows links, without delays. Pages are signed on the event loop, so that the
steps of signing and deciding are measured, too, or in workers. The processor time of each step is measured within its
thread, without the steps inside it. Measuring a call takes one or two microseconds, which count for the step around it.
Therefore compare steps, not sums; ``python -m benchmarks.speed`` compares whole crawls.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.table import Table
from scrapy import signals

from benchmarks.sitecrawl import run
from benchmarks.speed import SITES, describe_load
from tests.support.data import require_data, served

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

STEPS = {
    "process_response, checker, monitor": ["middleware:DedupMiddleware.process_response"],
    "marking of requests": [
        "middleware:DedupMiddleware.request_scheduled",
        "middleware:DedupMiddleware.process_request",
    ],
    "gate: identity": ["crawl.gate:Gate.identity_of"],
    "messages to the worker and from it": [
        *(f"crawl.workers:Workers.{name}" for name in ("check", "ask", "end_claim", "_send")),
        *(f"crawl.supervision:SupervisedWorker.{name}" for name in ("add", "_send", "_receive")),
        *(f"crawl.childprocess:ChildProcess.{name}" for name in ("send", "_write", "_read")),
    ],
    "claims": ["crawl.claims:Claims.decide", "crawl.claims:Claims.end"],
    "settling": [
        f"settling:SettlingMiddleware.{name}"
        for name in ("process_spider_input", "item_scraped", "_begin_output", "_end_output", "_output_ended")
    ]
    + ["settling:SettlingMiddleware._note_output"],
    "parsing": ["signing.signer:Signer.parse"],
    "sign: the rest": ["signing.signer:Signer.sign"],
    "blocks of the tree": ["signing.outline:read_outline"],
    "main text": ["signing.maintext:find_main_blocks", "signing.maintext:join_text"],
    "title": ["signing.parsing:find_title"],
    "links": ["signing.outlinks:find_links", "signing.links:Links.digest", "signing.links:Links.packed"],
    "normalise": ["signing.features:normalise"],
    "tokens": ["signing.features:tokenise"],
    "Chinese dictionary": ["signing.signer:Signer._cut_han"],
    "hashes and weights": ["signing.features:weigh_tokens"],
    "simhash": ["signing.schemes.simhash:simhash"],
    "embedded content": ["signing.embedded:find_embedded_content"],
    "packed blocks": ["signing.blocks:pack_blocks"],
    "writing thread: commit": ["index.lmdb.committer:Committer._commit"],
    "writing thread: decisions": ["index.decider:Decider.decide"],
    "writing thread: candidates": ["index.transaction:Transaction.read_buckets"],
    "writing thread: rules": ["rules.matcher:RuleMatcher.choose"],
    "writing thread: filing": ["index.transaction:Transaction.add"],
    "writing thread: settling": ["index.openclaims:end_claim"],
    "writing thread: what is kept once settled": ["rules.matcher:RuleMatcher.trim"],
    "writing thread: learning the site": ["index.profiles:SiteStore.count_page"],
    "writing thread: counts of sites": ["rules.matcher:SiteCounter.count"],
}
"""The functions of each step, as ``module:name`` within the package."""

_PREFIX = "steps"


@dataclass
class _Spent:
    nanoseconds: int = 0
    calls: int = 0


@dataclass
class _Inside(threading.local):
    """The time measured inside each step in which this thread is, the innermost step last."""

    stack: list[int] = field(default_factory=list)


class StepTimer:
    """Extension that measures the steps of a crawl, and writes them into its statistics."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        self._spent = {step: _Spent() for step in STEPS}
        self._inside = _Inside()
        for step, names in STEPS.items():
            for name in names:
                self._replace(name, step)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Begin to measure. Extensions are created before the middlewares, which connect their methods to signals."""
        return cls(crawler)

    def spider_closed(self) -> None:
        """Write the measured times into the statistics."""
        for step, spent in self._spent.items():
            self._stats.set_value(f"{_PREFIX}/{step}/time", spent.nanoseconds)
            self._stats.set_value(f"{_PREFIX}/{step}/calls", spent.calls)

    def _begin(self) -> int:
        self._inside.stack.append(0)
        return time.thread_time_ns()

    def _end(self, begun: int, spent: _Spent) -> None:
        taken, stack = time.thread_time_ns() - begun, self._inside.stack
        spent.nanoseconds += taken - stack.pop()
        if stack:
            stack[-1] += taken

    def _replace(self, name: str, step: str) -> None:
        """Replace *name* by a function that measures it, in every module that has imported it."""
        module_name, _, path = name.partition(":")
        module = import_module(f"crawler_dedup.{module_name}")
        *owners, attribute = path.split(".")
        owner = getattr(module, owners[0]) if owners else module
        function = inspect.getattr_static(owner, attribute)
        timed: Any
        if isinstance(function, property):
            assert function.fget is not None
            timed = property(self._timed(function.fget, self._spent[step]))
        else:
            timed = self._timed(function, self._spent[step])
        if owners:
            setattr(owner, attribute, timed)
            return
        for loaded_module in [module for loaded, module in sys.modules.items() if loaded.startswith("crawler_dedup")]:
            for alias in [alias for alias, value in vars(loaded_module).items() if value is function]:
                setattr(loaded_module, alias, timed)

    def _timed(self, function: Callable[..., Any], spent: _Spent) -> Callable[..., Any]:
        known = inspect.signature(function).parameters

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            spent.calls += 1
            # Signals pass all their arguments to a handler that accepts any.
            kwargs = {name: value for name, value in kwargs.items() if name in known}
            begun = self._begin()
            try:
                return function(*args, **kwargs)
            finally:
                self._end(begun, spent)

        @wraps(function)
        async def timed_coroutine(*args: Any, **kwargs: Any) -> Any:
            spent.calls += 1
            return await _Steps(function(*args, **kwargs), self._begin, lambda begun: self._end(begun, spent))

        return timed_coroutine if inspect.iscoroutinefunction(function) else timed


class _Steps(Awaitable[Any]):
    """A coroutine that is measured only while it runs, not while it waits."""

    def __init__(self, coroutine: Any, begin: Callable[[], int], end: Callable[[int], None]) -> None:
        self._coroutine = coroutine
        self._begin = begin
        self._end = end

    def __await__(self) -> Generator[Any, Any, Any]:
        resume, value = self._coroutine.send, None
        while True:
            begun = self._begin()
            try:
                waited_for = resume(value)
            except StopIteration as end:
                return end.value
            finally:
                self._end(begun)
            try:
                resume, value = self._coroutine.send, (yield waited_for)
            except BaseException as error:
                resume, value = self._coroutine.throw, error


def main() -> None:
    """Measure and print a table for each site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", action="append", help=f"may be given again; default: {', '.join(SITES)}")
    parser.add_argument("--tokenizer", default="rjieba")
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    require_data()
    for site in given.site or SITES:
        rounds = [_crawl(site, given.tokenizer, given.processes) for _ in range(given.rounds)]
        pages = int(rounds[0]["response_received_count"])
        table = Table(
            title=f"{site}, {pages} pages, tokenizer {given.tokenizer}, median of {given.rounds} rounds; {describe_load()}"
        )
        for column in ("step", "µs a page", "calls a page"):
            table.add_column(column, justify="right" if table.columns else "left")
        for step in STEPS:
            spent, calls = (
                statistics.median(stats[f"{_PREFIX}/{step}/{figure}"] / pages for stats in rounds)
                for figure in ("time", "calls")
            )
            table.add_row(step, f"{spent / 1000:.0f}", f"{calls:.2f}")
        Console(width=120).print(table)


def _crawl(site: str, tokenizer: str, processes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, served(site, core=1) as origin:
        done = run(
            f"{origin}/_all.html",
            items=Path(folder) / "items.jsonl",
            spider="links",
            settings={
                "DEDUP_DIR": f"{folder}/index",
                "DEDUP_ACTION": "mark",
                "DEDUP_TOKENIZER": tokenizer,
                "DEDUP_PROCESSES": processes,
                "EXTENSIONS": '{"benchmarks.profile.StepTimer": 0}',
            },
            core=0,
        )
    assert done is not None
    return done.stats


if __name__ == "__main__":
    main()
