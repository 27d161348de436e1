"""Hidden elements of a page: those with the attribute ``hidden``, or with a ``style`` attribute that does not show them.

Elements hidden by a style sheet or a script are not detected. ``aria-hidden`` hides from screen readers only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from enum import IntEnum
from typing import cast

from lxml import etree
from lxml.html import HtmlElement

from crawler_dedup.signing.parsing import roots

_HAS_HIDDEN = etree.XPath("boolean(//@hidden)")
_STYLES = etree.XPath("//@style", smart_strings=False)
_LOOKED_AT = re.compile("display|visibility", re.IGNORECASE)
# Comments, strings and text in brackets; if they are not closed, they extend to the end, as in a browser.
_NO_DECLARATION = re.compile(r"/\*.*?(?:\*/|$)|\"[^\"]*(?:\"|$)|'[^']*(?:'|$)|\([^)]*(?:\)|$)", re.DOTALL)
_IMPORTANT = re.compile(r"!\s*important\s*$")


class Concealment(IntEnum):
    """Whether the content of an element is shown."""

    SHOWN = 0
    INVISIBLE = 1
    """``visibility: hidden``: an element inside may be shown again."""
    NOT_DISPLAYED = 2
    """``hidden`` or ``display: none``: no element inside is displayed either."""


SHOWN, INVISIBLE, NOT_DISPLAYED = Concealment

_OF_ALL_PROPERTIES = frozenset(("inherit", "initial", "revert", "revert-layer", "unset"))
_DISPLAYS = frozenset(
    "none block inline inline-block inline-flex inline-grid inline-table flow flow-root flex grid table table-caption"
    " table-cell table-column table-column-group table-footer-group table-header-group table-row table-row-group list-item"
    " contents math ruby run-in -webkit-box -webkit-flex -webkit-inline-box -webkit-inline-flex -ms-flexbox".split()
)
_VISIBILITY = {"hidden": INVISIBLE, "collapse": INVISIBLE, "visible": SHOWN, "initial": SHOWN}


def concealment(element: HtmlElement, around: Concealment) -> Concealment:
    """Return how *element* conceals its content, given the concealment *around* it."""
    names = element.keys()  # most elements have few or none: quicker than two look-ups
    if not names or around is NOT_DISPLAYED:
        return around
    if "hidden" in names:
        return NOT_DISPLAYED
    return conceal_by_style(element.get("style", ""), around) if "style" in names else around


def conceal_by_style(style: str, around: Concealment) -> Concealment:
    """Return how an element with this *style* conceals its content, given the concealment *around* it."""
    if not _LOOKED_AT.search(style):
        return around
    declared: dict[str, tuple[bool, str]] = {}
    for declaration in _NO_DECLARATION.sub(" ", style.lower()).split(";"):
        name, _, value = declaration.partition(":")
        plain, important = _IMPORTANT.subn("", value)
        if not _is_valid(name.strip(), plain.strip()):
            continue
        if important or not declared.get(name.strip(), (False,))[0]:
            declared[name.strip()] = bool(important), plain.strip()
    if declared.get("display", (False, ""))[1] == "none":
        return NOT_DISPLAYED
    return _VISIBILITY.get(declared.get("visibility", (False, ""))[1], around)


def _is_valid(name: str, value: str) -> bool:
    """Return whether a browser accepts the value: browsers ignore declarations that they do not know."""
    if name == "visibility":
        return value in _VISIBILITY or value in _OF_ALL_PROPERTIES
    return name != "display" or (bool(value) and set(value.split()) <= _DISPLAYS | _OF_ALL_PROPERTIES)


def roots_and_states(tree: HtmlElement) -> Iterator[tuple[HtmlElement, Concealment]]:
    """Yield the roots of *tree*, each with the concealment around it.

    Elements after an early ``</html>`` belong to the body, as in browsers.
    """
    yield tree, SHOWN
    other_roots = roots(tree)[1:]
    if other_roots:
        body = tree.find("body")
        around = concealment(tree, SHOWN)
        around = around if body is None else concealment(body, around)
        for root in other_roots:
            yield root, around


def hidden_elements(tree: HtmlElement) -> list[HtmlElement]:
    """Return the elements of *tree* whose own text is not shown, in the order of the page."""
    hidden: dict[HtmlElement, None] = {}
    if not _HAS_HIDDEN(tree) and not any(map(_LOOKED_AT.search, cast("list[str]", _STYLES(tree)))):
        return []
    for root, around in roots_and_states(tree):
        if around is not SHOWN:
            hidden.update(_hidden_within(root, around))
            continue
        for element in root.iter("*"):  # quicker than iterwalk over all elements, few of which are hidden
            if concealment(element, SHOWN) is not SHOWN and element not in hidden:
                hidden.update(_hidden_within(element, SHOWN))
    return list(hidden)


def _hidden_within(top: HtmlElement, around: Concealment) -> dict[HtmlElement, None]:
    hidden: dict[HtmlElement, None] = {}
    states = [around]
    for event, element in etree.iterwalk(top, events=("start", "end")):
        if event == "end":
            states.pop()
            continue
        states.append(concealment(element, states[-1]))
        if states[-1] is not SHOWN:
            hidden[element] = None
    return hidden


def without_hidden(tree: HtmlElement) -> HtmlElement:
    """Return a copy of *tree* in which hidden elements are empty, and have no attributes."""
    copy = deepcopy(tree)
    for element in hidden_elements(copy):  # the elements stay, because elements inside may be shown again
        element.text = None
        element.attrib.clear()
        for child in element:
            child.tail = None
    return copy
