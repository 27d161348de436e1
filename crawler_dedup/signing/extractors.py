"""What takes the text made for comparing out of a page, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name

from lxml.html import HtmlElement

from crawler_dedup.errors import ConfigError
from crawler_dedup.signing import maintext, paragraphs
from crawler_dedup.signing.hidden import without_hidden
from crawler_dedup.signing.paragraphs import MainText


@dataclass(frozen=True)
class Extractor:
    """One of them.

    Attributes:
        spec: name and parameters, for the index header.
        extract: the text of a page, from its tree, which must be left alone, and what
            :mod:`~crawler_dedup.signing.paragraphs` says.
        extract_shown: the text without what the page hides (:mod:`crawler_dedup.signing.hidden`), likewise.
    """

    spec: str
    extract: Callable[[HtmlElement, MainText], str]
    extract_shown: Callable[[HtmlElement, MainText], str]


def _of_trees(spec: str, extract: Callable[[HtmlElement], str]) -> Extractor:
    return Extractor(spec, lambda tree, _: extract(tree), lambda tree, _: extract(without_hidden(tree)))


_BUILT_IN = {
    "paragraphs": Extractor(
        paragraphs.EXTRACTOR,
        lambda _, main: paragraphs.text_of(main.blocks),
        lambda _, main: paragraphs.shown_text_of(main.blocks),
    ),
    "trafilatura": _of_trees(maintext.EXTRACTOR, maintext.extract),
}


def extractor(name: str) -> Extractor:
    """The extractor *name*: ``paragraphs``, ``trafilatura`` or the import path of a function from tree to text.

    Raises:
        ConfigError: the path leads to nothing that can be called.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    try:
        extract = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"DEDUP_EXTRACTOR = {name!r} cannot be imported: {error}") from error
    if not callable(extract):
        raise ConfigError(f"DEDUP_EXTRACTOR = {name!r} is not callable.")

    def checked(tree: HtmlElement) -> str:
        text = extract(tree)
        if not isinstance(text, str):
            raise TypeError(f"DEDUP_EXTRACTOR = {name!r} returned {type(text).__name__}, not str.")
        return text

    return _of_trees(name, checked)
