"""Tree → what a page shows beside its text: pictures, frames, buttons, data that a script shows."""

from __future__ import annotations

from collections.abc import Collection

from lxml.html import HtmlElement

_WITH_ADDRESS = ("iframe", "img", "video")
_WITH_TEXT = ("aside", "button", "dialog", "textarea")  # which the outline leaves out


def find_embedded_content(tree: HtmlElement, hidden: Collection[HtmlElement] = ()) -> list[str]:
    """Return the addresses of pictures, frames and videos, and the texts of buttons, asides, text fields and JSON data.

    They are in the order of the page, without what stands in *hidden* elements. The tree is read in one pass: XPath takes
    quadratic time for texts below elements that are nested, and lxml's ``iterwalk`` for comments.
    """
    pieces: list[str] = []
    open_nodes: list[HtmlElement] = []
    inside = 0

    def close(node: HtmlElement) -> None:
        nonlocal inside
        inside -= node.tag in _WITH_TEXT
        if inside and node.tail and node.getparent() not in hidden:
            pieces.append(node.tail)

    for node in tree.getroottree().getroot().iter():
        parent = node.getparent()
        while open_nodes and open_nodes[-1] is not parent:
            close(open_nodes.pop())
        open_nodes.append(node)
        inside += node.tag in _WITH_TEXT
        if node in hidden:
            continue
        if node.tag in _WITH_ADDRESS and (source := node.get("src")) is not None:
            pieces.append(source)
        is_data = node.tag == "script" and node.get("type") == "application/json"
        if node.text and isinstance(node.tag, str) and (inside or is_data):
            pieces.append(node.text)
    while open_nodes:
        close(open_nodes.pop())
    return pieces
