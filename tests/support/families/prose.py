"Texts for the other pages of a site: sentences that make some sense, and differ for each name."

import random
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_PROSE: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("prose.toml").read_text(encoding="utf-8"))


class _Words:
    "Returns words of each kind; no word is repeated before all words were returned."

    def __init__(self, source: random.Random, lang: str) -> None:
        self._source = source
        self._kinds: dict[str, list[str]] = _PROSE["words"][lang]
        self._left: dict[str, list[str]] = {kind: [] for kind in self._kinds}

    def next(self, kind: str) -> str:
        if not self._left[kind]:
            self._left[kind] = self._source.sample(self._kinds[kind], len(self._kinds[kind]))
        return self._left[kind].pop()

    def __getitem__(self, name: str) -> str:
        word = self.next(name.lower())
        return word if name.islower() else word[0].upper() + word[1:]


def read_text(name: str) -> str:
    """Return a text of ``prose.toml``."""
    return str(_PROSE["texts"][name])


@cache
def paragraph(name: str, sentences: int = 4, lang: str = "en") -> str:
    "Return *sentences* sentences. They are the same for the same *name*."
    words = _Words(random.Random(f"{name} {lang}"), lang)
    return ("" if lang == "zh" else " ").join(words.next("patterns").format_map(words) for _ in range(sentences))


def paragraphs(name: str, count: int = 4, lang: str = "en") -> list[str]:
    return [paragraph(f"{name} {number}", 4, lang) for number in range(count)]


@cache
def heading(name: str, lang: str = "en") -> str:
    "Return a title. It is the same for the same *name*."
    words = _Words(random.Random(f"heading {name} {lang}"), lang)
    pattern = {"en": "{What} {where}", "de": "{What} {where}", "zh": "{where}的{what}"}[lang]
    return pattern.format_map(words)
