"""``crawler-dedup judge``: a person looks at some drops and says which are right."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.prompt import Prompt

from crawler_dedup.cli.diff import print_side_by_side
from crawler_dedup.cli.entries import describe_duplicate, print_damage
from crawler_dedup.cli.evaluation_output import format_share
from crawler_dedup.cli.options import (
    host_option,
    index_argument,
    journal_option,
    rule_option,
    run_option,
    select_duplicates,
    settings_option,
    since_option,
)
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import Target, find_target
from crawler_dedup.cli.terminal import errors_as_messages, make_console, printable
from crawler_dedup.errors import DedupError
from crawler_dedup.evaluation.answers import Answers, PageContent
from crawler_dedup.index import maintenance
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.fetching import fetch_page
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import ScopedUrl, sample
from crawler_dedup.signing.parsing import BeyondLimits
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.signing.storedtext import unpack_text
from crawler_dedup.system.callbacks import Start


@click.command()
@index_argument
@journal_option
@host_option
@rule_option
@since_option
@run_option
@click.option(
    "--sample",
    "size",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="Draw N pages at random.",
)
@click.option("--seed", type=int, help="Draw the same pages again.")
@click.option("--fetch", is_flag=True, help="Fetch both pages again, to show where they differ.")
@click.option(
    "--output",
    "-o",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the answers.  [default: INDEX/judged]",
)
@settings_option
def judge(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    index: Path | None,
    journal: Sequence[Path],
    host: str,
    rule: str,
    since: str,
    run: str,
    size: int,
    seed: int | None,
    fetch: bool,
    folder: Path | None,
    settings: Sequence[str],
) -> None:
    """Review drops one by one, and estimate their precision.

    Drops are drawn at random; of each you say whether it is right. The precision is the share of drops that are right, and
    is printed with its interval. A drop that was judged once is not asked again. INDEX is the directory of the index;
    without it, the index of this Scrapy project is used.

    The folder of the answers can be given to `crawler-dedup calibrate`, as far as the texts of the pages are there: fetched
    again, or stored by DEDUP_STORE_TEXT.
    """
    with errors_as_messages(), progress_bars() as start:
        target = find_target(index, journal, settings)
        target.require_journal()
        selection = select_duplicates(host, rule, since, run)
        answers = Answers(folder or target.directory / "judged")
        unanswered = (entry for entry in target.journals.entries() if entry in selection and entry not in answers)
        entries = _without_repetitions(sample(unanswered, size, random.Random(seed)))  # noqa: S311  (no secret)
        viewer = _make_viewer(target, entries, start, fetches=fetch)
    print_damage(target.journals)
    with errors_as_messages():
        for number, entry in enumerate(entries, 1):
            click.echo(f"\n{number} of {len(entries)}")
            new, kept = viewer.show(entry)
            answer = _ask()
            if answer == "q":
                break
            if answer != "s":
                answers.add(entry, new, kept, right=answer == "y")
                precision = answers.precision(selection)
                click.echo(f"Precision so far: {format_share(precision)}, of {precision.of}.")
    if not entries:
        click.echo("No drop is left to judge, or none that is asked for.")
    if answers.folder.exists():
        click.echo(
            f"Answers: {answers.folder}. `crawler-dedup calibrate {answers.folder}` finds thresholds that suit them."
        )


def _without_repetitions(entries: Iterable[Entry]) -> list[Entry]:
    return list({(entry.url, entry.duplicate_of): entry for entry in entries}.values())


@dataclass(frozen=True)
class _DropViewer:
    """Prints dropped pages beside their representatives.

    Attributes:
        kept: the records of the representatives, by address.
        fetches: whether pages are fetched again.
    """

    console: Console
    signer: Signer
    kept: Mapping[ScopedUrl, Record]
    fetches: bool

    def show(self, entry: Entry) -> tuple[PageContent, PageContent]:
        """Print a dropped page and its representative; return what is available of both."""
        record = self.kept.get((entry.scope, entry.duplicate_of))
        click.echo(describe_duplicate(entry))
        click.echo(
            f"  “{printable(record.page.title)}” is what it duplicates." if record else "  (which is kept no more)"
        )
        if self.fetches:
            new, kept = self._fetch(entry.url), self._fetch(entry.duplicate_of)
        else:
            new, kept = (
                PageContent(text=unpack_text(entry.text)),
                PageContent(text=unpack_text(record.page.text) if record else ""),
            )
        if record is not None and record.filed > entry.seconds:
            click.echo("  It has changed since; this is how it is now.")
        if new and kept:
            print_side_by_side(self.console, self._text_of(new), self._text_of(kept), folded=True)
        else:
            click.echo(
                "  No texts to show (a list has none; else DEDUP_STORE_TEXT = True, or --fetch): open both pages."
            )
        return new, kept

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


def _make_viewer(target: Target, entries: list[Entry], start: Start, *, fetches: bool) -> _DropViewer:
    wanted = {(entry.scope, entry.duplicate_of) for entry in entries}
    kept: dict[ScopedUrl, Record] = {}
    with closing(maintenance.open_pages(target.directory)) as pages:
        for record in maintenance.read_records(pages, start("reading", len(pages))):
            address = record.page.scope, record.page.url
            if address in wanted:
                kept[address] = record
        signer = Signer(config_from_spec(pages.header.spec, target.config))
    return _DropViewer(make_console(), signer, kept, fetches)


def _ask() -> str:
    try:
        return Prompt.ask(
            "Is it a duplicate? (y)es, (n)o, (s)kip, (q)uit", choices=["y", "n", "s", "q"], show_choices=False
        )
    except EOFError:
        return "q"
