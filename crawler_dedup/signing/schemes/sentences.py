"""Digests of whole sentences, or of the characters around full stops.

People who look for reposts search for the longest sentences; each of these has a digest. Wu et al. take five characters on
both sides of each full stop of a Chinese page instead; if a text has more full stops than *most*, the digests with the
smallest hashes are kept, which are the same in every text that has them. Neither source says how many digests must agree.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import ClassVar

import numpy as np

from crawler_dedup.hashes import Numbers, mix_bits, sort_distinct
from crawler_dedup.signing.features import normalise, split_units
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme, compare_members, option
from crawler_dedup.signing.text import Text, hash_words

_STOP = re.compile(r"[。！？!?…\n]+|\.(?=\s|$)")
_FULL_STOP = re.compile(r"[。．｡]|\.(?=\s|$)")
_ODD = re.compile(r"[\W_]+")
_AROUND = 5
_SIZE = struct.Struct("<I")
_LEAST_UNITS = 6


@dataclass(frozen=True)
class Sentences(ValueScheme):
    """A few distinctive sentences of a text: another text agrees if it has most of them.

    Good at: reposts with another beginning and end, articles inside other templates. Bad at: texts in which every sentence
    was changed, tables, and terms of use that are below many articles.

    Up to 84 bytes a page, ten keys.

    Attributes:
        unit: ``longest``: the longest sentences; ``stops``: the five characters on both sides of a full stop.
        most: maximum number of digests of a text.
        least: least share of the new text's digests that the kept text must have.
        longer: largest ratio of the new text's words to the kept text's: an excerpt does not cover an article.
    """

    name: ClassVar[str] = "sentences"

    unit: str = option("longest", "longest|stops")
    most: int = option(10, "1 to 100")
    least: float = option(0.6, "0.01 to 1", filed=False)
    longer: float = option(1.25, "1 to 100", filed=False)

    def value(self, text: Text) -> bytes:
        digests = _longest(text) if self.unit == "longest" else _stops(text)
        if not len(digests):
            return b""
        return _SIZE.pack(len(text.units)) + sort_distinct(digests[: self.most]).astype("<u8").tobytes()

    def keys_of(self, value: bytes) -> Numbers:
        return np.frombuffer(value[_SIZE.size :], dtype="<u8")

    def least_hits(self, value: bytes) -> int:
        return max(1, ceil(self.least * len(self.keys_of(value))))

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        common = len(np.intersect1d(self.keys_of(new), self.keys_of(kept), assume_unique=True))
        is_enough = common >= self.least_hits(new) and _size(new) <= self.longer * _size(kept)
        return self.shares(new, kept) if is_enough else None

    def shares(self, new: bytes, kept: bytes) -> Agreement:
        return compare_members(self.keys_of(new), self.keys_of(kept))


def _size(value: bytes) -> int:
    """Return the number of words in the text (characters, in scripts without spaces)."""
    return int(_SIZE.unpack(value[: _SIZE.size])[0])


def _longest(text: Text) -> Numbers:
    """Return the distinct hashes of all sentences of at least six units, sorted by length, longest first, then by hash."""
    sentences = [split_units(sentence) for sentence in _parts(_STOP, text)]
    long = [units for units in sentences if len(units) >= _LEAST_UNITS]
    hashes = hash_words([" ".join(units) for units in long])
    lengths = np.array([sum(map(len, units)) for units in long], dtype=np.int64)
    ordered = hashes[np.lexsort((hashes, -lengths))]
    return ordered[np.sort(np.unique(ordered, return_index=True)[1])]


def _stops(text: Text) -> Numbers:
    """Return hashes of the text around each full stop, smallest first, so that the first are the same in every text."""
    parts = [_ODD.sub("", part) for part in _parts(_FULL_STOP, text)]
    around = [before[-_AROUND:] + "." + after[:_AROUND] for before, after in pairwise(parts)]
    whole = [piece for piece in around if len(piece) == 2 * _AROUND + 1]
    return sort_distinct(mix_bits(hash_words(whole)))


def _parts(between: re.Pattern[str], text: Text) -> list[str]:
    """Return the normalised parts between the stops. Splitting comes first, because normalising removes punctuation."""
    lines = "\n".join(" ".join(part.split("\n")) for part in between.split(text.raw))
    return normalise(lines).split("\n")
