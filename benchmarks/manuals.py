"""What do drops lose of a newer manual? ``python -m benchmarks.manuals OLD NEW [--least 1] [--show]``.

The folders *OLD* and *NEW* have the HTML pages of two states of a manual. All pages of *OLD*, and then all pages of *NEW*,
are offered one by one to an empty index: once with both states under two paths of one host, and once on two hosts.

The *lost words* of a drop are the words of the dropped page that the kept page does not have, or has less often. Words of
both pages come from the visible text, that of the dropped page without the blocks that many pages of its state share. They
do not depend on the main text that the filter extracts.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.data import SeenPage, visible_blocks, without_template, workers
from benchmarks.kinds import split_words
from benchmarks.stream import CONFIG
from crawler_dedup import Deduplicator, SignedPage
from crawler_dedup.signing.parsing import parse
from crawler_dedup.signing.signer import Signer

ARRANGEMENTS = {"one host": "http://manual.test/{}/", "two hosts": "http://{}.manual.test/"}
"""Where the pages of a state are, with a place for its name."""

console = Console(width=150)


@dataclass(frozen=True)
class Page:
    """A page of the state ``old`` or ``new``, signed at its address in each arrangement."""

    seen: SeenPage
    signed: Mapping[str, SignedPage]


@dataclass(frozen=True)
class Drop:
    """A dropped page, the page that was kept in its place, and the lost words in the order of the dropped page."""

    url: str
    kept: str
    rule: str
    lost: Sequence[str]


def read(file: Path, folder: Path, state: str) -> Page:
    """Read a page of the manual in *folder*, and sign it at its address in each arrangement."""
    body, path = file.read_bytes(), file.relative_to(folder).as_posix()
    urls = {name: place.format(state) + quote(path) for name, place in ARRANGEMENTS.items()}
    signed = {name: _signer().sign(url, body, None, encoding=None, key=url, scope="")[0] for name, url in urls.items()}
    return Page(SeenPage(f"{state}/{path}", False, visible_blocks(parse(body)), frozenset()), signed)


def read_all(folders: Mapping[str, Path]) -> list[Page]:
    """Return the pages of all states: state by state, and sorted by path within a state."""
    pages: list[Page] = []
    with workers() as pool:
        for state, folder in folders.items():
            files = sorted(
                file for file in folder.rglob("*.htm*") if file.suffix in (".html", ".htm") and file.is_file()
            )
            pages += pool.map(partial(read, folder=folder, state=state), files, chunksize=20)
    return pages


@cache
def _signer() -> Signer:
    return Signer(CONFIG)


def feed(pages: Sequence[Page], arrangement: str) -> Iterator[Drop]:
    """Offer *pages* one by one to a new index, and yield the drops."""
    own = without_template([page.seen for page in pages], lambda page: page.blocks)
    number = {page.signed[arrangement].url: at for at, page in enumerate(pages)}
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, CONFIG) as deduplicator:
        for at, page in enumerate(pages):
            decision = deduplicator.decide([page.signed[arrangement]])[0]
            if not decision.passes:
                kept = pages[number[decision.duplicate_of]].seen.blocks
                rule = decision.match.rule if decision.match else ""
                yield Drop(decision.url, decision.duplicate_of, rule, lost_words(own[at], kept))


def lost_words(new: Iterable[str], kept: Iterable[str]) -> list[str]:
    """Return the words of the blocks *new* that *kept* does not have, or has less often, in their order."""
    left, lost = Counter(split_words("\n".join(kept))), []
    for word in split_words("\n".join(new)):
        if not left[word]:
            lost.append(word)
        left[word] -= bool(left[word])
    return lost


def main() -> None:
    """Read, feed and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--least", type=int, default=1, help="how many lost words of a drop count")
    parser.add_argument("--show", action="store_true", help="print the drops that lose so many words")
    given = parser.parse_args()
    pages = read_all({"old": given.old, "new": given.new})
    if len({page.seen.site for page in pages}) < 2:
        parser.error("One of the folders has no HTML pages.")
    table = Table("arrangement", title=f"{given.old.name}, then {given.new.name}", title_justify="left")
    for column in ("pages", "drops", f"of these: {given.least} or more lost words"):
        table.add_column(column, justify="right")
    for name in ARRANGEMENTS:
        drops = list(feed(pages, name))
        losing = [drop for drop in drops if len(drop.lost) >= given.least]
        table.add_row(name, str(len(pages)), str(len(drops)), str(len(losing)))
        for drop in losing if given.show else ():
            console.print(f"[bold]{drop.url}[/]\nkept {drop.kept} ({drop.rule}), {len(drop.lost)} lost words:")
            console.print(escape(" ".join(drop.lost)) + "\n", highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
