"""What a page says beside its text: pictures, frames, buttons, data that a script shows."""

from __future__ import annotations

from collections.abc import Collection

from lxml.html import HtmlElement

# What a page may consist of whose text says little: pictures, frames, data that a script shows.
_SOURCES = ("iframe", "img", "video")
_SAYING = ("aside", "button", "dialog", "textarea")


def elsewhere(tree: HtmlElement, hidden: Collection[HtmlElement] = ()) -> list[str]:
    """The addresses and texts of all that in the order of the page, but for what is *hidden*.

    In one pass: XPath takes quadratic time for texts below elements that are nested, and lxml's ``iterwalk`` for
    comments.
    """
    pieces: list[str] = []
    open_nodes: list[HtmlElement] = []
    inside = 0

    def close(node: HtmlElement) -> None:
        nonlocal inside
        inside -= node.tag in _SAYING
        if inside and node.tail and node.getparent() not in hidden:
            pieces.append(node.tail)

    for node in tree.getroottree().getroot().iter():
        parent = node.getparent()
        while open_nodes and open_nodes[-1] is not parent:
            close(open_nodes.pop())
        open_nodes.append(node)
        inside += node.tag in _SAYING
        if node in hidden:
            continue
        if node.tag in _SOURCES and (source := node.get("src")) is not None:
            pieces.append(source)
        is_data = node.tag == "script" and node.get("type") == "application/json"
        if node.text and isinstance(node.tag, str) and (inside or is_data):
            pieces.append(node.text)
    while open_nodes:
        close(open_nodes.pop())
    return pieces
