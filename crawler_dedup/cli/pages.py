"""``crawler-dedup compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawler_dedup import rules
from crawler_dedup.cli.settings import Settings, config_of
from crawler_dedup.errors import DedupError
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing import Signer


def compare(
    new: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="HTML of the page that might be dropped.")],
    kept: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="HTML of the page that is kept.")],
    new_url: Annotated[str, typer.Option(help="Its address: relative links are resolved against it.")] = "",
    kept_url: Annotated[str, typer.Option(help="The other's address.")] = "",
    settings: Settings = None,
) -> None:
    """Say whether NEW would be dropped because KEPT is kept, and which rule decides.

    Exit status 0: dropped. 1: not dropped. 2: one of the pages cannot be judged, or the call is wrong.
    """
    config = config_of(settings)
    try:
        signer = Signer(config)
        # Without addresses the two stand on two hosts: nothing is known of their sites.
        addresses = new_url or "http://new.invalid/", kept_url or new_url or "http://kept.invalid/"
        pages = [_sign(signer, path, url) for path, url in zip((new, kept), addresses, strict=True)]
    except (DedupError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    unfit = [f"{path}: {page.unsigned}" for path, page in zip((new, kept), pages, strict=True) if page.unsigned]
    if unfit:
        raise typer.BadParameter("; ".join(unfit))
    pair = rules.Pair(pages[0], pages[1], config, signer.scheme)
    rule, duplicate = rules.decide(pair)
    Console().print(_table(pair))
    typer.echo(f"{'duplicate' if duplicate else 'different'}: {rule}")
    raise typer.Exit(0 if duplicate else 1)


def _sign(signer: Signer, path: Path, url: str) -> SignedPage:
    return signer.sign(url, path.read_bytes(), encoding=None, key=url, scope="")[0]


def _table(pair: rules.Pair) -> Table:
    table = Table()
    for column in ("", "new", "kept"):
        table.add_column(column)
    both = (pair.new, pair.kept)
    table.add_row("title", *(Text(page.title) for page in both))
    table.add_row("characters of main text", *(str(page.chars) for page in both))
    table.add_row("different features", *(str(page.features) for page in both))
    table.add_row("outlinks", *(str(page.link_count) for page in both))
    table.add_row("a list", *("yes" if rules.is_list(page) else "no" for page in both))
    table.add_row("signature", *(f"{page.signature:016x}" for page in both))
    table.add_section()
    table.add_row("distance", "–" if pair.distance is None else str(pair.distance))
    table.add_row("resemblance", f"{pair.resemblance:.2f}")
    table.add_row("coverage of new by kept", f"{pair.coverage:.2f}")
    table.add_row("same links", "yes" if pair.same_links else "no")
    return table
