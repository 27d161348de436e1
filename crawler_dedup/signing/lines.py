"""Lines of normalised text: their hashes, the numbers in them, and phrases that count visits.

A hash has 32 bits, and ignores white space and punctuation. Each number is a fact, with the currency, unit or month beside
it. Phrases in short lines that count visits or tell the time since something ("123 views", "阅读(12)", "3 minutes ago")
differ from visit to visit, and say nothing about the content of a page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.dates import any_of
from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.wordtables import read_patterns

_PUNCTUATION = bytes(set(range(32)) - {10} | {127}) + b" !\"'(),-./:;?@[\\]_`{|}"
"""Control characters, white space and punctuation that are ignored; the signs of C++ and C#, and operators, are not."""
# Typographic dashes, quotation marks and the slash of fractions in UTF-8: one rendering of a text has them, and another has
# those of ASCII.
_TYPOGRAPHIC = re.compile(b"\xe2(?:\x80[\x90-\x95\x98-\x9f]|\x81\x84)")
BEGINS_NO_DIGIT = bytes(set(range(256)) - set(b"0123456789\xd9\xdb\xdf\xe0\xe1\xea\xef\xf0\n"))
"""All bytes except the end of a line and those with which the UTF-8 of a decimal digit, of any script, begins."""
# A set of characters comes first, so that all others are skipped quickly; a minus ends no word.
_NUMBERS = re.compile(
    r"[-.,\d](?:(?<=\d)\d*|(?<=[.,])(?<![\w.,].)\d+|(?<=-)(?<!\w.) ?(?:(?<![\w.,])[.,])?\d+)(?:[.,:/-]\d+)*"
)


def hash_text(text: str) -> int:
    """Return the hash of a normalised text of one or more lines."""
    return hash_line(without_punctuation(text.replace("\n", "").encode("utf-8", "replace")), numbers_in(text))


def without_punctuation(content: bytes) -> bytes:
    """Return UTF-8 without white space, the punctuation of ASCII, and typographic dashes and quotation marks."""
    return _TYPOGRAPHIC.sub(b"", content.translate(None, _PUNCTUATION))


# Nothing but a number in brackets, which is a negative one in accounts.
_IN_BRACKETS = re.compile(r"[^\w()]*+\([^\w()]*+(\d[\d.,]*+)[^\w()]*+\)[^\w()]*+")


def numbers_in(plain: str) -> list[str]:
    """Return the numbers in a normalised text; a date or a range is a single number."""
    if amount := _IN_BRACKETS.fullmatch(plain):
        return [f"-{amount[1]}"]
    # The dash is also a minus, and the sign between two years.
    return _NUMBERS.findall(plain.replace("–", "-").replace("⁄", "/"))


def hash_line(letters: bytes, numbers: Sequence[str]) -> int:
    """Return the hash of a text without punctuation, given with its *numbers*: otherwise 1.12 and 11.2 would be the same."""
    return xxh3_64_intdigest(letters + " ".join(["", *numbers]).encode() if numbers else letters) >> 32


# Of these units, case says which: mW and MW, Mb and MB.
_CASED_UNITS = re.compile(r"\d ?([kmMgGpPtT]?(?:Wh?|Hz|V|A|F|J|Pa|Ω|Sv|bits?|bps|[bB](?:/s)?|g|m|s|l|L|eV|N))(?!\w)")


# The first quotation mark of a text, behind a digit: inches or feet.
_INCHES, _FEET = re.compile(r'[^"“”„]*+(?<=\d)["”]'), re.compile(r"[^'‘’‚]*+(?<=\d)['’](?!\w)")


def cased_units(text: str) -> list[str]:
    """Return the units with capital letters or quotation marks behind the numbers of a text that is not normalised."""
    marks = [mark for mark, pattern in (('"', _INCHES), ("'", _FEET)) if pattern.match(text)]
    return marks + [unit for unit in _CASED_UNITS.findall(text) if not unit.islower()]


_LINE_NUMBERS = re.compile(r"\d{1,6}(?: \d{1,6})+")


def is_number_sequence(plain: str) -> bool:
    """Return whether a text consists of consecutive numbers: those of the lines of a program, or of the pages of a list."""
    if not _LINE_NUMBERS.fullmatch(plain):
        return False
    numbers = [int(number) for number in plain.split()]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


_LONGEST_LINE = 60
"""A number in a longer line is a part of a sentence."""
# A count has a fraction only before a name of thousands or millions: "2.0" alone is a version.
_NUMBER = r"\d+(?:[., ]\d{3})*(?:(?:[.,]\d+)? ?(?:(?:k|m|mio|tsd|mil|тыс|w)(?!\w)|[万천만]))?\+?(?![.,]?\d)"
_COUNTED = f"(?:{any_of(read_patterns('counted'))})"
# The same in scripts without spaces: Chinese, in simplified characters as normalised text is, Japanese and Korean.
_UNSPACED = (
    "(?:阅读|浏览|点击|访问|阅览|查看|播放|下载|观看|评论|回复|点赞|收藏|转发|分享|关注|围观|人气|热度|回视听|再生|コメント|いいね|조회|댓글|추천|좋아요)"
    "(?:量|数|次数|回数|率|수)?"
)
_MEASURE = "(?:次|人次|人|条|个|位|回|件の?|명이?|건|회|개)"
_TIME_UNITS = f"(?:{'|'.join(read_patterns('time unit'))})"
# What begins a phrase comes once, and so most characters of a line are passed quickly.
_PHRASES = re.compile(
    rf"(?<!\w)(?:(?=\d)(?:{_NUMBER}"
    rf"(?: ?(?:{_COUNTED}|{_MEASURE}? ?{_UNSPACED})"
    rf"| {_TIME_UNITS} (?:ago|atrás|fa|назад|geleden|temu|önce|siden|sedan))(?!\w)"
    r"|\d+(?:[ -](?:minutes?|mins?|мин\w*|dk)[ -](?:to )?(?:read|reading|чтения|okuma)(?!\w)"
    r"| (?:minutes?|minuti?|minutos?|min) d[ei] (?:lecture|lectura|leitura|lettura)(?!\w)"
    r"| min\w*\.? (?:lesezeit|leestijd)))"
    rf"|(?:viewed|read|seen|visited|downloaded|lu|vu|leído|visto|letto|gelesen|gesehen|aufgerufen) {_NUMBER}"
    r" (?:times?|fois|veces|volte|mal)(?! ?\w)"
    rf"|(?:{_COUNTED} ?[:(] ?|visitor (?:n\w*[.:]? )?){_NUMBER}"
    rf"|(?:för|for) {_NUMBER} {_TIME_UNITS} (?:siden|sedan)(?!\w)"
    rf"|(?:vor|il y a|hace|há|před|منذ|قبل) {_NUMBER} (?:{_TIME_UNITS}|دقائق|ساعات|أیام)(?!\w))"
    rf"|{_UNSPACED}[ :(]*{_NUMBER} ?{_MEASURE}?(?! ?(?!{_UNSPACED})\w)"
    r"|\d+ ?(?:(?:秒|分|小时|时间|天|日|周|星期|个月|ヶ月|か月|月|年)(?:钟|间)?之?前|(?:초|분|시간|일|주|개월|년) ?전)"
    r"|(?:reading time|read time|lesezeit|temps de lecture|tiempo de lectura|tempo de leitura|tempo di lettura|время чтения"
    r"|阅读时间|阅读时长)[ :]*(?:ca |about |约)?\d+"
)
_DIGIT = re.compile(r"\d")
_REMEMBERED = 4096
_LABEL = 9
"""Letters beside the phrases of a line."""


def without_visits(plain: str) -> str:
    """Return the lines of a normalised text without phrases that count visits or tell the time since something.

    Lines of more than 60 characters stay as they are: there a number is a part of a sentence.
    """
    if not _DIGIT.search(plain):
        return plain
    lines = [
        _without_phrases(line) if len(line) <= _LONGEST_LINE and _DIGIT.search(line) else line
        for line in plain.split("\n")
    ]
    return "\n".join(lines)


@lru_cache(maxsize=_REMEMBERED)  # the pages of a site have many lines in common
def _without_phrases(line: str) -> str:
    rest = _PHRASES.sub("", line)
    # "Mr Smith owns 500 shares" counts no visits; "You are visitor 500" does.
    return rest if size_in_letters(rest.replace(" ", "")) <= _LABEL else line
