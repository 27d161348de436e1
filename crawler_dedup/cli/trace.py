"""``crawler-dedup trace``: where a text was copied from."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import click
import msgspec
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.options import settings_option
from crawler_dedup.cli.project import config_or_exit
from crawler_dedup.cli.terminal import errors_as_messages, make_console, printable
from crawler_dedup.config import Config
from crawler_dedup.errors import DedupError
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.index.store import Store
from crawler_dedup.inspection.corpus import read_main_text
from crawler_dedup.inspection.trace import Source, find_sources
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import find_initial_positions
from crawler_dedup.signing.lexicon import lexicon_digest
from crawler_dedup.signing.parsing import BeyondLimits
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.schemes.pinyin import Pinyin
from crawler_dedup.signing.signer import Signer

_LETTERS_SHOWN = 20


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("index", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--least",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="Least share of the text that a page must have.",
)
@click.option("--windows", is_flag=True, help="List the passages that each page shares with the text.")
@settings_option
@click.option("--json", is_flag=True, help="Print JSON instead of tables.")
def trace(file: Path, index: Path, least: float, windows: bool, settings: Sequence[str], json: bool) -> None:
    """Find the kept pages from which a text was copied.

    FILE is a text in UTF-8 (.txt) or HTML. INDEX is an index that was made with DEDUP_SCHEME = "pinyin". The command lists
    which kept pages share passages with the text, and which share of the text each has.

    Exit status 0: there are such pages. 1: there are none. 2: the index cannot be used, or the call is wrong.
    """
    config = config_or_exit(settings)
    with errors_as_messages(), closing(open_pages(index)) as pages:
        scheme, fold_han = _scheme_of(pages, index, config)
        plain = normalise(_text_of(file, config), fold_han=fold_han)
        if len(find_initial_positions(plain)) < scheme.window:
            raise DedupError(f"{file} has fewer than {scheme.window} letters, which is one window.")
        found_sources = [source for source in find_sources(plain, scheme, pages) if source.share_of_text >= least]
    if json:
        click.echo(msgspec.json.format(msgspec.json.encode([_as_json(source) for source in found_sources])))
    else:
        _print_sources(found_sources, plain if windows else None)
    raise click.exceptions.Exit(0 if found_sources else 1)


def _text_of(file: Path, config: Config) -> str:
    try:
        return read_main_text(file, Signer(config))
    except BeyondLimits as limit:
        raise DedupError(f"{file} has {limit}.") from None


def _scheme_of(pages: Store, index: Path, config: Config) -> tuple[Pinyin, bool]:
    """Return the scheme of an index, and whether Traditional characters are folded in it."""
    spec = pages.header.spec
    if spec.get("scheme", "").split(" ")[0] != Pinyin.name:
        raise DedupError(
            f"The index in {index} was made with {spec.get('scheme')!r}; trace needs DEDUP_SCHEME = 'pinyin'."
        )
    scheme = scheme_of(spec["scheme"], config)
    assert isinstance(scheme, Pinyin)
    if lexicon_digest(config.lexicon) != spec.get("lexicon"):
        raise DedupError(f"The index in {index} was made with another lexicon: name it, -s DEDUP_LEXICON=FILE.")
    return scheme, spec.get("fold han") == "yes"


def _print_sources(found_sources: list[Source], plain: str | None) -> None:
    if not found_sources:
        click.echo("No kept page shares a passage with it.")
        return
    table = Table()
    for column in ("of the text", "of the page", "passages"):
        table.add_column(column, justify="right")
    table.add_column("page", overflow="fold")
    for source in found_sources:
        table.add_row(
            f"{source.share_of_text:.1%}",
            f"{source.share_of_page:.1%}",
            str(len(source.passages)),
            Text(printable(source.page.url)),
        )
    make_console().print(table)
    if plain is None:
        return
    places = find_initial_positions(plain)
    for source in found_sources:
        click.echo(f"\n{printable(source.page.url)}")
        for passage in source.passages:
            begins = printable(" ".join(plain[places[passage.start] :][:_LETTERS_SHOWN].split()))
            click.echo(
                f"  letters {passage.start}–{passage.end} of the text, from letter {passage.at} of the page: {begins} …"
            )


def _as_json(source: Source) -> dict[str, object]:
    return {
        "url": source.page.url,
        "scope": source.page.scope,
        "of_text": source.share_of_text,
        "of_page": source.share_of_page,
        "passages": [asdict(passage) for passage in source.passages],
    }
