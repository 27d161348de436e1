"""What takes the text made for comparing out of a page, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name

from lxml.html import HtmlElement

from crawler_dedup import maintext, paragraphs
from crawler_dedup.errors import ConfigError
from crawler_dedup.paragraphs import MainText


@dataclass(frozen=True)
class Extractor:
    """One of them.

    Attributes:
        spec: name and parameters, for the index header.
        extract: the text of a page, from its tree, which must be left alone, and what :mod:`~crawler_dedup.paragraphs` says.
    """

    spec: str
    extract: Callable[[HtmlElement, MainText], str]


_BUILT_IN = {
    "paragraphs": Extractor(paragraphs.EXTRACTOR, lambda _, main: paragraphs.text_of(main.blocks)),
    "trafilatura": Extractor(maintext.EXTRACTOR, lambda tree, _: maintext.extract(tree)),
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

    def checked(tree: HtmlElement, _: MainText) -> str:
        text = extract(tree)
        if not isinstance(text, str):
            raise TypeError(f"DEDUP_EXTRACTOR = {name!r} returned {type(text).__name__}, not str.")
        return text

    return Extractor(name, checked)
