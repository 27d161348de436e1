"""Texts with known changes, made of real ones: what labelled pages have too few of."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import opencc
from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.features import HAN, normalise, replace_units, split_units
from crawler_dedup.signing.text import Text

MOST = 200
"""Texts of a set."""

_SHORT = (100, 250)
_LONG = 400
_LEAST_UNITS = 25
_EXCHANGED = 2
_EXCERPT = 0.6
_HOMOPHONES = 0.2
_OTHER = 0.3  # texts that resemble each other by less are two

Edit = Callable[[str, random.Random], str]


class Edited(NamedTuple):
    """A text, what it was made of, and whether it may be dropped while that is kept (or else another text)."""

    new: str
    kept: str
    label: int


def edited_sets(texts: Iterable[str]) -> Iterator[tuple[str, list[Edited]]]:
    """Sets by name. Of each of up to :data:`MOST` texts an edited one, with the text itself and with another one.

    The choice depends on the texts alone, not on their order.
    """
    ordered = sorted(set(texts), key=lambda text: (xxh3_64_intdigest(text.encode("utf-8", "replace")), text))
    passages = sorted(
        {line.strip() for text in ordered for line in text.splitlines()},
        key=lambda line: (xxh3_64_intdigest(line.encode("utf-8", "replace")), line),
    )
    short = [
        one for one in passages if _SHORT[0] <= len(one) <= _SHORT[1] and len(split_units(one.lower())) >= _LEAST_UNITS
    ]
    long = [one for one in ordered if len(one) >= _LONG]
    chinese = [one for one in long if is_chinese(one)]
    yield "short, 2 words exchanged", _edited(short, _exchange_words(short))
    yield "excerpt of 60 %", _edited(long, lambda text, _: _middle(text))
    yield "Traditional", _edited(chinese, _traditional())
    yield "homophones, 20 %", _edited(chinese, _exchange_homophones(chinese))


def is_chinese(text: str) -> bool:
    """Whether three tenths of its characters at least are Chinese ones."""
    plain = normalise(text)
    return bool(plain) and 10 * len(HAN.findall(plain)) >= 3 * len(plain)


def _edited(texts: Sequence[str], edit: Edit) -> list[Edited]:
    chosen = texts[:MOST]
    shingles = [Text(text, list).shingles(5) for text in chosen]
    pairs = []
    for at, text in enumerate(chosen):
        new = edit(text, random.Random(at))  # noqa: S311  (the same every time)
        pairs.append(Edited(new, text, 1))
        for other in [*range(at + 1, len(chosen)), *range(at)]:
            common = len(np.intersect1d(shingles[at], shingles[other], assume_unique=True))
            if common < _OTHER * min(len(shingles[at]), len(shingles[other])):
                pairs.append(Edited(new, chosen[other], 0))
                break
    return pairs


def _exchange_words(texts: Sequence[str]) -> Edit:
    words = sorted({unit for text in texts[:MOST] for unit in split_units(normalise(text)) if len(unit) > 1})
    characters = sorted({unit for text in texts[:MOST] for unit in split_units(normalise(text)) if len(unit) == 1})

    def edit(text: str, source: random.Random) -> str:
        plain = normalise(text)
        there = split_units(plain)
        changes = {
            at: _another(there[at], words if len(there[at]) > 1 else characters, source)
            for at in source.sample(range(len(there)), _EXCHANGED)
        }
        return replace_units(plain, changes.get)

    return edit


def _middle(text: str) -> str:
    cut = int(len(text) * (1 - _EXCERPT) / 2)
    return text[cut : len(text) - cut]


def _traditional() -> Edit:
    converter = opencc.OpenCC("s2t")
    return lambda text, _: str(converter.convert(text))


def _exchange_homophones(texts: Sequence[str]) -> Edit:
    from pypinyin import lazy_pinyin  # noqa: PLC0415  (slow; only this needs it)

    characters = sorted({one for text in texts[:MOST] for one in text if "\u4e00" <= one <= "\u9fff"})
    sounds = dict(zip(characters, lazy_pinyin([*characters]), strict=True))
    alike = defaultdict(list)
    for character, sound in sounds.items():
        alike[sound].append(character)

    def edit(text: str, source: random.Random) -> str:
        return "".join(
            _another(one, alike[sounds[one]], source) if one in sounds and source.random() < _HOMOPHONES else one
            for one in text
        )

    return edit


def _another(word: str, among: Sequence[str], source: random.Random) -> str:
    """One of *among*, another than *word* where there is one."""
    chosen = source.choice(among) if among else word
    while chosen == word and len(among) > 1:
        chosen = source.choice(among)
    return chosen
