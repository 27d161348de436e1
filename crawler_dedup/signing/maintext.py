"""Tree → main text, as trafilatura finds it."""

from __future__ import annotations

import logging
from functools import cache
from types import ModuleType

from lxml.html import HtmlElement

EXTRACTOR = "trafilatura comments=no tables=no"


@cache
def _trafilatura() -> ModuleType:
    """The library, which takes a third of a second to load.

    It writes the text of each page at DEBUG and a warning for each page without text, which would flood a crawl's log.
    """
    import trafilatura  # noqa: PLC0415

    log = logging.getLogger("trafilatura")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL)
    return trafilatura


def extract(tree: HtmlElement) -> str:
    """The main text of *tree*, ``""`` if there is none: trafilatura without comments and tables. Leaves *tree* alone."""
    return _trafilatura().extract(tree, include_comments=False, include_tables=False) or ""


def visible_text(tree: HtmlElement) -> str:
    """All text of *tree*, which takes less time than :func:`extract`."""
    return str(_trafilatura().html2txt(tree))
