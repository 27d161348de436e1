"""What a page costs in a directory and on a server: ``python -m benchmarks.backends [--pages N] [--rounds N]``.

The same generated pages are offered and settled in an index in a directory and in an index on a server, in turn. The cost
is the processor time of this process and of the server, which writes its log every second. Both indexes must make the same
decisions. ``python -m benchmarks.large_backends`` measures indexes of millions of pages.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from crawler_dedup import Config, Decision, SignedPage
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.lmdb.engine import DATA_FILE
from crawler_dedup.index.location import Location, ServerAddress
from crawler_dedup.index.opening import open_or_create_index
from crawler_dedup.index.redis.connection import ServerConnection
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.signer import Signer
from tests.support.servers import serving

_WORDS = [f"word{number}" for number in range(5_000)]
_HOSTS = 200
_COPIES = 0.1
_WAYS = (("1 at a time", 1, False), ("1 at a time, settled with the next", 1, True), ("16 at a time", 16, False))


class Cost(NamedTuple):
    """Microseconds per page: processor time of the client and of the server, and wall-clock time."""

    client: float
    server: float
    passed: float


def make_pages_to_offer(signer: Signer, count: int, seed: int) -> list[SignedPage]:
    """Sign pages with a hundred words each; a tenth of them are copies."""
    source, signed = random.Random(seed), list[SignedPage]()
    bodies: list[str] = []
    for number in range(count):
        if bodies and source.random() < _COPIES:
            body = source.choice(bodies)
        else:
            parts = (" ".join(source.choices(_WORDS, k=25)) for _ in range(4))
            body = "".join(f"<p>{part}.</p>" for part in parts)
            bodies.append(body)
        url = f"http://host{number % _HOSTS}.example/{seed}/{number}"
        page = f"<html><title>{number}</title><body><main>{body}</main></body></html>"
        signed.append(signer.sign(url, page.encode(), encoding="utf-8", key=None, scope="")[0])
    return signed


class Crawl:
    """An open index, in which pages are offered and settled as in a crawl."""

    def __init__(self, location: Location, signer: Signer) -> None:
        self._server = ServerConnection(location) if isinstance(location, ServerAddress) else None
        self._matcher = RuleMatcher(signer.config, signer.scheme)
        self.pages: Index = open_or_create_index(location, signer.spec, signer.libraries)
        self._run = self.pages.begin_run()
        self._context = RunContext(self._run.number, 60, clock=self._run.now)
        self._claiming = replace(self._context, next_claim=itertools.count(1).__next__)

    def close(self) -> None:
        """End the run and close the index."""
        self.pages.end_run(self._context, finished=True)
        self._run.release()
        self.pages.close()

    def measure(
        self, offered: Sequence[SignedPage], at_once: int, *, settled_later: bool = False
    ) -> tuple[Cost, list[Decision]]:
        """Offer and settle pages as :meth:`offer` does; return the cost of a page, and the decisions."""
        client, server, passed = time.process_time(), self.server_time(), time.perf_counter()
        decisions = self.offer(offered, at_once, settled_later=settled_later)
        spent = (time.process_time() - client, self.server_time() - server, time.perf_counter() - passed)
        return Cost(*(seconds / len(offered) * 1e6 for seconds in spent)), decisions

    def offer(self, offered: Sequence[SignedPage], at_once: int, *, settled_later: bool = False) -> list[Decision]:
        """Offer and settle pages, *at_once* at a time; return the decisions.

        Args:
            settled_later: settle a page together with the next offer, as in a crawl, instead of before it.
        """
        decisions: list[Decision] = []
        ends: list[Future[bool]] = []
        for at in range(0, len(offered), at_once):
            offers = [self.pages.offer([page], self._matcher, self._claiming) for page in offered[at : at + at_once]]
            decided = [offer.result()[0] for offer in offers]
            for end in ends:
                end.result()
            ends = [
                self.pages.end_claim(decision, self._matcher, self._context, settled=True, urgent=not settled_later)
                for decision in decided
                if decision.claim
            ]
            for end in () if settled_later else ends:
                end.result()
            decisions += decided
        for end in ends:
            end.result()
        return decisions

    def server_time(self) -> float:
        """Return the seconds of processor time that the server has used."""
        if self._server is None:
            return 0.0
        info = self._server.info("cpu")
        return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


def _compare(distance: int, pages: int, rounds: int, table: Table, folder: Path) -> None:
    signer = Signer(Config(max_distance=distance, tokenizer="bigrams"))
    with serving(folder / "server", "--appendonly", "yes", "--appendfsync", "everysec") as server:
        crawls = {"directory": Crawl(folder / "index", signer), "server": Crawl(server.address(), signer)}
        with closing(crawls["directory"]), closing(crawls["server"]):
            filled = make_pages_to_offer(signer, pages, 0)
            answers = [crawl.measure(filled, 64)[1] for crawl in crawls.values()]
            for kind, (title, at_once, settled_later) in enumerate(_WAYS):
                costs: dict[str, list[Cost]] = {name: [] for name in crawls}
                for turn in range(rounds):
                    offered = make_pages_to_offer(signer, 1_000, 100 * kind + turn + 1)
                    for number, (name, crawl) in enumerate(crawls.items()):
                        cost, decisions = crawl.measure(offered, at_once, settled_later=settled_later)
                        costs[name].append(cost)
                        answers[number] += decisions
                _add_rows(table, f"k = {distance}, {title}", costs)
            alike = [[(decision.verdict, decision.duplicate_of) for decision in answer] for answer in answers]
            assert alike[0] == alike[1], "the backends answer differently"
            sizes = (
                (folder / "index" / DATA_FILE).stat().st_blocks * 512,
                int(str(server.info("memory")["used_memory"])),
            )
            kept = len(crawls["server"].pages)
            table.add_row(f"k = {distance}, bytes a kept page", *(f"{size / kept:,.0f}" for size in sizes), "")
    table.add_section()


def _add_rows(table: Table, title: str, costs: dict[str, list[Cost]]) -> None:
    for part in ("client", "server", "client and server", "passed"):
        shown, medians = [], []
        for costs_of_rounds in costs.values():
            values = [cost.client + cost.server if " " in part else getattr(cost, part) for cost in costs_of_rounds]
            medians.append(statistics.median(values))
            shown.append(f"{medians[-1]:,.0f} ({min(values):,.0f}–{max(values):,.0f})")
        ratio = f"{medians[1] / medians[0]:.2f}" if medians[0] else ""
        table.add_row(f"{title}: {part}", *shown, ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000, help="pages with which the indexes are filled first")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of a thousand pages each")
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    table = Table("microseconds of processor time a page, offered and settled", "directory", "server", "ratio")
    for distance in (3, 7):
        with tempfile.TemporaryDirectory() as folder:
            _compare(distance, arguments.pages, arguments.rounds, table, Path(folder))
    table.title = (
        f"Index of {arguments.pages:,} pages and more, load of the machine {before:.1f} … {os.getloadavg()[0]:.1f}"
    )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
