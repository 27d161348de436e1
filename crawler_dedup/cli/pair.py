"""Printing of two pages, and of how they agree."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from crawler_dedup.cli.diff import print_side_by_side
from crawler_dedup.cli.terminal import printable, quantity
from crawler_dedup.inspection.compare import (
    InspectedPage,
    RuleResult,
    SignatureResult,
    apply_rules,
    compare_signatures,
)
from crawler_dedup.inspection.lacks import Lack, find_lacks, turn
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.trimming import is_list

_SHOWN_TOKENS = 60
_SHOWN_BLOCKS = 10


def print_pair(console: Console, new: InspectedPage, kept: InspectedPage, pair: Pair) -> None:
    """Print how two pages agree: figures, tokens that differ, and the answer of every rule."""
    console.print(_figures(pair))
    console.print(_tokens("new", new.tokens_missing_in(kept)))
    console.print(_tokens("kept", kept.tokens_missing_in(new)))
    console.print(_rules(apply_rules(pair)))
    console.print(describe_lacks("kept", find_lacks(new, pair)))
    console.print(describe_lacks("new", find_lacks(kept, turn(pair, kept))))
    console.print("The first rule with an answer decides (→). A crawl does not ask the rules below it.")


def print_texts(console: Console, new: InspectedPage, kept: InspectedPage) -> None:
    """Print both main texts side by side, and the boilerplate of each page."""
    print_side_by_side(console, new.text, kept.text, folded=False)
    for name, page in (("new", new), ("kept", kept)):
        boilerplate = printable(" ⏐ ".join(page.boilerplate)) or "nothing"
        console.print(Text.assemble((f"boilerplate of the {name} page: ", "bold"), (boilerplate, "dim")))


def _figures(pair: Pair) -> Table:
    table = Table()
    for column in ("", "new", "kept"):
        table.add_column(column, overflow="fold")
    both_pages = (pair.new, pair.kept)
    table.add_row("address", *(Text(printable(page.url)) for page in both_pages))
    table.add_row("title", *(Text(printable(page.title)) for page in both_pages))
    table.add_row("kind", *(page.unsigned or page.kind.name.lower() for page in both_pages))
    table.add_row("characters of main text", *(str(page.chars) for page in both_pages))
    table.add_row("different features", *(str(page.features) for page in both_pages))
    table.add_row("outlinks", *(str(page.link_count) for page in both_pages))
    table.add_row("a list", *("yes" if is_list(page) else "no" for page in both_pages))
    table.add_row("signature", *(f"{page.signature:016x}" for page in both_pages))
    if any(page.unsigned for page in both_pages):
        return table
    table.add_section()
    table.add_row("distance", "–" if pair.distance is None else str(pair.distance))
    table.add_row("resemblance", f"{pair.resemblance:.2f}")
    table.add_row("coverage of new by kept", f"{pair.coverage:.2f}")
    table.add_row("same links", "yes" if pair.same_links else "no")
    signatures = compare_signatures(pair)
    if signatures is not None:
        _add_signatures(table, signatures)
    return table


def _add_signatures(table: Table, signatures: SignatureResult) -> None:
    table.add_section()
    table.add_row("scheme", Text(printable(signatures.scheme)))
    table.add_row("its look-up finds kept", "yes" if signatures.is_candidate else "no")
    table.add_row("agree by it", "yes" if signatures.agree else "no")
    for name, share in (("resemblance by it", signatures.resemblance), ("coverage by it", signatures.coverage)):
        if share is not None:
            table.add_row(name, f"{share:.2f}")


def _tokens(name: str, tokens: list[tuple[str, int]]) -> Text:
    shown = [f"{token} ×{count}" if count > 1 else token for token, count in tokens[:_SHOWN_TOKENS]]
    more = f" … and {len(tokens) - _SHOWN_TOKENS} more" if len(tokens) > _SHOWN_TOKENS else ""
    listed = printable(", ".join(shown)) + more if tokens else "none"
    return Text.assemble((f"{quantity(len(tokens), 'token')} only in {name}: ", "bold"), listed)


def describe_lacks(name: str, lacks: list[Lack]) -> Text:
    """Return what the page *name* (new or kept) lacks of the other, in a line each."""
    lines = [f"  {_describe_lack(lack)}" for lack in lacks[:_SHOWN_BLOCKS]]
    lines += [f"  … and {len(lacks) - _SHOWN_BLOCKS} more"] if len(lacks) > _SHOWN_BLOCKS else []
    return Text.assemble((f"the {name} page lacks:\n", "bold"), "\n".join(lines or ["  nothing"]))


def _describe_lack(lack: Lack) -> str:
    if lack.text:
        return f"{lack.kind}: {printable(lack.text)}"
    return f"{lack.kind} of {quantity(lack.letters, 'letter')}" if lack.letters else lack.kind


def _rules(results: list[RuleResult]) -> Table:
    table = Table()
    for column in ("", "rule", "answer", "measured"):
        table.add_column(column, overflow="fold")
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
