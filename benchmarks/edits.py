"""Make texts with known changes from real texts, since labelled pages have too few such pairs."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.characters import HAN, simplify_han
from crawler_dedup.signing.features import find_unit_positions, normalise, split_units
from crawler_dedup.signing.text import Text
from crawler_dedup.signing.wordtables import READ_CODES, read_readings

MAX_TEXTS = 200
"""Largest number of texts that are edited for a set."""

_SHORT_CHARS = (100, 250)
_LONG_CHARS = 400
_MIN_UNITS = 25
_WORDS_EXCHANGED = 2
_EXCERPT_SHARE = 0.6
_HOMOPHONE_SHARE = 0.2
_MAX_COMMON_SHARE = 0.3  # two texts with less in common are no duplicates

Edit = Callable[[str, random.Random], str]


class EditedPair(NamedTuple):
    """An edited text together with the text it was made of, or with another text.

    Attributes:
        new: the edited text.
        kept: the other text.
        label: 1 if *new* was made of *kept*, so that it may be dropped; else 0.
    """

    new: str
    kept: str
    label: int


def edited_sets(texts: Iterable[str]) -> Iterator[tuple[str, list[EditedPair]]]:
    """Yield (name, pairs) of each set: up to :data:`MAX_TEXTS` edited texts, each with its original and with another text.

    The choice depends on the texts alone, not on their order.
    """
    ordered = sorted(set(texts), key=lambda text: (xxh3_64_intdigest(text.encode("utf-8", "replace")), text))
    passages = sorted(
        {line.strip() for text in ordered for line in text.splitlines()},
        key=lambda line: (xxh3_64_intdigest(line.encode("utf-8", "replace")), line),
    )
    short = [
        line
        for line in passages
        if _SHORT_CHARS[0] <= len(line) <= _SHORT_CHARS[1] and len(split_units(line.lower())) >= _MIN_UNITS
    ]
    long = [text for text in ordered if len(text) >= _LONG_CHARS]
    chinese = [text for text in long if is_chinese(text)]
    yield "short, 2 words exchanged", _make_pairs(short, _exchange_words(short))
    yield "excerpt of 60 %", _make_pairs(long, lambda text, _: _middle(text))
    yield "Traditional", _make_pairs(chinese, _traditional())
    yield "homophones, 20 %", _make_pairs(chinese, _exchange_homophones(chinese))


def is_chinese(text: str) -> bool:
    """Return whether at least three tenths of the characters of *text* are Chinese."""
    plain = normalise(text)
    return bool(plain) and 10 * len(HAN.findall(plain)) >= 3 * len(plain)


def _make_pairs(texts: Sequence[str], edit: Edit) -> list[EditedPair]:
    chosen = texts[:MAX_TEXTS]
    shingles = [Text(text, list).shingles(5) for text in chosen]
    pairs = []
    for at, text in enumerate(chosen):
        new = edit(text, random.Random(at))
        pairs.append(EditedPair(new, text, 1))
        for other in [*range(at + 1, len(chosen)), *range(at)]:
            common = len(np.intersect1d(shingles[at], shingles[other], assume_unique=True))
            if common < _MAX_COMMON_SHARE * min(len(shingles[at]), len(shingles[other])):
                pairs.append(EditedPair(new, chosen[other], 0))
                break
    return pairs


def _exchange_words(texts: Sequence[str]) -> Edit:
    words = sorted({unit for text in texts[:MAX_TEXTS] for unit in split_units(normalise(text)) if len(unit) > 1})
    characters = sorted({unit for text in texts[:MAX_TEXTS] for unit in split_units(normalise(text)) if len(unit) == 1})

    def edit(text: str, source: random.Random) -> str:
        plain = normalise(text)
        old_units = split_units(plain)
        changes = {
            at: _choose_other(old_units[at], words if len(old_units[at]) > 1 else characters, source)
            for at in source.sample(range(len(old_units)), _WORDS_EXCHANGED)
        }
        starts = find_unit_positions(plain)
        for at in sorted(changes, reverse=True):  # from the end, so that the places before stay
            plain = plain[: starts[at]] + changes[at] + plain[starts[at] + len(old_units[at]) :]
        return plain

    return edit


def _middle(text: str) -> str:
    cut = int(len(text) * (1 - _EXCERPT_SHARE) / 2)
    return text[cut : len(text) - cut]


def _traditional() -> Edit:
    """Return an edit that writes a text with characters of Big5, preferring common ones, which come first in Big5."""
    forms: dict[int, str] = {}
    for character in sorted(filter(_is_in_big5, map(chr, READ_CODES)), key=lambda form: form.encode("big5")):
        simplified = simplify_han(character)
        if not _is_in_big5(simplified):
            forms.setdefault(ord(simplified), character)
    return lambda text, _: text.translate(forms)


def _is_in_big5(character: str) -> bool:
    with suppress(UnicodeEncodeError):
        return bool(character.encode("big5"))
    return False


def _exchange_homophones(texts: Sequence[str]) -> Edit:
    characters = sorted(
        {character for text in texts[:MAX_TEXTS] for character in text if "\u4e00" <= character <= "\u9fff"}
    )
    readings = read_readings()
    sounds = {character: readings[ord(character) - READ_CODES.start] or character for character in characters}
    homophones = defaultdict(list)
    for character, sound in sounds.items():
        homophones[sound].append(character)

    def edit(text: str, source: random.Random) -> str:
        return "".join(
            _choose_other(character, homophones[sounds[character]], source)
            if character in sounds and source.random() < _HOMOPHONE_SHARE
            else character
            for character in text
        )

    return edit


def _choose_other(word: str, among: Sequence[str], source: random.Random) -> str:
    """Choose an element of *among* other than *word* if there is any."""
    chosen = source.choice(among) if among else word
    while chosen == word and len(among) > 1:
        chosen = source.choice(among)
    return chosen
