"""What the own text of a page needs to know of its elements, beside the outline: names, marks, and white space of code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from lxml.html import HtmlElement

from crawler_dedup.signing.blockreader import LINE_BREAK
from crawler_dedup.signing.textblocks import leave_out

# Words in the class or the id of elements beside the content of a page; those that are "sr-only" or "visually-hidden", too.
_BESIDE = frozenset(
    "abuse banner bio breadcrumb breadcrumbs byline captcha comment comments consent cookie cookies copyright"
    " disclaimer disqus dropdown flyout footer gdpr legal login minicart modal newsletter offcanvas onetrust pager"
    " pagination popover popular popup promo recaptcha recently recommendations recommended related report respond share"
    " sidebar signature signup social sponsored sr subscribe toolbar trending visually".split()
)
COMMENTS = frozenset(("comment", "comments", "respond"))
"""Those of these words that mark what readers say, which may be the text of a page."""
_ROLES = frozenset("alert alertdialog banner complementary contentinfo dialog menu navigation search status".split())
_NAMES = frozenset(("button", "fieldset", "form", "main"))
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
# Elements that hold one block, or are parts of lists and tables: their marks are not read, which saves half of the time.
_SMALL = frozenset("body dd dt h1 h2 h3 h4 h5 h6 html li p tbody td th tr".split())
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_REMEMBERED = 4096  # classes and identifiers; the pages of a site have many in common
_LONGEST = 500  # characters of each that are read


class Elements:
    """The elements that begin and end a block, and the blocks, of one page. They are noted while its outline is read.

    Attributes:
        tags: the name of each element, by its number; that of the root is empty.
        marks: for each element, the number of the innermost one around it, or of itself, that is marked as something beside
            the content, and not just like the one around it: comments, notices, forms. 0: there is none.
        words: for each of these numbers, what marks the element and those around it; the main part of a page has ``"main"``.
        owners: for each block, the number of its element.
        lines: preformatted blocks by their indexes, with their white space and without text in hidden elements, and other
            blocks of several lines.
        code: blocks with inline code by their indexes, with the code in backticks and line breaks as in *lines*.
    """

    def __init__(self) -> None:
        self.tags = [""]
        self.marks = [0]
        self.words: dict[int, frozenset[str]] = {0: frozenset()}
        self.owners: list[int] = []
        self.lines: dict[int, str] = {}
        self.code: dict[int, str] = {}

    def add(self, element: HtmlElement, tag: str, parent: int) -> None:
        """Note the next element, which is in the element with the number *parent*."""
        mark = self.marks[parent]
        opens_section = tag == "button" and self.tags[parent] in _HEADINGS
        if tag not in _SMALL and not opens_section:
            get, end, around = element.get, _LONGEST, self.words[mark]
            words = _find_marks(tag, get("class", "")[:end], get("id", "")[:end], get("role", "")[:end])
            if not words <= around:
                mark = len(self.tags)
                self.words[mark] = words | around
        self.marks.append(mark)
        self.tags.append(tag)

    def add_block(
        self, owner: int, parts: list[str], hidden: list[slice], code: list[slice], *, has_lines: bool
    ) -> None:
        """Note the next block, which was made of *parts* in the element *owner*."""
        if has_lines:
            text = "".join(leave_out(parts, hidden)).replace("\r\n", "\n").replace("\r", "\n")
            self.lines[len(self.owners)] = text.rstrip().lstrip("\n")
        elif not hidden:
            if LINE_BREAK in parts:
                self.lines[len(self.owners)] = _in_lines(parts)
            if code:
                self.code[len(self.owners)] = _in_lines(_with_backticks(parts, code))
        self.owners.append(owner)


@lru_cache(maxsize=_REMEMBERED)
def _find_marks(tag: str, name: str, identifier: str, role: str) -> frozenset[str]:
    """Return what marks an element: words of its class and its identifier, its role, its own name."""
    words = _BESIDE.intersection(map(str.lower, _WORD.findall(f"{name} {identifier}")))
    return words | _ROLES.intersection((role,)) | _NAMES.intersection((tag, role))


def _in_lines(parts: Iterable[str]) -> str:
    """Return the text of *parts*, which has no NUL, in lines without runs of white space."""
    lines = "".join(["\0" if part is LINE_BREAK else part for part in parts]).split("\0")
    return "\n".join(filter(None, [" ".join(line.split()) for line in lines]))


def _with_backticks(parts: list[str], code: Sequence[slice]) -> list[str]:
    """Return *parts* with backticks around each piece of *code*; one piece may contain others, which come before it."""
    marked, begin = list(parts), len(parts)
    for span in reversed(code):
        if span.stop > begin:
            continue  # inside of another piece: to read it again for each piece around it would not be linear
        begin = span.start
        text = "".join(parts[span]).strip()
        if text and "`" not in text:
            marked[span] = [f"`{text}`", *[""] * (span.stop - begin - 1)]
    return marked
