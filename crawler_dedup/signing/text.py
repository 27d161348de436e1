"""A main text in the forms that schemes use: normalised, cut into tokens, weighted, in shingles; stored, and as a page."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.hashes import mix_bits, sort_distinct
from crawler_dedup.signing.features import Features, normalise, split_units, tokenise, weigh_tokens
from crawler_dedup.signing.segmentation import CutHan
from crawler_dedup.system.compression import FrameDamaged, compress, decompress

_MAX_BYTES = 1 << 28


_STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplying by it loses nothing


@dataclass(frozen=True)
class Text:
    """A text with the data that are derived from it, computed on first use.

    Attributes:
        raw: the text as it was extracted, with its lines and punctuation.
        cut_han: cuts runs of Chinese characters.
        title: title of the page.

    >>> text = Text("It rains. It rains!", cut_han=list)
    >>> text.units, len(text.shingles(2))
    (['it', 'rains', 'it', 'rains'], 2)
    """

    raw: str
    cut_han: CutHan
    title: str = ""

    @cached_property
    def plain(self) -> str:
        """The normalised text (NFKC, lower case, Han folded)."""
        return normalise(self.raw)

    @cached_property
    def tokens(self) -> list[str]:
        """Words, dictionary words of Chinese, character bigrams of other scripts without spaces; not in order."""
        return tokenise(self.plain, self.cut_han)

    @cached_property
    def features(self) -> Features:
        """The tokens as a weighted set."""
        return weigh_tokens(self.tokens)

    @cached_property
    def units(self) -> list[str]:
        """Words, and single characters of scripts without spaces, in the order of the text. Needs no dictionary."""
        return split_units(self.plain)

    @cached_property
    def unit_hashes(self) -> NDArray[np.uint64]:
        """xxh3 of each unit, in order: uint64, shape (units,)."""
        return hash_words(self.units)

    def shingles(self, width: int) -> NDArray[np.uint64]:
        """Hash all runs of *width* units to 64 bits (Broder 1997), ascending, distinct; a shorter text is one shingle.

        A text without units has none.
        """
        return sort_distinct(hash_runs(self.unit_hashes, min(width, len(self.unit_hashes))))


def hash_runs(hashes: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    """Hash each run of *width* hashes: a polynomial of them, as Rabin's fingerprints are, here modulo 2^64 and mixed."""
    count = len(hashes) - width + 1 if width else 0
    rolled = np.zeros(count, dtype=np.uint64)
    for at in range(width):
        rolled = rolled * _STEP + hashes[at : at + count]
    return mix_bits(rolled)


def hash_words(words: list[str]) -> NDArray[np.uint64]:
    """Hash each of *words* with xxh3: uint64, shape (words,)."""
    places = {word: place for place, word in enumerate(dict.fromkeys(words))}
    hashes = np.array([xxh3_64_intdigest(word.encode("utf-8", "replace")) for word in places], dtype=np.uint64)
    return hashes[np.fromiter(map(places.__getitem__, words), dtype=np.intp, count=len(words))]


def pack_text(text: str) -> bytes:
    """Compress *text* for index and journal."""
    return compress(text.encode("utf-8", "replace"))


def unpack_text(packed: bytes) -> str:
    """Return the text that :func:`pack_text` was given; ``""`` if *packed* is empty or damaged."""
    with suppress(FrameDamaged):
        return decompress(packed, _MAX_BYTES).decode("utf-8", "replace")
    return ""


def write_html(text: str, title: str = "") -> bytes:
    """Return *text*, paragraphs separated by empty lines, as HTML in UTF-8."""
    paragraphs = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in text.split("\n\n") if paragraph.strip())
    head = f"<title>{escape(title)}</title>" if title else ""
    return f"<html><head><meta charset='utf-8'>{head}</head><body>{paragraphs}</body></html>".encode("utf-8", "replace")
