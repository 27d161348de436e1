"""``crawler-dedup compare``: print whether one page would be dropped because another is kept, with all measures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import click

from crawler_dedup.cli.options import IndexType, json_option, settings_option
from crawler_dedup.cli.pair import print_pair, print_texts
from crawler_dedup.cli.project import Target, find_target, read_config
from crawler_dedup.cli.terminal import make_console, print_error, print_json
from crawler_dedup.config import Config
from crawler_dedup.config.scopes import default_scope, scope_of
from crawler_dedup.index import maintenance
from crawler_dedup.index.location import Location
from crawler_dedup.inspection.compare import (
    InspectedPage,
    apply_rules,
    compare_signatures,
    inspect_page,
)
from crawler_dedup.inspection.fetching import load_page
from crawler_dedup.inspection.lacks import find_lacks, turn
from crawler_dedup.inspection.sites import PairSites, find_sites
from crawler_dedup.rules import table
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.trimming import is_list, trim
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.urls import without_credentials


@click.command()
@click.argument("new")
@click.argument("kept")
@click.option("--new-url", metavar="URL", default="", help="Address of the file NEW, to resolve relative links.")
@click.option("--kept-url", metavar="URL", default="", help="Address of the file KEPT.")
@click.option(
    "--index",
    type=IndexType(),
    help="Compare with the settings of this index, and with what it knows of the sites.",
)
@click.option(
    "--scope", metavar="SCOPE", default="", help="With --index: the scope of the pages.  [default: as DEDUP_SCOPE says]"
)
@click.option("--brief", is_flag=True, help="Do not print the texts.")
@json_option
@settings_option
def compare(  # noqa: PLR0913, PLR0917  (each is an option of the command)
    new: str,
    kept: str,
    new_url: str,
    kept_url: str,
    index: Location | None,
    scope: str,
    brief: bool,
    json: bool,
    settings: Sequence[str],
) -> None:
    """Compare two pages by the rules of the crawl.

    The command tells whether the page NEW would be dropped if the page KEPT was kept, and which rule decides. Each page is
    an HTML file or an address. Both main texts are printed side by side, with the boilerplate that is not compared, the
    tokens that differ, and the answer of each rule. The command knows nothing about the sites, like a crawl at its start.
    With --index it uses what the index knows about them now or, if a journal beside it says that NEW was a duplicate of
    KEPT, what the index knew then.

    Exit status 0: dropped. 1: not dropped. 2: a page cannot be read or compared.

    \b
    Examples:
      crawler-dedup compare new.html kept.html
      crawler-dedup compare https://example.com/a https://example.com/b --brief
      crawler-dedup compare new.html kept.html --index .scrapy/dedup
    """
    target = None if index is None else find_target(index, None, settings)
    config = read_config(settings) if target is None else _config_of(target)
    signer = Signer(config)
    # Without addresses, the pages are on two different hosts: nothing is known about their sites.
    addresses = new_url or "http://new.invalid/", kept_url or new_url or "http://kept.invalid/"
    loaded = [load_page(source, url, config.max_bytes) for source, url in zip((new, kept), addresses, strict=True)]
    scope = "" if target is None else scope or default_scope(config)
    new_page, kept_page = (
        inspect_page(signer, page.url, page.body, page.encoding, scope=scope_of(page.url, scope)) for page in loaded
    )
    named_pages = (without_credentials(new), new_page.page), (without_credentials(kept), kept_page.page)
    unsigned = [f"{source}: {page.unsigned}" for source, page in named_pages if page.unsigned]
    if unsigned:
        print_error("; ".join(unsigned))
    sites = PairSites() if target is None else _find_sites(target, new_page.page, kept_page.page)
    pair = Pair(new_page.page, trim(kept_page.page), config, signer.scheme, sites.new, sites.kept)
    rule, duplicate = ("", None) if unsigned else table.decide(pair)
    if json:
        print_json("comparison", [_comparison_fields(new_page, kept_page, pair, brief=brief)])
    else:
        console = make_console()
        if not brief:
            print_texts(console, new_page, kept_page)
        print_pair(console, new_page, kept_page, pair)
        if target is not None:
            click.echo(sites.source)
        if duplicate is not None:
            click.echo(f"{'duplicate' if duplicate else 'different'}: {rule}")
    raise click.exceptions.Exit({True: 0, False: 1, None: 2}[duplicate])


def _config_of(target: Target) -> Config:
    with closing(maintenance.open_pages(target.index)) as pages:
        return config_from_spec(pages.header.spec, target.config)


def _find_sites(target: Target, new: SignedPage, kept: SignedPage) -> PairSites:
    with closing(maintenance.open_pages(target.index)) as pages:
        return find_sites(pages, target.journals, new.scope, new.url, kept.url)


def _comparison_fields(new: InspectedPage, kept: InspectedPage, pair: Pair, *, brief: bool) -> dict[str, Any]:
    """Return the fields of a comparison, without measures if a page could not be signed."""
    is_signed = not (pair.new.unsigned or pair.kept.unsigned)
    rules = apply_rules(pair)
    deciding = next((rule for rule in rules if is_signed and rule.decides), None)
    return {
        "new": _page_fields(new, kept, brief=brief),
        "kept": _page_fields(kept, new, brief=brief),
        "duplicate": deciding.duplicate if deciding else None,
        "rule": deciding.rule if deciding else None,
        "distance": pair.distance if is_signed else None,
        "resemblance": pair.resemblance if is_signed else None,
        "coverage": pair.coverage if is_signed else None,
        "signatures": compare_signatures(pair),
        "kept_lacks": find_lacks(new, pair),
        "new_lacks": find_lacks(kept, turn(pair, kept)),
        "same_links": pair.same_links if is_signed else None,
        "snapshot": pair.new_site.number,
        "kept_snapshot": pair.kept_site.number,
        "rules": rules,
    }


def _page_fields(inspected: InspectedPage, other: InspectedPage, *, brief: bool) -> dict[str, Any]:
    page = inspected.page
    return {
        "url": page.url,
        "title": page.title,
        "kind": page.kind.name.lower(),
        "unsigned": page.unsigned,
        "chars": page.chars,
        "features": page.features,
        "links": page.link_count,
        "is_list": is_list(page),
        "signature": f"{page.signature:016x}",
        "text": None if brief else inspected.text,
        "boilerplate": None if brief else inspected.boilerplate,
        "tokens_only_here": dict(inspected.tokens_missing_in(other)),
    }
