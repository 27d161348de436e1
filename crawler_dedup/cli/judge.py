"""``crawler-dedup judge`` and ``review``: say of dropped pages whether they are right, on the terminal or in the browser."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click
from rich.prompt import Prompt

from crawler_dedup.cli.compare import print_drop
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
from crawler_dedup.cli.project import JUDGED, TargetOptions, target_options
from crawler_dedup.cli.terminal import printable, progress_bars, quantity
from crawler_dedup.errors import DedupError
from crawler_dedup.evaluation.answers import Answers
from crawler_dedup.inspection.droptable import Drop, SelectedDrops
from crawler_dedup.inspection.journals import Journals, Selection, read_entries, sample
from crawler_dedup.review.review import Review, read_main_text
from crawler_dedup.system.extras import require_extra

_NOT_STORED = (
    "With --fetch, this command fetches both pages again, and shows where they differ. Without it, it needs what a crawl has"
    " stored: dropped pages (DEDUP_DROPPED_WARC) or main texts (DEDUP_STORE_TEXT = True)."
)


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
    """Judge random drops yourself, and estimate the precision.

    The drops are drawn from those that `crawler-dedup drops` lists with the same options. The precision is the share of
    drops that are right, printed with its 95 % confidence interval. A drop that you have judged is not shown again. Your
    answers change nothing in the index. INDEX is the directory of the index, or its address on a server; without it, the
    index of this project or directory is used.

    The answers are saved together with both pages if these are stored (DEDUP_STORE_TEXT = True, DEDUP_DROPPED_WARC), or if
    you give --fetch. With --fetch, the missing pages of earlier answers are fetched, too. `crawler-dedup evaluate` uses only
    answers with both pages; the precision is computed from all answers.

    \b
    Examples:
      crawler-dedup judge --last --fetch
      crawler-dedup judge --host example.org --sample 50
      crawler-dedup evaluate
    """
    target = options.find(needs_journal=True)
    judged = folder or target.directory / JUDGED
    with closing(Review(target.index, lambda: target.journals, target.config, target.warc_directory, judged)) as review:
        with progress_bars() as start:
            review.refresh(start("reading the journal", target.journals.size))
        selection = wanted.select(review.table)
        selected = SelectedDrops(review.table, selection)
        drawn = sample(selected.positions(review.answers.has), size, random.Random(seed))  # noqa: S311  (no secret)
        entries = [*{(entry.url, entry.duplicate_of): entry for entry in read_entries(drawn)}.values()]
        print_damage(selected.damaged)
        tally, earlier = describe_drops(selected.drops, selected.marked), describe_earlier(selected.earlier_runs)
        click.echo(f"{tally} in {describe_coverage(selected.runs)}.{earlier}", err=True)
        if fetch:
            _fetch_missing(review)
        _ask_about(list(map(review.table.drop_of, entries)), review, selection, fetches=fetch)
        if not entries:
            click.echo("No selected drop is left to judge.")
        if len(review.answers):
            _print_answers(review.answers)


def _ask_about(drops: Sequence[Drop], review: Review, selection: Selection, *, fetches: bool) -> None:
    """Show the drops one after another, and store the answers."""
    for number, drop in enumerate(drops, 1):
        click.echo(f"\n{number} of {len(drops)}")
        _show(drop, review, fetches=fetches)
        answer = _ask()
        if answer == "q":
            return
        if answer != "s":
            review.answer(drop, 1 if answer == "y" else 0)
            if answer == "n":
                url, kept = printable(drop.entry.url), printable(drop.entry.duplicate_of)
                click.echo(
                    f"To get this page: `crawler-dedup restore {url}` (the next crawl of its spider requests and keeps it)."
                )
                click.echo(
                    f"If only this pair is wrong: `crawler-dedup separate {url} {kept}` (the page may still be dropped as a"
                    " duplicate of another one)."
                )
            precision = review.answers.precision(selection)
            click.echo(
                f"Precision so far, with its 95 % confidence interval: {format_share(precision)},"
                f" from {quantity(precision.total, 'answer')}."
            )


def _show(drop: Drop, review: Review, *, fetches: bool) -> None:
    """Print a dropped page beside its representative."""
    click.echo(describe_duplicate(drop.entry))
    is_kept = drop.kept_title is not None
    click.echo(
        f"  The kept page: “{printable(drop.kept_title or '')}”" if is_kept else "  That page is no longer kept."
    )
    if fetches:
        _fetch(drop, review)
    new, kept = review.contents(drop)
    has_lacks = bool(new.html) and (bool(kept.html) or is_kept)
    if not (has_lacks or (new and kept)):
        click.echo(_NOT_STORED)
        return
    new_text, kept_text = (read_main_text(page, review.signer) for page in (new, kept))
    lacks = review.find_lacks(drop) if has_lacks else None
    print_drop(new_text, kept_text, lacks, has_changed=drop.has_changed, is_stored=bool(kept.html))


def _fetch(drop: Drop, review: Review) -> bool:
    """Fetch both pages, and return whether that was possible; if not, print why."""
    try:
        review.fetch(drop)
    except DedupError as error:
        click.echo(f"  {printable(str(error))}")
        return False
    return True


def _fetch_missing(review: Review) -> None:
    """Fetch the pages of earlier answers that were given without them."""
    for answer in review.answers.without_pages:
        click.echo(f"Fetching the pages of an earlier answer: {printable(answer.entry.url)}", err=True)
        drop = review.table.drop_of(answer.entry)
        if _fetch(drop, review):
            review.answers.add_pages(answer, *review.contents(drop))


def _print_answers(answers: Answers) -> None:
    """Print where the answers are, and which commands use them."""
    missing = len(answers.without_pages)
    click.echo(f"{quantity(len(answers), 'answer')} in {answers.folder}, {len(answers) - missing:,} with both pages.")
    if missing < len(answers):
        click.echo(f"`crawler-dedup evaluate {answers.folder}` uses those with both pages.")
    if missing:
        click.echo("`crawler-dedup judge --fetch` fetches the pages that are missing.")


def _ask() -> str:
    try:
        return Prompt.ask(
            "May a crawl drop the first page? (y)es, (n)o, (s)kip, (q)uit",
            choices=["y", "n", "s", "q"],
            show_choices=False,
        )
    except EOFError:
        return "q"


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, show_default="any free port", help="Port of the web server."
)
@answers_option
@target_options
def review(port: int, folder: Path | None, options: TargetOptions) -> None:
    """Look at drops in the browser, and correct them.

    The command starts a web server on this machine, and prints its address, which you open in the browser. It lists the
    drops, the most doubtful first, and shows each beside the kept page that it duplicates. Buttons do what `judge`,
    `restore`, `separate` and `keep` do. The texts are those that the crawl has stored (DEDUP_STORE_TEXT,
    DEDUP_DROPPED_WARC), or are fetched when you ask for them. INDEX is the directory of the index, or its address on a
    server; without it, the index of this project or directory is used. The command needs Starlette:
    pip install "crawler-dedup[review]".

    \b
    Examples:
      crawler-dedup review
      crawler-dedup review .scrapy/dedup --port 8008
    """
    require_extra("review", "crawler-dedup review")
    from crawler_dedup.review.pages import serve  # noqa: PLC0415  (it needs the extra)

    target = options.find(needs_journal=True)

    def find_journals() -> Journals:  # a crawl that runs meanwhile adds a file
        return options.find_journals(target.directory, target.config)

    answers = folder or target.directory / JUDGED
    with closing(Review(target.index, find_journals, target.config, target.warc_directory, answers)) as opened:
        with progress_bars() as start:
            opened.refresh(start("reading the journal", target.journals.size))
        serve(opened, port, lambda address: click.echo(f"{address}  (press Ctrl-C to stop)"))
