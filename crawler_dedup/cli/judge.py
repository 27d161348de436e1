"""``crawler-dedup judge``: interactively label a sample of dropped pages."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.prompt import Prompt

from crawler_dedup.cli.compare import CHANGED, describe_lacks, print_difference
from crawler_dedup.cli.diff import print_side_by_side
from crawler_dedup.cli.evaluate import format_share
from crawler_dedup.cli.journals import (
    WantedDrops,
    describe_coverage,
    describe_drops,
    describe_duplicate,
    describe_earlier,
    drop_options,
    print_damage,
)
from crawler_dedup.cli.options import answers_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import JUDGED, Target, TargetOptions, target_options
from crawler_dedup.cli.terminal import make_console, printable, quantity
from crawler_dedup.errors import BeyondLimits, DedupError
from crawler_dedup.evaluation.answers import Answers, PageContent, contents_of
from crawler_dedup.index import maintenance
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.fetching import as_fetched, fetch_page
from crawler_dedup.inspection.lacks import find_fetched_lacks
from crawler_dedup.inspection.sites import PairSites, find_sites_then
from crawler_dedup.inspection.stored import DropId, StoredPages, id_of
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import ScopedUrl, Selection, read_entries, sample
from crawler_dedup.signing.signer import Signer, config_from_spec


@click.command()
@drop_options
@click.option(
    "--sample",
    "size",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="Draw N pages at random.",
)
@click.option("--seed", type=int, help="Seed of --sample: the same number draws the same pages.")
@click.option("--fetch", is_flag=True, help="Fetch both pages again, show where they differ, and save them.")
@answers_option
@target_options
def judge(
    wanted: WantedDrops, size: int, seed: int | None, fetch: bool, folder: Path | None, options: TargetOptions
) -> None:
    """Review drops one by one, and estimate their precision.

    Drops are drawn at random; for each, you say whether it is right. The precision is the share of drops that are right. It
    is printed with its confidence interval. A drop that you have judged is not shown again. Pages that a dry run has marked
    are left out once a later run has decided about them, except with --run or --last. INDEX is the directory of the index,
    or its address on a server; without it, the index of this Scrapy project is used.

    The answers are saved with both pages, so that `crawler-dedup evaluate` can use them. The pages come from --fetch, which
    also fetches the pages of earlier answers, or from DEDUP_STORE_TEXT = True, with which a crawl stores main texts.
    Without either, an answer counts for the precision only.

    \b
    Examples:
      crawler-dedup judge --last --fetch
      crawler-dedup judge --host example.org --sample 50
      crawler-dedup evaluate
    """
    target = options.find(needs_journal=True)
    answers = Answers(folder or target.directory / JUDGED)
    with wanted.read(target.journals, target.index) as selected:
        drawn = sample(selected.places(answers.has), size, random.Random(seed))  # noqa: S311  (no secret)
        entries = [*{(entry.url, entry.duplicate_of): entry for entry in read_entries(drawn)}.values()]
        print_damage(selected.damaged)
        tally, earlier = describe_drops(selected.drops, selected.marked), describe_earlier(selected.earlier_runs)
        click.echo(f"{tally} in {describe_coverage(selected.runs)}.{earlier}", err=True)
    viewer = _make_viewer(target, entries, fetches=fetch)
    if fetch:
        _fetch_missing(answers, viewer)
    _ask_about(entries, answers, viewer, selected.selection)
    if not entries:
        click.echo("No drop is left to judge among those that were selected.")
    if len(answers):
        _print_answers(answers)


def _ask_about(entries: Sequence[Entry], answers: Answers, viewer: _DropViewer, selection: Selection) -> None:
    """Show the drops one after another, and store the answers."""
    for number, entry in enumerate(entries, 1):
        click.echo(f"\n{number} of {len(entries)}")
        new, kept = viewer.show(entry)
        answer = _ask()
        if answer == "q":
            return
        if answer != "s":
            answers.add(entry, new, kept, 1 if answer == "y" else 0)
            if answer == "n":
                pair = f"{printable(entry.url)} {printable(entry.duplicate_of)}"
                click.echo(f"`crawler-dedup separate {pair}` lets the next crawl keep both.")
                click.echo(f"`crawler-dedup restore {printable(entry.url)}` lets the next crawl request it again.")
            precision = answers.precision(selection)
            click.echo(f"Precision so far: {format_share(precision)}, of {precision.total}.")


def _fetch_missing(answers: Answers, viewer: _DropViewer) -> None:
    """Fetch the pages of earlier answers that were given without them."""
    for answer in answers.without_pages:
        click.echo(f"Fetching the pages of an earlier answer: {printable(answer.entry.url)}", err=True)
        answers.add_pages(answer, *viewer.fetch_pages(answer.entry))


def _print_answers(answers: Answers) -> None:
    """Print where the answers are, and which commands use them."""
    missing = len(answers.without_pages)
    click.echo(f"{quantity(len(answers), 'answer')} in {answers.folder}, {len(answers) - missing:,} with both pages.")
    if missing < len(answers):
        click.echo(f"`crawler-dedup evaluate {answers.folder}` uses those with both pages.")
    if missing:
        click.echo("`crawler-dedup judge --fetch` fetches the pages that are missing.")


@dataclass(frozen=True)
class _DropViewer:
    """Prints dropped pages beside their representatives.

    Attributes:
        kept: the records of the representatives, by address.
        stored: the dropped pages that are in WARC files.
        sites: what was known about the sites of the pairs.
        fetches: whether pages are fetched again.
    """

    console: Console
    signer: Signer
    kept: Mapping[ScopedUrl, Record]
    stored: StoredPages
    sites: Mapping[DropId, PairSites]
    fetches: bool

    def show(self, entry: Entry) -> tuple[PageContent, PageContent]:
        """Print a dropped page and its representative; return the available contents of both."""
        record = self.kept.get((entry.scope, entry.duplicate_of))
        click.echo(describe_duplicate(entry))
        title = f"The kept page: “{printable(record.page.title)}”" if record else "That page is no longer kept."
        click.echo(f"  {title}")
        if self.fetches:
            new, kept = self.fetch_pages(entry)
            if record is not None and record.filed > entry.seconds:
                click.echo(CHANGED)
            if new and kept:
                print_side_by_side(self.console, self._text_of(new), self._text_of(kept), folded=True)
                sites = self.sites[id_of(entry)]
                lacks = find_fetched_lacks(entry, new.html, kept.html, self.signer, sites)
                self.console.print(describe_lacks("kept", lacks))
            return new, kept
        dropped = self.stored.find(id_of(entry))
        print_difference(entry, record, dropped, self.signer, self.sites[id_of(entry)])
        html = as_fetched(dropped).self_describing_body if dropped else b""
        return contents_of(entry, record.page if record else None, html)

    def fetch_pages(self, entry: Entry) -> tuple[PageContent, PageContent]:
        """Fetch a page, unless it is stored, and its representative; print a message for one that cannot be fetched."""
        dropped = self.stored.find(id_of(entry))
        new = PageContent(html=as_fetched(dropped).self_describing_body) if dropped else self._fetch(entry.url)
        return new, self._fetch(entry.duplicate_of)

    def _fetch(self, url: str) -> PageContent:
        try:
            return PageContent(html=fetch_page(url, self.signer.config.max_bytes).self_describing_body)
        except DedupError as error:
            click.echo(f"  {printable(str(error))}")
            return PageContent()

    def _text_of(self, content: PageContent) -> str:
        try:
            return content.text or self.signer.main_text(content.html)
        except BeyondLimits as limit:
            return f"({limit})"


def _make_viewer(target: Target, entries: Sequence[Entry], *, fetches: bool) -> _DropViewer:
    wanted = {(entry.scope, entry.duplicate_of) for entry in entries}
    kept: dict[ScopedUrl, Record] = {}
    with closing(maintenance.open_index(target.index)) as pages, progress_bars() as start:
        for record in maintenance.read_records(pages, start("reading the index", len(pages))):
            address = record.page.scope, record.page.url
            if address in wanted:
                kept[address] = record
        signer = Signer(config_from_spec(pages.header.spec, target.config))
        sites = {id_of(entry): find_sites_then(pages, entry) for entry in entries}
    return _DropViewer(make_console(), signer, kept, target.find_stored(), sites, fetches)


def _ask() -> str:
    try:
        return Prompt.ask(
            "Is it a duplicate? (y)es, (n)o, (s)kip, (q)uit", choices=["y", "n", "s", "q"], show_choices=False
        )
    except EOFError:
        return "q"
