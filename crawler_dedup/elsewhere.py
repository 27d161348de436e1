"""What a page says beside its text: pictures, frames, buttons, data that a script shows."""

from __future__ import annotations

from collections.abc import Collection

from lxml import etree
from lxml.html import HtmlElement

# What a page may consist of whose text says little: pictures, frames, data that a script shows.
_SOURCES = ("iframe", "img", "video")
_SAYING = ("aside", "button", "dialog", "textarea")


def elsewhere(tree: HtmlElement, hidden: Collection[HtmlElement] = ()) -> list[str]:
    """The addresses and texts of all that in the order of the page, but for what is *hidden*.

    In one pass: XPath takes quadratic time for texts below elements that are nested.
    """
    found: list[str] = []
    inside = 0
    for event, one in etree.iterwalk(tree.getroottree(), events=("start", "end", "comment", "pi")):
        if event == "start":
            inside += one.tag in _SAYING
            if one in hidden:
                continue
            if one.tag in _SOURCES and (source := one.get("src")) is not None:
                found.append(source)
            if one.text and (inside or (one.tag == "script" and one.get("type") == "application/json")):
                found.append(one.text)
            continue
        if event == "end":
            inside -= one.tag in _SAYING
        if inside and one.tail and one.getparent() not in hidden:
            found.append(one.tail)
    return found
