"""``crawler-dedup compare``: whether one page would be dropped because another is kept, with what is measured."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from crawler_dedup.cli.options import SettingsOption
from crawler_dedup.cli.pair import print_pair, print_texts
from crawler_dedup.cli.project import config_or_exit
from crawler_dedup.cli.terminal import errors_as_messages
from crawler_dedup.inspection.compare import inspect_page
from crawler_dedup.inspection.fetching import load_page
from crawler_dedup.rules import table
from crawler_dedup.rules.pair import Pair
from crawler_dedup.signing.signer import Signer
from crawler_dedup.urls import without_credentials


def compare(
    new: Annotated[str, typer.Argument(help="The page that might be dropped: an HTML file, or its address.")],
    kept: Annotated[str, typer.Argument(help="The page that is kept.")],
    new_url: Annotated[str, typer.Option(help="Address of a file: relative links are resolved against it.")] = "",
    kept_url: Annotated[str, typer.Option(help="The other's address.")] = "",
    settings: SettingsOption = None,
    brief: Annotated[bool, typer.Option("--brief", help="Without the texts.")] = False,
) -> None:
    """Say whether NEW would be dropped because KEPT is kept, and which rule decides.

    Prints both main texts side by side, what was cut away, the tokens that differ, and what each row of the rules says. Of
    the two sites nothing is known, as in the first pages of a crawl.

    Exit status 0: dropped. 1: not dropped. 2: one of the pages cannot be judged, or the call is wrong.
    """
    config = config_or_exit(settings)
    with errors_as_messages():
        signer = Signer(config)
        # Without addresses the two stand on two hosts: nothing is known of their sites.
        addresses = new_url or "http://new.invalid/", kept_url or new_url or "http://kept.invalid/"
        loaded = [load_page(where, url, config.max_bytes) for where, url in zip((new, kept), addresses, strict=True)]
        new_page, kept_page = (inspect_page(signer, page.url, page.body, page.encoding) for page in loaded)
    both = (without_credentials(new), new_page.page), (without_credentials(kept), kept_page.page)
    unsigned = [f"{where}: {page.unsigned}" for where, page in both if page.unsigned]
    if unsigned:
        typer.echo(f"Error: {'; '.join(unsigned)}", err=True)
    console = Console()
    if not brief:
        print_texts(console, new_page, kept_page)
    pair = Pair(new_page.page, kept_page.page, config, signer.scheme)
    print_pair(console, new_page, kept_page, pair)
    if unsigned:
        raise typer.Exit(2)
    rule, duplicate = table.decide(pair)
    typer.echo(f"{'duplicate' if duplicate else 'different'}: {rule}")
    raise typer.Exit(0 if duplicate else 1)
