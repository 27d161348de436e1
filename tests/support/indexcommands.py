"""Indexes for the tests of the commands ``crawler-dedup index``, and the output of these commands."""

from contextlib import closing
from pathlib import Path

from click.testing import Result

from crawler_dedup import Config, Deduplicator, SignedPage, Verdict
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.verification import find_problems
from crawler_dedup.signing.lookup import lookup_of
from tests.support.commandline import invoke
from tests.support.crawling import article
from tests.support.indexing import FILING, clusters

CONFIG = Config(tokenizer="bigrams")
PAGES = {  # address: (days since it was filed, run)
    "http://a.org/1": (100, 1),
    "http://a.org/2": (1, 0xABC),
    "http://b.org/1": (100, 0xABC),
    "https://b.org:8080/2": (0, 1),
}


def cli(*arguments: object, status: int = 0) -> Result:
    """Run ``crawler-dedup index`` in this process."""
    return invoke("index", *arguments, status=status)


def rows(result: Result) -> dict[str, str]:
    """Return the printed table: first column → second column."""
    cells = ([cell.strip() for cell in line.split("│")[1:3]] for line in result.output.splitlines() if "│" in line)
    return dict(cells)


def kept(directory: Path) -> set[str]:
    """Return the addresses of the pages in the index, whose copies are duplicates."""
    with Deduplicator.open(directory, CONFIG) as deduplicator:
        copies = [deduplicator.sign(f"{url}?copy", article(url, frame="another").encode()) for url in PAGES]
        decisions = deduplicator.decide(copies)
        for decision in decisions:
            if decision.verdict is Verdict.NEW:
                deduplicator.release(decision)
    assert {decision.verdict for decision in decisions} <= {Verdict.NEW, Verdict.DUPLICATE}
    return {decision.duplicate_of for decision in decisions} - {""}


def is_sound(directory: Path) -> bool:
    with closing(DirectoryIndex.attach(directory)) as store:
        return not find_problems(store, lookup_of(store.header.spec))


def fill(directory: Path) -> None:
    """Add records until each database of the index has more than a few pages."""
    store = DirectoryIndex.attach(directory)
    pages = (
        SignedPage(str(number), f"http://c.org/{number}", "", signature=signature)
        for number, signature in enumerate(clusters(2, 2000))
    )
    store.merge([Record(page, settled=1) for page in pages], FILING)
    store.close()


def verify_says_that_it_is_damaged(directory: Path) -> None:
    printed = cli("verify", directory, status=1).output
    assert printed.strip()
    assert "sound" not in printed
    assert "Traceback" not in printed
