"""``crawler-dedup compare``: print whether one page would be dropped because another is kept, with all measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import click
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
    printable,
    quantity,
)
from crawler_dedup.config import Config
from crawler_dedup.config.settings import default_scope, scope_of
from crawler_dedup.index import opening
from crawler_dedup.index.location import Location
from crawler_dedup.inspection.comparison import Lack, PairSites, find_lacks, find_sites, swap_pages
from crawler_dedup.inspection.fetching import load_page
from crawler_dedup.inspection.inspectedpage import (
    InspectedPage,
    RuleResult,
    apply_rules,
    compare_signatures,
    inspect_page,
)
from crawler_dedup.rules.sites import is_list
from crawler_dedup.rules.table import decide
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.urls import without_credentials

_CHANGED = "The kept page was stored again since then, and may have changed; it is shown as it is now."
_SHOWN_BLOCKS = 10
_ROWS = {
    "address": "url",
    "title": "title",
    "characters of main text": "chars",
    "distinct features": "features",
    "outlinks": "links",
    "signature": "signature",
}


@click.command()
@click.argument("new")
@click.argument("kept")
@click.option("--new-url", metavar="URL", default="", help="Address of the file NEW, to resolve relative links.")
@click.option("--kept-url", metavar="URL", default="", help="Address of the file KEPT.")
@click.option(
    "--index", type=IndexType(), help="Compare with the settings of this index, and with what it knows about the sites."
)
@click.option(
    "--scope",
    metavar="SCOPE",
    default="",
    help="With --index: the pages' scope.  [default: DEDUP_SCOPE; if this is spider, global]",
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
    --index, it uses what the index knows about them. If the journal says that NEW was dropped because of KEPT, it uses
    what the index knew at that time. A crawl compares only pages of the same scope; `index stats` lists the scopes.

    Exit status 0: dropped. 1: not dropped. 2: a page cannot be read, or has too little text to be compared.

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
    loaded = [load_page(source, url, config.max_bytes) for source, url in zip((new, kept), addresses, strict=True)]
    scope = "" if target is None else scope or default_scope(config)
    new_page, kept_page = (
        inspect_page(signer, page.url, page.body, page.encoding, scope=scope_of(page.url, scope)) for page in loaded
    )
    named_pages = (without_credentials(new), new_page.page), (without_credentials(kept), kept_page.page)
    if unsigned := [f"{source}: {page.unsigned}" for source, page in named_pages if page.unsigned]:
        print_error("; ".join(unsigned))
    sites = PairSites() if target is None else _find_sites(target, new_page.page, kept_page.page)
    pair = sites.pair_up(new_page.page, kept_page.page, signer)
    rules = apply_rules(pair)
    rule, is_duplicate = (None, None) if unsigned else decide(pair)
    kept_lacks = find_lacks(new_page, pair, kept_page)
    new_lacks = find_lacks(kept_page, swap_pages(pair, kept_page), new_page)
    fields = {
        "new": _page_fields(new_page, brief=brief),
        "kept": _page_fields(kept_page, brief=brief),
        "duplicate": is_duplicate,
        "rule": rule,
        "distance": None if unsigned else pair.distance,
        "signatures": compare_signatures(pair),
        "kept_lacks": kept_lacks,
        "new_lacks": new_lacks,
        "same_links": None if unsigned else pair.same_links,
        "snapshot": pair.new_site.number,
        "kept_snapshot": pair.kept_site.number,
        "rules": rules,
    }
    if json:
        print_json("comparison", [fields])
    else:
        console = make_console()
        if not brief:
            print_side_by_side(console, new_page.text, kept_page.text, folded=False)
        console.print(_figures(fields))
        console.print(_rules(rules, different="not compared" if unsigned else "different"))
        if not unsigned:
            console.print(_describe_lacks("kept", kept_lacks))
            console.print(_describe_lacks("new", new_lacks))
        console.print("The first rule with an answer decides (→). A crawl does not ask the rules below it.")
        if target is not None:
            click.echo(sites.source)
        if not unsigned:
            click.echo(f"{'duplicate' if is_duplicate else 'different'}: {rule}")
    raise click.exceptions.Exit({True: 0, False: 1, None: 2}[is_duplicate])


def _config_of(target: Target) -> Config:
    with closing(opening.open_index(target.index)) as pages:
        return config_from_spec(pages.header.spec, target.config)


def _find_sites(target: Target, new: SignedPage, kept: SignedPage) -> PairSites:
    with closing(opening.open_index(target.index)) as pages:
        return find_sites(pages, target.journals, new.scope, new.url, kept.url)


def _page_fields(inspected: InspectedPage, *, brief: bool) -> dict[str, Any]:
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
    }


def _figures(fields: Mapping[str, Any]) -> Table:
    table = make_table("", "new", "kept")
    both_pages = (fields["new"], fields["kept"])
    for name, column in _ROWS.items():
        table.add_row(name, *(Text(printable(str(page[column]))) for page in both_pages))
    table.add_row("kind", *(page["unsigned"] or page["kind"] for page in both_pages))
    table.add_row("a list", *(_yes_or_no(page["is_list"]) for page in both_pages))
    if fields["rule"] is None:
        return table
    table.add_section()
    table.add_row("distance", "–" if fields["distance"] is None else str(fields["distance"]))
    table.add_row("same links", _yes_or_no(fields["same_links"]))
    signatures = fields["signatures"]
    if signatures is not None:
        table.add_section()
        table.add_row("scheme", Text(printable(signatures.scheme)))
        table.add_row("found by its signature", _yes_or_no(signatures.is_candidate))
        table.add_row("signatures similar enough", _yes_or_no(signatures.agree))
        for name, share in (("resemblance", signatures.resemblance), ("coverage", signatures.coverage)):
            if share is not None:
                table.add_row(f"scheme: {name}", f"{share:.2f}")
    return table


def _yes_or_no(answer: bool | None) -> str:
    return "yes" if answer else "no"


def print_drop(
    new: str, kept: str, lacks: Sequence[Lack] | None, *, has_changed: bool, is_stored: bool = False
) -> None:
    """Print how a dropped page and its representative differ.

    Args:
        kept: the main text of the representative; ``""`` if it is not known.
        lacks: what the representative lacks; ``None`` if that is not known.
        has_changed: whether the representative was stored again since the drop.
        is_stored: whether the whole representative is known.
    """
    if has_changed:
        click.echo(_CHANGED)
    console = make_console()
    if kept:
        print_side_by_side(console, new, kept, folded=True)
    if lacks is not None:
        console.print(_describe_lacks("kept", lacks, is_stored=is_stored))


def _describe_lacks(name: str, lacks: Sequence[Lack], *, is_stored: bool = True) -> Text:
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
    lines += [f"  not compared ({exemption}): {' ⏐ '.join(others)}" for exemption, others in texts.items()]
    heading = (
        f"the {name} page lacks:\n"
        if is_stored
        else f"the {name} page may lack, as no more than its main text is stored:\n"
    )
    return Text.assemble((heading, "bold"), "\n".join(lines or ["  nothing: every line of the text is there"]))


def _describe_lack(lack: Lack) -> str:
    size = f" of {quantity(lack.letters, 'letter')}" if lack.letters else ""
    kind = "" if lack.exemption else f"{lack.kind}: "
    return kind + printable(lack.text) if lack.text else f"{lack.kind}{size}"


def _rules(results: Sequence[RuleResult], different: str) -> Table:
    table = make_table("", "rule", "answer", "measured")
    decided = False
    for result in results:
        answer = {True: "duplicate", False: different, None: "–"}[result.duplicate]
        if decided and result.duplicate is not None:
            answer = f"({answer})"
        style = "bold" if result.decides else "dim" if decided else ""
        arrow = "→" if result.decides else ""
        table.add_row(arrow, result.rule, answer, Text(printable(result.measured)), style=style)
        decided = decided or result.decides
    return table
