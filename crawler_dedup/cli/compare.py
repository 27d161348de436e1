"""``crawler-dedup compare``: whether one page would be dropped because another is kept, with what is measured."""

from __future__ import annotations

from collections.abc import Sequence

import click

from crawler_dedup.cli.options import settings_option
from crawler_dedup.cli.pair import print_pair, print_texts
from crawler_dedup.cli.project import config_or_exit
from crawler_dedup.cli.terminal import errors_as_messages, make_console
from crawler_dedup.inspection.compare import inspect_page
from crawler_dedup.inspection.fetching import load_page
from crawler_dedup.rules import table
from crawler_dedup.rules.pair import Pair
from crawler_dedup.signing.signer import Signer
from crawler_dedup.urls import without_credentials


@click.command()
@click.argument("new")
@click.argument("kept")
@click.option("--new-url", default="", help="Address of the file NEW: relative links are resolved against it.")
@click.option("--kept-url", default="", help="Address of the file KEPT.")
@settings_option
@click.option("--brief", is_flag=True, help="Do not print the texts.")
def compare(new: str, kept: str, new_url: str, kept_url: str, settings: Sequence[str], brief: bool) -> None:
    """Compare two pages by the rules of the crawl.

    The command tells whether the page NEW would be dropped if the page KEPT was kept, and which rule decides. Each page is
    an HTML file or an address. Both main texts are printed side by side, with what was cut away, the tokens that differ,
    and the result of each rule. Nothing is known of the sites, as in the first pages of a crawl.

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
        click.echo(f"Error: {'; '.join(unsigned)}", err=True)
    console = make_console()
    if not brief:
        print_texts(console, new_page, kept_page)
    pair = Pair(new_page.page, kept_page.page, config, signer.scheme)
    print_pair(console, new_page, kept_page, pair)
    if unsigned:
        raise click.exceptions.Exit(2)
    rule, duplicate = table.decide(pair)
    click.echo(f"{'duplicate' if duplicate else 'different'}: {rule}")
    raise click.exceptions.Exit(0 if duplicate else 1)
