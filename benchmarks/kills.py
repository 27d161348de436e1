"""What a crawl loses that is stopped and started again: ``python -m benchmarks.kills [--kills 30] [--site gopl-zh-2024]
[--grace 60] [--interrupts 10] [--queue-site devtang-2015]``.

A crawl is ended with ``kill -9`` at random instants, up to five times in a row on one index, and then repeated until a run
finishes, without ``JOBDIR`` and with it. Each item is committed to SQLite a moment after it is scraped. Contents are main
texts. A content is *lost* if the undisturbed crawl has stored it, the stopped crawl has not, and no stored page covers it by
the rules of the filter. *as seen* is a filter that records a page when it sees it. *new addresses*: every start finds the
pages at other addresses, so that the records of dead runs decide whether they are stored. ``--single`` ends only the process
of a crawl, which then runs again, or only its worker: *unchecked* are pages beyond those of the undisturbed crawl, *left*
are workers that still run after the crawl.
"""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

from benchmarks import withoutclaims
from crawler_dedup import Config
from tests.support.data import require_data, served
from tests.support.killed import Job, Trial, compare, try_stops

_GRACES = (60, 1, 0)
_COLUMNS = (
    "stops",
    "indexes",
    "contents",
    "the same contents",
    "another page covers",
    "lost",
    "stored twice",
    "dropped by the finishing runs",
)


_SINGLE: tuple[tuple[Literal["crawl", "workers"], signal.Signals], ...] = (
    ("crawl", signal.SIGKILL),
    ("workers", signal.SIGKILL),
    ("workers", signal.SIGSEGV),
)


@dataclass(frozen=True)
class _Kind:
    title: str
    job: Job
    stop: signal.Signals = signal.SIGKILL


def main() -> None:
    """Stop, compare and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--interrupts", type=int, default=10, help="stops of each crawl with JOBDIR")
    parser.add_argument("--site", default="gopl-zh-2024", help="several with commas between are one crawl")
    # Scrapy writes seen addresses in blocks of some hundred: after a kill, a crawl of a smaller site starts again.
    parser.add_argument("--queue-site", default="devtang-2015", help="the site that is resumed from JOBDIR")
    parser.add_argument("--grace", type=int, action="append", help=f"DEDUP_GRACE; may be repeated; default: {_GRACES}")
    parser.add_argument("--same-addresses", type=int, default=0, help="so many kills with addresses that stay")
    parser.add_argument("--single", type=int, default=0, help="so many kills of one process, with each signal")
    parser.add_argument("--tokenizer", default="rjieba")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    require_data()
    console = Console(width=150)
    filtered = {"DEDUP_TOKENIZER": given.tokenizer, "DEDUP_SCOPE": "global"}
    jobs = {f"grace {grace} s": {**filtered, "DEDUP_GRACE": grace} for grace in given.grace or _GRACES}
    jobs["as seen"] = {**filtered, **withoutclaims.SETTINGS}
    with _served(given.site) as url:
        for title, kills, new in (
            ("kill -9, new addresses", given.kills, True),
            ("kill -9, the same addresses", given.same_addresses, False),
        ):
            kinds = [_Kind(name, Job(url, Path(), settings, new)) for name, settings in jobs.items()]
            _show(console, f"{given.site}, {title}", kinds, kills, given.seed)
        if given.single:
            job = Job(url, Path(), {**filtered, "DEDUP_GRACE": 60})
            _show_single(console, f"{given.site}, one process killed", job, given.single, given.seed)
    with _served(given.queue_site) as url:
        kinds = [
            _Kind(f"{name}, {how_stopped}", Job(url, Path(), settings, resumes=True), stop)
            for how_stopped, stop in (("Ctrl-C", signal.SIGINT), ("kill -9", signal.SIGKILL))
            for name, settings in (("off", {"DEDUP_ENABLED": False}), ("on", filtered))
        ]
        _show(console, f"{given.queue_site}, resumed from JOBDIR", kinds, given.interrupts, given.seed)


@contextmanager
def _served(sites: str) -> Iterator[str]:
    """Serve *sites* while the context lasts, and yield the addresses at which crawls of them start."""
    with ExitStack() as stack:
        yield ",".join(f"{stack.enter_context(served(site))}/_all.html" for site in sites.split(","))


def _show(console: Console, title: str, kinds: Sequence[_Kind], stops: int, seed: int) -> None:
    if not stops:
        return
    table = Table(title=title, title_justify="left")
    table.add_column("filter")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    lost = []
    for kind in kinds:
        with console.status(f"{title}: {kind.title}"), tempfile.TemporaryDirectory() as folder:
            job = replace(kind.job, folder=Path(folder, "stopped"))
            undisturbed = replace(job, folder=Path(folder, "undisturbed"), resumes=False)
            seconds = undisturbed.run().seconds
            trial = try_stops(job, undisturbed, stops=stops, seconds=seconds, seed=seed, stop=kind.stop)
        table.add_row(kind.title, *_cells(trial))
        if trial.lost:
            lost.append(f"lost, {kind.title}: {', '.join(trial.lost[:5])}")
    console.print(table, *lost, sep="\n")


def _show_single(console: Console, title: str, job: Job, kills: int, seed: int) -> None:
    source = random.Random(seed)
    table = Table("killed", "kills", "contents", "lost", "stored twice", "unchecked", "restarts", "left", title=title)
    with tempfile.TemporaryDirectory() as folder:
        undisturbed = replace(job, folder=Path(folder, "undisturbed"))
        plain = undisturbed.run()
        wanted, config = undisturbed.stored(), Config.from_settings(job.settings)
        for stopped, stop in _SINGLE:
            ends, unchecked, restarts, left = [], 0, 0, 0
            for number in range(kills):
                killed = replace(job, folder=Path(folder, f"{stopped}-{stop.name}-{number}"))
                ended = killed.run(after=source.uniform(0, plain.seconds), stop=stop, stopped=stopped)
                left += sum(map(_runs_on, ended.workers))
                if ended.reason == "killed":
                    ended = killed.run(1)
                unchecked += ended.stats.get("dedup/unchecked", 0) - plain.stats.get("dedup/unchecked", 0)
                restarts += ended.stats.get("dedup/worker/restarts", 0)
                ends.append(compare(wanted, killed.stored(), config))
            counts = (
                sum(end.wanted for end in ends),
                sum(len(end.lost) for end in ends),
                sum(end.twice for end in ends),
            )
            table.add_row(f"{stopped}, {stop.name}", *map(str, (len(ends), *counts, unchecked, restarts, left)))
    console.print(table)


def _runs_on(process: int) -> bool:
    """Return whether a process still runs two seconds after the end of its crawl."""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.05)
    return True


def _cells(trial: Trial) -> list[str]:
    ends = trial.ends
    return [
        str(trial.stops),
        str(len(ends)),
        f"{sum(end.wanted for end in ends):,}",
        f"{sum(end.equal for end in ends)} of {len(ends)}",
        str(sum(len(end.covered) for end in ends)),
        str(len(trial.lost)),
        f"{sum(end.twice for end in ends):,}",
        f"{trial.dropped:,}",
    ]


if __name__ == "__main__":
    main()
