"""Which parts of the saved sites never had a duplicate, as in a report: ``python -m benchmarks.pruning [--seed 1]``.

All pages of all saved sites, and the pages of seven kinds, are filed in one index in random order, each under the name of
its site.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.kinds import KINDS_OF_PAGES, read_pages
from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.journal.entry import entry_of
from crawler_dedup.journal.reader import Journals
from crawler_dedup.journal.writer import JournalWriter
from crawler_dedup.report import ReportData, collect
from tests.support.data import DATA, documents, require_data, saved

_JOURNAL_BYTES = 1 << 30


def addressed_pages() -> list[tuple[str, bytes]]:
    """Return the address and the body of each page."""
    sites = [(f"http://{page['id'].removesuffix('index.html')}", saved(DATA / page["html"])) for page in documents()]
    return sites + [(page.url, page.body) for page in read_pages(KINDS_OF_PAGES) if urlsplit(page.url).netloc]


def report_on(pages: list[tuple[str, bytes]], directory: Path) -> ReportData:
    """File *pages* in their order in an index in *directory*, and return the contents of a report about it."""
    journal = JournalWriter(directory / "journal-1.jsonl", _JOURNAL_BYTES)
    with Deduplicator.open(directory, Config(tokenizer="rjieba")) as deduplicator:
        for url, body in pages:
            page = deduplicator.sign(url, body)
            (decision,) = deduplicator.decide([page])
            if decision.verdict is Verdict.DUPLICATE:
                journal.write(entry_of("drop", decision, page, run=deduplicator.run, spider="pruning"))
    journal.close()
    with closing(open_pages(directory)) as store:
        return collect(store, Journals.beside(directory, Config().journal))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    require_data()
    pages = addressed_pages()
    random.Random(parser.parse_args().seed).shuffle(pages)
    with tempfile.TemporaryDirectory() as folder:
        report = report_on(pages, Path(folder))
    print(f"{report.total.kept:,} pages kept, {report.total.dropped:,} dropped")
    for parts in report.without_duplicates:
        trial = parts.trial
        print(f"{parts.name} without a duplicate: {parts.part_count}, with {parts.pages:,} kept pages")
        print("".join(f"    {part}: {kept:,}\n" for part, kept in parts.largest), end="")
        print(
            f"    trial: {trial.part_count} left out, {trial.not_filed:,} of {trial.filed:,} pages not filed,"
            f" up to {trial.missed:,} of {trial.duplicates:,} duplicates missed"
        )


if __name__ == "__main__":
    main()
