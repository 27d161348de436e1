"""A page as it is signed, with the texts that are compared and left out; and the results of the rules for two of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from lxml.html import HtmlElement

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.owntext.elements import Elements
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.table import TABLE
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing import parsing
from crawler_dedup.signing.blocks import pack_blocks
from crawler_dedup.signing.embedded import find_embedded_content
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.lookup import Lookup
from crawler_dedup.signing.outline import Outline, read_outline
from crawler_dedup.signing.pagelines import Line, count_read, read_lines, split_into_lines
from crawler_dedup.signing.schemes import Agreement
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.textblocks import Block

# Elements that a reader sees, and that are never main text: the outline leaves them out.
_NEVER_MAIN_TEXT = ("aside", "dialog", "footer", "menu", "nav", "noscript", "object")
_BUTTONS = ("button", "reset", "submit")  # types of <input> that show their value
_BESIDE = "beside"  # the tag that they get to be read


@dataclass(frozen=True)
class VisibleLine:
    """A line that a page shows.

    Attributes:
        text: its text.
        number: the hash of the block that it makes; 0: it makes none.
        exemption: why a part of its text is not compared; ``""`` if all of it is.
    """

    text: str
    number: int
    exemption: str


@dataclass(frozen=True)
class InspectedPage:
    """A signed page with the texts that it was signed from.

    Attributes:
        page: the page as the index would keep it.
        text: its main text; ``""`` if the page exceeds a limit that is checked before the extraction.
        blocks: the text of each block by its hash.
        lines: all lines that it shows.
    """

    page: SignedPage
    text: str
    blocks: Mapping[int, str]
    lines: Sequence[VisibleLine]


@dataclass(frozen=True)
class RuleResult:
    """The result of a rule for a pair.

    Attributes:
        rule: the name of the rule.
        duplicate: whether it calls the pair a duplicate; ``None``: it leaves the decision to the next rule.
        decides: whether it is the first rule that does not leave the decision to the next.
        measured: the values that the rule depends on, in a few words.
    """

    rule: str
    duplicate: bool | None
    decides: bool
    measured: str


@dataclass(frozen=True)
class SignatureResult:
    """The result of the scheme for the signatures of a pair, regardless of its look-up and its thresholds.

    Attributes:
        scheme: its name and options.
        is_candidate: whether a look-up of the new page finds the kept page.
        agree: whether the texts agree according to the scheme.
        distance: Hamming distance in bits; ``None`` if the scheme does not measure it.
        resemblance: resemblance of the features that the scheme compares, 0 to 1; ``None`` if it does not measure it.
        coverage: share of these features of the new page that the kept page has, 0 to 1; ``None`` if it does not measure it.
    """

    scheme: str
    is_candidate: bool
    agree: bool
    distance: int | None
    resemblance: float | None
    coverage: float | None


def inspect_page(
    signer: Signer, url: str, body: bytes, encoding: str | None = None, *, scope: str | None = ""
) -> InspectedPage:
    """Sign a page as a crawl does, and return it with the texts that it was signed from."""
    page, text = signer.sign(url, body, encoding=encoding, key=url, scope=scope)
    if text is None:
        return InspectedPage(page, "", {}, ())
    tree, read = signer.read_page(body, encoding)
    embedded = find_embedded_content(tree, revealed=read.revealed) if page.kind is PageKind.THIN else None
    blocks = pack_blocks(read.outline, read.main, read.title, page.url, embedded).texts
    lines = [*_find_lines(read.outline.blocks)]
    with suppress(BeyondLimits):  # elements that a crawl leaves out may be nested too deep
        lines += _find_lines_beside(_read_everything(tree, revealed=read.revealed), blocks)
    return InspectedPage(page, text, blocks, lines)


def apply_rules(pair: Pair) -> list[RuleResult]:
    """Apply every rule to *pair*, including the rules that a crawl does not apply because an earlier rule decides.

    If a page could not be signed, only the first rule is applied, which says so.
    """
    results: list[RuleResult] = []
    decided = False
    for rule in TABLE:
        duplicate = rule.is_duplicate if rule.applies(pair) else None
        decides = duplicate is not None and not decided
        decided = decided or decides
        results.append(RuleResult(rule.name, duplicate, decides, rule.describe(pair)))
        if pair.new.unsigned or pair.kept.unsigned:
            break
    return results


def compare_signatures(pair: Pair) -> SignatureResult | None:
    """Compare the signatures of *pair* by its scheme; ``None`` unless both pages are compared by their main texts."""
    new, kept = pair.new, pair.kept
    if new.unsigned or kept.unsigned or not new.kind is kept.kind is PageKind.TEXT:
        return None
    measured = pair.scheme.measure(new.signed, kept.signed) or Agreement()
    return SignatureResult(
        scheme=pair.scheme.spec,
        is_candidate=Lookup(pair.scheme).finds(new, kept),
        agree=pair.signatures_agree,
        distance=measured.distance,
        resemblance=measured.resemblance,
        coverage=measured.coverage,
    )


def _find_lines(blocks: Sequence[Block]) -> Iterator[VisibleLine]:
    """Yield the visible lines of *blocks*, which are compared."""
    lines = split_into_lines(blocks)
    making_blocks = {place: line for place, _, line in read_lines(lines)}
    end = count_read(lines)  # what follows is compared as a whole
    for place, block in enumerate(lines):
        if line := making_blocks.get(place):
            yield VisibleLine(block.shown, line.hash, _exempt_part(line, block))
        else:
            skipped = "numbers of lines" if any(map(str.isdigit, block.text)) else "an advertisement"
            yield VisibleLine(block.shown, 0, skipped if place < end else "")


def _exempt_part(line: Line, block: Block) -> str:
    """Return why not the whole text of *block* is compared; ``""`` if it is."""
    if line.numbers and not line.letters:
        return "the same date"
    if normalise(block.text) != line.plain:
        return "a count"
    return "" if line.says_something else "no letter, digit or symbol"


def _read_everything(tree: HtmlElement, *, revealed: bool) -> Outline:
    """Read *tree* with what is never main text. Changes *tree*."""
    for root in parsing.roots(tree):
        for element in root.iter(*_NEVER_MAIN_TEXT):
            element.tag = _BESIDE
        for field in root.iter("input"):
            if field.get("type", "").lower() in _BUTTONS:
                field.tag, field.text = _BESIDE, field.get("value")
    return read_outline(tree, revealed=revealed, elements=Elements)


def _find_lines_beside(everything: Outline, texts: Mapping[int, str]) -> Iterator[VisibleLine]:
    """Yield the lines in elements that are never main text. On a thin page, some of them are *texts* of blocks."""
    assert everything.elements is not None
    numbers = {" ".join(text.split()): number for number, text in texts.items()}
    are_beside = [False]  # the root, which is its own parent
    for tag, parent in zip(everything.elements.tags[1:], everything.parents[1:], strict=True):
        are_beside.append(tag == _BESIDE or are_beside[parent])
    for owner, block in zip(everything.elements.owners, everything.blocks, strict=True):
        for line in split_into_lines([block] if are_beside[owner] else []):
            number = numbers.get(line.shown, 0)
            yield VisibleLine(line.shown, number, "" if number else "in navigation, a footer or the like")
