"""Chinese texts, in other characters that sound alike or that are the Traditional ones."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import cache

import opencc

from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import NO_INITIAL, find_initials, initial_of_each
from tests.support.prose import prose


def chinese(seed: int, count: int = 30) -> str:
    return prose(seed, count, chinese=True)


def letters(text: str) -> list[int]:
    found: list[int] = find_initials(normalise(text)).tolist()
    return found


@cache
def alike() -> dict[int, list[str]]:
    """Letter → characters whose reading begins with it."""
    found = defaultdict(list)
    for character in sorted(set("".join(map(chinese, range(8))))):
        letter = int(initial_of_each(character)[0])
        if letter != NO_INITIAL:
            found[letter].append(character)
    return found


def with_homophones(text: str, share: float = 0.3) -> str:
    """*text* with other characters of the same first letter in the place of a *share* of its own."""
    source = random.Random(text)
    changed = "".join(
        source.choice(alike()[int(initial_of_each(one)[0])])
        if one >= "\u4e00" and source.random() < share and one not in "，。"
        else one
        for one in text
    )
    assert letters(changed) == letters(text)
    assert sum(one != other for one, other in zip(changed, text, strict=True)) > 0.2 * len(text)
    return changed


def in_other_writing(text: str, writing: str = "s2t") -> str:
    """*text* in Traditional characters, by words: what stands for several is chosen by its neighbours."""
    converted: str = _converter(writing).convert(text)
    assert converted != text
    return converted


@cache
def _converter(writing: str) -> opencc.OpenCC:
    return opencc.OpenCC(writing)
