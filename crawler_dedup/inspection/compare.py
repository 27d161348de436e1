"""Two pages looked at closely: what of each is compared, what was cut away, and what every row of the rules says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from lxml.html import HtmlElement

from crawler_dedup.rules import table
from crawler_dedup.rules.table import Pair
from crawler_dedup.signedpage import Kind, SignedPage
from crawler_dedup.signing import parsing
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.signer import Signer

_LONG_LINE = 40
_LONG_TEXT = 100_000  # in which looking for thousands of lines would take seconds
# What a reader sees, and is never main text.
_PASSED_OVER = ("aside", "button", "dialog", "footer", "menu", "nav", "noscript")


@dataclass(frozen=True)
class Examined:
    """A page.

    Attributes:
        page: as the index would keep it.
        text: its main text; ``""`` where a limit was met before.
        cut_away: what else it shows, a line each, in its order.
        tokens: how often each token stands in what is compared: the main text, of a short page or a list all of it.
    """

    page: SignedPage
    text: str
    cut_away: tuple[str, ...]
    tokens: Counter[str]

    def lacking_in(self, other: Examined) -> list[tuple[str, int]]:
        """The tokens that *other* does not have at all, with their number, the most frequent first."""
        return [one for one in self.tokens.most_common() if one[0] not in other.tokens]


@dataclass(frozen=True)
class RowSaid:
    """What a row of the rules says of a pair.

    Attributes:
        name: of the row.
        duplicate: ``True``, ``False``, or ``None``: nothing.
        decides: whether it is the first that says something.
        measured: what it has looked at.
    """

    name: str
    duplicate: bool | None
    decides: bool
    measured: str


def examine(signer: Signer, url: str, body: bytes, encoding: str | None = None, *, scope: str = "") -> Examined:
    """Look at a page as *signer* does."""
    page, text = signer.sign(url, body, encoding=encoding, key=url, scope=scope)
    if text is None:
        return Examined(page, "", (), Counter())
    cut_away = _cut_away(parsing.parse(body, encoding), text, signer.config.max_depth)
    compared = text if page.kind is Kind.TEXT and not page.unsigned else "\n".join([text, *cut_away])
    return Examined(page, text, cut_away, Counter(signer.text_of(compared).tokens))


def rows(pair: Pair) -> list[RowSaid]:
    """What each row says, also those that are not asked because one before them decides.

    Of pages that could not be signed, only the row that says so.
    """
    told: list[RowSaid] = []
    for name, row in table.ROWS:
        duplicate = row(pair)
        decides = duplicate is not None and not any(one.decides for one in told)
        told.append(RowSaid(name, duplicate, decides, _MEASURED[name](pair)))
        if pair.new.unsigned or pair.kept.unsigned:
            break
    return told


def _cut_away(tree: HtmlElement, text: str, max_depth: int) -> tuple[str, ...]:
    """What *tree*, which is changed, shows beside the main text *text*."""
    for root in parsing.roots(tree):
        for one in root.iter(*_PASSED_OVER):
            one.tag = "div"
    kept = Counter(line.strip().removeprefix("- ") for line in text.splitlines())
    searched = text if len(text) < _LONG_TEXT else ""
    rest = []
    for block in read_outline(tree, max_depth).blocks:
        if kept[block.text]:
            kept[block.text] -= 1
        elif len(block.text) < _LONG_LINE or block.text not in searched:
            rest.append(block.text)
    return tuple(rest)


def _links(pair: Pair) -> str:
    return "the same links" if pair.same_links else "all links known" if pair.links_covered else "other links"


def _least(pair: Pair, limit: float) -> str:
    return f"least {limit:.2f}" if pair.estimated else f"decided by {pair.scheme.spec}"


def _shown(pair: Pair) -> str:
    least = pair.limits.min_coverage
    return f"; of what is shown {pair.shown_coverage:.2f}, least {least:.2f}" if pair.hides else ""


def _links_and_words(pair: Pair) -> str:
    other_rest = "" if pair.same_rest_shown else ", other ones hidden"
    return f"{_links(pair)}, {'the same' if pair.same_words else 'other'} words{other_rest}"


def _list_and_links(pair: Pair) -> str:
    where = "one host" if pair.one_host else "two hosts"
    return f"{'a list' if table.is_list(pair.new) else 'no list'}, {where}, {_links(pair)}"


_MEASURED: dict[str, Callable[[Pair], str]] = {
    "too little text": lambda pair: pair.new.unsigned or pair.kept.unsigned,
    table.SAME_BYTES: lambda pair: (
        f"{'the same' if pair.new.digest == pair.kept.digest else 'other'} bytes, {_links(pair)}"
    ),
    "other kinds of page": lambda pair: f"{pair.new.kind.name.lower()} and {pair.kept.kind.name.lower()}",
    "same list": _links_and_words,
    "same short page": _links_and_words,
    "signatures far apart": lambda pair: (
        "they do not agree"
        if pair.agreement is None
        else f"{pair.scheme.name} sees one text"
        if pair.distance is None
        else f"{pair.distance} bits, limit {pair.limits.max_distance}"
    ),
    "other titles": lambda pair: "the same title" if pair.same_title else "renamed" if pair.renamed else "other titles",
    "other numbers": lambda pair: "hardly a number in common" if pair.other_numbers else "no two tables",
    "other words": lambda pair: f"resemblance {pair.resemblance:.2f}, {_least(pair, pair.limits.min_resemblance)}",
    "not covered": lambda pair: f"coverage {pair.coverage:.2f}, {_least(pair, pair.limits.min_coverage)}{_shown(pair)}",
    table.OTHER_LINKS: _list_and_links,
    "alike": lambda _: "",
}
