"""Stop crawls and start them again, and compare their stored pages."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

from crawler_dedup import Config, Deduplicator, SignedPage
from tests.support.processes import children, start
from tests.support.servers import Server

_DEADLINE = 180
"""Seconds after which a crawl is considered to hang."""
_LIFE_SECONDS = 2
"""Seconds for which a killed crawl seems to be alive if its index is on a server."""

# Stopping it


@dataclass(frozen=True)
class Ended:
    """How a crawl ended.

    Attributes:
        reason: ``killed``, or the reason that Scrapy gives: ``finished``, ``shutdown``.
        seconds: time from the first page to the end.
        stats: its statistics; empty if it was killed.
        workers: the workers that it had when it or they were stopped.
    """

    reason: str
    seconds: float
    stats: dict[str, Any]
    workers: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Job:
    """A crawl that is started until it finishes.

    Attributes:
        url: its start address, or several separated by commas.
        folder: the folder of its store, its index and its ``JOBDIR``.
        settings: Scrapy settings.
        new_addresses: whether each start finds every page at another address.
        resumes: whether it has a ``JOBDIR``.
        server: the server with its index, under the name of its folder; ``None``: the index is in the folder.
    """

    url: str
    folder: Path
    settings: Mapping[str, object] = field(default_factory=dict)
    new_addresses: bool = False
    resumes: bool = False
    server: Server | None = None

    def run(
        self,
        number: int = 0,
        *,
        after: float | None = None,
        stop: signal.Signals = signal.SIGKILL,
        stopped: Literal["group", "crawl", "workers"] = "group",
    ) -> Ended:
        """Crawl; if the crawl has not ended *after* seconds from its first page, send the signal *stop*.

        It is sent to the whole process group, to the process of the crawl alone, or to its workers. SIGINT is one Ctrl-C.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        result = self.folder / "result.json"
        result.unlink(missing_ok=True)
        settings = {**self.settings, **({"JOBDIR": self.folder / "job"} if self.resumes else {})}
        if self.server is not None:
            settings["DEDUP_INDEX"] = self.server.url("-".join(self.folder.parts[-2:]))
        order = {
            "url": self.url,
            "folder": str(self.folder),
            "visit": str(number + 1) if self.new_addresses else "",
            "life": _LIFE_SECONDS if self.server is not None else 0,
            "settings": {name: str(value) for name, value in settings.items()},
        }
        arguments = ["-m", "tests.support.storingcrawl", json.dumps(order)]
        with (self.folder / "log").open("ab") as log:
            process = start(arguments, stderr=log.fileno(), start_new_session=True)
        assert process.stdout is not None
        workers: list[int] = []
        try:
            process.stdout.readline()  # printed at the first page, or at the end
            begun = time.monotonic()
            try:
                process.wait(_DEADLINE if after is None else after)
            except subprocess.TimeoutExpired:
                assert after is not None, f"The crawl hangs; its log: {self.folder / 'log'}"
                workers = children(process.pid)
                for pid in {"group": [-process.pid], "crawl": [process.pid], "workers": workers}[stopped]:
                    os.kill(pid, stop)
                process.wait(_DEADLINE)
            seconds = time.monotonic() - begun
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if result.exists():
            stats = json.loads(result.read_text(encoding="utf-8"))
            return Ended(stats["finish_reason"], seconds, stats, workers)
        assert process.returncode == -signal.SIGKILL, (self.folder / "log").read_text(errors="replace")
        return Ended("killed", seconds, {}, workers)

    def run_to_the_end(self, instants: Sequence[float], *, stop: signal.Signals = signal.SIGKILL) -> list[Ended]:
        """Start the crawl again and again, stopping a run at each of the *instants*, until a run has finished."""
        runs: list[Ended] = []
        while not runs or runs[-1].reason != "finished":
            after = instants[len(runs)] if len(runs) < len(instants) else None
            runs.append(self.run(len(runs), after=after, stop=stop))
        return runs

    def stored(self) -> list[Stored]:
        """Return the rows of its store, in the order in which they were stored."""
        with closing(sqlite3.connect(self.folder / "store.sqlite")) as store:
            rows = store.execute("SELECT url, digest, encoding, body FROM pages ORDER BY number")
            return [Stored(*row) for row in rows]


# What was stored


@dataclass(frozen=True)
class Stored:
    """A row of the store; *digest* is the hash of the page's main text."""

    url: str
    digest: str
    encoding: str
    body: bytes


@dataclass(frozen=True)
class Compared:
    """The contents that a stopped crawl has stored, compared with those of the undisturbed crawl.

    Attributes:
        wanted: how many contents the undisturbed crawl has stored.
        covered: addresses of missing contents that a stored page covers by the filter's rules: which of two similar pages
            is kept depends on their order.
        lost: addresses of the other missing contents.
        added: how many contents are stored that the undisturbed crawl has not stored.
        twice: how many contents are stored more than once.
    """

    wanted: int
    covered: list[str]
    lost: list[str]
    added: int
    twice: int

    @property
    def equal(self) -> bool:
        """Whether both crawls have stored the same contents."""
        return not (self.covered or self.lost or self.added)


def compare(wanted: Sequence[Stored], stored: Sequence[Stored], config: Config) -> Compared:
    """Compare the *stored* pages with *wanted*, the pages that the undisturbed crawl has stored."""
    times = Counter(page.digest for page in stored)
    first = {page.digest: page for page in reversed(wanted)}
    missing = [page for digest, page in first.items() if digest not in times]
    covered = _covered(missing, stored, config) if missing else set()
    return Compared(
        len(first),
        [page.url for page in missing if page.url in covered],
        [page.url for page in missing if page.url not in covered],
        len(times.keys() - first.keys()),
        sum(count > 1 for count in times.values()),
    )


def _covered(missing: Sequence[Stored], stored: Sequence[Stored], config: Config) -> set[str]:
    """Return the addresses of the *missing* pages that a *stored* page covers, either as two pages about which nothing else
    is known, or in an index that has seen all stored pages and so knows the titles of their sites."""
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, config) as deduplicator:

        def sign(page: Stored) -> SignedPage:
            return deduplicator.sign(page.url, page.body, encoding=page.encoding)

        kept = [sign(page) for page in {page.body: page for page in stored}.values()]
        deduplicator.decide(kept)
        covered = set()
        for missing_page in missing:
            page = sign(missing_page)
            decision = deduplicator.decide([page])[0]
            if not decision.passes or any(deduplicator.compare(page, kept_page) is not None for kept_page in kept):
                covered.add(missing_page.url)
            if decision.passes:
                deduplicator.release(decision)  # otherwise the page would represent the next
        return covered


# Repeated stops


@dataclass(frozen=True)
class Trial:
    """The result of stopping crawls repeatedly.

    Attributes:
        stops: how many runs were stopped.
        runs: how many runs were started.
        ends: for each index and store, the contents that its runs had stored when a run had finished; indexes of which no
            run was stopped, because the first run ended before, are left out.
        dropped: pages that runs which were not killed have dropped, by the filter's count.
    """

    stops: int
    runs: int
    ends: list[Compared]
    dropped: int

    @property
    def lost(self) -> list[str]:
        """The addresses of contents that were lost."""
        return [url for end in self.ends for url in end.lost]


def try_stops(
    job: Job, undisturbed: Job, *, stops: int, seconds: float, seed: int, stop: signal.Signals = signal.SIGKILL
) -> Trial:
    """Stop *job* *stops* times, up to five times in a row on one index and one store, each time at a random instant.

    Args:
        job: the crawl; its folder gets a subfolder for each index.
        undisturbed: the same crawl, which has finished without being stopped.
        seconds: latest instant, in seconds from the first page; shortened if a crawl takes less time.
    """
    source = random.Random(seed)
    wanted = undisturbed.stored()
    config = Config.from_settings({"DEDUP_TOKENIZER": job.settings.get("DEDUP_TOKENIZER", "jieba")})
    runs: list[Ended] = []
    ends: list[Compared] = []
    stopped = 0
    for number in count():
        if stopped == stops:
            break
        numbered_job = replace(job, folder=job.folder / str(number))
        row = min(source.randint(1, 5), stops - stopped)
        done = numbered_job.run_to_the_end([source.uniform(0, seconds) for _ in range(row)], stop=stop)
        if len(done) > 1:
            stopped += len(done) - 1
            runs += done
            ends.append(compare(wanted, numbered_job.stored(), config))
        else:
            seconds = min(seconds, done[0].seconds)  # the crawl has ended before the first instant
    dropped = sum(run.stats.get("dedup/dropped", 0) for run in runs)
    return Trial(stopped, len(runs), ends, dropped)
