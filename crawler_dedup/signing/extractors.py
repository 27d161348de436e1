"""Extractors of the text of a page: the blocks that are content, trafilatura, or a function that the user provides."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from types import ModuleType

from lxml.html import HtmlElement

from crawler_dedup.config import Config
from crawler_dedup.errors import BeyondLimits, ConfigError
from crawler_dedup.signing.hidden import without_hidden
from crawler_dedup.signing.maintext import MainBlocks, join_shown_text, join_text
from crawler_dedup.signing.parsing import check_body, check_depth, check_nodes, is_charset, parse


@cache
def load_trafilatura() -> ModuleType:
    """Load the library, which takes a third of a second.

    Its logger is turned down, because it writes the text of each page at DEBUG and a warning for each page without text.
    """
    import trafilatura  # noqa: PLC0415

    log = logging.getLogger("trafilatura")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)
    return trafilatura


def extract_with_trafilatura(tree: HtmlElement) -> str:
    """Extract the main text of *tree* with trafilatura, without comments and tables; ``""`` if there is none.

    *tree* is left as it is.
    """
    return load_trafilatura().extract(tree, include_comments=False, include_tables=False) or ""


def extract_text(body: bytes, encoding: str | None, *, whole: bool = False) -> str:
    """Extract the main text of a page, for :func:`crawler_dedup.main_text`.

    The visible text is extracted instead, which takes less time, from a page beyond the default limits, and from a page in
    an encoding that is not a charset. ``""`` for a page that cannot be parsed in reasonable time.

    Args:
        whole: extract the visible text in any case.
    """
    try:
        tree = parse(body, encoding)
    except BeyondLimits:
        return ""
    with suppress(BeyondLimits):
        if not whole and (encoding is None or is_charset(encoding)):
            check_body(body, Config.max_bytes)
            check_nodes(tree, len(body))
            check_depth(tree)
            return extract_with_trafilatura(tree)
    return read_shown_text(tree)


def read_shown_text(tree: HtmlElement) -> str:
    """Return the text of a page without scripts and styles."""
    return str(load_trafilatura().html2txt(tree))


@dataclass(frozen=True)
class Extractor:
    """An extractor of the text by which pages are compared, as ``DEDUP_EXTRACTOR`` names it.

    Attributes:
        spec: name and parameters, for the index header.
        read_tree: returns the text of a tree, which is not changed; ``None``: the text is that of the blocks that
            :func:`~crawler_dedup.signing.maintext.find_main_blocks` has found.
    """

    spec: str
    read_tree: Callable[[HtmlElement], str] | None = None

    def extract(self, tree: HtmlElement, main: MainBlocks) -> str:
        """Return the text of a page, given its tree and its main blocks."""
        return join_text(main) if self.read_tree is None else self.read_tree(tree)

    def extract_shown(self, tree: HtmlElement, main: MainBlocks, *, revealed: bool) -> str:
        """Return the text without hidden elements (:mod:`crawler_dedup.signing.hidden`).

        Args:
            revealed: whether what only a script or an animation uncovers counts as shown, as in the blocks.
        """
        if self.read_tree is None:
            return join_shown_text(main)
        return self.read_tree(without_hidden(tree, revealed=revealed))


_BUILT_IN = {
    "paragraphs": Extractor("paragraphs size>=100 links<=1/3 series>=4 title<=2 share>=3/5"),
    "trafilatura": Extractor("trafilatura comments=no tables=no", extract_with_trafilatura),
}


def find_extractor(name: str) -> Extractor:
    """Return the extractor *name*: ``paragraphs``, ``trafilatura`` or the import path of a function from tree to text.

    Raises:
        ConfigError: the path cannot be imported, or is not callable.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    try:
        extract = resolve_name(name)
    except Exception as error:  # a module may raise anything
        raise ConfigError(f"DEDUP_EXTRACTOR = {name!r} cannot be imported: {error}") from error
    if not callable(extract):
        raise ConfigError(f"DEDUP_EXTRACTOR = {name!r} is not callable.")

    def checked(tree: HtmlElement) -> str:
        text = extract(tree)
        if not isinstance(text, str):
            raise TypeError(f"DEDUP_EXTRACTOR = {name!r} returned {type(text).__name__}, not str.")
        return text

    return Extractor(name, checked)
