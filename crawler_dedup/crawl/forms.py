"""Kept pages of one host that differ by nothing but facts: a calendar without end, an error page with status 200.

The form of a page is its text without numbers, dates and parts of its own address. Nothing is dropped because of it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import takewhile
from typing import cast
from urllib.parse import unquote, urlsplit

from lxml.etree import XPath
from lxml.html import HtmlElement
from xxhash import xxh3_64_intdigest

from crawler_dedup.counting.heavyhitters import HeavyHitters
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.blocks import Trait, unpack_blocks
from crawler_dedup.urls import host_of

LIMIT = 100
"""Number of kept pages of one form from which on the form is reported."""
MAX_BYTES = 256 << 10
"""Maximum size of the body of a page whose form is read, on the event loop."""
MAX_FORMS = 2_000
"""Number of forms that are counted at the same time."""
MAX_BLOCKS = 50_000
"""Number of blocks of earlier pages that are remembered."""
_MAX_NEW_BLOCKS = 8
"""A page with more blocks of text that its host never had before, and without a digit, differs by more than facts."""
_MAX_CHARS = 20_000
_MAX_PARTS = 20  # of an address
_MAX_PART_CHARS = 200
_EXAMPLES = 3
_MAX_URL_CHARS = 500

_texts = XPath(
    "descendant-or-self::text()[not(parent::script or parent::style or parent::noscript or parent::template)]"
    " | descendant::img/@src",
    smart_strings=False,
)
_FACT = "0"  # stands in a form for each number, date and part of the address
_NAMES_IN_DATES = """
    jan(?:uary)? feb(?:ruary)? mar(?:ch)? apr(?:il)? may june? july? aug(?:ust)? sept?(?:ember)? oct(?:ober)? nov(?:ember)?
    dec(?:ember)? mon(?:day)? tue(?:s(?:day)?)? wed(?:nesday)? thu(?:r?s(?:day)?)? fri(?:day)? sat(?:urday)? sun(?:day)?
    januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag
    janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi
    samedi dimanche enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes
    miércoles jueves viernes sábado domingo gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre lunedì
    martedì mercoledì giovedì venerdì sabato domenica [ap]m th st nd rd
"""
_numbers = re.compile(r"\d+(?:[.,:/-]\d+)*")
_names_in_dates = re.compile(
    rf"\b(?:{'|'.join(_NAMES_IN_DATES.split())})\b\.?|(?:星期|周|週)[一二三四五六日天]|[日月火水木金土]曜日?"
)
_LONG_LINE = 40
"""Characters from which on a line without a number is no date."""
_several_facts = re.compile(rf"{_FACT}(?:[^\w\n]*{_FACT})+")


@dataclass(slots=True)
class FormUse:
    """The kept pages of one host that have one form.

    Attributes:
        count: how many there are.
        path: the part that their addresses have in common at the beginning, up to a slash.
        examples: addresses of the latest of them, until the form is reported.
        is_reported: whether it was reported.
    """

    count: int = 0
    path: str = ""
    examples: list[str] = field(default_factory=list)
    is_reported: bool = False

    def add(self, url: str) -> None:
        """Count the page at *url*."""
        self.count += 1
        self.path = _common_path(self.path, url) if self.path else _directory(url)
        if not self.is_reported:
            self.examples = [*self.examples, url[:_MAX_URL_CHARS]][-_EXAMPLES:]


class Forms:
    """Counts the forms of kept pages, for the forms that come most often.

    Each page is counted under two forms: in one, only its whole path is left out of the text, in the other, each part of
    the address. A page of a form that was reported is counted only there. Reading a form takes as long as signing, so it is
    done only for pages most of whose blocks their host has had before.
    """

    def __init__(self) -> None:
        self._uses: HeavyHitters[bytes, FormUse] = HeavyHitters(MAX_FORMS, FormUse)
        self._blocks: OrderedDict[int, None] = OrderedDict()

    def may_differ_by_facts_only(self, page: SignedPage) -> bool:
        """Remember the blocks of a kept page. Return whether it has hardly any new ones, or is the first of its host."""
        host, number = xxh3_64_intdigest(host_of(page.url).encode()), int(Trait.NUMBER)
        keys = [(host ^ block.hash, block) for block in unpack_blocks(page.blocks)]
        new = [block for key, block in keys if key not in self._blocks]
        for key, _ in keys:
            self._blocks[key] = None
            self._blocks.move_to_end(key)
        while len(self._blocks) > MAX_BLOCKS:
            self._blocks.popitem(last=False)
        without_number = [block for block in new if block.size and not block.traits & number]
        return len(new) == len(keys) or len(without_number) <= _MAX_NEW_BLOCKS

    def add(self, url: str, tree: HtmlElement) -> FormUse | None:
        """Count a kept page. Return its form if that is to be reported now."""
        forms = [blake2b(form.encode("utf-8", "replace"), digest_size=12).digest() for form in forms_of(url, tree)]
        known = [form for form in forms if (use := self._uses.get(form)) is not None and use.is_reported]
        for form in known[:1] or forms:
            use = self._uses.add(form)
            use.add(url)
            if use.count == LIMIT:
                use.is_reported = True
                return use
        return None

    def reported(self) -> Iterator[FormUse]:
        """Yield the forms that were reported."""
        return (use for use in self._uses.values() if use.is_reported)


def forms_of(url: str, tree: HtmlElement) -> Iterator[str]:
    """Yield the forms of the page at *url*, one or two."""
    texts = cast("list[str]", _texts(tree))
    text = "\n".join([" ".join(text.split()) for text in texts])[:_MAX_CHARS].lower()
    whole, parts = _address_patterns(url)
    text = _numbers.sub(_FACT, whole.sub(_FACT, text) if whole else text)
    without_path = _form(_without_dates(line) for line in set(text.split("\n")))
    yield f"{host_of(url)}\n{without_path}"  # also if all of it is facts
    without_parts = _form(parts.sub(_FACT, without_path).split("\n")) if parts else ""
    if without_parts and without_parts != without_path:
        yield f"{host_of(url)}\n{without_parts}"


def _without_dates(line: str) -> str:
    return _names_in_dates.sub(_FACT, line) if _FACT in line or len(line) < _LONG_LINE else line


def _form(lines: Iterable[str]) -> str:
    """Return the different *lines* that are not only facts, with one sign for all facts that follow each other."""
    joined = (_several_facts.sub(_FACT, line).strip() for line in lines)
    return "\n".join(sorted({line for line in joined if any(map(str.isalpha, line))}))


def _address_patterns(url: str) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Return a pattern for the whole address or path of a page in its text, and a pattern for each part of the path.

    The text has no numbers any more when the second is used.
    """
    split = urlsplit(url)
    path = f"{split.path}?{split.query}" if split.query else split.path
    wholes = {whole.strip("/").lower()[: 10 * _MAX_PART_CHARS] for whole in (url, path, unquote(path))} - {""}
    # A single word is a path only behind a slash.
    whole_patterns = [
        f"/{'*' if '/' in whole else '+'}{re.escape(whole)}/*" for whole in sorted(wholes, key=len, reverse=True)
    ]
    values = re.split(r"[/?&=;]", _numbers.sub(_FACT, unquote(path.replace("+", " ")).lower()))
    phrases = {r"[\W_]+".join(map(re.escape, words)) for value in values[-_MAX_PARTS:] if (words := _words(value))}
    parts = [rf"\b{phrase}\b" for phrase in sorted(phrases - {_FACT}, key=len, reverse=True)]
    return _any_of(whole_patterns), _any_of(parts)


def _any_of(patterns: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(patterns)) if patterns else None


def _words(value: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", value[:_MAX_PART_CHARS]) if word]


def _directory(url: str) -> str:
    return url[:_MAX_URL_CHARS].partition("?")[0].rpartition("/")[0] + "/"


def _common_path(path: str, url: str) -> str:
    """Return what *path*, which ends in a slash, and the address *url* have in common, up to a slash."""
    pairs = zip(path.split("/")[:-1], _directory(url).split("/")[:-1], strict=False)
    return "/".join([first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]) + "/"
