"""The numbers in a block, each with the currency, unit or month beside it."""

from __future__ import annotations

import re

_NUMBERS = re.compile(r"\d+(?:[.,:/-]\d+)*")
"""A date or a version is a single number."""
_MONTHS = (
    r"jan\w{0,6}|feb\w{0,6}|mar\w{0,2}|apr\w{0,2}|ma[iy]o?|jun\w{0,2}|jul\w{0,2}|aug\w{0,3}|sep\w{0,7}|[ou][ck]t\w{0,5}"
    r"|nov\w{0,6}|de[cz]\w{0,6}"
)
_UNITS = (
    r"usd|eur|gbp|[mkcµ]?g|mcg|lbs?|oz|[mcd]?l|[mck]?m|mi|ft|in|[kmgt]b|[kmg]?hz|k?wh?|hours?|minutes?|days?|weeks?|months?"
    r"|years?|million|billion|thousand|am|pm"
)
_HAN_UNITS = "年月日号时点分秒元万亿千百斤米克升度岁名台辆"
_CURRENCIES = "€$£¥₹₽"
_BEFORE = re.compile(rf"(?:[{_CURRENCIES}]|(?<!\w)(?:{_MONTHS}))\.? ?$")
# Any letters without a space before them: room 12a is not room 12b.
_BEHIND = re.compile(rf"[a-z][a-z\d]*| ?(?:[%‰°{_CURRENCIES}{_HAN_UNITS}]|(?:{_UNITS}|{_MONTHS})(?!\w))")
_LONGEST_BEFORE = 12  # characters: "september. "
_LINE_NUMBERS = re.compile(r"\d{1,6}(?: \d{1,6})+")


def find_facts(plain: str) -> list[str]:
    """Return the numbers of a normalised text, each alone, and again with the currency, unit or month beside it."""
    facts = []
    plain = plain.replace("⁄", "/")  # of a fraction that is one character
    for number in _NUMBERS.finditer(plain):
        before = _BEFORE.search(plain, max(0, number.start() - _LONGEST_BEFORE), number.start())
        behind = _BEHIND.match(plain, number.end())
        facts.append(number[0])
        if before or behind:
            facts.append(f"{before[0].strip() if before else ''}{number[0]}{behind[0].strip() if behind else ''}")
    return facts


def counts_lines(plain: str) -> bool:
    """Return whether a text consists of consecutive numbers: those of the lines of a program, or of the pages of a list."""
    if not _LINE_NUMBERS.fullmatch(plain):
        return False
    numbers = [int(number) for number in plain.split()]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
