"""Headings of a page compared with its title: the page's own name, and the parts of the title that it names itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.lines import hash_text
from crawler_dedup.signing.titles import letters_of, split_title

_MAX_PARTS = 32
"""Maximum number of parts of a title, and of first headings, that are read."""
_NEAR = 16
"""Maximum number of blocks between heading and main text: price, sizes, sellers. A heading farther above is a frame's."""
_MIN_LETTERS = 3  # a shorter part of a title may be in any text


class Heading(NamedTuple):
    """Level and letters of a heading, whether it is mainly a link or belongs to the main text, and its place in the page."""

    level: int
    letters: str
    is_link: bool
    is_main: bool
    place: int


def read_heading(level: int, plain: str, is_link: bool, is_main: bool, place: int) -> Heading:
    """Make a :class:`Heading` with the normalised text *plain*."""
    return Heading(level, letters_of(plain), is_link, is_main, place)


def describe_page(
    headings: Sequence[Heading], main: Sequence[str], title: str, plain_title: str, first_main: int
) -> tuple[int, int]:
    """Return the heading of a page and the parts of its title that it names, in the form of
    :class:`~crawler_dedup.signing.blocks.PageBlocks`.

    Args:
        main: the normalised lines of the main text.
        plain_title: the *title*, normalised.
        first_main: the place of the first block of the main text.
    """
    parts = split_title(title)
    return _find_heading(headings, parts, first_main), _find_named(headings, main, parts, letters_of(plain_title))


def _find_heading(headings: Sequence[Heading], parts: frozenset[str], first_main: int) -> int:
    highest = [heading for heading in headings if heading.level == 1 and heading.letters][:_MAX_PARTS]
    if any(part in heading.letters or heading.letters in part for heading in highest for part in parts):
        return 0
    texts = [heading for heading in highest if not heading.is_link]
    above = [heading for heading in texts if 0 <= first_main - heading.place <= _NEAR]
    inside = [heading for heading in texts if heading.is_main]
    return next((hash_text(heading.letters) for heading in [*above[-1:], *inside]), 0)


def _find_named(headings: Sequence[Heading], main: Sequence[str], parts: frozenset[str], title: str) -> int:
    """Return the *parts* of a *title*, given by its letters, that the page itself names, as bits.

    A heading that is a link may be the site's name, which comes before the page's name. So it counts only if it is the last
    of several headings that repeat the title, and if nothing else names a part.
    """
    distinctive = [
        (1 << bit, part) for bit, part in enumerate(sorted(parts)[:_MAX_PARTS]) if size_in_letters(part) >= _MIN_LETTERS
    ]
    if not distinctive:
        return 0
    repeating = [heading for heading in headings if heading.letters and heading.letters in title]
    named = _bits(distinctive, [heading.letters for heading in repeating if not heading.is_link])
    named |= _bits([(bit, part) for bit, part in distinctive if not named & bit], main)
    links = repeating[-1].letters if len({heading.letters for heading in repeating}) > 1 else ""
    return named or _bits(distinctive, [links])


def _bits(parts: Sequence[tuple[int, str]], texts: Sequence[str]) -> int:
    """Return the bits of the *parts* that occur in *texts*. Spaces in the texts are ignored."""
    if not parts:
        return 0
    # Quicker than to replace in a string.
    names = "\n".join(texts).encode("utf-8", "surrogatepass").translate(None, b" ")
    return sum([bit for bit, part in parts if part.encode("utf-8", "surrogatepass") in names])
