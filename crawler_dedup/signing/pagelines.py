"""The lines of a page as they are compared: normalised texts, with their dates, numbers and letters.

Two lines are the same if they are hashed alike (:func:`hash_line`), whatever their markup, white space, punctuation, case
and notation of dates.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

from crawler_dedup.signing.dates import find_date
from crawler_dedup.signing.features import check_expansion, normalise
from crawler_dedup.signing.limits import MAX_CHARS
from crawler_dedup.signing.lines import (
    BEGINS_NO_DIGIT,
    cased_units,
    hash_line,
    is_number_sequence,
    numbers_in,
    without_punctuation,
    without_visits,
)
from crawler_dedup.signing.wordtables import read_patterns

if TYPE_CHECKING:
    from crawler_dedup.signing.outline import Outline
    from crawler_dedup.signing.textblocks import Block

SYMBOLS = frozenset(("Sc", "Sm", "So"))
"""Categories of characters that say something alone: currencies, operators and arrows, and other symbols."""
SHORT = 60
"""Letters: a longer block is a text, and no label, fact or name."""
_MARKS = frozenset("*•†‡")  # ratings, footnotes, "deceased"
# Lines that only announce an advertisement, which differs on each visit.
_ADVERTISING = frozenset(map(str.encode, read_patterns("advertising")))
_FIRST_LINE = ("1", "// 1")
# What follows the date of a page: "1.2k 0", of its readers and their comments.
_SHORT_COUNTS = re.compile(r" ?\d+(?:\.\d+)?k(?: 0)?")
_LEAST_SEQUENCE = 5
# A grade (A-), a blood group, a prefix.
_ENDS_WITH_MINUS = re.compile(r"(?<=[^\W\d_])-\Z")


def split_into_lines(blocks: Sequence[Block]) -> list[Block]:
    return [line for block in blocks for line in compared_lines(block)]


def compared_lines(block: Block) -> Sequence[Block]:
    """Return *block*; for a preformatted text its lines, unless they are only line numbers."""
    return block.lines if block.lines and not is_number_sequence(block.text) else (block,)


class Line(NamedTuple):
    """A normalised text with what is hashed of it.

    Attributes:
        letters: its letters and symbols.
        numbers: the numbers in it; of a line with a date, only the date.
        around: the letters of what is around a date, which makes a separate block: the site may repeat it.
        hash: of letters and numbers (:func:`hash_line`).
        says_something: whether it has a letter, a digit or a symbol: ★, ✓, ☀, ♂, ▲, €, ↑, flags.
    """

    plain: str
    letters: bytes
    numbers: Sequence[str]
    around: bytes
    hash: int
    says_something: bool


_known: dict[tuple[str, bool], Line] = {}
"""Lines of earlier pages, by their text and whether it is preformatted: the pages of a site have many in common."""
_MOST_KNOWN = 20_000  # they usually take 8 MB
_LONGEST_KNOWN = 100  # characters


def _is_content(character: str) -> bool:
    return character.isalnum() or character in _MARKS or category(character) in SYMBOLS


def _read_date(plain: str) -> tuple[Sequence[str], bytes] | None:
    """Return the date of a short line, without the time, and the letters around it; ``None`` if it has no date.

    A line with another number, or with a date that can be read in two ways, is compared as it is written.
    """
    date = find_date(plain)
    if date is None or len(date.readings) > 1:
        return None
    before, after = map(without_visits, (date.before, date.after))
    around = f"{before} {'' if _SHORT_COUNTS.fullmatch(after) else after}"
    if any(map(str.isdigit, around)):
        return None
    return date.readings, without_punctuation(around.encode("utf-8", "replace"))


@lru_cache(maxsize=1024)  # a new page is compared with several kept pages
def hash_date_in(address: str) -> int:
    """Return the hash of a line that has only the date in *address*, as of ``/2026/05/12/``; 0 if there is none."""
    date = find_date(address.lower())
    return hash_line(b"", date.readings) if date and len(date.readings) == 1 else 0


def count_read(blocks: Sequence[Block]) -> int:
    """Return the number of the first blocks that together have up to :data:`MAX_CHARS` characters."""
    return bisect_right(list(accumulate([len(block.text) for block in blocks])), MAX_CHARS)


def _lines(blocks: Sequence[Block]) -> list[Line]:
    """Return the lines of the blocks that are read (:func:`count_read`). What follows them is compared as a whole."""
    keys = [(block.text, block.is_preformatted) for block in blocks[: count_read(blocks)]]
    lines = {key: line for key in keys if (line := _known.get(key))}
    new = {key: block for key, block in zip(keys, blocks, strict=False) if key not in lines}
    read = dict(zip(new, _read_new([*new.values()]), strict=True)) if new else {}
    lines.update(read)
    of_blocks = [*map(lines.__getitem__, keys)]
    check_expansion(sum([len(line.plain) for line in of_blocks]), sum([len(text) for text, _ in keys]))
    short = [(key, line) for key, line in read.items() if max(len(key[0]), len(line.plain)) <= _LONGEST_KNOWN]
    if len(_known) + len(short) > _MOST_KNOWN:
        _known.clear()
    _known.update(short[:_MOST_KNOWN])
    return of_blocks


def _read_new(blocks: Sequence[Block]) -> Iterator[Line]:
    """Yield the line of each block."""
    texts = [block.text for block in blocks]
    # Lines of other than ASCII are normalised in one call, because for a short text the call costs more than the work.
    # Each line follows a line end, also the first, because a long one is normalised in pieces that begin there.
    folded = normalise("".join([f"\n{text}" for text in texts if not text.isascii()]), limit=inf).split("\n")
    next_folded = iter(folded[1:]).__next__
    plain_lines = [text.lower() if text.isascii() else next_folded() for text in texts]
    lines: list[tuple[str, Sequence[str], bytes | None]] = []
    for block, plain, digits in zip(blocks, plain_lines, _digits_of("\n".join(plain_lines)).split(b"\n"), strict=True):
        # The date is read first: "Comments: 12 May" has no number of comments.
        if not digits:  # most lines
            lines.append((plain, (), None))
        elif block.size <= SHORT and (date := _read_date(plain)):
            lines.append((plain, *date))
        else:
            visible = plain if block.is_preformatted else without_visits(plain)
            lines.append((visible, numbers_in(visible) + cased_units(block.text) if _digits_of(visible) else (), None))
    written = "\n".join([_ENDS_WITH_MINUS.sub("−", plain) if plain[-1:] == "-" else plain for plain, *_ in lines])
    columns = without_punctuation(written.encode("utf-8", "replace")).split(b"\n")
    for (plain, numbers, around), letters in zip(lines, columns, strict=True):
        # The mark of a heading that was not rendered is left out.
        own = (letters.lstrip(b"#") or letters) if around is None else b""
        says_something = plain[:1].isalnum() or any(map(_is_content, plain))
        yield Line(plain, own, numbers, around or b"", hash_line(own, numbers), says_something)


def _digits_of(plain: str) -> bytes:
    return plain.encode("utf-8", "replace").translate(None, BEGINS_NO_DIGIT)


def read_lines(blocks: Sequence[Block]) -> Iterator[tuple[int, Block, Line]]:
    """Yield the place of each block with its line, without numbers of lines and announcements of advertisements."""
    for place, (block, line) in enumerate(zip(blocks, _lines(blocks), strict=False)):
        if (line.letters in _ADVERTISING and not block.row) or (
            line.numbers and _is_line_number(place, blocks, line.plain)
        ):
            continue
        yield place, block, line


def _is_line_number(place: int, blocks: Sequence[Block], plain: str) -> bool:
    """Return whether a block only numbers lines: it is a sequence of numbers, or the 1 of a listing of one line."""
    if plain not in _FIRST_LINE and not is_number_sequence(plain):
        return False
    # Sizes and years begin with another number.
    is_long = plain.count(" ") >= _LEAST_SEQUENCE and plain.startswith("1 ")
    return is_long or any(block.is_preformatted for block in blocks[place : place + 2])


def hashes_of_lines(page: Outline) -> dict[int, int]:
    """Return the hash that :func:`pack_blocks` computes of each compared line of *page*, by its place among these lines."""
    return {place: line.hash for place, _, line in read_lines(split_into_lines(page.blocks))}
