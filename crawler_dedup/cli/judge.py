"""``crawler-dedup judge``: a person looks at some drops and says which are right."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.prompt import Prompt

from crawler_dedup.cli.diff import side_by_side
from crawler_dedup.cli.drops import Host, Rule, Run, Since, require_journal, selection
from crawler_dedup.cli.entries import block, damage
from crawler_dedup.cli.evaluated import shown
from crawler_dedup.cli.place import Index, JournalFiles, Place, place_of
from crawler_dedup.cli.settings import Settings
from crawler_dedup.cli.terminal import printable, progress, told_errors
from crawler_dedup.errors import DedupError
from crawler_dedup.evaluation.answers import Answers, Copy
from crawler_dedup.index import maintenance
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.fetching import fetch_page
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Address, sample
from crawler_dedup.signing.parsing import BeyondLimits
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.signing.storedtext import unpack_text
from crawler_dedup.system.callbacks import Start


def judge(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    index: Index = None,
    journal: JournalFiles = None,
    host: Host = "",
    rule: Rule = "",
    since: Since = "",
    run: Run = "",
    size: Annotated[int, typer.Option("--sample", min=1, metavar="N", help="How many to draw at random.")] = 20,
    seed: Annotated[int | None, typer.Option(help="Draws the same ones again.")] = None,
    fetch_: Annotated[bool, typer.Option("--fetch", help="Get both pages again, to show where they differ.")] = False,
    folder: Annotated[
        Path | None, typer.Option("--output", "-o", file_okay=False, help="Folder of the answers; none: INDEX/judged.")
    ] = None,
    settings: Settings = None,
) -> None:
    """Show drops one by one, ask whether each is right, and say how often they are: the precision, with its interval.

    What was judged once is not asked again. The folder of the answers is one for `crawler-dedup calibrate`, as far as the
    texts are there: fetched again, or stored by DEDUP_STORE_TEXT.
    """
    with told_errors(), progress() as start:
        place = place_of(index, journal, settings)
        require_journal(place)
        asked = selection(host, rule, since, run)
        answers = Answers(folder or place.directory / "judged")
        entries = (entry for entry in place.journals.entries() if entry in asked and entry not in answers)
        sampled = sample(entries, size, random.Random(seed))  # noqa: S311  (no secret)
        drawn = list({(entry.url, entry.kept_url): entry for entry in sampled}.values())
        desk = _desk_of(place, drawn, start, fetches=fetch_)
    for line in damage(place.journals):
        typer.echo(line, err=True)
    with told_errors():
        for number, entry in enumerate(drawn, 1):
            typer.echo(f"\n{number} of {len(drawn)}")
            new, kept = desk.show(entry)
            answer = _asked()
            if answer == "q":
                break
            if answer != "s":
                answers.add(entry, new, kept, right=answer == "y")
                typer.echo(f"Precision so far: {shown(answers.precision(asked))}, of {answers.precision(asked).of}.")
    _tell(answers, len(drawn))


@dataclass(frozen=True)
class _Desk:
    """Shows pairs of pages.

    Attributes:
        kept: what the index has of the pages that stand for the others, by address.
        fetches: whether pages are fetched again.
    """

    console: Console
    signer: Signer
    kept: Mapping[Address, Record]
    fetches: bool

    def show(self, entry: Entry) -> tuple[Copy, Copy]:
        """Print a pair; returns what there is of both pages."""
        record = self.kept.get((entry.scope, entry.kept_url))
        typer.echo(block(entry))
        typer.echo(
            f"  “{printable(record.page.title)}” is what it duplicates." if record else "  (which is kept no more)"
        )
        if self.fetches:
            new, kept = self._fetched(entry.url), self._fetched(entry.kept_url)
        else:
            new, kept = Copy(text=unpack_text(entry.text)), Copy(text=unpack_text(record.page.text) if record else "")
        if record is not None and record.filed > entry.seconds:
            typer.echo("  It has changed since; this is how it is now.")
        if new and kept:
            self.console.print(side_by_side(self._text(new), self._text(kept), folded=True))
        else:
            typer.echo(
                "  No texts to show (a list has none; else DEDUP_STORE_TEXT = True, or --fetch): open both pages."
            )
        return new, kept

    def _fetched(self, url: str) -> Copy:
        try:
            return Copy(html=fetch_page(url, self.signer.config.max_bytes).self_describing_body)
        except DedupError as error:
            typer.echo(f"  {printable(str(error))}")
            return Copy()

    def _text(self, copy: Copy) -> str:
        try:
            return copy.text or self.signer.main_text(copy.html)
        except BeyondLimits as limit:
            return f"({limit})"


def _desk_of(place: Place, drawn: list[Entry], start: Start, *, fetches: bool) -> _Desk:
    wanted = {(entry.scope, entry.kept_url) for entry in drawn}
    kept: dict[Address, Record] = {}
    with closing(maintenance.open_pages(place.directory)) as pages:
        for record in maintenance.read_records(pages, start("reading", len(pages))):
            address = record.page.scope, record.page.url
            if address in wanted:
                kept[address] = record
        signer = Signer(config_from_spec(pages.header.spec, place.config))
    return _Desk(Console(), signer, kept, fetches)


def _asked() -> str:
    try:
        return Prompt.ask(
            "Is it a duplicate? (y)es, (n)o, (s)kip, (q)uit", choices=["y", "n", "s", "q"], show_choices=False
        )
    except EOFError:
        return "q"


def _tell(answers: Answers, drawn: int) -> None:
    if not drawn:
        typer.echo("No drop is left to judge, or none that is asked for.")
    if answers.folder.exists():
        typer.echo(
            f"Answers: {answers.folder}. `crawler-dedup calibrate {answers.folder}` finds thresholds that suit them."
        )
