"""Lines of normalised text → 32-bit hashes, for which white space and punctuation do not count."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xxhash import xxh3_64_intdigest

PUNCTUATION = b" \t!\"$'(),-./:;?@[\\]_`{|}"
"""White space and punctuation that do not count; what stands in C++ and C#, and operators, do."""
# Dashes and quotation marks of typography in UTF-8, which one rendering of a text has for those of ASCII, and another not.
_TYPOGRAPHIC = re.compile(b"\xe2\x80[\x90-\x95\x98-\x9f]")
_EN_DASH = "–"  # also a minus, and what stands between two years
BEGINS_NO_DIGIT = bytes(set(range(256)) - set(b"0123456789\xd9\xdb\xdf\xe0\xe1\xea\xef\xf0\n"))
"""All bytes but those with which a decimal digit of some script begins in UTF-8, and the end of a line."""
# A set of characters comes first, so that what is none of them is passed over quickly; a minus ends no word.
_NUMBERS = re.compile(r"[-\d](?:(?<=\d)\d*|(?<!\w-)\d+)(?:[.,:/-]\d+)*")


def hash_text(text: str) -> int:
    """Return the hash of a normalised text of one or more lines."""
    return hash_line(without_punctuation(text.replace("\n", "").encode("utf-8", "replace")), numbers_in(text))


def without_punctuation(content: bytes) -> bytes:
    """Return UTF-8 without white space, the punctuation of ASCII, and dashes and quotation marks of typography."""
    return _TYPOGRAPHIC.sub(b"", content.translate(None, PUNCTUATION))


def numbers_in(plain: str) -> list[str]:
    """Return the numbers of a normalised text, of which a date or a range is a single one."""
    return _NUMBERS.findall(plain.replace(_EN_DASH, "-"))


def hash_line(letters: bytes, numbers: Sequence[str]) -> int:
    """Return the hash of a text, given without punctuation: without what stands between digits, 1.12 would be 11.2."""
    return xxh3_64_intdigest(letters + " ".join(["", *numbers]).encode() if numbers else letters) >> 32
