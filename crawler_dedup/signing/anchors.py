"""Tree → anchor texts: the text in and around each link, which describes the link's target.

The anchor window of Haveliwala, Gionis, Klein and Indyk, "Evaluating strategies for similarity search on the web", WWW 2002.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lxml.html import HtmlElement

from crawler_dedup.signing.links import find_host, make_comparable
from crawler_dedup.signing.outlinks import find_base

MAX_CHARS = 300
"""Maximum number of characters about a page, however many links lead to it."""

_WINDOW = 100  # characters before a link, and as many after it
_LONG_WORD = 30
_MAX_HREF = 300
_MAX_LINKS_TO_A_PAGE = 8
# Of a longer page only the beginning is read: this happens on the event loop.
_MAX_TARGETS = 10_000
_MAX_TEXT = 400_000  # characters
_UNSEEN = {"head", "script", "style", "noscript", "template", "textarea", "svg"}


class _Span(NamedTuple):
    start: int
    end: int


class Anchors:
    """The links of one page.

    Args:
        tree: the page.
        url: the URL of the page.
    """

    def __init__(self, tree: HtmlElement, url: str) -> None:
        self._base, self._host = find_base(tree, url), find_host(url)
        self._spans: dict[str, list[_Span]] = {}
        self._text = self._read(tree)

    def text_about(self, url: str) -> str:
        """Return the text in and around the links to *url*, at most :data:`MAX_CHARS` characters; ``""`` without a link."""
        target = self._target(url)
        spans = self._spans.get(target, []) if target is not None else []
        return " ".join(map(self._window, spans))[:MAX_CHARS]

    def _target(self, href: str) -> str | None:
        return make_comparable(href, self._base, self._host) if len(href) <= _MAX_HREF else None

    def _read(self, tree: HtmlElement) -> str:
        """Note the positions of the links, and return the text of the page: its words with a space between them."""
        words: list[str] = []
        ends: list[int] = []  # position after each word in the text
        open_links: list[int] = []

        def add(text: str | None) -> None:
            for word in (text or "")[:_MAX_TEXT].split():
                words.append(word)
                ends.append((ends[-1] + 1 if ends else 0) + len(word))

        unseen = 0  # number of elements around this one, itself included, that are not shown
        for is_start, element in _walk(tree):
            if len(self._spans) >= _MAX_TARGETS or (ends and ends[-1] > _MAX_TEXT):
                break
            tag = element.tag  # a function if the element is a comment
            if is_start:
                unseen += tag in _UNSEEN
                if tag == "a":
                    open_links.append(len(words))
                add(None if unseen or not isinstance(tag, str) else element.text)
                continue
            unseen -= tag in _UNSEEN
            if tag == "a":
                self._note(element.get("href", "").strip(), open_links.pop(), ends)
            add(None if unseen else element.tail)
        return " ".join(words)

    def _note(self, href: str, first: int, ends: list[int]) -> None:
        """Note a link that begins with word number *first* and ends with the last of *ends*."""
        target = self._target(href) if href else None
        if target is None:
            return
        spans = self._spans.setdefault(target, [])
        if len(spans) < _MAX_LINKS_TO_A_PAGE:
            start = ends[first - 1] + 1 if first else 0
            spans.append(_Span(start, max(start, ends[-1] if ends else 0)))

    def _window(self, span: _Span) -> str:
        """Return the text of a link, and the words before and after it."""
        start, end = max(0, span.start - _WINDOW), span.end + _WINDOW
        before, behind = self._text[start : span.start], self._text[span.end : end]
        if start:  # drop the part of a word that was cut, in scripts with spaces
            before = before[before.find(" ", 0, _LONG_WORD) + 1 :]
        if end < len(self._text) and " " in behind[-_LONG_WORD:]:
            behind = behind[: behind.rfind(" ")]
        return before + self._text[span.start : span.end][:MAX_CHARS] + behind


def _walk(tree: HtmlElement) -> Iterator[tuple[bool, HtmlElement]]:
    """Yield the nodes of *tree*, including comments, in document order: each when it begins (true) and when it ends.

    :func:`lxml.etree.iterwalk` takes time that grows with the square of the number of comments.
    """
    yield True, tree
    path, children = [tree], [iter(tree)]
    while path:
        child = next(children[-1], None)
        if child is None:
            children.pop()
            yield False, path.pop()
        else:
            yield True, child
            path.append(child)
            children.append(iter(child))
