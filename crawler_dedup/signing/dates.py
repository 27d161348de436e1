"""Dates in lines of normalised text, in the notations of all languages whose names ``crawler_dedup/data`` has.

Two renderings of one page may write its date in two notations ("aug 10th, 2011", "2011-08-10"), which are compared in
ISO 8601. A date has a year of four digits: without it, or with two digits, numbers are too often something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from crawler_dedup.signing.wordtables import read_date_names


@dataclass(frozen=True)
class DateInLine:
    """The first date of a line.

    Attributes:
        readings: its possible readings, as ``2011-08-10``, or ``2011-08`` if it has no day. Of two, as for 03/04/2011, the
            first one takes the first number for the day.
        time: the time that follows it, as it is written, with seconds and zone; ``""`` if there is none.
        before: the line before it, without a weekday that is that of the date.
        after: the line after it and its time, likewise.
    """

    readings: tuple[str, ...]
    time: str
    before: str
    after: str


_MONTHS = read_date_names("month")
_WEEKDAYS = read_date_names("weekday")


def any_of(words: Iterable[str]) -> str:
    """Return a pattern of *words*, the longest first, grouped by their first characters so that most are skipped quickly.

    They are patterns themselves, which begin with a character that means itself.
    """
    groups = groupby(sorted(words, key=lambda word: (word[0], -len(word))), key=lambda word: word[0])
    return "|".join(f"{first}(?:{'|'.join(word[1:] for word in group)})" for first, group in groups)


_YEAR = r"(?:1[3-9]|2[015])\d\d(?!\d)"
_AFTER_YEAR = r"(?: ?[年년]|\.?[ -]?(?:г|р|ж|թ|m|g|gada|оны|\(e\)ko|eko)(?![^\W\d_])\.?)?"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?!\d)"
_AFTER_DAY = r"(?:st|nd|rd|th|er|ste|de|-?(?:го|ого|е|й|a)|[oae]|\(a\)| d(?=\.))?"
_BETWEEN = r"[ .,،၊/’'-]{0,3}(?:(?:de|del|of|ta’|năm|ค\.ศ\.|พ\.ศ\.) |d[’'])?"
_MONTH = (
    rf"(?:(?<![^\W\d_])ב?(?P<name>{any_of(map(re.escape, _MONTHS))})(?:ren|ын)?[.॰׳]?(?![^\W\d_])"
    r"|(?P<prefix>tháng |thg )?(?P<number>\d\d?)(?(prefix)(?!\d)| ?(?:(?P<han>[月월])|-р сар(?:ын)?)))"
)
_NAMED = (
    rf"(?:(?P<y0>{_YEAR}){_AFTER_YEAR}{_BETWEEN})?(?:(?P<d0>{_DAY}){_AFTER_DAY}{_BETWEEN})?{_MONTH}"
    rf"(?(d0)|(?:{_BETWEEN}(?P<d1>{_DAY})(?(han) ?[日号일]|{_AFTER_DAY}))?)"
    # In "what 2010 may bring" there is no month.
    rf"(?(y0)(?!{_BETWEEN}{_YEAR})(?(d0)|(?(d1)|(?(han)|(?! ?[^\W\d_]))))|{_BETWEEN}(?P<y1>{_YEAR}){_AFTER_YEAR})"
)
_SEPARATOR = r" ?[./-] ?"
_YEAR_FIRST = rf"(?P<y2>{_YEAR})(?P<s2>{_SEPARATOR})(?P<m2>\d\d?)(?P=s2)(?P<d2>{_DAY})"
_YEAR_LAST = rf"(?P<a>\d\d?)(?P<s3>{_SEPARATOR})(?P<b>\d\d?)(?P=s3)(?P<y3>{_YEAR}){_AFTER_YEAR}"
_TIME = (
    r"[ ,t|·•@/–-]{0,3}(?:(?:at|um|à|as|às|a las|alle|alle ore|ore|kl\.?|klo|u|om|o|ob|в|о|об|saat) )?"
    r"(?P<time>(?:[上下中午前后오전후]{2} ?)?\d\d?[:.h]\d\d(?:[:.]\d\d(?:\.\d{1,9})?)?(?![.:]?\d)(?: ?[ap]\.?m(?!\w)\.?)?"
    r"(?: ?(?:z|utc|gmt|[+-]\d\d:?\d\d)(?!\w))?)"
)
_WEEKDAY = any_of(map(re.escape, _WEEKDAYS))
_DATE = re.compile(
    rf"(?:(?<![^\W\d_])(?P<w0>{_WEEKDAY})[.,،]{{0,2}} ?(?:den |la |ที่ )?)?"
    # Neither a part of a word of the Latin alphabet nor of a longer number: an address, a version, a telephone number.
    rf"(?P<date>(?<![a-z\d_])(?<!\d[./:,-])(?:{_NAMED}|{_YEAR_FIRST}|{_YEAR_LAST})(?![a-su-z\d_]|t(?!\d)|[./:-]\d))"
    rf"(?:[ .,၊(]{{0,3}}(?P<w1>{_WEEKDAY})(?: гараг)?[.)]{{0,2}}(?![^\W\d_]))?(?:{_TIME})?"
)
_FOUR_DIGITS = re.compile(r"\d{4}")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")


def find_date(plain: str) -> DateInLine | None:
    """Find the first date in a line of normalised text."""
    if not _FOUR_DIGITS.search(plain):
        return None
    ascii_digits = plain if plain.isascii() else _OTHER_DIGIT.sub(lambda digit: str(int(digit[0])), plain)
    for match in _DATE.finditer(ascii_digits):
        if readings := tuple(dict.fromkeys(_read(match))):
            return _describe(match, readings, plain)
    return None


def _read(match: re.Match[str]) -> Iterator[str]:
    """Yield the readings of a match, none if it is no date after all."""
    part = match.groupdict()
    if part["y2"]:
        yield from _to_iso(part["y2"], int(part["m2"]), part["d2"])
    elif part["y3"]:
        yield from _to_iso(part["y3"], int(part["b"]), part["a"])
        if "." not in part["s3"] or int(part["b"]) > 12:
            yield from _to_iso(part["y3"], int(part["a"]), part["b"])
    else:
        for month in [int(part["number"])] if part["number"] else _MONTHS[part["name"]]:
            yield from _to_iso(part["y0"] or part["y1"], month, part["d0"] or part["d1"])


def _to_iso(year: str, month: int, day: str | None) -> Iterator[str]:
    era = 543 if year > "2400" else 0  # the Buddhist one
    with suppress(ValueError):  # there is no such day
        yield date(int(year) - era, month, int(day or 1)).isoformat()[: 10 if day else 7]


def _describe(match: re.Match[str], readings: tuple[str, ...], plain: str) -> DateInLine:
    """Make the result of a match: a weekday confirms a reading, or is a word of the text."""
    start, end, time = match.start(), match.end(), match["time"]
    for name in ("w0", "w1"):
        if match[name]:
            confirmed = tuple(
                iso for iso in readings if iso[7:] and date.fromisoformat(iso).isoweekday() in _WEEKDAYS[match[name]]
            )
            readings = confirmed or readings
            if name == "w0" and not confirmed:
                start = match.start("date")
            elif not confirmed:
                end, time = match.end("date"), None
    return DateInLine(readings, time or "", plain[:start], plain[end:])
