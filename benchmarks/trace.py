"""How much ``trace`` finds of a work that was copied and changed: ``python -m benchmarks.trace [--chars 1000000]``.

Works are made of the words of jieba's dictionary, by their frequency, with punctuation. One work is kept as a single page,
beside other works. It is copied, and the copy is changed in several ways; then passages of the copy are traced, and the
whole copy. For each scheme, the benchmark prints the cost of the kept work, the share of the passages that are traced to
their place in the work, and the share of the whole copy that is found.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from opencc import OpenCC
from rich.console import Console
from rich.progress import track
from rich.table import Table

from crawler_dedup import Config, Deduplicator
from crawler_dedup.index.index import Index
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.inspection.trace import find_sources
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.schemes.passages import PassageScheme, Positions
from crawler_dedup.signing.tables import READ_CODES, read_readings

LENGTHS = (100, 300, 1_000)
"""Lengths of the passages in characters."""
_SCHEMES = ("pinyin", "winnowing", "winnowing noise=18 guarantee=48")
_LEAST_COUNT = 50
_MAX_CHARS = 1 << 24
"""Instead of the limit of pages: works are longer."""
_OTHERS = 3
_PARAGRAPH = 500
_GB2312 = [bytes((row, cell)).decode("gb2312") for row in range(0xB0, 0xD7) for cell in range(0xA1, 0xFA)]

Damage = Callable[[str, random.Random], str]


def make_work(chars: int, seed: int) -> str:
    """Make a text of *chars* characters."""
    words, counts = _vocabulary()
    source, parts, size = random.Random(seed), list[str](), 0
    while size < chars:
        for word in source.choices(words, counts, k=1_000):
            mark = source.choices(("", "，", "。", "。\n"), (86, 8, 4, 2))[0]
            parts.append(word + mark)
            size += len(parts[-1])
    return "".join(parts)[:chars]


@cache
def _vocabulary() -> tuple[list[str], list[int]]:
    rows = (line.split(" ") for line in (files("jieba") / "dict.txt").read_text("utf-8").splitlines())
    known = [(word, int(count)) for word, count, *_ in rows if int(count) >= _LEAST_COUNT]
    return [word for word, _ in known], [count for _, count in known]


# Changes of the copy


def _exchange_homophones(share: float) -> Damage:
    readings, by_sound = read_readings(), defaultdict(list)
    for character in _GB2312:
        by_sound[readings[ord(character) - READ_CODES.start]].append(character)
    sounds = {character: sound for sound, characters in by_sound.items() for character in characters}

    def damage(text: str, source: random.Random) -> str:
        return "".join(
            source.choice(by_sound[sounds[character]]) if character in sounds and source.random() < share else character
            for character in text
        )

    return damage


def _exchange_others(share: float) -> Damage:
    return lambda text, source: "".join(
        source.choice(_GB2312) if source.random() < share and character > "\u4e00" else character for character in text
    )


def _insert_characters(one_in: int) -> Damage:
    return lambda text, source: "".join(
        character + (source.choice(_GB2312) if source.randrange(one_in) == 0 else "") for character in text
    )


def _insert_lines(text: str, source: random.Random) -> str:
    pieces = [text[at : at + 200] for at in range(0, len(text), 200)]
    return "".join(piece + make_work(30, source.randrange(1 << 30)) for piece in pieces)


def _swap_paragraphs(text: str, source: random.Random) -> str:
    pieces = [text[at : at + _PARAGRAPH] for at in range(0, len(text), _PARAGRAPH)]
    source.shuffle(pieces)
    return "".join(pieces)


def _write_traditional(text: str, _: random.Random) -> str:
    written: str = OpenCC("s2t").convert(text)
    return written


DAMAGES: dict[str, Damage] = {
    "none": lambda text, _: text,
    "Traditional characters": _write_traditional,
    "10 % homophones": _exchange_homophones(0.1),
    "30 % homophones": _exchange_homophones(0.3),
    "100 % homophones": _exchange_homophones(1.0),
    "a character inserted in 50": _insert_characters(50),
    "a character inserted in 20": _insert_characters(20),
    "30 characters inserted after 200": _insert_lines,
    "paragraphs of 500 swapped": _swap_paragraphs,
    "2 % other characters": _exchange_others(0.02),
    "5 % other characters": _exchange_others(0.05),
    "10 % other characters": _exchange_others(0.1),
    "30 % homophones, 2 % others, in 50 one inserted": lambda text, source: _insert_characters(50)(
        _exchange_others(0.02)(_exchange_homophones(0.3)(text, source), source), source
    ),
}


# Measuring


class KeptWorks(NamedTuple):
    """An index with works, and the cost of the first work."""

    store: Index
    scheme: PassageScheme
    seconds: float
    value_bytes: int
    keys: int


def keep_works(directory: Path, name: str, works: Sequence[str]) -> KeptWorks:
    """File each of *works* as a page, and measure the first."""
    config = Config(tokenizer="bigrams", scheme=name, max_bytes=1 << 28, timeout=600)
    with (
        patch("crawler_dedup.signing.features.MAX_CHARS", _MAX_CHARS),
        patch("crawler_dedup.signing.blocks.MAX_CHARS", _MAX_CHARS),
        Deduplicator.open(directory, config) as deduplicator,
    ):
        deduplicator.check("http://first.org/", _html(make_work(2_000, 99)))  # loads tables
        begun = time.process_time()
        for number, work in enumerate(works):
            page = deduplicator.sign(f"http://work.org/{number}", _html(work))
            deduplicator.decide([page])
            if not number:
                seconds, first = time.process_time() - begun, page
    scheme = scheme_of(name)
    assert isinstance(scheme, PassageScheme)
    return KeptWorks(open_pages(directory), scheme, seconds, len(first.value), len(scheme.keys(first.signed)))


def _html(text: str) -> bytes:
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    return f"<html><head><meta charset='utf-8'></head><body><main>{paragraphs}</main></body></html>".encode()


def trace_passages(kept: KeptWorks, work: str, damage: Damage, length: int, count: int, letters: Positions) -> float:
    """Return the share of passages that are traced to their place.

    Args:
        letters: the positions in *work* of the letters that the scheme uses.
    """
    return mean(_is_traced(kept, work, damage, length, number, letters) for number in range(count))


def _is_traced(
    kept: KeptWorks,
    work: str,
    damage: Damage,
    length: int,
    number: int,
    letters: Positions,
) -> bool:
    source = random.Random(f"{length} {number}")
    start = source.randrange(len(work) - length)
    sources = find_sources(normalise(damage(work[start : start + length], source)), kept.scheme, kept.store)
    first, last = np.searchsorted(letters, (start, start + length)).tolist()
    return bool(sources) and any(
        first - length <= passage.at < last
        for source in sources
        if source.page.url == "http://work.org/0"
        for passage in source.passages
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chars", type=int, default=1_000_000)
    parser.add_argument("--passages", type=int, default=100)
    parser.add_argument("--scheme", action="append")
    given = parser.parse_args()
    works = [make_work(given.chars, seed) for seed in range(1 + _OTHERS)]
    costs = Table(title=f"a kept work of {given.chars:,} characters")
    for column in ("scheme", "signed and filed, s", "bytes", "keys"):
        costs.add_column(column, justify="right")
    shares_table = Table(
        title=f"share of {given.passages} passages of so many characters that are traced to their place"
    )
    for column in ("scheme", "changed", *map(str, LENGTHS), "of the whole copy", "s"):
        shares_table.add_column(column, justify="right")
    for name in given.scheme or _SCHEMES:
        with tempfile.TemporaryDirectory() as directory:
            kept = keep_works(Path(directory), name, works)
            costs.add_row(name, f"{kept.seconds:.2f}", f"{kept.value_bytes:,}", f"{kept.keys:,}")
            with closing(kept.store):
                letters = kept.scheme.find_letters(normalise(works[0]))
                for changed, damage in track(DAMAGES.items(), name, console=Console(stderr=True)):
                    shares = [
                        trace_passages(kept, works[0], damage, length, given.passages, letters) for length in LENGTHS
                    ]
                    copy = damage(works[0], random.Random(1))
                    begun = time.process_time()
                    whole = find_sources(normalise(copy), kept.scheme, kept.store)
                    seconds = time.process_time() - begun
                    share = next(
                        (source.share_of_text for source in whole if source.page.url == "http://work.org/0"), 0.0
                    )
                    shares_table.add_row(
                        name,
                        changed,
                        *(f"{share_of_variant:.2f}" for share_of_variant in (*shares, share)),
                        f"{seconds:.1f}",
                    )
            shares_table.add_section()
    console = Console(width=160)
    console.print(costs, shares_table)


if __name__ == "__main__":
    main()
