"""Feature vectors: the heaviest terms of a text, compared by the angle between them.

Cao et al. 2009, for Chinese pages: normalised tf-idf, the 20 heaviest terms. The source gives no threshold: among labelled
Chinese pages, .9 and .95 have one false pair each, and .7, .75, .8 and .85 have more. It uses the place of a term without
saying how: here *lead* raises the count of each term in the first characters by one. By default it does not: with 100
characters, a tenth of the texts in another order and more of the excerpts are missed (``python -m benchmarks.excerpts``).
The source's categories narrow the search; here they are scopes (a callable as ``DEDUP_SCOPE``).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hashes import Numbers
from crawler_dedup.signing.features import tokenise, weigh_tokens
from crawler_dedup.signing.schemes.featured import FeatureScheme
from crawler_dedup.signing.schemes.scheme import Agreement, ValueScheme, option
from crawler_dedup.signing.text import Text

_ROW = np.dtype([("term", "<u4"), ("weight", "<u2")])
_UNIT = 60_000
_ROUNDING = 1e-6
_UNKNOWN = 0.5  # rarity of names and numbers; with the rarity of the rarest words, they outweighed all others
_SIZE = struct.Struct("<I")


class _Vector(NamedTuple):
    size: int
    terms: NDArray[np.uint32]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class DDW(FeatureScheme, ValueScheme):
    """The 20 heaviest terms of a text by tf-idf, as a vector of length 1; two texts agree if their cosine is large.

    Terms are sorted, rarest first. Two vectors whose cosine reaches the threshold share one of the first terms: those for
    which the vector from this term on is at least as long as the threshold (prefix filtering: Bayardo, Ma and Srikant,
    "Scaling up all pairs similarity search", WWW 2007). Only these terms are keys, so terms that every text has are not
    probed.

    Good at: long pages in Chinese or English in which only words changed that are not among the heaviest terms. Bad at:
    pages from one template, whose heaviest terms are the template's; languages that the lexicon lacks. The lexicon's words
    are those of jieba, so the tokenizer ``bigrams`` needs a lexicon of its own.

    About 120 bytes a page, 3 to 8 keys.

    Attributes:
        terms: number of terms.
        threshold: least cosine.
        lead: number of characters at the beginning of the text; the count of each term in them is raised by one.
        longer: largest ratio of the new text's distinct words to the kept text's: an excerpt does not cover an article.
    """

    name: ClassVar[str] = "ddw"

    terms: int = option(20, "1 to 200")
    threshold: float = option(0.9, "0.1 to 1")
    lead: int = option(0, "0 to 10000")
    longer: float = option(1.25, "1 to 100", filed=False)

    def value(self, text: Text) -> bytes:
        features = self.features_of(text)
        hashes, counts = features.content, features.counts[features.is_content]
        if self.lead:
            first = weigh_tokens(self.featured(tokenise(text.plain[: self.lead], text.cut_han)))
            counts = counts + np.isin(hashes, first.hashes)
        if not len(hashes):
            return b""
        rarity = np.nan_to_num(self.loaded_lexicon.rarity(hashes), nan=_UNKNOWN)
        weights = counts * rarity
        heaviest = np.lexsort((hashes, -weights))[: self.terms]
        ordered = heaviest[np.lexsort((hashes[heaviest], -rarity[heaviest]))]
        length = np.sqrt((weights[ordered] ** 2).sum())
        if not length:
            return b""
        rows = np.zeros(len(ordered), dtype=_ROW)
        rows["term"] = (hashes[ordered] >> np.uint64(32)).astype(np.uint32)
        rows["weight"] = np.rint(_UNIT * weights[ordered] / length)
        return _SIZE.pack(len(hashes)) + rows.tobytes()

    def keys_of(self, value: bytes) -> Numbers:
        vector = _unpack(value)
        # The length of the vector from each term on, the term itself included.
        remaining = np.sqrt(np.cumsum(vector.weights[::-1] ** 2)[::-1])
        return vector.terms[remaining >= self.threshold - _ROUNDING].astype(np.uint64)

    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        shares = self.shares(new, kept)
        is_short = _unpack(new).size <= self.longer * _unpack(kept).size
        return shares.if_at_least(self.threshold - _ROUNDING, 0) if is_short else None

    def shares(self, new: bytes, kept: bytes) -> Agreement:
        """Return the cosine, and the share of the new vector's squared length that common terms have."""
        ours, theirs = _unpack(new), _unpack(kept)
        _, new_places, kept_places = np.intersect1d(ours.terms, theirs.terms, return_indices=True)
        cosine = float((ours.weights[new_places] * theirs.weights[kept_places]).sum())
        coverage = min(float((ours.weights[new_places] ** 2).sum()), 1.0)
        return Agreement(resemblance=min(cosine, 1.0), coverage=coverage)


def _unpack(value: bytes) -> _Vector:
    if len(value) < _SIZE.size:
        raise ValueError("a signature is cut off")
    rows = np.frombuffer(value[_SIZE.size :], dtype=_ROW)
    weights = rows["weight"] / _UNIT
    return _Vector(
        _SIZE.unpack(value[: _SIZE.size])[0],
        rows["term"].astype(np.uint32),
        weights / max(1e-9, float(np.sqrt((weights**2).sum()))),
    )
