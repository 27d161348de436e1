"""Chinese texts, and changed copies of them: with characters that sound alike, or with Traditional characters."""

import random
from collections import defaultdict
from functools import cache
from operator import ne

import opencc

from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import NO_INITIAL, find_initials, initial_of_each
from tests.support.prose import prose

_AROUND = 20
"""Number of characters on each side of a character that may be in a phrase with it."""


def chinese(seed: int, count: int = 30) -> str:
    return prose(seed, count, chinese=True)


@cache
def alike() -> dict[int, list[str]]:
    """Return the characters of the texts by the letter with which their reading begins."""
    groups = defaultdict(list)
    for character in sorted(set("".join(map(chinese, range(8))))):
        letter = int(initial_of_each(character)[0])
        if letter != NO_INITIAL:
            groups[letter].append(character)
    return groups


def with_homophones(text: str, share: float = 0.3) -> str:
    """Replace a *share* of the characters of *text* by others whose reading has the same first letter.

    A character stays if another one would change the reading of those around it.
    """
    source, characters = random.Random(text), list(text)
    for at, character in enumerate(text):
        letter = int(initial_of_each(character)[0])
        if character < "\u4e00" or character in "，。" or source.random() >= share or letter not in alike():
            continue
        start, around = max(0, at - _AROUND), slice(at + 1, at + 1 + _AROUND)
        before, after = "".join(characters[start:at]), "".join(characters[around])
        chosen = source.choice(alike()[letter])
        if find_initials(before + chosen + after).tolist() == find_initials(before + character + after).tolist():
            characters[at] = chosen
    changed = "".join(characters)
    assert (find_initials(normalise(changed)) == find_initials(normalise(text))).all()
    assert sum(map(ne, changed, text)) > 0.2 * len(text)
    return changed


def in_other_writing(text: str, writing: str = "s2t") -> str:
    """Return *text* in Traditional characters, which are chosen by the words if there are several."""
    return str(_converter(writing).convert(text))


@cache
def _converter(writing: str) -> opencc.OpenCC:
    return opencc.OpenCC(writing)
