"""Tree → the data from which a script fills a page, in ``<script>`` and in attributes.

Only the literals of the data are read, so that all forms are read alike, also broken ones: JSON, ``window.X = {…}``, a call
with the data in a string, a function that is called with the values.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from heapq import nlargest
from html import unescape
from typing import Any, cast
from urllib.parse import unquote

from lxml import etree
from lxml.html import HtmlElement
from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.maintext import MainBlocks
from crawler_dedup.signing.outline import Outline
from crawler_dedup.signing.parsing import roots

# The elements in which React, Vue, Angular, Next, Nuxt, Gatsby, Quasar, Ember and Svelte show a page. They are near its top.
_ROOT_NAMES = (
    " app app-root application ember-app gatsby-focus-wrapper main-app my-app q-app react-app react-root root root-app"
    " router-outlet router-view spa svelte vue-app ___gatsby __next __nuxt "
)
_IS_ROOT = (
    f"[contains('{_ROOT_NAMES}', concat(' ', translate(@id, 'AMPRSV', 'amprsv'), ' ')) and @id"
    f" or contains(name(), '-') and contains('{_ROOT_NAMES}', concat(' ', name(), ' '))"
    " or self::main[not(node())] or @ng-view or @ui-view or @data-reactroot]"
)
_APPLICATION_ROOTS = etree.XPath(" | ".join(f"/html/body{'/*' * depth}{_IS_ROOT}" for depth in (1, 2)))
_UNSHOWN = ("noscript", "script", "style", "template")
_LABEL = 20  # letters: "Loading…"

_TEMPLATE = re.compile(r"\s*(?:<(?!!)|\{\{)")  # a script that is none: markup, which has the same text on each page
_JSON, _XML = "application/json", re.compile(r"(?:application|text)/(?!xhtml)(?:[\w.-]+\+)?xml")
_XML_TEXT = re.compile(r"<[/?]?([\w:.-]++)([^<>]*+)>([^<>]*+)")  # a tag with what follows it
# What is outside of scripts is read from the bytes, because looking at each attribute of a tree takes ten times as long:
# attributes and comments that begin as data do, also as an argument, with entities, or in base64 ('{"', '[{'). In a set, \s
# and \w take longer than the characters that they stand for.
_BEGIN = rb"(?:[ \t-\ra-zA-Z0-9_.]{0,40}+[=(]?+(?:[{\[]|&(?:quot|#34|#123|#91);|%(?:7B|5B|22))|eyJ|W3s)"
_ATTRIBUTE = re.compile(rb"=(?:\"(%b[^\"]*)|'((?:%b|\")[^']*))" % (_BEGIN, _BEGIN))
_COMMENT = re.compile(rb"<!--(?!\[if)(%b(?:[^-]++|-(?!->))*+)" % _BEGIN)
# The start tag of an element that a script defines: its name has a hyphen.
_DEFINED_TAG = re.compile(rb"<[a-zA-Z][a-zA-Z0-9_.]*+-(?:[^<>\"']++|\"[^\"]*\"?|'[^']*'?)*+")
# The first character of a value; a text in quotation marks, which need not end, so that none is searched for an end twice,
# or what follows in another value; a name's colon. A set of characters comes first, so that all others are skipped quickly.
_LITERAL = re.compile(
    r"([\"'`\dtf-])(?:(?<=\")([^\"\\\n]*(?:\\.[^\"\\\n]*)*)\"?|(?<=')([^'\\\n]*(?:\\.[^'\\\n]*)*)'?"
    r"|(?<=`)([^`\\]*(?:\\.[^`\\]*)*)`?"
    r"|(?<=[:,\[(= \t\r\n{].)((?:(?<=\d)|(?<=-)\d)[\d.]*(?:[eE][+-]?\d+)?|(?<=t)rue\b|(?<=f)alse\b))(\s*:)?",
    re.DOTALL,
)
_GROUPS = 1 + _LITERAL.groups  # of a literal and what is before it
_BACKWARD_NAME = re.compile(r" ?[:=] ?([\w$-]+)")  # before a value, from right to left
_NAME_CHARS = 40
_BEFORE_VALUE = (":", "=", " ")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": " ", "f": " "}
_BASE64 = frozenset(("eyJ", "W3s"))  # '{"' and '[{'
_MARKUP, _WORDS = re.compile(r"<[^<>]*>"), re.compile(r"[\w ]+")
_MOST_CHARS = 300_000  # what follows is compared as a whole
_MOST_NESTED = 3
_LEAST_SPACES = 2
_SERIES = 16
_SHARE = 1 / 2
_MOST_SOUGHT = 8
_MOST_ROWS = 64

# What each answer of a server has of its own, by the name of the value or by its form: hexadecimal digits, an identifier,
# letters and digits mixed, seconds or milliseconds since 1970.
_CHANGING_NAME = re.compile(
    r"(?:csrf|xsrf|token|nonce|hash|etag|checksum|integrity|timestamp|^now|^seed"
    r"|(?:build|request|session|trace|visitor|correlation)[_-]?(?:id|key|time)"
    r"|(?:server|request|current|render(?:ed)?|generated|fetched|dataupdated)[_-]?(?:time|date|at))$",
    re.IGNORECASE,
)
_CHANGING = re.compile(
    r"[0-9a-fA-F]{16,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?=[^\d]*\d)(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])[\w+/=.-]{20,}|1[4-9]\d{8}(?:\d{3})?",
    re.ASCII,
)
_ADDRESS = re.compile(r"(?:https?:)?//?\S*", re.IGNORECASE)
_PARAMETERS = re.compile("[?#]")
_PICTURES = tuple(".avif .gif .jpeg .jpg .mp3 .mp4 .png .svg .webm .webp".split())


_Value = tuple[str, str]
"""A value after the name that precedes it, or that precedes the list that it is in."""


def awaits_script(tree: HtmlElement) -> bool:
    """Return whether a script will fill the page: its application root shows nothing but a label."""
    return any(map(_shows_nothing, cast("list[HtmlElement]", _APPLICATION_ROOTS(tree))))


def _shows_nothing(root: HtmlElement) -> bool:
    unshown = {inner for element in root.iter(*_UNSHOWN) for inner in element.iter()}
    size = 0
    for node in root.iter():
        if node.text and isinstance(node.tag, str) and node not in unshown:
            size += len(node.text.strip())
        if node.tail and node is not root and node.getparent() not in unshown:
            size += len(node.tail.strip())
        if size >= _LABEL:
            return False
    return True


def find_data(tree: HtmlElement, body: bytes, outline: Outline, main: MainBlocks, *, is_thin: bool) -> list[int]:
    """Return hashes of the data by which a page is compared beside its text; none if its text says as much.

    Values that change with each answer, and absolute addresses except the file names of pictures, are left out. Of a thin
    page, JSON in a script element always counts.

    Args:
        body: the page before it was parsed.
    """
    elements = ((element, element.text) for root in roots(tree) for element in root.iter("script"))
    scripts = [_read_script(text, element.get("type", "").strip().lower()) for element, text in elements if text]
    outside = [*map(b"".join, _ATTRIBUTE.findall(body)), *_COMMENT.findall(body)]
    outside += [_ATTRIBUTE.sub(b"", tag) for tag in _DEFINED_TAG.findall(body)]
    size = _SHARE * sum([block.size for block in outline.blocks])
    if not is_thin and sum([_most_letters(text) for text, _ in scripts]) + sum(map(len, outside)) <= size:
        return []  # true for many pages
    pieces = [text for text, _ in scripts if not _TEMPLATE.match(text)]
    attributes = b"\0".join(outside).decode("utf-8", "backslashreplace").replace("&quot;", '"')  # the usual entity
    pieces += map(unescape, attributes.split("\0"))
    data = "\n".join(map(_decode, pieces))
    compared = _read_outweighing(data, size, main, is_thin=is_thin)
    if is_thin and not any(compared):
        data = "\n".join([text for text, kind in scripts if kind == _JSON])
        compared = [*_compare(_read(_LITERAL.split(data[:_MOST_CHARS]))).values(), data[_MOST_CHARS:]]
    return _hash_rows(dict.fromkeys(filter(None, compared)))


def _read_script(text: str, kind: str) -> tuple[str, str]:
    """Return the *text* of a script with its *kind*. XML is written as literals are."""
    if not _XML.fullmatch(kind):
        return text, kind
    text = text.replace("<![CDATA[", "").replace("]]>", "")
    return _XML_TEXT.sub(
        lambda tag: f"{tag[2]} {tag[1]}={json.dumps(unescape(tag[3].strip()), ensure_ascii=False)}", text
    ), _JSON


def _decode(text: str) -> str:
    """Decode a text whose quotation marks are entities or encoded as in addresses, or that is in base64."""
    if '"' in text:
        return text
    text = unquote(unescape(text))
    if text[:3] in _BASE64:
        with suppress(ValueError):
            return urlsafe_b64decode(text + "==").decode()
    return text


def _read_outweighing(data: str, size: float, main: MainBlocks, *, is_thin: bool) -> list[str]:
    """Return what is compared of the values in *data* if their text is longer than *size*, and not the main text.

    A page that a script fills shows menus and a consent text. If a server has filled the page, too, its main text is in the
    data, and what else is in them is not what the page is about.
    """
    # What takes least time comes first: most pages have less data than text.
    if _most_letters(data) <= size or (not is_thin and _contains(data, main)):
        return []
    pieces, rest = _LITERAL.split(data[:_MOST_CHARS]), data[_MOST_CHARS:]
    if _most_letters(data, left_out=sum(map(len, pieces[::_GROUPS]))) <= size:
        return []
    values = dict.fromkeys(_read(pieces))
    if sum(map(size_in_letters, _find_texts(values, values, rest))) <= size:  # what is compared takes longer to find
        return []
    compared = _compare(values)
    texts = _find_texts(values, compared, rest)
    if sum(map(size_in_letters, texts)) <= size or (not is_thin and _contains("\n".join(texts), main)):
        return []
    return [*compared.values(), rest]


def _find_texts(values: Iterable[_Value], compared: Iterable[_Value], rest: str) -> set[str]:
    """Return *rest* and those of *values* that are texts, or whose name has many that are *compared*."""
    of_name = Counter([name for name, _ in compared])
    texts = {text for name, text in values if of_name[name] >= _SERIES or _is_text(text)}
    return {rest, *[" ".join(_MARKUP.sub(" ", text).split()) if "<" in text else text for text in texts]}


def _most_letters(text: str, *, left_out: int = 0) -> int:
    """Return an upper bound of the size of *text* without *left_out* characters, unless it has ligatures of many letters."""
    return (1 if text.isascii() else 3) * (len(text) - left_out)


def _is_text(text: str) -> bool:
    """Return whether a value is a text rather than a name: it has spaces, or letters of scripts that have none."""
    return text.count(" ") >= _LEAST_SPACES or not text.isascii() or "\\u" in text


def _contains(data: str, main: MainBlocks) -> bool:
    """Return whether most of the largest blocks of *main*, by letters, are in *data*: of each its longest run of words."""
    largest = nlargest(_MOST_SOUGHT, main.blocks, key=lambda block: block.size)
    runs = [max(_WORDS.findall(block.text), key=len, default="").strip() for block in largest]
    return 2 * sum([len(run) for run in runs if run in data]) > sum(map(len, runs))


def _read(pieces: list[str | Any], nested: int = 0) -> Iterator[_Value]:
    """Yield those literals among *pieces* of data that are no names of values, also those in texts that contain data.

    Args:
        pieces: what is before each literal, and its groups or ``None``, as :data:`_LITERAL` splits data.
    """
    name, follows_name = "", False
    literals = zip(*[iter(pieces)] * _GROUPS, strict=False)
    for between, first, double, single, template, bare, colon in literals:
        # Most values follow a name in quotation marks.
        if len(between) > follows_name and between.endswith(_BEFORE_VALUE):
            before = _BACKWARD_NAME.match(between[-_NAME_CHARS:][::-1])
            name = before[1][::-1] if before else name
        text = _read_text(double or single or template or "") if bare is None else first + bare
        follows_name = bool(colon) and bare is None
        if colon:
            name = text
        elif nested < _MOST_NESTED and ('":' in text or '["' in text):
            yield from _read(_LITERAL.split(text), nested + 1)
        else:
            yield name, text


def _read_text(text: str) -> str:
    if "\\" in text:
        if r"\\" not in text:  # replacing the usual escapes one after the other takes a fifth of the time
            text = text.replace(r"\"", '"').replace(r"\/", "/").replace(r"\n", "\n")
        text = _ESCAPE.sub(_replace_escape, text)
    return _decode(text) if "&" in text or "%" in text or text[:3] in _BASE64 else text


def _replace_escape(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else _CONTROLS.get(escape[3], escape[3])


def _compare(values: Iterable[_Value]) -> dict[_Value, str]:
    """Return what is compared of *values*, without changing values and absolute addresses, except names of pictures."""
    distinct = dict.fromkeys(values)
    changing = {name for name in {name for name, _ in distinct} if _CHANGING_NAME.search(name)}
    compared = {value: _comparable(value[1].strip(), is_changing=value[0] in changing) for value in distinct}
    return {value: f"{value[0]}={text}" for value, text in compared.items() if text}


def _comparable(text: str, *, is_changing: bool) -> str:
    if _ADDRESS.fullmatch(text):
        file = _PARAMETERS.split(text, maxsplit=1)[0].rpartition("/")[2]
        return file if file.lower().endswith(_PICTURES) else ""
    return "" if is_changing or _CHANGING.fullmatch(text) else text


def _hash_rows(values: Iterable[str]) -> list[int]:
    """Return a hash for each of *values*, or for each run of them if they are many."""
    texts = list(values)
    length = -(-len(texts) // _MOST_ROWS) or 1
    runs = ("\n".join(texts[begin : begin + length]) for begin in range(0, len(texts), length))
    return [xxh3_64_intdigest(run.encode("utf-8", "replace")) >> 32 for run in runs]
