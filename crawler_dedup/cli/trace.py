"""``crawler-dedup trace``: find the pages from which a text was copied."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from crawler_dedup.cli.options import NumberRange, index_argument, json_option, settings_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_index, read_config
from crawler_dedup.cli.terminal import make_console, make_table, print_json, printable
from crawler_dedup.config import Config
from crawler_dedup.errors import BeyondLimits, DedupError
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import Location
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.inspection.corpus import read_main_text
from crawler_dedup.inspection.trace import Source, find_sources
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.schemes import add_unfiled_options, scheme_of
from crawler_dedup.signing.schemes.passages import PassageScheme
from crawler_dedup.signing.signer import Signer

_LETTERS_SHOWN = 20


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@index_argument
@click.option(
    "--least",
    metavar="SHARE",
    type=NumberRange(0, 1),
    default=0.01,
    show_default=True,
    help="Least share of the text that a page must have.",
)
@click.option("--windows", is_flag=True, help="List the passages that each page shares with the text.")
@json_option
@settings_option
def trace(file: Path, index: Location | None, least: float, windows: bool, settings: Sequence[str], json: bool) -> None:
    """Find the kept pages from which a text was copied.

    FILE is a text in UTF-8 (.txt) or HTML. INDEX is the directory of an index that was made with DEDUP_SCHEME = "winnowing",
    or "pinyin" for Chinese; without it, the index of this Scrapy project is used. The command lists the kept pages that
    share passages with the text, and which share of the text each has.

    Exit status 0: done, also if there are no such pages. 2: the index or the text cannot be used.

    \b
    Examples:
      crawler-dedup trace article.txt
      crawler-dedup trace article.html .scrapy/dedup --least 0.1 --windows
    """
    config = read_config(settings)
    location = find_index(index, config)
    with closing(open_pages(location)) as pages, progress_bars() as start:
        scheme = _scheme_of(pages, location, config)
        plain = _read_plain_text(file, config)
        if len(scheme.find_letters(plain)) < scheme.piece_letters:
            raise DedupError(f"{file} has fewer than {scheme.piece_letters} letters, the least that are compared.")
        start("looking up", None)
        sources = [source for source in find_sources(plain, scheme, pages) if source.share_of_text >= least]
    if json:
        print_json("source", map(_source_fields, sources))
    else:
        _print_sources(sources)
        if windows:
            _print_passages(sources, plain, scheme.find_letters(plain).tolist())


def _read_plain_text(file: Path, config: Config) -> str:
    try:
        return normalise(read_main_text(file, Signer(config)))
    except BeyondLimits as limit:
        raise DedupError(f"{file} has {limit}.") from None


def _scheme_of(pages: Index, index: Location, config: Config) -> PassageScheme:
    """Return the scheme of an index."""
    spec = pages.header.spec
    scheme = scheme_of(add_unfiled_options(spec.get("scheme", ""), config.scheme), config)
    if not isinstance(scheme, PassageScheme):
        raise DedupError(
            f"The index in {index} was made with {scheme.spec!r}; trace needs DEDUP_SCHEME = 'winnowing' or 'pinyin'."
        )
    if scheme.depends_on.get("lexicon") != spec.get("lexicon"):
        raise DedupError(
            f'The index in {index} was made with another lexicon: name it, -s DEDUP_SCHEME="{scheme.name} lexicon=FILE".'
        )
    return scheme


def _print_sources(sources: Sequence[Source]) -> None:
    if not sources:
        click.echo("No kept page shares a passage with it.")
        return
    table = make_table(right=("of the text", "of the page", "passages"))
    table.add_column("page", overflow="fold")
    for source in sources:
        shares = (f"{source.share_of_text:.1%}", f"{source.share_of_page:.1%}")
        table.add_row(*shares, str(len(source.passages)), Text(printable(source.page.url)))
    make_console().print(table)


def _print_passages(sources: Sequence[Source], plain: str, places: Sequence[int]) -> None:
    """Print the place of each passage, and its beginning in the text *plain*, whose letters are at *places*."""
    for source in sources:
        click.echo(f"\n{printable(source.page.url)}")
        for passage in source.passages:
            begins = printable(" ".join(plain[places[passage.start] :][:_LETTERS_SHOWN].split()))
            click.echo(
                f"  letters {passage.start}–{passage.end} of the text, from letter {passage.at} of the page: {begins} …"
            )


def _source_fields(source: Source) -> dict[str, Any]:
    return {
        "url": source.page.url,
        "scope": source.page.scope,
        "share_of_text": source.share_of_text,
        "share_of_page": source.share_of_page,
        "passages": source.passages,
    }
