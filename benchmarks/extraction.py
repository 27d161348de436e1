"""How good is the text that is compared? ``python -m benchmarks.extraction [FOLDER] [--half 0|1]``.

The pages are of seven kinds, with their main content as people have checked it. Each extractor gets the bytes of the page,
or the decoded bytes. The extractors take turns, page by page.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import justext
import trafilatura
from lxml import etree
from readability import Document
from readability.readability import Unparseable
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding
from rich.console import Console
from rich.table import Table

from benchmarks.kinds import KINDS_OF_PAGES, KnownPage, by_kind, has_snippet, read_pages, split_words
from crawler_dedup.signing.extractors import extract_with_trafilatura
from crawler_dedup.signing.maintext import find_main_blocks, join_text
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import find_title, parse


def _with_paragraphs(body: bytes) -> str:
    tree = parse(body)
    return join_text(find_main_blocks(read_outline(tree), find_title(tree)))


def _as_delivered(body: bytes) -> str:
    return extract_with_trafilatura(parse(body))


def _with_trafilatura(body: bytes) -> str:
    return trafilatura.extract(body) or ""


def _decode(body: bytes) -> str:
    return body.decode(str(detect_encoding(body)), "replace")


def _with_resiliparse(body: bytes) -> str:
    return str(extract_plain_text(_decode(body), main_content=True))


def _with_readability(body: bytes) -> str:
    try:
        summary = Document(_decode(body)).summary()
    except Unparseable:
        return ""
    return " ".join(map(str, etree.fromstring(summary, etree.HTMLParser()).itertext()))


@cache
def _stop_words() -> frozenset[str]:
    """Return the stop words of all languages of justext, because the language of a page is not known."""
    return frozenset().union(*map(justext.get_stoplist, justext.get_stoplists()))


def _with_justext(body: bytes) -> str:
    try:
        paragraphs = justext.justext(body, _stop_words())
    except (etree.ParserError, ValueError):  # a page without text; a charset that does not exist
        return ""
    return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)


EXTRACTORS: dict[str, Callable[[bytes], str]] = {
    "crawler-dedup, as compared": _with_paragraphs,
    "main_text(response)": _as_delivered,
    "trafilatura": _with_trafilatura,
    "resiliparse": _with_resiliparse,
    "readability-lxml": _with_readability,
    "justext": _with_justext,
}


@dataclass(frozen=True)
class Score:
    """The quality of the extracted text of a page.

    Attributes:
        words: precision, recall and F1 of its words as a bag; ``None`` if the main content is not known.
        needed: for each snippet of the main content, whether the text has it.
        foreign: for each snippet that does not belong to the main content, whether the text has it.
        seconds: processor time.
    """

    words: tuple[float, float, float] | None
    needed: list[bool]
    foreign: list[bool]
    seconds: float


def score(page: KnownPage, extract: Callable[[bytes], str]) -> Score:
    """Extract the text of a page, and compare it with the main content."""
    begin = time.process_time()
    text = extract(page.body)
    seconds = time.process_time() - begin
    return Score(
        compare_words(text, page.reference) if page.reference else None,
        [has_snippet(snippet, text) for snippet in page.needed],
        [has_snippet(snippet, text) for snippet in page.foreign],
        seconds,
    )


def compare_words(text: str, reference: str) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the words of *text* as a bag."""
    words, needed = Counter(split_words(text)), Counter(split_words(reference))
    common = (words & needed).total()
    if not common:
        return 0.0, 0.0, 0.0
    return common / words.total(), common / needed.total(), 2 * common / (words.total() + needed.total())


def report(pages: list[KnownPage], scores: dict[str, dict[str, Score]]) -> None:
    """Print a table of all pages, and one of the F1 of each kind."""
    console = Console(width=150)
    table = Table("all pages", title="words as bags: mean of the pages; snippets: share of all", title_justify="left")
    for column in ("precision", "recall", "F1", "snippets that belong to it", "that do not", "ms a page", "median"):
        table.add_column(column, justify="right")
    for name, extracted in scores.items():
        words = [page.words for page in extracted.values() if page.words]
        times = [1000 * page.seconds for page in extracted.values()]
        table.add_row(
            name,
            *(f"{statistics.mean(values):.3f}" for values in zip(*words, strict=True)),
            f"{_share(page.needed for page in extracted.values()):.3f}",
            f"{_share(page.foreign for page in extracted.values()):.3f}",
            f"{statistics.mean(times):.1f}",
            f"{statistics.median(times):.1f}",
        )
    console.print(table)
    table = Table("", title="F1 of words · share of snippets that belong to it · that do not", title_justify="left")
    for name in scores:
        table.add_column(name, justify="right")
    for kind, members in by_kind(pages).items():
        table.add_row(
            f"{kind} ({len(members)})",
            *(_cell([extracted[page.id] for page in members]) for extracted in scores.values()),
        )
    console.print(table)
    empty = Counter(
        name for name, extracted in scores.items() for page in extracted.values() if page.words and not page.words[2]
    )
    console.print("Pages of whose main content no word was found: " + ", ".join(f"{n} {empty[n]}" for n in scores))


def _cell(scores: list[Score]) -> str:
    shares = (
        statistics.mean(page.words[2] for page in scores if page.words),
        _share(page.needed for page in scores),
        _share(page.foreign for page in scores),
    )
    return " ".join(f"{share:.3f}".removeprefix("0") for share in shares)


def _share(snippets: Iterable[list[bool]]) -> float:
    return statistics.mean(is_there for page in snippets for is_there in page)


def main() -> None:
    """Extract, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=KINDS_OF_PAGES)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only the sites of one half")
    parser.add_argument("--only", help="these extractors, by the first letters of their names, separated by commas")
    given = parser.parse_args()
    for peer in ("trafilatura", "readability"):
        logging.getLogger(peer).setLevel(logging.CRITICAL)
    pages = read_pages(given.folder, given.half)
    wanted = tuple(given.only.split(",")) if given.only else ("",)
    extractors = {name: extract for name, extract in EXTRACTORS.items() if name.startswith(wanted)}
    if not extractors:
        parser.error(f"The extractors are {', '.join(EXTRACTORS)}.")
    for extract in extractors.values():
        extract(pages[0].body)  # loading modules and tables does not count
    scores: dict[str, dict[str, Score]] = {name: {} for name in extractors}
    for page in pages:
        for name, extract in extractors.items():
            scores[name][page.id] = score(page, extract)
    report(pages, scores)


if __name__ == "__main__":
    main()
