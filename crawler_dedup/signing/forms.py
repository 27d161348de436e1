"""Sign the pages of a crawl, and read their forms: their text without numbers, dates and parts of their own address.

Many pages of one form are a calendar without end, or an error page with status 200.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from lxml.etree import XPath
from lxml.html import HtmlElement

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signedpage import SignedPage, Trait
from crawler_dedup.signing.blocks import read_rows
from crawler_dedup.signing.dates import any_of
from crawler_dedup.signing.maintext import read_page
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.wordtables import read_patterns
from crawler_dedup.urls import host_of

if TYPE_CHECKING:
    from crawler_dedup.owntext.text import OwnTexts

MAX_BYTES = 256 << 10
"""Maximum size of the body of a page whose form is read."""
MAX_BLOCKS = 50_000
"""Number of hosts, and of their blocks with text and without a digit, that are remembered."""
_MAX_NEW_BLOCKS = 8
"""A page with more blocks of text that its host never had before, and without a digit, differs by more than facts."""
_MAX_CHARS = 20_000
_MAX_PARTS = 20  # of an address
_MAX_PART_CHARS = 200

# In one expression with "|", they would take quadratic time.
_texts = XPath(
    "descendant-or-self::text()[not(parent::script or parent::style or parent::noscript or parent::template)]",
    smart_strings=False,
)
_pictures = XPath("descendant::img/@src", smart_strings=False)
_NUMBER = int(Trait.NUMBER)
_FACT = "0"  # replaces each number, date and part of the address
_numbers = re.compile(r"\d+(?:[.,:/-]\d+)*")
_names_in_dates = re.compile(
    rf"\b(?:{any_of(read_patterns('in date'))})\b\.?|(?:星期|周|週)[一二三四五六日天]|[日月火水木金土]曜日?"
)
_LONG_LINE = 40
"""Characters from which on a line without a number is no date."""
_between_words = re.compile(r"[^\w\n]+")
_origin = re.compile(r"^[^/?#]*://[^/?#]*")  # urlsplit raises an exception for some addresses
_several_facts = re.compile(rf"{_FACT}(?:[^\w\n]*{_FACT})+")


class FormReader:
    """Reads the forms of those pages of a crawl that hardly differ from others of their host.

    A page has two forms: in one, only its whole path is left out of the text, in the other, each part of the address.
    Reading them takes as long as signing, so it is done only for pages most of whose blocks their host has had before, and
    for the first page of a host. If the blocks are too many, all those of the host that was used least recently are
    forgotten, and its next page counts as the first.
    """

    def __init__(self) -> None:
        self._blocks: OrderedDict[str, set[int]] = OrderedDict()  # of each host, the host that was used last at the end
        self._remembered = 0  # hosts and blocks

    def read(self, page: SignedPage, tree: HtmlElement) -> list[bytes]:
        """Return the hashes of the forms of *page*, which was signed; none if they are not to be read."""
        if page.size > MAX_BYTES or not self._should_read(page):
            return []
        return [blake2b(form.encode("utf-8", "replace"), digest_size=12).digest() for form in forms_of(page.url, tree)]

    def _should_read(self, page: SignedPage) -> bool:
        """Remember the blocks of a page. Return whether its forms are to be read."""
        host = host_of(page.url)
        is_first_of_host = host not in self._blocks
        known = self._blocks.setdefault(host, set())
        self._blocks.move_to_end(host)
        rows = read_rows(page.blocks)
        new = {*rows["hash"][(rows["size"] > 0) & (rows["traits"] & _NUMBER == 0)].tolist()} - known
        has_few_new_blocks = len(new) <= _MAX_NEW_BLOCKS
        known |= new
        self._remembered += is_first_of_host + len(new)
        while self._remembered > MAX_BLOCKS:
            _, forgotten = self._blocks.popitem(last=False)
            self._remembered -= 1 + len(forgotten)
        return is_first_of_host or has_few_new_blocks


def forms_of(url: str, tree: HtmlElement) -> Iterator[str]:
    """Yield the forms of the page at *url*, one or two. Each step takes linear time."""
    url = url[:_MAX_CHARS]
    texts = cast("list[str]", _texts(tree)) + [unquote(source) for source in cast("list[str]", _pictures(tree))]
    text = "\n".join([" ".join(text.split()) for text in texts])[:_MAX_CHARS].lower()
    path = _origin.sub("", url).partition("#")[0].rstrip("?")
    wholes = {whole.strip("/").lower() for whole in (url, path, unquote(path))} - {""}
    for whole in sorted(wholes, key=len, reverse=True):
        # A single word is a path only behind a slash.
        text = text.replace(whole if "/" in whole else f"/{whole}", _FACT)
    without_path = _form("\n".join([_without_dates(line) for line in set(_numbers.sub(_FACT, text).split("\n"))]))
    yield f"{host_of(url)}\n{without_path}"  # also if all of it is facts
    without_parts = without_path
    for part in _parts(path):
        without_parts = without_parts.replace(part, f" {_FACT} ")
    if without_parts != without_path and (without_parts := _form(without_parts)) not in {"", without_path}:
        yield f"{host_of(url)}\n{without_parts}"


def _parts(path: str) -> list[str]:
    """Return the last parts of an address as they are in a form, the longest first."""
    values = re.split(r"[/?&=;]", _numbers.sub(_FACT, unquote(path.replace("+", " ")).lower()))
    parts = {_words(value[:_MAX_PART_CHARS].replace("\n", " ")) for value in values[-_MAX_PARTS:]}
    return sorted(parts - {"  ", f" {_FACT} "}, key=len, reverse=True)


def _without_dates(line: str) -> str:
    return _names_in_dates.sub(_FACT, line) if _FACT in line or len(line) < _LONG_LINE else line


def _form(text: str) -> str:
    """Return the words of different lines that are not only facts, with one sign for all facts that follow each other."""
    joined = _several_facts.sub(_FACT, _words(text)).split("\n")
    return "\n".join(sorted({line for line in joined if any(map(str.isalpha, line))}))


def _words(text: str) -> str:
    """Return the words of each line with a space before and after each, so that several in a row can be replaced."""
    words = _between_words.sub("  ", text.replace("_", " ")).split("\n")
    return "\n".join([f" {line.strip()} " for line in words])


class CrawlSigner:
    """Signs the pages of a crawl.

    Attributes:
        signer: signs each of them.
    """

    def __init__(self, signer: Signer) -> None:
        self.signer = signer
        self._forms = FormReader()

    @cached_property
    def own_texts(self) -> OwnTexts:
        """Makes the own texts of these pages. What they are made of is noted from the first use on."""
        from crawler_dedup.owntext.text import OwnTexts  # noqa: PLC0415  (few crawls ask for own texts)

        return OwnTexts(self.signer)

    def sign(
        self, url: str, body: bytes, *, encoding: str | None, key: str | None, scope: str | None
    ) -> tuple[SignedPage, Sequence[bytes]]:
        """Sign a page (:meth:`Signer.sign`); return it with its forms."""
        tree: HtmlElement | None = None
        with suppress(BeyondLimits):  # the page is refused below, with the reason
            tree = self.signer.parse(body, encoding)
        read = self.own_texts.reader_of(body, encoding) if "own_texts" in vars(self) else read_page
        page, _ = self.signer.sign(url, body, tree, encoding=encoding, key=key, scope=scope, read=read)
        forms: Sequence[bytes] = ()
        if tree is not None:
            with suppress(Exception):  # forms only cause a warning: the page is decided about without them
                forms = self._forms.read(page, tree)
        return page, forms
