"""HTML → tree, within limits: a page that is too large, too deep or too slow to parse is refused before it is parsed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import numpy as np
from charset_normalizer import from_bytes
from lxml import etree, html
from lxml.html import HtmlElement
from parsel.selector import create_root_node
from w3lib import encoding as encodings

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing.limits import MAX_ATTRIBUTES, MAX_DEPTH, MAX_NODES, MAX_WRITTEN_CHARS

_COUNT = etree.XPath("count(//*)")
# This visits each node once, level by level; count(ancestor::*) would be quadratic.
_IS_TOO_DEEP = etree.XPath("boolean(" + "/*" * (MAX_DEPTH + 1) + ")")
_PASSWORD_FIELD = etree.XPath("boolean(//input[@type='password'])")
_ELEMENT_BYTES = 3  # the shortest element, <p>; elements that the parser adds (html, head, body) are ignored
_BRACKETS_A_NODE = 4
_PIECE = 64 << 10
_PARSER_DEPTH = 2048
"""Depth of nesting at which libxml2 ends the tree of a page."""
_ATTRIBUTE_BYTES = 3  # white space and a name: few names have one letter
_MOST_TRIED, _MOST_PIECES = 4, 32  # ends of tags in a piece, and pieces from one end to the next
_LEAST_PIECE = 250  # bytes; a smaller one takes as long, and so a very large page would take more than linear time
_SPACES = 8  # what a quotation mark follows after as many is not looked for
# Elements without content that some versions of libxml2 take for containers of what follows them.
_EMPTY = ("bgsound", "embed", "keygen", "wbr")
_EMPTY_TAG = re.compile(rf"<({'|'.join(_EMPTY)})(?=[\s/>])[^<>]*>".encode(), re.IGNORECASE)
# 0: between attributes; 1: a quotation mark; 2: any other byte.
_KINDS = bytes(0 if code in b"\0\t\n\v\f\r /" else 1 if code in b"\"'" else 2 for code in range(256))


def parse(body: bytes, encoding: str | None = None) -> HtmlElement:
    """Parse *body* into the tree that Scrapy's ``response.selector.root`` is for the same bytes.

    Elements that have no content according to HTML, such as ``<embed>``, are empty also where libxml2 fills them.

    Args:
        encoding: charset from the transport or ``response.encoding``; ``None``: byte-order mark, ``<meta>``, then detection.

    Raises:
        BeyondLimits: its tags have too many attributes.
    """
    markup = _decode(body, encoding).encode().replace(b"\0", b"").strip()
    check_attributes(markup)
    root: HtmlElement = create_root_node("", _Parser, body=markup)
    if any(len(element) or element.text for top in roots(root) for element in top.iter(*_EMPTY)):
        root = create_root_node("", _Parser, body=_EMPTY_TAG.sub(rb"\g<0></\1>", markup))
    return root


_CLASSES = etree.ElementNamespaceClassLookup(
    etree.ElementDefaultClassLookup(HtmlElement, html.HtmlComment, html.HtmlProcessingInstruction, html.HtmlEntity)
)
_CLASSES.get_namespace(None).update({None: HtmlElement, **html.HtmlElementClassLookup._default_element_classes})


class _Parser(html.HTMLParser):
    """Makes the elements that lxml.html makes, without calling a function in Python for the class of each."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.set_element_class_lookup(_CLASSES)


def _decode(body: bytes, encoding: str | None) -> str:
    header = None if encoding is None else f"charset={encoding}"
    if is_charset(encodings.http_content_type_encoding(header)) or encodings.read_bom(body)[0]:
        return encodings.html_to_unicode(header, body)[1]
    declared = encodings.html_body_declared_encoding(body) or ""
    if is_charset(declared):
        # As w3lib does; Python would take the byte order of the machine.
        return encodings.to_unicode(body, f"{declared}-be" if declared in {"utf-16", "utf-32"} else declared)
    return encodings.to_unicode(body, _detect(body) or ("cp1252" if declared else "ascii"))


# Python's text encodings in which no page is written; punycode takes quadratic time.
_NO_CHARSETS = {"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}


def is_charset(name: str | None) -> bool:
    """Return whether *name* decodes text as charsets do. Python's codecs do other things as well (hex, zlib, rot13)."""
    if name is None or name.replace("_", "-") in _NO_CHARSETS:
        return False
    with suppress(LookupError, UnicodeError):
        return bool(b"\0\0\0\0".decode(name))  # with every charset one, two or four characters
    return False


def _detect(body: bytes) -> str | None:
    """Detect the charset of a page that declares none, as Scrapy does."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        best = from_bytes(body).best()
        return encodings.resolve_encoding(best.encoding) if best else None
    return "utf-8"


def decode_text(content: bytes, declared: str | None = None) -> str:
    """Decode plain text by its byte-order mark, in the *declared* charset, as UTF-8, or in the charset that is detected."""
    encoding, mark = encodings.read_bom(content)
    encoding = encoding or (declared if is_charset(declared) else None) or _detect(content) or "cp1252"
    return encodings.to_unicode(content[len(mark or b"") :], encoding)


def roots(tree: HtmlElement) -> list[HtmlElement]:
    """Return *tree* and the elements that the parser puts beside it: those after an early ``</html>``."""
    return [tree, *(root for root in tree.itersiblings() if isinstance(root.tag, str))]


def find_title(tree: HtmlElement) -> str:
    """Return the title of a page, cut off after ``MAX_WRITTEN_CHARS`` characters; ``""`` if it has none."""
    # A picture may have a title too.
    title = next((element for element in tree.iter("title") if element.getparent().tag != "svg"), None)
    return "" if title is None else " ".join("".join(title.itertext()).split())[:MAX_WRITTEN_CHARS]


def asks_for_password(tree: HtmlElement) -> bool:
    """Return whether a page has a field for a password."""
    return bool(_PASSWORD_FIELD(tree))


def check_body(body: bytes, max_bytes: int) -> None:
    """Raise :class:`BeyondLimits` for a body that should not be parsed."""
    if len(body) > max_bytes:
        raise BeyondLimits("more bytes than DEDUP_MAX_BYTES")
    # Some brackets open no element, or are in scripts. A small body cannot contain as many.
    most = _BRACKETS_A_NODE * MAX_NODES
    if len(body) > most and body.count(b"<") > most:
        raise BeyondLimits("too many nodes")


def check_attributes(body: bytes) -> None:
    """Raise :class:`BeyondLimits` for a page whose elements have so many attributes that building the tree takes long."""
    if not _may_have_many(body, len(body) // _ATTRIBUTE_BYTES):  # true for most pages
        return
    if not _may_have_many(body, _most_attributes(body)):
        return
    # Without a tree the same parser takes linear time, and it alone knows what is a script or a comment.
    counter = _AttributeCounter()
    # Of the methods of the target, lxml calls those that exist.
    parser = etree.HTMLParser(target=counter, recover=True, encoding="utf8", huge_tree=True)  # type: ignore[arg-type]
    with suppress(_TooDeep, etree.ParserError, etree.XMLSyntaxError):  # the last two: a page without any element
        for start in range(0, len(body), _PIECE):  # an error in the counter ends the parser between two pieces only
            parser.feed(body[start : start + _PIECE])
    if counter.squares > MAX_ATTRIBUTES**2:
        raise BeyondLimits("too many attributes")


def _may_have_many(body: bytes, total: int) -> bool:
    """Return whether a tag of *body* may have too many attributes, if there are *total* ones, in tags like it."""
    if total <= MAX_ATTRIBUTES:
        return False
    allowed = MAX_ATTRIBUTES**2 // total
    # A tag that ends in a piece has up to half of the allowed attributes there, and the others in pieces before it.
    piece = _ATTRIBUTE_BYTES * allowed // 2 + 1
    begin = start = found = 0  # begin: outside of tags; found: attributes from there to start
    while start < len(body):
        if end := _find_end(body, begin, start, piece):
            begin, start, found = end, end, 0
            continue
        found += _most_attributes(body[max(0, start - 1) : start + piece])
        if 2 * found > allowed or piece < _LEAST_PIECE:
            return True
        start += piece
    return False


def _find_end(body: bytes, begin: int, start: int, piece: int) -> int:
    """Return a position in the *piece* from *start* on at which no tag from *begin* on goes on; 0 if none is found."""
    end = start + piece
    if body.find(b"<", begin, end) < 0:
        return end
    if start - begin >= _MOST_PIECES * piece:
        return 0
    for _ in range(_MOST_TRIED):
        end = body.rfind(b">", start, end)
        if end < 0:
            return 0
        # It may be a part of a value if the last quotation mark of either kind may begin one.
        marks = [body.rfind(mark, begin, end) for mark in (b'"', b"'")]
        before = [body[max(0, at - _SPACES) : at].rstrip()[-1:] for at in marks if at >= 0]
        if b"" not in before and b"=" not in before:
            return end + 1
    return 0


def _most_attributes(tag: bytes) -> int:
    """Return an upper bound of the number of attributes in *tag*: the number of its positions that follow a separator.

    A quotation mark may end a value, and may begin a name.
    """
    kinds = np.frombuffer(tag.translate(_KINDS), dtype=np.uint8)
    return int(np.count_nonzero((kinds[:-1] < 2) & (kinds[1:] > 0)))


class _TooDeep(Exception):
    """The tree is too deep: libxml2 would end it here."""


class _AttributeCounter:
    """Target of lxml's parser that adds the squares of the numbers of attributes of all elements.

    Raises :class:`_TooDeep`: without a tree libxml2 has no limit of its own, and looks for the element of each end tag
    among all that are open.
    """

    def __init__(self) -> None:
        self.squares = 0
        self._depth = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002  (lxml calls it so)
        self.squares += len(attributes) ** 2
        self._depth += 1
        if self._depth > _PARSER_DEPTH:
            raise _TooDeep

    def end(self, tag: str) -> None:  # noqa: ARG002
        self._depth -= 1

    def close(self) -> None:
        """Do nothing. lxml requires this method."""


def check_nodes(tree: HtmlElement, size: int) -> None:
    """Raise :class:`BeyondLimits` for a tree with too many elements; *size*: bytes of its body."""
    # A small body cannot contain many elements.
    if size > _ELEMENT_BYTES * MAX_NODES and cast("float", _COUNT(tree)) > MAX_NODES:
        raise BeyondLimits("too many nodes")


def check_depth(tree: HtmlElement) -> None:
    """Raise :class:`BeyondLimits` for a tree that is nested too deep: extraction is recursive in places."""
    if _IS_TOO_DEEP(tree):
        raise BeyondLimits("nested too deep")
