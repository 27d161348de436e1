"""Properties of the labelled pages that do not depend on the filter."""

from __future__ import annotations

import multiprocessing
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from lxml.html import HtmlElement
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from tests.support.data import DATA, documents, labelled_pairs

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSEEN = {"head", "iframe", "noscript", "script", "style", "svg", "template", "textarea"}
_INLINE = re.compile(
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|img|ins|kbd|label|mark|nobr|q|rp|rt|ruby|s|samp|small"
    "|span|strike|strong|sub|sup|time|tt|u|var|wbr"
)
GREY = -1
"""The label of a pair that is neither duplicate (1) nor different (0)."""
_SHINGLE = 5
_POWERS = np.array([0x9E3779B97F4A7C15 ** (place + 1) % 2**64 for place in range(_SHINGLE)], dtype=np.uint64)


def workers() -> ProcessPoolExecutor:
    """Return a pool with one process for each core."""
    return ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))


@dataclass(frozen=True)
class Source:
    """A page of the saved sites, or a page whose main text people have marked (gold)."""

    site: str
    language: str
    url: str
    file: Path
    is_gold: bool
    is_long: bool
    """Whether the page has at least 500 characters of its own, whatever an extractor returns."""


def sources(folder: Path = DATA) -> list[Source]:
    """Return all pages of both kinds."""
    all_sources = []
    for document in documents(folder, "gold/gold.jsonl"):
        site, url = urlsplit(document["url"] or "").netloc or document["id"], document["url"] or ""
        all_sources.append(
            Source(site, document["lang"], url, folder / document["html"], True, len(document["text"]) >= 500)
        )
    for document in documents(folder):
        site = re.sub(r"-(\d+|zh-cn)$", "", document["id"].partition("/")[0])  # two states of one site are one site
        is_long = document["kind"] == "page" and document["sub_chars"] >= 500
        all_sources.append(Source(site, document["lang"], document["url"], folder / document["html"], False, is_long))
    return all_sources


def is_inline(element: HtmlElement) -> bool:
    """Return whether *element* stands inside a line of text."""
    return _INLINE.fullmatch(element.tag) is not None


def visible_blocks(tree: HtmlElement) -> list[str]:
    """Return the visible texts of a page between the borders of its block elements, with single spaces."""
    blocks: list[str] = []
    text: list[str] = []

    def close() -> None:
        block = " ".join("".join(text).split())
        text.clear()
        if block:
            blocks.append(block)

    def walk(element: HtmlElement) -> None:
        if not isinstance(element.tag, str) or element.tag in _UNSEEN:
            return
        is_block = not is_inline(element)
        if is_block:
            close()
        text.append(element.text or "")
        for child in element:
            walk(child)
            text.append(child.tail or "")
        if is_block:
            close()

    walk(tree)
    return blocks


def prose(element: HtmlElement) -> int:
    """Return how many visible characters *element* has outside links."""
    linked = sum(len(block) for anchor in element.iter("a") for block in visible_blocks(anchor))
    return sum(map(len, visible_blocks(element))) - linked


def main_element(body: HtmlElement) -> HtmlElement:
    """Return the innermost element with 70 % of the visible text outside links."""
    least, main = max(1, 0.7 * prose(body)), body
    while True:
        inner = next((child for child in main if isinstance(child.tag, str) and prose(child) >= least), None)
        if inner is None:
            return main
        main = inner


def is_cjk(text: str) -> bool:
    """Return whether more than 15 % of the characters of *text* are Chinese or Japanese."""
    packed = "".join(text.split())
    return len(_CJK.findall(packed)) > 0.15 * len(packed)


@dataclass(frozen=True)
class SeenPage:
    """The content of a page of a saved site that a visitor sees.

    Attributes:
        id: ``site/path``.
        is_list: whether the purpose of the page is to list other pages.
        blocks: its visible texts.
        links: the targets of its links, without host if they are on the site itself.
    """

    id: str
    is_list: bool
    blocks: list[str]
    links: frozenset[str]

    @property
    def site(self) -> str:
        """The folder in which the page is saved."""
        return self.id.partition("/")[0]


@dataclass(frozen=True)
class Truth:
    """Properties of each pair of pages, by the numbers of the pages: arrays of shape (pages, pages)."""

    labels: NDArray[np.int8]
    resemblance: NDArray[np.float64]
    containment: NDArray[np.float64]
    links: NDArray[np.float64]


def truth_of(pages: Sequence[SeenPage], folder: Path) -> Truth:
    """Label each pair of pages: as it was labelled, or else by the rule by which pairs were labelled."""
    texts = [" ".join(lines) for lines in without_template(pages, lambda page: page.blocks)]
    cjk = np.array([bool(text) and is_cjk(text) for text in texts])
    mixed = {page.site for page, is_so in zip(pages, cjk, strict=True) if is_so}
    words = [_shingles(re.findall(r"\w+", text.lower())) for text in texts]
    letters = [
        _shingles("".join(text.split()) if page.site in mixed else "") for page, text in zip(pages, texts, strict=True)
    ]
    links = [_hashes(sorted(urls)) for urls in without_template(pages, lambda page: page.links)]
    by_letters = cjk[:, None] | cjk[None, :]
    resemblance, containment = (
        np.where(by_letters, of_letters, of_words)
        for of_letters, of_words in zip(_resemblance(letters), _resemblance(words), strict=True)
    )
    j_links, _ = _resemblance(links)

    chars = np.array([len(text) for text in texts])
    shorter, longer = np.minimum(chars[:, None], chars), np.maximum(chars[:, None], chars)
    is_list = np.array([page.is_list for page in pages])
    lists = is_list[:, None] & is_list
    labels = np.full(resemblance.shape, GREY, dtype=np.int8)
    alike = resemblance >= np.where(shorter < 100, 0.9, 0.8)
    labels[(resemblance <= 0.3) | (lists & (j_links <= 0.2) & (resemblance < 0.8))] = 0
    labels[alike & ~(lists & (j_links < 0.6))] = 1
    labels[shorter < 20] = GREY
    labels[(shorter < 20) & (longer >= 100)] = 0
    number = {page.id: at for at, page in enumerate(pages)}
    for pair in labelled_pairs(folder):
        if pair["id_a"] in number and pair["id_b"] in number:
            a, b = number[pair["id_a"]], number[pair["id_b"]]
            labels[a, b] = labels[b, a] = GREY if pair["label"] == "grey" else pair["label"]
    return Truth(labels, resemblance, containment, j_links)


def without_template(pages: Sequence[SeenPage], parts: Callable[[SeenPage], Iterable[str]]) -> list[list[str]]:
    """Return the *parts* of each page that few pages of its site have."""
    sizes = Counter(page.site for page in pages)
    having = Counter((page.site, part) for page in pages for part in set(parts(page)))
    return [
        [part for part in parts(page) if having[page.site, part] <= max(8, 0.15 * sizes[page.site])] for page in pages
    ]


def _hashes(words: Iterable[str]) -> NDArray[np.uint64]:
    return np.array([xxh3_64_intdigest(word.encode("utf-8", "replace")) for word in words], dtype=np.uint64)


def _shingles(words: Iterable[str]) -> NDArray[np.uint64]:
    """Return the distinct hashes of all sequences of five words."""
    hashes = _hashes(words)
    if not len(hashes):
        return hashes
    width = min(_SHINGLE, len(hashes))
    windows = np.lib.stride_tricks.sliding_window_view(hashes, width)
    return np.unique((windows * _POWERS[:width]).sum(axis=1, dtype=np.uint64))


def _resemblance(sets: Sequence[NDArray[np.uint64]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute |A∩B| / |A∪B| and |A∩B| / |A| of each pair of *sets*, 0 for empty sets."""
    sizes = np.array([len(members_of_set) for members_of_set in sets])
    _, members, frequency = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    owners = np.repeat(np.arange(len(sets)), sizes)[np.argsort(members, kind="stable")]
    first = np.cumsum(frequency) - frequency
    shared = np.zeros((len(sets), len(sets)), dtype=np.float64)
    for at, features in enumerate(np.split(members, np.cumsum(sizes)[:-1])):
        lengths = frequency[features]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        shared[at] = np.bincount(owners[np.repeat(first[features], lengths) + within], minlength=len(sets))
    union = sizes[:, None] + sizes - shared
    return shared / np.maximum(union, 1), shared / np.maximum(sizes[:, None], 1)
