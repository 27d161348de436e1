"""Hidden elements of a page: those that a browser hides because of their name, their attributes or their ``style``.

Elements hidden by a style sheet or a script are not detected. ``aria-hidden`` hides from screen readers only. A declaration
hides wherever it is in a ``style``, even if a browser ignores it: a kept page whose text wrongly counts as hidden covers
less, so that fewer pages are dropped.

Some of these elements are *revealed* to readers with scripts as soon as the page is there: those that fade in, and the
segments in which React sends a page. A ``<noscript>`` has what its page shows to readers without scripts.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from copy import deepcopy
from enum import IntEnum
from functools import lru_cache

from lxml.html import HtmlElement

from crawler_dedup.signing.parsing import roots

# Browsers run scripts, and so they do not show a <noscript>. The last six are parts of drawings.
HIDING_TAGS = frozenset(
    "annotation annotation-xml dialog noscript rp template clippath defs marker mask pattern symbol".split()
)
_DECLARATIONS = ("display", "visibility")  # attributes of drawings
HIDING_ATTRIBUTES = frozenset(("hidden", "popover", "style", *_DECLARATIONS))

_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})(?:\r\n|\s)?|(.))", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ZERO = r"[+-]?(?:0*\.)?0+(?![.\d])"
_HIDING = re.compile(
    r"(?<![\w-])(?:"
    rf"(?P<all>display\s*:\s*none|content-visibility\s*:\s*hidden|font-size\s*:\s*(?:-|{_ZERO}))"
    rf"|(?P<opacity>opacity\s*:\s*(?:-|{_ZERO}))|(?P<transition>transition)"
    r"|(?P<visibility>visibility\s*:\s*(?:hidden|collapse))"
    rf"|(?P<height>(?:max-)?height\s*:\s*{_ZERO})"
    r"|(?P<overflow>overflow(?:-[xy])?\s*:\s*(?:visible\s+)?(?:auto|clip|hidden|overlay|scroll)))"
)
_SEGMENT = re.compile(r"[\w-]*S:[0-9a-f]+")  # the "id" of a segment of React
_LONGEST_KNOWN = 200  # characters of a style
_SHADOW_MODES = ("open", "closed")
# The whole style: a browser follows no other declaration in it.
_SHOWS_AGAIN = re.compile(" *visibility *: *visible *;? *", re.IGNORECASE | re.ASCII)


class Concealment(IntEnum):
    """Whether the content of an element is shown."""

    SHOWN = 0
    INVISIBLE = 1
    """``visibility: hidden``: an element inside may be shown again."""
    NOT_DISPLAYED = 2
    """``hidden``, ``display: none`` and the like: no element inside is displayed either."""


SHOWN, INVISIBLE, NOT_DISPLAYED = Concealment


def concealment(element: HtmlElement, around: Concealment, *, revealed: bool = False) -> Concealment:
    """Return how *element* conceals its content, given the concealment *around* it.

    Args:
        revealed: whether what only a script or an animation uncovers counts as shown.
    """
    tag, names = element.tag, element.keys()
    if tag not in HIDING_TAGS and HIDING_ATTRIBUTES.isdisjoint(names):  # true for most
        return around
    is_closed = tag in HIDING_TAGS and not (tag == "dialog" and "open" in names) and not is_shadow_tree(element)
    is_hidden = "hidden" in names
    if revealed:
        is_closed = is_closed and tag != "noscript"
        is_hidden = is_hidden and not _SEGMENT.fullmatch(element.get("id", ""))
    if is_closed or around is NOT_DISPLAYED or is_hidden or "popover" in names:
        return NOT_DISPLAYED
    declared = [f";{name}:{element.get(name)}" for name in _DECLARATIONS if name in names]
    style = "".join([element.get("style", ""), *declared])
    if around is INVISIBLE and _SHOWS_AGAIN.fullmatch(style):
        return SHOWN
    kinds = (_find_hiding if len(style) <= _LONGEST_KNOWN else _find_hiding.__wrapped__)(style)
    if revealed:
        kinds -= {"opacity", "visibility", "height"} if "transition" in kinds else {"opacity", "visibility"}
    if not kinds.isdisjoint(("all", "opacity")) or {"height", "overflow"} <= kinds:
        return NOT_DISPLAYED
    return max(around, INVISIBLE) if "visibility" in kinds else around


@lru_cache(maxsize=1024)  # the elements of a page have few styles
def _find_hiding(style: str) -> frozenset[str | None]:
    """Return the kinds of declarations in *style* that hide something, alone or with others."""
    if "\\" in style:
        style = _ESCAPE.sub(lambda code: chr(int(code[1], 16) % 0x110000) if code[1] else code[2], style)
    if "/*" in style:  # it may also be part of a string or an address
        style += ";" + _COMMENT.sub(" ", style)
    return frozenset([declaration.lastgroup for declaration in _HIDING.finditer(style.lower())])


def is_shadow_tree(element: HtmlElement) -> bool:
    """Return whether *element* holds what a browser shows of the element around it."""
    return element.tag == "template" and element.get("shadowrootmode", "").lower() in _SHADOW_MODES


def find_shadow_hosts(tree: HtmlElement) -> set[HtmlElement]:
    """Return the elements of *tree* whose shadow tree a browser shows instead of their content."""
    hosts: set[HtmlElement] = set()
    nested: set[HtmlElement] = set()
    for template in (template for root in roots(tree) for template in root.iter("template")):
        if template not in nested:
            nested.update(template.iter("template"))
            if is_shadow_tree(template) and next(template.iter("slot"), None) is None:
                hosts.add(template.getparent())
    return hosts


def roots_and_states(tree: HtmlElement, *, revealed: bool = False) -> Iterator[tuple[HtmlElement, Concealment]]:
    """Yield the roots of *tree*, each with the concealment around it.

    Elements after an early ``</html>`` belong to the body, as in browsers.
    """
    yield tree, SHOWN
    around = concealment(tree, SHOWN, revealed=revealed)
    if (body := tree.find("body")) is not None:
        around = concealment(body, around, revealed=revealed)
    yield from ((root, around) for root in roots(tree)[1:])


def hidden_elements(tree: HtmlElement, *, revealed: bool = False) -> set[HtmlElement]:
    """Return the elements of *tree* whose own text is not shown."""
    hosts = find_shadow_hosts(tree)
    tops = roots_and_states(tree, revealed=revealed)
    return {element for root, around in tops for element in hidden_within(root, around, hosts, revealed=revealed)}


def hidden_within(
    top: HtmlElement, around: Concealment, hosts: Container[HtmlElement] = (), *, revealed: bool = False
) -> set[HtmlElement]:
    """Return the elements from *top* on whose own text is not shown, given the concealment *around* it.

    Args:
        hosts: elements whose content is not shown because of a shadow tree.
    """
    hidden: dict[HtmlElement, Concealment] = {}
    for element in top.iter("*"):
        outside = around if element is top else hidden.get(element.getparent(), SHOWN)
        state = concealment(element, NOT_DISPLAYED if element in hosts else outside, revealed=revealed)
        if state is not SHOWN:
            hidden[element] = state
    return {*hidden}


def without_hidden(tree: HtmlElement, *, revealed: bool = False) -> HtmlElement:
    """Return a copy of *tree* in which hidden elements are empty, and have no attributes."""
    copy = deepcopy(tree)
    # The elements stay, because elements inside may be shown again.
    for element in hidden_elements(copy, revealed=revealed):
        element.text = None
        element.attrib.clear()
        for child in element:
            child.tail = None
    return copy
