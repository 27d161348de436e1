"""Does a second process on an index decide like the first? ``python -m benchmarks.second_process [FOLDER]``.

Two states of a site are on two hosts. The pages of the older state are filed by one process, and then those of the newer
state by another process on the same index. In another index, one process files both.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from xxhash import xxh3_64_hexdigest

from benchmarks.stream import CONFIG, Page, read_all
from crawler_dedup import Decision, Deduplicator
from tests.support.data import DATA, labelled_pairs, require_data

STATES = (("whileydave-2020", "whileydave-2024"), ("devtang-2015", "devtang-2018"))
_BATCH = 16


def decide(pages: Path, index: Path, sites: Sequence[str], answer: Path) -> None:
    """Offer the pages of *sites* to the index, site by site in mixed order, and write the decisions to the file *answer*."""
    read: list[Page] = pickle.loads(pages.read_bytes())
    decisions: dict[str, Decision] = {}
    with Deduplicator.open(index, CONFIG) as deduplicator:
        for site in sites:
            pages_of_site = [page for page in read if page.seen.site == site]
            pages_of_site.sort(key=lambda page: xxh3_64_hexdigest(page.seen.id.encode()))
            for first in range(0, len(pages_of_site), _BATCH):
                batch = pages_of_site[first : first + _BATCH]
                answers = deduplicator.decide([page.signed for page in batch])
                decisions |= {page.seen.id: decision for page, decision in zip(batch, answers, strict=True)}
    answer.write_bytes(pickle.dumps(decisions))


def run_process(folder: Path, index: str, *sites: str) -> dict[str, Decision]:
    """Offer the pages of *sites* to an index in a separate process; return the decisions by identifier."""
    answer = folder / f"{index}, {sites[-1]}"
    paths = (folder / "pages", folder / index, answer)
    program = [sys.executable, "-m", "benchmarks.second_process"]
    subprocess.run([*program, "--process", *map(str, paths), *sites], check=True)
    decisions: dict[str, Decision] = pickle.loads(answer.read_bytes())
    return decisions


def find_twins(older: str, newer: str, data: Path) -> set[str]:
    """Return the pages of the newer state that have a labelled duplicate in the older state."""
    twins = set()
    for pair in labelled_pairs(data):
        by_site = {pair[side].partition("/")[0]: pair[side] for side in ("id_a", "id_b")}
        if pair["label"] == 1 and by_site.keys() == {older, newer}:
            twins.add(by_site[newer])
    return twins


def compare(older: str, newer: str, data: Path) -> list[str]:
    """Return the row of the table for two states of a site."""
    pages = read_all([older, newer], data)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pages").write_bytes(pickle.dumps(pages))
        together = run_process(folder, "one process", older, newer)
        apart = run_process(folder, "two processes", older) | run_process(folder, "two processes", newer)
    twins = find_twins(older, newer, data)
    dropped = [sum(not decisions[page].passes for page in twins) for decisions in (together, apart)]
    differing = sum(together[page.seen.id] != apart[page.seen.id] for page in pages)
    return [f"{older}, then {newer}", *map(str, (len(pages), len(twins), *dropped, differing))]


def main() -> None:
    """Run the processes and print the table; with ``--process``, run as one of the processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--process", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.process:
        pages, index, answer, *sites = given.process
        decide(Path(pages), Path(index), sites, Path(answer))
        return
    require_data(given.folder)
    table = Table(title="two states of a site on one index", title_justify="left")
    columns = ("labelled duplicates", "dropped by one process", "dropped by the second", "decisions that differ")
    for column in ("", "pages", *columns):
        table.add_column(column, justify="right" if column else "left")
    for older, newer in STATES:
        table.add_row(*compare(older, newer, given.folder))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
