"""Lines of normalised text → 32-bit hashes, which ignore white space and punctuation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xxhash import xxh3_64_intdigest

_PUNCTUATION = b" \t!\"$'(),-./:;?@[\\]_`{|}"
"""White space and punctuation that are ignored; the signs of C++ and C#, and operators, are not."""
# Typographic dashes, quotation marks and the slash of fractions in UTF-8: one rendering of a text has them, and another has
# those of ASCII.
_TYPOGRAPHIC = re.compile(b"\xe2(?:\x80[\x90-\x95\x98-\x9f]|\x81\x84)")
_IN_NUMBERS = str.maketrans("–⁄", "-/")  # the dash is also a minus, and the sign between two years
BEGINS_NO_DIGIT = bytes(set(range(256)) - set(b"0123456789\xd9\xdb\xdf\xe0\xe1\xea\xef\xf0\n"))
"""All bytes except the end of a line and those with which the UTF-8 of a decimal digit, of any script, begins."""
# A set of characters comes first, so that all others are skipped quickly; a minus ends no word.
_NUMBERS = re.compile(r"[-\d](?:(?<=\d)\d*|(?<!\w-)\d+)(?:[.,:/-]\d+)*")


def hash_text(text: str) -> int:
    """Return the hash of a normalised text of one or more lines."""
    return hash_line(without_punctuation(text.replace("\n", "").encode("utf-8", "replace")), numbers_in(text))


def without_punctuation(content: bytes) -> bytes:
    """Return UTF-8 without white space, the punctuation of ASCII, and typographic dashes and quotation marks."""
    return _TYPOGRAPHIC.sub(b"", content.translate(None, _PUNCTUATION))


def numbers_in(plain: str) -> list[str]:
    """Return the numbers in a normalised text; a date or a range is a single number."""
    return _NUMBERS.findall(plain.translate(_IN_NUMBERS))


def hash_line(letters: bytes, numbers: Sequence[str]) -> int:
    """Return the hash of a text without punctuation, given with its *numbers*: otherwise 1.12 and 11.2 would be the same."""
    return xxh3_64_intdigest(letters + " ".join(["", *numbers]).encode() if numbers else letters) >> 32
