"""A lexicon: how many documents of a collection have each word. A frozen file, so that signatures stay comparable.

No scheme learns while it runs. All data that depends on a collection is in a file that ``crawler-dedup lexicon build`` makes
once, and whose digest is in the header of each index that uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from importlib.resources import files
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_dedup.errors import ConfigError
from crawler_dedup.hashes import Numbers
from crawler_dedup.signing.features import Features, normalise, stem_words
from crawler_dedup.signing.initials import LETTERS, NO_INITIAL, find_initials, initial_of_each
from crawler_dedup.signing.segmentation import jieba_file
from crawler_dedup.signing.text import Text, hash_words
from crawler_dedup.signing.wordtables import GENERAL
from crawler_dedup.system.compression import compress, decompress
from crawler_dedup.system.files import open_replacement

SHINGLE_WIDTH = 5
"""Number of units in the shingles that a lexicon counts."""
COMMON_SHARE = 0.01
"""A shingle is common if a larger share of the documents has it."""

_MAGIC = b"crawler-dedup lexicon 1\n"
_LENGTH = 500  # tokens of a document in the collection that the general lexicon assumes
_DOCUMENTS = 1_000_000
_SLICE = 1_000
_ERROR = COMMON_SHARE / 10
_MAX_BYTES = 1 << 30


_KINDS = "u8", "u4", "u8", "u8"  # of the arrays in a file: words, counts, shingles, initial counts
_Packed = tuple[int, bytes, bytes, bytes, bytes]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Counts of one collection.

    Attributes:
        documents: number of documents.
        words: xxh3 of each token, ascending: uint64, shape (words,).
        counts: number of documents that have the token: uint32, the same shape.
        shingles: hashes of the runs of :data:`SHINGLE_WIDTH` units that more than :data:`COMMON_SHARE` of the documents
            have, ascending.
        initial_counts: how often each of :data:`~crawler_dedup.signing.initials.LETTERS` begins a word or the reading of a
            character: uint64.
    """

    documents: int
    words: Numbers
    counts: NDArray[np.uint32]
    shingles: Numbers
    initial_counts: Numbers

    def rarity(self, hashes: Numbers) -> NDArray[np.float64]:
        """Return for each token its idf, log(documents / documents with it), as a share of the largest: 0 to 1.

        ``nan`` for a token that the collection does not have.
        """
        shares = np.full(len(hashes), np.nan)
        if not len(self.words):
            return shares
        at = np.minimum(np.searchsorted(self.words, hashes), len(self.words) - 1)
        known = self.words[at] == hashes
        shares[known] = self._rarities[at[known]]
        return shares

    @cached_property
    def _rarities(self) -> NDArray[np.float64]:
        # In steps of 1/1000: not every machine rounds logarithms in the same way.
        largest = np.log(max(self.documents, 2))
        rarities: NDArray[np.float64] = np.rint(1000 * (1 - np.log(np.maximum(self.counts, 1)) / largest)) / 1000
        return rarities

    @cached_property
    def digest(self) -> str:
        """Digest of the lexicon's content, 16 hexadecimal digits."""
        return blake2b(self._packed(), digest_size=8).hexdigest()

    def write(self, path: Path) -> None:
        """Write the lexicon to *path*; an existing file is replaced when all is written. Raises :class:`OSError`."""
        packed = compress(self._packed(), level=9, checksum=True)
        with open_replacement(path) as file:
            file.write(_MAGIC + packed)

    def _packed(self) -> bytes:
        arrays: Sequence[NDArray[Any]] = self.words, self.counts, self.shingles, self.initial_counts
        parts = [array.astype(f"<{kind}").tobytes() for array, kind in zip(arrays, _KINDS, strict=True)]
        return msgspec.msgpack.encode((self.documents, *parts))


def lexicon_of(name: str, stem: str = "") -> Lexicon:
    """Return the lexicon that the option ``lexicon`` of a scheme names. Raises :class:`ConfigError` if it cannot be read.

    Args:
        stem: the language by whose rules the words that are looked up are stemmed. A user's own lexicon has stems if it was
            built with them.
    """
    if name != GENERAL:
        return _read(Path(name))
    return general(stem) if stem else general()


def build(texts: Iterable[Text], features_of: Callable[[Text], Features] = attrgetter("features")) -> Lexicon:
    """Count in how many of *texts* each feature and each shingle is, and how often each letter is an initial."""
    documents, words, shingles = 0, _Counts(), _Counts()
    letters = np.zeros(len(LETTERS), dtype=np.uint64)
    remaining = iter(texts)
    while batch := list(islice(remaining, _SLICE)):
        documents += len(batch)
        words.add([features_of(text).hashes for text in batch])
        shingles.add([text.shingles(SHINGLE_WIDTH) for text in batch])
        shingles.forget(_ERROR * documents)
        for text in batch:
            letters += np.bincount(find_initials(text.plain), minlength=len(LETTERS)).astype(np.uint64)
    return Lexicon(
        documents,
        words.hashes,
        words.counts.astype(np.uint32),
        shingles.hashes[shingles.counts + shingles.missed > max(COMMON_SHARE * documents, 2)],
        letters,
    )


class _Counts:
    """The number of documents that have each hash. Rare hashes can be forgotten while counting.

    Lossy counting: Manku and Motwani, "Approximate frequency counts over data streams", VLDB 2002, §4.2.

    Attributes:
        hashes: ascending.
        counts: number of documents with each hash, counted since it was last added.
        missed: maximum number of documents with each hash that were counted before and forgotten.
    """

    def __init__(self) -> None:
        self.hashes = np.zeros(0, dtype=np.uint64)
        self.counts = np.zeros(0, dtype=np.int64)
        self.missed = np.zeros(0)
        self._forgotten = 0.0

    def add(self, documents: list[Numbers]) -> None:
        new, counts = np.unique(np.concatenate(documents), return_counts=True)
        missed = np.full(len(new), self._forgotten)
        old = np.isin(new, self.hashes, assume_unique=True)
        missed[old] = self.missed[np.searchsorted(self.hashes, new[old])]
        hashes, places = np.unique(np.concatenate([self.hashes, new]), return_inverse=True)
        self.counts = np.bincount(places, np.concatenate([self.counts, counts])).astype(np.int64)
        all_missed = np.zeros(len(hashes))
        all_missed[places] = np.concatenate([self.missed, missed])
        self.hashes, self.missed = hashes, all_missed

    def forget(self, count: float) -> None:
        """Forget the hashes that at most *count* documents can have."""
        kept = self.counts + self.missed > count
        self.hashes, self.counts, self.missed = self.hashes[kept], self.counts[kept], self.missed[kept]
        self._forgotten = count


@cache
def general(stem: str = "") -> Lexicon:
    """Make the lexicon of English and Chinese at large from the 30,000 most frequent English words and jieba's dictionary.

    A word with the share *p* of all words is assumed to be in 1 - (1 - p)^500 of the documents. Takes a second.
    """
    english, chinese = _general_files()
    shares = {word: 10 ** (-float(rarity) / 100) for word, rarity in _table(decompress(english, _MAX_BYTES).decode())}
    jieba = [(word, int(count)) for word, count in _table(chinese.decode())]
    total = sum(count for _, count in jieba)
    for word, count in jieba:
        shares.setdefault(word, count / total)
    words = stem_words([*shares], stem) if stem else [*shares]
    hashes, word_numbers = np.unique(hash_words(words), return_inverse=True)
    share = np.bincount(word_numbers, np.fromiter(shares.values(), dtype=np.float64))
    counts = np.rint(_DOCUMENTS * (1 - (1 - share) ** _LENGTH)).clip(1, _DOCUMENTS).astype(np.uint32)
    letters = initial_of_each("".join(word for word, _ in jieba))
    times = np.repeat([count for _, count in jieba], [len(word) for word, _ in jieba])
    has_initial = letters != NO_INITIAL
    sums = np.bincount(letters[has_initial], times[has_initial], minlength=len(LETTERS)).astype(np.uint64)
    return Lexicon(_DOCUMENTS, hashes, counts, np.zeros(0, dtype=np.uint64), sums)


def lexicon_digest(name: str) -> str:
    """Return the digest of :func:`lexicon_of`, quickly. Raises as it does."""
    if name != GENERAL:
        return lexicon_of(name).digest
    return blake2b(b"".join([_MAGIC, *_general_files()]), digest_size=8).hexdigest()


def _general_files() -> tuple[bytes, bytes]:
    return (files("crawler_dedup") / "data/english.txt.zst").read_bytes(), jieba_file().read_bytes()


def _table(content: str) -> list[tuple[str, str]]:
    """Return the first two columns of a table, normalised."""
    rows = (line.split(" ") for line in normalise(content).splitlines())
    return [(row[0], row[1]) for row in rows if len(row) > 1]


@cache
def _read(path: Path) -> Lexicon:
    try:
        content = path.read_bytes()
        if not content.startswith(_MAGIC):
            raise ConfigError(f"{path} is not a lexicon; `crawler-dedup lexicon build` makes one.")
        documents, *parts = msgspec.msgpack.decode(decompress(content[len(_MAGIC) :], _MAX_BYTES), type=_Packed)
        words, counts, shingles, letters = (
            np.frombuffer(part, dtype=f"<{kind}").astype(kind) for part, kind in zip(parts, _KINDS, strict=True)
        )
        if len(words) != len(counts) or len(letters) != len(LETTERS):
            raise ValueError("its parts have different lengths")
        if (words[1:] <= words[:-1]).any():
            raise ValueError("its words are not in order")
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise ConfigError(f"The lexicon {path} cannot be read: {error}") from error
    return Lexicon(documents, words, counts, shingles, letters)
