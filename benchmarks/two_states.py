"""Does a crawl by two processes drop what a feed in the same order drops? ``python -m benchmarks.two_states [--crawls 10]
[--states whileydave-2020,whileydave-2024] [--folder FOLDER]``.

Two states of a site are served as two sites. Two processes crawl them at the same time into one index, each with 16 requests
at once and no delay, from a list of all pages. A *feed* then offers the pages of that crawl, in the order in which the crawl
decided about them, one by one to ``Deduplicator.check`` in one process, with an index of its own.

*Twins* are pairs of pages of the two states that are labelled as duplicates. They count as dropped if at least one of the
two pages was dropped and did not pass at another address. A drop is *wrong* if the page and its representative are labelled
as different.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from operator import truediv
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

from benchmarks import decisionlog, second_process
from benchmarks.decisionlog import LoggedDecision, read_log
from benchmarks.speed import describe_load
from crawler_dedup import Config, Decision, Deduplicator, Verdict
from crawler_dedup.evaluation.labelled import read_folder
from tests.support.data import DATA, page_id, require_data, served
from tests.support.processes import ROOT

FOLDERS = (DATA, DATA.parent / "dinomite")
STATES = (*second_process.STATES, ("dinomite-2016", "dinomite-2025"))
_SETTINGS = {
    **decisionlog.SETTINGS,
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": False,
    "METAREFRESH_ENABLED": False,  # some pages lead to hosts elsewhere
    "LOG_LEVEL": "ERROR",
}

Pair = frozenset[str]
Labels = Mapping[Pair, int | str]


@dataclass(frozen=True)
class Outcome:
    """The result of a crawl or a feed: the share of the twins that were dropped, and what else was counted."""

    share: float
    unchecked: Counter[tuple[str, ...]]  # by reason
    wrong: Counter[tuple[str, ...]]  # by page, representative and rule


def crawl(origins: Sequence[str], folder: Path, config: Config) -> list[LoggedDecision]:
    """Crawl each of *origins* in its own process, and return the decisions of all in their order."""

    def run(number: int) -> list[LoggedDecision]:
        log = folder / f"decisions-{number}"
        settings = {**_SETTINGS, "DECISION_LOG": log, "DEDUP_DIR": folder / "index"}
        settings |= {"DEDUP_SCOPE": config.scope, "DEDUP_TOKENIZER": config.tokenizer}
        options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={origins[number]}/_all.html"]
        subprocess.run([*command, "-O", f"{folder}/items-{number}.jsonl", *options], cwd=ROOT, check=True)
        return list(read_log(log))

    with ThreadPoolExecutor(len(origins)) as pool:
        logs = pool.map(run, range(len(origins)))
        return sorted((logged for log in logs for logged in log), key=lambda logged: logged.time)


def feed(pages: Iterable[LoggedDecision], config: Config) -> Iterator[Decision]:
    """Offer *pages* in their order to a new index, and yield the decisions."""
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, config) as deduplicator:
        for page in pages:
            url, key = page.decision.url, page.decision.key or None
            yield deduplicator.check(url, page.body, encoding=page.encoding, key=key)


def judge(
    decisions: Iterable[tuple[Decision, bool]], twins: Sequence[Pair], labels: Labels, identify: Callable[[str], str]
) -> Outcome:
    """Compare *decisions*, each with whether it drops its page, with the labels."""
    drops: dict[str, Decision] = {}
    passed: set[str] = set()
    unchecked: Counter[tuple[str, ...]] = Counter()
    for decision, is_drop in decisions:
        page = identify(decision.url)
        if is_drop:
            drops[page] = decision
        else:
            passed.add(page)
            unchecked[(decision.reason,)] += decision.verdict is Verdict.UNCHECKED
    missing = Pair().union(*twins) - passed - drops.keys()
    if missing:
        sys.exit(f"{len(missing)} labelled pages were not crawled, such as {min(missing)}.")
    gone = drops.keys() - passed
    wrong: Counter[tuple[str, ...]] = Counter()
    for page in gone:
        kept, match = identify(drops[page].duplicate_of), drops[page].match
        wrong[page, kept, match.rule if match else ""] += labels.get(Pair((page, kept))) == 0
    share = sum(not twin.isdisjoint(gone) for twin in twins) / len(twins)
    return Outcome(share, +unchecked, +wrong)


def measure(
    folder: Path, states: Sequence[str], crawls: int, config: Config
) -> tuple[int, list[Outcome], list[Outcome]]:
    """Return the number of twins, and the outcomes of crawls and of the feeds in their orders."""
    sets = read_folder(folder)
    labels = {Pair((pair.id_a, pair.id_b)): pair.label for labelled in sets for pair in labelled.pairs}
    twins = [ids for ids, label in labels.items() if label == 1 and {name.split("/")[0] for name in ids} == {*states}]
    if not twins:
        sys.exit(f"{folder} has no labelled duplicates in {' and '.join(states)}.")
    documents = [page for labelled in sets for page in labelled.documents.values()]
    hosts = {urlsplit(page.url or "").netloc for page in documents if page.id.split("/")[0] in states} - {""}
    options = [f"--rewrite-origin={scheme}://{host}" for host in sorted(hosts) for scheme in ("http", "https")]
    crawled, fed = [], []
    with ExitStack() as stack:
        sites = {stack.enter_context(served(site, *options, folder=folder)): site for site in states}

        def identify(url: str) -> str:
            scheme, netloc, *_ = urlsplit(url)
            return page_id(sites[f"{scheme}://{netloc}"], url)

        for _ in range(crawls):
            with tempfile.TemporaryDirectory() as name:
                pages = crawl([*sites], Path(name), config)
            crawled.append(judge(((page.decision, page.drops) for page in pages), twins, labels, identify))
            decisions = feed(pages, config)
            fed.append(judge(((each, not each.passes) for each in decisions), twins, labels, identify))
    return len(twins), crawled, fed


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crawls", type=int, default=10)
    parser.add_argument("--states", action="append", help=f"OLDER,NEWER; may be repeated; default: {STATES}")
    parser.add_argument("--folder", type=Path, action="append", help="has sites/ and pairs/; may be repeated")
    parser.add_argument("--tokenizer", default="rjieba")
    given = parser.parse_args()
    require_data()
    wanted = [states.split(",") for states in given.states] if given.states else STATES
    pairs = product(given.folder or FOLDERS, wanted)
    saved = [(folder, states) for folder, states in pairs if all((folder / "sites" / site).is_dir() for site in states)]
    if not saved:
        parser.error("No folder has two such states.")
    config = Config(tokenizer=given.tokenizer, scope="global")
    console, before = Console(width=150), describe_load()
    shares = Table("states", "twins", "dropped by crawls", "by feeds in their orders", "crawl/feed")
    unchecked = Table("states", "unchecked because", "pages of a crawl", "pages of a feed")
    wrong = Table("states", "wrongly dropped", "kept", "rule", "in crawls", "in feeds")
    for folder, states in saved:
        name = " and ".join(states)
        with console.status(name):
            twins, *outcomes = measure(folder, states, given.crawls, config)
        crawled, fed = ([outcome.share for outcome in kind] for kind in outcomes)
        ratios = [*map(truediv, crawled, fed)]
        shares.add_row(name, str(twins), *(_spread(values, ".3f") for values in (crawled, fed, ratios)))
        _add_rows(unchecked, name, [[outcome.unchecked for outcome in kind] for kind in outcomes])
        _add_rows(wrong, name, [[outcome.wrong for outcome in kind] for kind in outcomes])
    console.print(
        f"{given.crawls} crawls, figures are least, median, most; tokenizer {given.tokenizer}; {before}, then"
        f" {describe_load()}",
        *(table for table in (shares, unchecked, wrong) if table.row_count),
        sep="\n",
    )


def _add_rows(table: Table, name: str, kinds: Sequence[Sequence[Counter[tuple[str, ...]]]]) -> None:
    """Add a row for each case that the crawls and the feeds have counted."""
    for case in sorted(set().union(*(counter for kind in kinds for counter in kind))):
        table.add_row(name, *case, *(_spread([counter[case] for counter in kind], "g") for kind in kinds))


def _spread(values: Sequence[float], form: str) -> str:
    return ", ".join(f"{value:{form}}" for value in (min(values), statistics.median(values), max(values)))


if __name__ == "__main__":
    main()
