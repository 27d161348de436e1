"""What the filter does to whole sites in random order: ``python -m benchmarks.stream [FOLDER] [--orders 5] ...``.

All HTML pages of all saved sites go into one index. Whether a drop is right depends on the labelled pairs, and on the
visible text of the pages without the parts that many pages of the site share. It does not depend on the main text that the
filter extracts.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.data import GREY, SeenPage, Truth, truth_of, visible_blocks, workers
from crawler_dedup import Config, Decision, Deduplicator, Verdict
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing import parsing
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA, documents, html_pages, labelled_pairs, require_data, saved

console = Console(width=190)
CONFIG = Config(tokenizer="rjieba")
_LISTS = ("listing", "pagination", "home")


@dataclass(frozen=True)
class Page:
    """A page, signed as if its site stood at ``http://<site>.test/``."""

    seen: SeenPage
    signed: SignedPage


@dataclass(frozen=True)
class Fate:
    """The result for a page in one order: new, unchecked, right, false, wrong witness or grey."""

    page: int
    name: str
    has_twin: bool
    """Whether a duplicate of the page was kept before."""
    decision: Decision


def read(document: tuple[str, str, str], folder: Path) -> Page:
    """Read and sign a page, given as identifier, kind and the origin from which it was saved."""
    name, kind, origin = document
    body = saved(folder / "sites" / name)
    site, _, path = name.partition("/")
    url = f"http://{site}.test/" + quote(re.sub(r"(^|/)index\.html$", r"\1", path))
    moved = body
    if origin:  # as serve.py does, so that absolute links stay within the site
        saved_at = re.escape(origin.partition(":")[2].encode())
        moved = re.sub(rb"(?:https?:)?" + saved_at + rb"(?=[/\"'?#\s>])", f"http://{site}.test".encode(), body)
    signed, _ = _signer().sign(url, moved, None, encoding=None, key=url, scope="")
    hrefs = (anchor.get("href", "") for anchor in parsing.parse(moved).iter("a"))
    links = frozenset(filter(None, (_resolve(href, url) for href in hrefs)))
    return Page(SeenPage(name, kind in _LISTS, visible_blocks(parsing.parse(body)), links), signed)


def read_all(sites: Sequence[str], folder: Path) -> list[Page]:
    """Return every HTML page of *sites*."""
    known = {document["id"]: document for document in documents(folder)}
    tasks = []
    for name in sorted(name for site in sites for name in html_pages(site, folder)):
        path = name.partition("/")[2]
        url = unquote(known[name]["url"]) if name in known else ""
        origin = url.removesuffix("/" + re.sub(r"(^|/)index\.html$", r"\1", path))
        tasks.append((name, known[name]["kind"] if name in known else "", origin))
    with workers() as pool:
        return list(pool.map(partial(read, folder=folder), tasks, chunksize=20))


@cache
def _signer() -> Signer:
    return Signer(CONFIG)


def _resolve(href: str, url: str) -> str:
    try:
        target = urlsplit(urljoin(url, href.strip()))
    except ValueError:  # such as an unclosed IPv6 bracket
        return ""
    if target.scheme not in ("http", "https"):
        return ""
    return ("" if target.netloc == urlsplit(url).netloc else target.netloc) + (unquote(target.path) or "/")


def stream(pages: Sequence[Page], truth: Truth, order: Sequence[int]) -> list[Fate]:
    """Offer the pages in *order* to a new index, and judge each decision."""
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, CONFIG) as filtering:
        decisions = filtering.decide([pages[at].signed for at in order])
    number = {page.signed.url: at for at, page in enumerate(pages)}
    kept = np.zeros(len(pages), dtype=np.bool_)
    fates = []
    for at, decision in zip(order, decisions, strict=True):
        has_twin = bool((kept & (truth.labels[at] == 1)).any())
        if decision.verdict is Verdict.DUPLICATE:
            label = int(truth.labels[at, number[decision.duplicate_of]])
            name = {1: "right", GREY: "grey", 0: "wrong witness" if has_twin else "false"}[label]
        else:
            name = str(decision.verdict)
            kept[at] = True
        fates.append(Fate(at, name, has_twin, decision))
    return fates


def count(pages: Sequence[Page], fates: Sequence[Fate], graph: Sequence[Sequence[int]]) -> dict[str, Counter[str]]:
    """Count the results of one order by site."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for fate in fates:
        row = counts[pages[fate.page].seen.site]
        row["pages"] += 1
        row["unique"] += not fate.has_twin
        row["stored"] += fate.has_twin and fate.decision.passes
        row[fate.name] += 1
    dropped = {fate.page for fate in fates if not fate.decision.passes}
    false = {fate.page for fate in fates if fate.name == "false"}
    starts = _starts(pages)
    for at in _reached(graph, starts, dropped - false) - _reached(graph, starts, dropped):
        counts[pages[at].seen.site]["unreachable"] += 1
    return counts


def link_graph(pages: Sequence[Page]) -> list[list[int]]:
    """Return for each page the pages of its own site to which it links."""
    number = {page.seen.id: at for at, page in enumerate(pages)}
    graph = []
    for page in (page.seen for page in pages):
        targets = (page.site + link for link in page.links if link.startswith("/"))
        spelled = ((target, target + "index.html", target + ".html", target + "/index.html") for target in targets)
        places = (
            next((number[spelling] for spelling in spellings if spelling in number), None) for spellings in spelled
        )
        graph.append([at for at in places if at is not None])
    return graph


def _starts(pages: Sequence[Page]) -> set[int]:
    """Return the index pages at the root of the sites."""
    return {at for at, page in enumerate(pages) if re.fullmatch(r"[^/]+/index[^/]*", page.seen.id)}


def _reached(graph: Sequence[Sequence[int]], starts: set[int], cut: set[int]) -> set[int]:
    """Return the pages that a crawl from *starts* gets if it does not follow the links of *cut*, except those of starts."""
    reached, waiting = set(starts), list(starts)
    while waiting:
        at = waiting.pop()
        if at not in cut or at in starts:
            waiting.extend(set(graph[at]) - reached)
            reached.update(graph[at])
    return reached


def groups_of(sites: Iterable[str], folder: Path) -> dict[str, list[str]]:
    """Return the sites that have the same pages, by the name of the first site without its year."""
    together = {site: {site} for site in sites}
    for pair in labelled_pairs(folder):
        a, b = (pair[side].partition("/")[0] for side in ("id_a", "id_b"))
        if a in together and b in together and b not in together[a]:
            merged = together[a] | together[b]
            together.update(dict.fromkeys(merged, merged))
    return {min(group).rstrip("-0123456789"): sorted(group) for group in together.values()}


COLUMNS: dict[str, Callable[[Counter[str]], float]] = {
    "pages": lambda counts: counts["pages"],
    "unique": lambda counts: counts["unique"],
    "false drops\nper 1,000 unique": lambda counts: 1000 * counts["false"] / max(counts["unique"], 1),
    "false\ndrops": lambda counts: counts["false"],
    "made un-\nreachable": lambda counts: counts["unreachable"],
    "duplicates stored\nper 1,000": lambda counts: 1000 * counts["stored"] / counts["pages"],
    "duplicates\nstored": lambda counts: counts["stored"],
    "unchecked\nper 1,000": lambda counts: 1000 * counts["unchecked"] / counts["pages"],
    "unchecked": lambda counts: counts["unchecked"],
    "grey\ndropped": lambda counts: counts["grey"],
    "wrong\nwitness": lambda counts: counts["wrong witness"],
    "right\ndrops": lambda counts: counts["right"],
}


def report(orders: Sequence[dict[str, Counter[str]]], groups: dict[str, list[str]]) -> None:
    """Print a table of the sites under their groups, and of all sites."""
    table = Table(
        title=f"whole sites in one index, {len(orders)} random orders: median (least to most)", title_justify="left"
    )
    table.add_column("")
    for column in COLUMNS:
        table.add_column(column, justify="right")
    for name, sites in sorted(groups.items()):
        if len(sites) > 1:
            table.add_row(f"[bold]{name}", *_cells(orders, sites))
        for site in sites:
            table.add_row(f"  {site}" if len(sites) > 1 else f"[bold]{site}", *_cells(orders, [site]))
    table.add_section()
    table.add_row("[bold]all", *_cells(orders, [site for sites in groups.values() for site in sites]))
    console.print(table)


def _cells(orders: Sequence[dict[str, Counter[str]]], sites: Sequence[str]) -> list[str]:
    sums = [sum((order[site] for site in sites), Counter[str]()) for order in orders]
    cells = []
    for value in COLUMNS.values():
        values = [value(figures_of_order) for figures_of_order in sums]
        least, middle, most = (
            f"{figure:.1f}".removesuffix(".0") for figure in (min(values), statistics.median(values), max(values))
        )
        cells.append(middle if least == most else f"{middle} ({least}–{most})")
    return cells


def report_examples(pages: Sequence[Page], truth: Truth, fates: Iterable[Fate], number: int) -> None:
    """Print the *number* most frequent false drops."""
    false = {(fate.page, fate.decision.duplicate_of): fate for fate in fates if fate.name == "false"}
    times = Counter((fate.page, fate.decision.duplicate_of) for fate in fates if fate.name == "false")
    at_url = {page.signed.url: at for at, page in enumerate(pages)}
    table = Table(title="the most frequent false drops", title_justify="left")
    for column in (
        "dropped, kept",
        "times",
        "rule",
        "distance",
        "j_sub",
        "contained",
        "j_links",
    ):
        table.add_column(column, overflow="fold")
    for (page, kept_url), seen in times.most_common(number):
        match, kept = false[page, kept_url].decision.match, at_url[kept_url]
        assert match is not None
        measured = (measures[page, kept] for measures in (truth.resemblance, truth.containment, truth.links))
        urls = f"{unquote(pages[page].signed.url)}\n{unquote(kept_url)}"
        table.add_row(urls, str(seen), match.rule, str(match.distance), *(f"{measure:.2f}" for measure in measured))
    console.print(table)


def main() -> None:
    """Read, sign, stream and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sites", help="only these, separated by commas")
    parser.add_argument("--examples", type=int, default=0, help="how many false drops to print")
    given = parser.parse_args()
    require_data(given.folder)
    known = sorted(entry.name for entry in (given.folder / "sites").iterdir() if entry.is_dir())
    sites = given.sites.split(",") if given.sites else known
    if set(sites) - set(known):
        parser.error(f"The saved sites are {', '.join(known)}.")
    pages = read_all(sites, given.folder)
    truth = truth_of([page.seen for page in pages], given.folder)
    graph, chance = link_graph(pages), random.Random(given.seed)
    streams = [stream(pages, truth, chance.sample(range(len(pages)), len(pages))) for _ in range(given.orders)]
    report([count(pages, fates, graph) for fates in streams], groups_of(sites, given.folder))
    reached = len(_reached(graph, _starts(pages), set()))
    console.print(f"Without a filter the links lead to {reached} of {len(pages)} pages.")
    if given.examples:
        report_examples(pages, truth, [fate for fates in streams for fate in fates], given.examples)


if __name__ == "__main__":
    main()
