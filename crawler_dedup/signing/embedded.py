"""Tree → the content of a page beside its text: pictures, frames, asides."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from lxml.html import HtmlElement

from crawler_dedup.signing.hidden import hidden_elements
from crawler_dedup.signing.parsing import roots

# Attributes with the address. If a script shows a picture later, "src" is the address of a placeholder.
_ADDRESSES = dict.fromkeys(("audio", "embed", "source", "video"), ("src",)) | {
    "iframe": ("data-src", "src"),
    "img": ("data-src", "data-original", "data-lazy-src", "src", "srcset"),
    "object": ("data",),
}
_WITH_TEXT = ("aside", "dialog")  # the outline leaves them out
_LOOKED_AT = (*_ADDRESSES, *_WITH_TEXT)
_PIXEL = frozenset(("0", "1", "2"))  # width and height of a picture that only counts visits; DokuWiki's has 2 × 1
# Elements whose text is not shown, or only names a drawing.
_UNREAD = frozenset(("desc", "metadata", "script", "style", "title"))


def find_embedded_content(tree: HtmlElement, *, revealed: bool = False) -> dict[str, bool]:
    """Return the addresses of pictures, frames, sounds and videos, and the texts of asides and dialogs.

    They are in the order of the page. The value of each is whether it is shown in at least one place.

    Args:
        revealed: whether what only a script or an animation uncovers counts as shown.
    """
    hidden = hidden_elements(tree, revealed=revealed)
    pieces: dict[str, bool] = {}
    read: set[HtmlElement] = set()
    for element in (element for root in roots(tree) for element in root.iter(*_LOOKED_AT)):
        if element in read:
            continue
        if element.tag in _WITH_TEXT:
            read.update(element.iter(*_LOOKED_AT))
            within = _read_all(element, hidden)
        else:
            source = _address_of(element)
            within = iter([] if source is None else [(source, element not in hidden)])
        for piece, is_shown in within:
            pieces[piece] = is_shown or pieces.get(piece, False)
    return pieces


def _read_all(top: HtmlElement, hidden: AbstractSet[HtmlElement]) -> Iterator[tuple[str, bool]]:
    """Yield the texts and addresses in *top*, in the order of the page, and whether each is shown.

    In one pass: XPath takes quadratic time for texts below elements that are nested, and lxml's ``iterwalk`` for comments.
    """
    open_nodes: list[HtmlElement] = []
    for node in top.iter():
        parent = node.getparent()
        while open_nodes and open_nodes[-1] is not parent:
            yield from _read_tail(open_nodes.pop(), hidden)
        open_nodes.append(node)
        if node.tag in _ADDRESSES and (source := _address_of(node)) is not None:
            yield source, node not in hidden
        if node.text and isinstance(node.tag, str) and node.tag not in _UNREAD:
            yield node.text, node not in hidden
    for node in reversed(open_nodes[1:]):
        yield from _read_tail(node, hidden)


def _read_tail(node: HtmlElement, hidden: AbstractSet[HtmlElement]) -> Iterator[tuple[str, bool]]:
    if node.tail:
        yield node.tail, node.getparent() not in hidden


def _address_of(element: HtmlElement) -> str | None:
    if _PIXEL.issuperset(element.get(name, "").strip().removesuffix("px") for name in ("width", "height")):
        return None
    return next((source for name in _ADDRESSES[element.tag] if (source := element.get(name)) is not None), None)
