"""Does the filter distinguish content from its frame? ``python -m benchmarks.frames [FOLDER] [--between]``.

Sets of pairs are made of pages of seven kinds whose main content is known:

- *other content in the same frame*: each word of the main content is replaced, always by the same word, from the main
  contents of other pages of the kind. Title, links and all other words are unchanged. The host is unchanged too; a third set
  has another host. Neither page may stand for the other.
- *same content in another frame*: all words except those of the main content, the title and the first heading are replaced
  by words of the frames of other pages of the kind. The links lead elsewhere, and the host is another. Each page should
  stand for the other.

One page of each pair is kept, and the other is new. Nothing is known about the sites.

The main contents that people have checked leave out much that readers take for content: code and tables of an article, or
the line above each post of a thread. These texts are replaced with the frame; with ``--between``, they count as content.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, groupby
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement
from rich.console import Console
from rich.table import Table

from benchmarks.data import is_inline, workers
from benchmarks.kinds import KINDS, KINDS_OF_PAGES, WORD, KnownPage, read_pages, split_words
from crawler_dedup import Config, ConfigError
from crawler_dedup.evaluation.pairs import Sites, decide_direction
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.parsing import find_title, parse
from crawler_dedup.signing.signer import Signer

_UNSEEN = {"iframe", "script", "style", "svg", "template", "textarea", "title"}
_RUN = 3
"""Number of consecutive words by which a text is recognised in the main content."""
_MOST = 0.6
_LONG = 10
"""Number of words from which a text does not occur in the main content by chance."""
_HOST, _OTHER_HOST = "http://first.test/", "http://second.test/"
OTHER_CONTENT, OTHER_FRAME = "other content in the same frame", "same content in another frame"
OTHER_HOST = "other content in the same frame, on another host"


@dataclass(frozen=True)
class Slot:
    """A place of a text in a tree: the text of an element, or the text that follows it."""

    element: HtmlElement
    is_tail: bool

    @property
    def text(self) -> str:
        """The text at this place."""
        return (self.element.tail if self.is_tail else self.element.text) or ""

    def replace_words(self, replace: Callable[[str], str]) -> None:
        """Replace each word by the result of *replace*."""
        text = WORD.sub(lambda word: replace(word[0]), self.text)
        if self.is_tail:
            self.element.tail = text
        else:
            self.element.text = text

    @property
    def block(self) -> HtmlElement:
        """The innermost element around the text that begins and ends a block."""
        around = self.element.getparent() if self.is_tail else self.element
        return next(element for element in chain((around,), around.iterancestors()) if not is_inline(element))


def find_texts(tree: HtmlElement) -> list[list[Slot]]:
    """Return the texts of *tree* that a reader may see, each as a list of places."""
    body = tree.find("body")
    return [] if body is None else [list(slots) for _, slots in groupby(_find_slots(body), lambda slot: slot.block)]


def _find_slots(element: HtmlElement) -> Iterator[Slot]:
    if element.text and element.text.strip():
        yield Slot(element, is_tail=False)
    for child in element:
        if isinstance(child.tag, str) and child.tag not in _UNSEEN:
            yield from _find_slots(child)
        if child.tail and child.tail.strip():
            yield Slot(child, is_tail=True)


class Reference:
    """The main content of a page, in which texts are recognised."""

    def __init__(self, text: str) -> None:
        words = split_words(text)
        self._runs = {tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}
        self._lines = {tuple(split_words(line)) for line in text.splitlines()}

    def has(self, text: str) -> bool:
        """Return whether *text* belongs to the main content: as a line of it, or by most of its sequences of words."""
        words = split_words(text)
        if len(words) < _RUN:
            return tuple(words) in self._lines
        runs = [tuple(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)]
        return sum(run in self._runs for run in runs) >= _MOST * len(runs)


@dataclass(frozen=True)
class Words:
    """The words of all pages of a kind, by page, divided into content and frame.

    Attributes:
        content: the words of the main contents.
        frame: the words of the frames.
        between: whether the texts between two texts of a main content belong to it (:func:`divide`).
    """

    content: dict[str, list[str]]
    frame: dict[str, list[str]]
    between: bool


@dataclass(frozen=True)
class Outcome:
    """The decision about one pair of a set."""

    set_name: str
    kind: str
    id: str
    rule: str
    is_duplicate: bool


def divide(tree: HtmlElement, reference: str, *, between: bool) -> tuple[list[Slot], list[Slot]]:
    """Return the places of the main content in *tree*, and the places of the frame.

    Args:
        between: whether all texts between the first and the last long text of the main content belong to it.
    """
    known, texts = Reference(reference), find_texts(tree)
    lines = [" ".join(slot.text for slot in text) for text in texts]
    is_main = [known.has(line) for line in lines]
    long = [place for place, line in enumerate(lines) if is_main[place] and len(split_words(line)) >= _LONG]
    if between and long:
        is_main[long[0] : long[-1]] = [True] * (long[-1] - long[0])
    sides: tuple[list[Slot], list[Slot]] = [], []
    for text, belongs in zip(texts, is_main, strict=True):
        sides[not belongs].extend(text)
    return sides


def collect_words(pages: list[KnownPage], *, between: bool = False) -> Words:
    """Collect the words of *pages*."""
    sides = {page.id: divide(parse(page.body), page.reference, between=between) for page in pages}
    content, frame = ({name: _words_of(side[at]) for name, side in sides.items()} for at in (0, 1))
    return Words(content, frame, between)


def _words_of(slots: list[Slot]) -> list[str]:
    return [word for slot in slots for word in WORD.findall(slot.text)]


def with_other_content(page: KnownPage, words: Words, chance: random.Random) -> bytes:
    """Return the page with other words in its main content."""
    tree, replace = parse(page.body), _replacement(_words_of_others(words.content, page), chance)
    for slot in divide(tree, page.reference, between=words.between)[0]:
        slot.replace_words(replace)
    return serialise(tree)


def with_other_frame(page: KnownPage, words: Words, chance: random.Random) -> bytes:
    """Return the page with other words and links around its main content."""
    tree, replace = parse(page.body), _replacement(_words_of_others(words.frame, page), chance)
    title = " ".join(split_words(find_title(tree)))
    for slot in divide(tree, page.reference, between=words.between)[1]:
        if slot.block.tag != "h1" and " ".join(split_words(slot.text)) not in title:
            slot.replace_words(replace)
    for anchor in tree.iter("a"):
        if anchor.get("href"):
            anchor.set("href", f"/{chance.randrange(10**9)}")
    return serialise(tree)


def _replacement(words_of_others: list[str], chance: random.Random) -> Callable[[str], str]:
    """Return a function that replaces each word, always by the same word, and numbers by numbers."""
    words = [word for word in words_of_others if not word[0].isdigit()] or ["word"]
    numbers = [word for word in words_of_others if word[0].isdigit()] or ["1"]
    return cache(lambda word: chance.choice(numbers if word[0].isdigit() else words))


def _words_of_others(words: dict[str, list[str]], page: KnownPage) -> list[str]:
    return [word for name, page_words in words.items() if name != page.id for word in page_words]


_MAKERS: dict[Callable[[KnownPage, Words, random.Random], bytes], dict[str, str]] = {
    with_other_content: {OTHER_CONTENT: _HOST, OTHER_HOST: _OTHER_HOST},
    with_other_frame: {OTHER_FRAME: _OTHER_HOST},
}
"""Functions that make a page, each with (name of the set, host) of the sets to which the page belongs."""


def serialise(tree: HtmlElement) -> bytes:
    """Return the bytes of a page."""
    return etree.tostring(tree, encoding="utf-8", method="html")


def try_kind(
    kind: str, folder: Path, half: int | None, seed: int, settings: dict[str, str], *, between: bool
) -> list[Outcome]:
    """Make all sets of the pages of one kind, and decide about their pairs."""
    pages = [page for page in read_pages(folder, half) if page.kind == kind and page.reference]
    words, chance = collect_words(pages, between=between), random.Random(seed)
    signer = Signer(Config.from_settings(settings))

    def sign(url: str, body: bytes) -> SignedPage:
        return signer.sign(url, body, None, encoding="utf-8", key=url, scope="")[0]

    outcomes = []
    for page in pages:
        if len(words.content[page.id]) < _MOST * len(split_words(page.reference)):
            continue  # a part of the main content is not on the page
        kept = sign(_HOST + "kept", serialise(parse(page.body)))
        for make, sets in _MAKERS.items():
            body = make(page, words, chance)
            for set_name, host in sets.items():
                new = sign(host + "new", body)
                result = decide_direction(new, kept, signer.config, Sites(), signer.scheme)
                outcomes.append(Outcome(set_name, kind, page.id, result.rule, result.is_duplicate))
    return outcomes


def report(outcomes: list[Outcome], examples: int) -> None:
    """Print a table of each set, and the pages about which the filter was wrong."""
    console = Console(width=150)
    for set_name, is_right in ((OTHER_CONTENT, False), (OTHER_HOST, False), (OTHER_FRAME, True)):
        of_set = [outcome for outcome in outcomes if outcome.set_name == set_name]
        verb = "missed" if is_right else "dropped"
        table = Table("", title=set_name, title_justify="left")
        for column in ("pages", verb, "share"):
            table.add_column(column, justify="right")
        table.add_column("by these rules")
        for kind in (*KINDS, "all"):
            pages = [outcome for outcome in of_set if kind in (outcome.kind, "all")]
            wrong = [outcome for outcome in pages if outcome.is_duplicate is not is_right]
            rules = Counter(outcome.rule for outcome in wrong).most_common()
            described = ", ".join(f"{rule} {number}" for rule, number in rules)
            table.add_row(kind, str(len(pages)), str(len(wrong)), f"{len(wrong) / max(1, len(pages)):.1%}", described)
        console.print(table)
        shown = [f"{outcome.id} ({outcome.rule})" for outcome in of_set if outcome.is_duplicate is not is_right]
        if examples:
            console.print(", ".join(shown[:examples]))


def main() -> None:
    """Make the sets, decide and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=KINDS_OF_PAGES)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only the sites of one half")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--extractor", default="paragraphs", help="value of DEDUP_EXTRACTOR")
    parser.add_argument("--examples", type=int, default=0, help="how many pages to name about which it was wrong")
    parser.add_argument(
        "--between", action="store_true", help="what stands between two texts of the content is content"
    )
    given = parser.parse_args()
    settings = {"DEDUP_TOKENIZER": "rjieba", "DEDUP_EXTRACTOR": given.extractor}
    try:
        Config.from_settings(settings)
    except ConfigError as error:
        parser.error(str(error))
    decide = partial(
        try_kind, folder=given.folder, half=given.half, seed=given.seed, settings=settings, between=given.between
    )
    with workers() as pool:
        report([outcome for outcomes in pool.map(decide, KINDS) for outcome in outcomes], given.examples)


if __name__ == "__main__":
    main()
