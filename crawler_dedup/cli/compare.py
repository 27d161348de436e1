"""``crawler-dedup compare``: print whether one page would be dropped because another is kept, with all measures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.diff import print_side_by_side
from crawler_dedup.cli.options import IndexType, json_option, settings_option
from crawler_dedup.cli.project import Target, TargetOptions, read_config
from crawler_dedup.cli.terminal import (
    make_console,
    make_table,
    print_error,
    print_json,
    print_note,
    printable,
    quantity,
)
from crawler_dedup.config import Config
from crawler_dedup.config.settings import default_scope, scope_of
from crawler_dedup.index import opening
from crawler_dedup.index.location import Location
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.comparison import Comparison, Lack, PairSites, compare_pages, find_sites, inspect_stored
from crawler_dedup.inspection.fetching import FetchedPage, as_fetched, is_address, load_page
from crawler_dedup.inspection.inspectedpage import RuleResult, inspect_page
from crawler_dedup.journal.entry import Entry
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.signing.text import unpack_text
from crawler_dedup.urls import without_credentials

if TYPE_CHECKING:
    from crawler_dedup.warc.droppedpage import DroppedPage

CHANGED = "The kept page was stored again since then, and may have changed; it is shown as it is now."
_SHOWN_BLOCKS = 10


@click.command()
@click.argument("new")
@click.argument("kept")
@click.option("--new-url", metavar="URL", default="", help="Address of the file NEW, to resolve relative links.")
@click.option("--kept-url", metavar="URL", default="", help="Address of the file KEPT.")
@click.option(
    "--index", type=IndexType(), help="Compare with the settings of this index, and with what it knows about the sites."
)
@click.option(
    "--scope", metavar="SCOPE", default="", help="With --index: the scope of the pages.  [default: as DEDUP_SCOPE says]"
)
@click.option("--brief", is_flag=True, help="Do not print the texts.")
@json_option
@settings_option("DEDUP_MAX_DISTANCE=4")
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

    The command says whether the page NEW would be dropped if the page KEPT was kept, and which rule decides. Each page
    is an HTML file or an address. The command prints both main texts side by side, the answer of each rule, and every
    line that only one page shows. Without --index, it knows nothing about the sites, like a crawl at its start. With
    --index, it uses what the index knows about them; if the journal says that NEW was dropped because of KEPT, what the
    index knew then. A crawl compares only pages of the same scope; `index stats` lists the scopes.

    Exit status 0: dropped. 1: not dropped. 2: a page cannot be read or compared.

    \b
    Examples:
      crawler-dedup compare new.html kept.html
      crawler-dedup compare https://example.com/a https://example.com/b --brief
      crawler-dedup compare new.html kept.html --index .scrapy/dedup
    """
    target = None if index is None else TargetOptions(index, settings=settings).find()
    config = read_config(settings) if target is None else _config_of(target)
    signer = Signer(config)
    # Without addresses, the pages are on two different hosts: nothing is known about their sites.
    addresses = new_url or "http://new.invalid/", kept_url or new_url or "http://kept.invalid/"
    loaded = [
        _load_stored(source, target) or load_page(source, url, config.max_bytes)
        for source, url in zip((new, kept), addresses, strict=True)
    ]
    scope = "" if target is None else scope or default_scope(config)
    new_page, kept_page = (
        inspect_page(signer, page.url, page.body, page.encoding, scope=scope_of(page.url, scope)) for page in loaded
    )
    named_pages = (without_credentials(new), new_page.page), (without_credentials(kept), kept_page.page)
    unsigned = [f"{source}: {page.unsigned}" for source, page in named_pages if page.unsigned]
    if unsigned:
        print_error("; ".join(unsigned))
    sites = PairSites() if target is None else _find_sites(target, new_page.page, kept_page.page)
    pair = sites.pair_up(new_page.page, kept_page.page, signer)
    comparison = compare_pages(new_page, kept_page, pair, brief=brief)
    if json:
        print_json("comparison", [comparison])
    else:
        console = make_console()
        if not brief:
            print_side_by_side(console, new_page.text, kept_page.text, folded=False)
        print_comparison(console, comparison)
        if target is not None:
            click.echo(sites.source)
        if not unsigned:
            click.echo(f"{'duplicate' if comparison.duplicate else 'different'}: {comparison.rule}")
    raise click.exceptions.Exit({True: 0, False: 1, None: 2}[comparison.duplicate])


def _load_stored(url: str, target: Target | None) -> FetchedPage | None:
    """Return the page at *url* as it was when a crawl last dropped it, if that is stored beside the index."""
    if target is None or not is_address(url):
        return None
    dropped = target.find_stored(lambda drop: drop.url).find(without_credentials(url))
    if dropped is None:
        return None
    print_note(f"{dropped.drop.url} is read from the WARC files, as it was on {dropped.drop.time}.")
    return as_fetched(dropped)


def _config_of(target: Target) -> Config:
    with closing(opening.open_index(target.index)) as pages:
        return config_from_spec(pages.header.spec, target.config)


def _find_sites(target: Target, new: SignedPage, kept: SignedPage) -> PairSites:
    with closing(opening.open_index(target.index)) as pages:
        return find_sites(pages, target.journals, new.scope, new.url, kept.url)


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print how two pages agree: figures, the answer of every rule, and what each page lacks."""
    console.print(_figures(comparison))
    console.print(_rules(comparison.rules))
    if comparison.rule is not None:
        console.print(describe_lacks("kept", comparison.kept_lacks))
        console.print(describe_lacks("new", comparison.new_lacks))
    console.print("The first rule with an answer decides (→). A crawl does not ask the rules below it.")


def print_difference(
    entry: Entry,
    record: Record | None,
    dropped: DroppedPage | None,
    signer: Signer,
    sites: PairSites,
    not_stored: str,
) -> None:
    """Print how a dropped page and its representative differ, as far as one or both are stored; else *not_stored*.

    Args:
        record: the representative; ``None``: it is not kept.
        dropped: the dropped page; ``None``: it is in no WARC file.
    """
    new, kept = unpack_text(entry.text), unpack_text(record.page.text) if record else ""
    if record is not None and dropped is not None:
        page, lacks = inspect_stored(dropped, record.page, signer, sites)
        new = page.text
    elif not (new and kept):
        click.echo(not_stored)
        return
    if record is not None and record.filed > entry.seconds:
        click.echo(CHANGED)
    console = make_console()
    if kept:
        print_side_by_side(console, new, kept, folded=True)
    if dropped is not None:
        console.print(describe_lacks("kept", lacks, is_stored=False))


def _figures(comparison: Comparison) -> Table:
    table = make_table("", "new", "kept")
    both_pages = (comparison.new, comparison.kept)
    table.add_row("address", *(Text(printable(page.url)) for page in both_pages))
    table.add_row("title", *(Text(printable(page.title)) for page in both_pages))
    table.add_row("kind", *(page.unsigned or page.kind for page in both_pages))
    table.add_row("characters of main text", *(str(page.chars) for page in both_pages))
    table.add_row("different features", *(str(page.features) for page in both_pages))
    table.add_row("outlinks", *(str(page.links) for page in both_pages))
    table.add_row("a list", *(_yes_or_no(page.is_list) for page in both_pages))
    table.add_row("signature", *(page.signature for page in both_pages))
    if comparison.rule is None:
        return table
    table.add_section()
    table.add_row("distance", "–" if comparison.distance is None else str(comparison.distance))
    table.add_row("same links", _yes_or_no(comparison.same_links))
    signatures = comparison.signatures
    if signatures is not None:
        table.add_section()
        table.add_row("scheme", Text(printable(signatures.scheme)))
        table.add_row("scheme: look-up finds the kept page", _yes_or_no(signatures.is_candidate))
        table.add_row("scheme: the texts agree", _yes_or_no(signatures.agree))
        for name, share in (("resemblance", signatures.resemblance), ("coverage", signatures.coverage)):
            if share is not None:
                table.add_row(f"scheme: {name}", f"{share:.2f}")
    return table


def _yes_or_no(answer: bool | None) -> str:
    return "yes" if answer else "no"


def describe_lacks(name: str, lacks: Sequence[Lack], *, is_stored: bool = True) -> Text:
    """Return what the page *name* (new or kept) lacks of the other: blocks that count in a line each, others by reason.

    Args:
        is_stored: whether the text of the page is known; else it may show some of the lines that are not compared.
    """
    texts: dict[str, list[str]] = {}
    for lack in lacks:
        texts.setdefault(lack.exemption, []).append(_describe_lack(lack))
    counting = texts.pop("", [])
    lines = [f"  {text}" for text in counting[:_SHOWN_BLOCKS]]
    lines += [f"  … and {len(counting) - _SHOWN_BLOCKS} more"] if len(counting) > _SHOWN_BLOCKS else []
    lines += [f"  does not count ({exemption}): {' ⏐ '.join(others)}" for exemption, others in texts.items()]
    heading = (
        f"the {name} page lacks:\n"
        if is_stored
        else f"the {name} page, of which at most the main text is stored, may lack:\n"
    )
    return Text.assemble((heading, "bold"), "\n".join(lines or ["  nothing: every line of the text is there"]))


def _describe_lack(lack: Lack) -> str:
    size = f" of {quantity(lack.letters, 'letter')}" if lack.letters else ""
    kind = "" if lack.exemption else f"{lack.kind}: "
    return kind + printable(lack.text) if lack.text else f"{lack.kind}{size}"


def _rules(results: Sequence[RuleResult]) -> Table:
    table = make_table("", "rule", "answer", "measured")
    decided = False
    for result in results:
        answer = {True: "duplicate", False: "different", None: "–"}[result.duplicate]
        if decided and result.duplicate is not None:
            answer = f"({answer})"
        style = "bold" if result.decides else "dim" if decided else ""
        arrow = "→" if result.decides else ""
        table.add_row(arrow, result.rule, answer, Text(printable(result.measured)), style=style)
        decided = decided or result.decides
    return table
