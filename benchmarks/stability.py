"""Is a page recognised in other boilerplate? ``python -m benchmarks.stability [FOLDER] [--pages 130] ...``.

Two variants of real English and Chinese pages are made, on two hosts, which get blocks of pages of other sites: navigation,
sidebars, footers, advertisements. Nothing is known about the sites. The filter is compared with a peer: trafilatura with its
default settings and a simhash of word counts. Few saved Chinese pages have comments or teasers, so these are built from
paragraphs of other pages, in both languages.
"""

from __future__ import annotations

import argparse
import copy
import html
import random
import re
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import rjieba
import trafilatura
from lxml import etree
from lxml.html import HtmlElement, fragment_fromstring
from rich.console import Console
from rich.table import Table
from xxhash import xxh3_64_intdigest

from benchmarks.data import Source, is_cjk, main_element, prose, sources, visible_blocks, workers
from crawler_dedup import Config, ConfigError, Deduplicator
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing import parsing
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA, require_data, saved

_BLOCKS = {"aside", "center", "div", "dl", "footer", "form", "header", "nav", "ol", "p", "section", "table", "td", "ul"}
_UNSEEN = ("iframe", "noscript", "script", "style", "svg")
_PROMOTION = re.compile(r"©|copyright|版权|备案|newsletter|subscri|订阅|cookie|sign up|关注", re.IGNORECASE)
_ROLES = {  # least and most characters, and words in tag, identifier and class
    "small": (10, 200, re.compile(r"\bads?\b|advert|banner|consent|cookie|copyright|newsletter|promo|sponsor|subscri")),
    "footer": (20, 800, re.compile(r"foot|copyright|bottom|colophon")),
    "bar": (20, 400, re.compile(r"nav|head|menu|masthead|breadcrumb|topbar")),
    "sidebar": (80, 1500, re.compile(r"aside|side|widget|related|recommend|popular|recent|\bleft\b|\bright\b")),
}
_BUILT = {  # from the parts of how many other pages, and inside which elements
    "teasers": (5, ('<aside class="related">{}</aside>', '<div class="sidebar">{}</div>', "<div>{}</div>")),
    "comments": (6, ('<div id="comments">{}</div>', '<div class="replies">{}</div>', "<div>{}</div>")),
}
_PER_SITE = 20  # blocks of a role per site

_MEDIUM = (("bar", "top"), ("bar", "top"), ("sidebar", "before"), ("footer", "bottom"))
LEVELS = {
    "light": (("small", "before"), ("small", "after")),
    "medium": _MEDIUM,
    "heavy": (*_MEDIUM, ("sidebar", "after"), ("teasers", "before"), ("comments", "after"), ("teasers", "after")),
}
_MIRROR = "http://mirror.test/page.html"

Injection = list[tuple[str, str]]
"""Blocks as HTML, each with its place: top or bottom of the body, before or after the main content."""
Stock = dict[str, dict[str, list[str]]]
"""Blocks by role and site."""


@dataclass(frozen=True)
class Harvest:
    """A page, and its blocks for other pages as (role, HTML)."""

    source: Source
    blocks: list[tuple[str, str]]


@dataclass(frozen=True)
class Task:
    """A page and its changes: two injections for each row of the table."""

    source: Source
    rows: list[tuple[str, Injection, Injection]]


@dataclass(frozen=True)
class Pair:
    """Two variants of a page, signed by the filter and by the peer (``None``: no text), and the size of the added blocks."""

    language: str
    row: str
    first: SignedPage
    second: SignedPage
    peers: tuple[int | None, int | None]
    added_blocks: int
    added_share: float


def harvest(source: Source) -> Harvest | None:
    """Return the blocks of a page for other pages; ``None`` if it has hardly any text, or another language."""
    tree = parsing.parse(saved(source.file))
    blocks, body = visible_blocks(tree), next(tree.iter("body"), None)
    if body is None or prose(body) < 500 or is_cjk("".join(blocks)) != (source.language == "zh"):
        return None
    paragraphs = [" ".join(visible_blocks(paragraph)) for paragraph in tree.iter("p") if prose(paragraph) >= 40]
    title = html.escape(" ".join(str(tree.findtext(".//title", "")).split())[:80])
    teasers = [f'<div><h3><a href="/">{title}</a></h3><p>{html.escape(text)}</p></div>' for text in paragraphs[:1]]
    comments = [f"<div><p>{html.escape(text)}</p></div>" for text in paragraphs[1:4]]
    blocks_by_role = list(_boilerplate(body, sum(map(len, blocks))))
    blocks_by_role += [("teasers", teaser) for teaser in teasers] + [("comments", comment) for comment in comments]
    return Harvest(source, blocks_by_role)


def _boilerplate(parent: HtmlElement, whole: int) -> Iterator[tuple[str, str]]:
    """Yield the outermost blocks below *parent* that look like boilerplate; *whole* is the length of the page's text."""
    for element in parent:
        if not isinstance(element.tag, str):
            continue
        role = _role(element, whole) if element.tag in _BLOCKS else ""
        if not role:
            yield from _boilerplate(element, whole)
            continue
        cut = copy.deepcopy(element)
        etree.strip_elements(cut, *_UNSEEN, with_tail=False)
        cut.tail = None
        if cut.tag == "td":
            cut.tag = "div"
        yield role, etree.tostring(cut, encoding="unicode", method="html")


def _role(element: HtmlElement, whole: int) -> str:
    blocks = visible_blocks(element)
    length = sum(map(len, blocks))
    if not 10 <= length <= 0.4 * whole:
        return ""
    name = f"{element.tag} {element.get('id', '')} {element.get('class', '')}".lower()
    fitting = {role: words for role, (least, most, words) in _ROLES.items() if least <= length <= most}
    if "small" in fitting and _PROMOTION.search(" ".join(blocks)):
        return "small"
    named = next((role for role, words in fitting.items() if words.search(name)), "")
    is_menu = len(list(element.iter("a"))) >= 4 and prose(element) <= 0.4 * length
    return named or ("" if not is_menu else next((role for role in ("bar", "sidebar") if role in fitting), ""))


def _pieces(text: str, language: str) -> list[str]:
    """Cut *text* into words and the pieces between them."""
    return list(rjieba.cut(text)) if language == "zh" else re.split(r"(\w+)", text)


def _is_word(piece: str) -> bool:
    return re.search(r"\w", piece) is not None


def injections(
    layout: Sequence[tuple[str, str]], site: str, stock: Stock, chance: random.Random
) -> tuple[Injection, Injection]:
    """Choose blocks for the two variants of a page of *site*, from different sites."""
    first: Injection = []
    second: Injection = []
    for role, place in layout:
        number, skins = _BUILT.get(role, (1, ("{}",)))
        donors = chance.sample(sorted(stock[role].keys() - {site}), 2 * number)
        for variant, chosen_donors in ((first, donors[:number]), (second, donors[number:])):
            parts = "".join(chance.choice(stock[role][donor]) for donor in chosen_donors)
            variant.append((chance.choice(skins).format(parts), place))
    return first, second


def vary(task: Task, settings: dict[str, str]) -> list[Pair]:
    """Make the variants of one page and sign them."""
    source = task.source
    body = saved(source.file)
    plain = visible_blocks(parsing.parse(body))
    pairs = []
    for row, *injected in task.rows:
        variants = [_variant(body, injection) for injection in injected]
        signer = _signer(tuple(settings.items()))
        a, b = (
            signer.sign(url, variant, None, encoding="utf-8", key=url, scope="")[0]
            for url, variant in zip((source.url, _MIRROR), variants, strict=True)
        )
        trees = [parsing.parse(variant, "utf-8") for variant in variants]
        peers = [_peer(tree, source.language) for tree in trees]
        blocks = visible_blocks(trees[0])
        share_added = sum(map(len, blocks)) / sum(map(len, plain)) - 1
        pairs.append(Pair(source.language, row, a, b, (peers[0], peers[1]), len(blocks) - len(plain), share_added))
    return pairs


@cache
def _signer(settings: tuple[tuple[str, str], ...]) -> Signer:
    return Signer(Config.from_settings(dict(settings)))


def _variant(body: bytes, injection: Injection) -> bytes:
    tree = parsing.parse(body)
    whole = next(tree.iter("body"))
    main = main_element(whole)
    while main.tag not in {"article", "body", "center", "div", "main", "section", "table"}:  # where a block may stand
        main = main.getparent()
    for text, place in injection:
        block = fragment_fromstring(text, create_parent="div")
        if place == "top" or (place == "before" and main is whole):
            whole.insert(0, block)
        elif place == "bottom" or main is whole:
            whole.append(block)
        elif place == "before":
            main.addprevious(block)
        else:
            main.addnext(block)
    return etree.tostring(tree, encoding="utf-8", method="html")


def _peer(tree: HtmlElement, language: str) -> int | None:
    """Return the simhash of the word counts of the text that trafilatura extracts; ``None`` without words."""
    text = (trafilatura.extract(tree) or "").lower()
    counts = Counter(piece for piece in _pieces(text, language) if _is_word(piece))
    if not counts:
        return None
    hashes = np.array([xxh3_64_intdigest(word.encode("utf-8", "replace")) for word in counts], dtype="<u8")
    bits = np.unpackbits(hashes.view(np.uint8), bitorder="little").reshape(-1, 64)
    heavy = 2 * (np.array(list(counts.values())) @ bits.astype(np.int64)) > counts.total()
    return int.from_bytes(np.packbits(heavy, bitorder="little").tobytes(), "little")


def plan(folder: Path, pages: int, seed: int) -> list[Task]:
    """Choose the pages, half of them from the saved sites if there are enough others, and their changes."""
    chance = random.Random(seed)
    with workers() as pool:
        harvests = [harvested for harvested in pool.map(harvest, sources(folder), chunksize=20) if harvested]
    tasks = []
    for language in ("en", "zh"):
        harvests_of_language = [harvest for harvest in harvests if harvest.source.language == language]
        stock: Stock = defaultdict(lambda: defaultdict(list))
        for harvested in harvests_of_language:
            for role, block in harvested.blocks:
                kept = stock[role][harvested.source.site]
                if len(kept) < _PER_SITE and block not in kept:
                    kept.append(block)
        long = [harvest.source for harvest in harvests_of_language if harvest.source.is_long]
        chance.shuffle(long)
        gold = [source for source in long if source.is_gold][: pages // 2]
        for source in gold + [source for source in long if not source.is_gold][: pages - len(gold)]:
            rows = [(level, *injections(layout, source.site, stock, chance)) for level, layout in LEVELS.items()]
            tasks.append(Task(source, rows))
    return tasks


COLUMNS = (
    "pages|blocks\nadded|text\nadded|distance\n<= 3|distance\n<= 6|duplicate\nboth ways|at least\none way|un-\nchecked"
    "|peer\n<= 3|peer\n<= 6"
)


def report(title: str, rows: Sequence[str], pairs: Sequence[Pair], rule: Deduplicator) -> None:
    """Print one table with a line for each language and row."""
    table = Table("", title=title, title_justify="left")
    for column in COLUMNS.split("|"):
        table.add_column(column, justify="right")
    for language in ("en", "zh"):
        for row in rows:
            pairs_of_row = [pair for pair in pairs if (pair.language, pair.row) == (language, row)]
            blocks = statistics.median(pair.added_blocks for pair in pairs_of_row)
            share = statistics.median(pair.added_share for pair in pairs_of_row)
            table.add_row(
                f"{language} {row}",
                str(len(pairs_of_row)),
                f"{blocks:.0f}",
                f"{share:.0%}",
                *_shares(pairs_of_row, rule),
            )
        table.add_section()
    Console(width=140).print(table)


def _shares(pairs: Sequence[Pair], rule: Deduplicator) -> list[str]:
    """Return the cells from the distance on. A page without text is near to no page."""
    ours, peers, ways, unchecked = [], [], [], 0
    for pair in pairs:
        texts = pair.first.features and pair.second.features
        ours.append((pair.first.signature ^ pair.second.signature).bit_count() if texts else 64)
        a, b = pair.peers
        peers.append(64 if a is None or b is None else (a ^ b).bit_count())
        both = (pair.first, pair.second)
        ways.append(sum(rule.compare(*two) is not None for two in (both, both[::-1])))
        # A page that cannot be judged is not even covered by itself.
        unchecked += any(rule.compare(variant, variant) is None for variant in both)
    counts = [
        *(sum(distance <= limit for distance in ours) for limit in (3, 6)),
        *(sum(votes >= needed for votes in ways) for needed in (2, 1)),
        unchecked,
        *(sum(distance <= limit for distance in peers) for limit in (3, 6)),
    ]
    return [f"{count / len(pairs):.0%}" for count in counts]


def main() -> None:
    """Choose pages, transplant, edit, sign and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--pages", type=int, default=130, help="of each language")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--extractor", help="value of DEDUP_EXTRACTOR")
    given = parser.parse_args()
    require_data(given.folder)
    settings = {"DEDUP_TOKENIZER": "rjieba"} | ({"DEDUP_EXTRACTOR": given.extractor} if given.extractor else {})
    try:
        config = Config.from_settings(settings)
    except ConfigError as error:
        parser.error(str(error))
    tasks = plan(given.folder, given.pages, given.seed)
    with workers() as pool:
        pairs = [pair for done in pool.map(partial(vary, settings=settings), tasks, chunksize=5) for pair in done]
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, config) as rule:
        report("pages in two variants with other boilerplate", list(LEVELS), pairs, rule)


if __name__ == "__main__":
    main()
