"""Synthetic signatures and pages, and their true neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha1
from itertools import count

import numpy as np

from crawler_dedup import SignedPage
from crawler_dedup.hashes import Numbers

Truths = dict[int, dict[int, int]]
"""The neighbours of each signature that is looked up, with their distances."""

_CHUNK = 1 << 20
_FIRST_CHUNK = 1 << 10
_FRESH = 1 << 18
_SPIKES = np.random.default_rng(64).integers(0, 1 << 64, 5, dtype=np.uint64)


def clustered(size: int, seed: int | Sequence[int]) -> Numbers:
    """Return *size* signatures: 30 % within distance 6 of an earlier signature, 1 % one of five values, others uniform."""
    chance = np.random.default_rng(seed)
    signatures = np.empty(size, dtype=np.uint64)
    at = 0
    while at < size:  # an "earlier" signature is in an earlier chunk, so the first chunks are small
        end = min(size, at + min(max(at, _FIRST_CHUNK), _CHUNK))
        signatures[at:end] = _chunk(chance, signatures[:at], end - at)
        at = end
    return signatures


def _chunk(chance: np.random.Generator, earlier: Numbers, size: int) -> Numbers:
    chunk = chance.integers(0, 1 << 64, size, dtype=np.uint64)
    kind = chance.random(size)
    if len(earlier):
        clones = kind < 0.3
        chunk[clones] = flipped(chance, _drawn(chance, earlier, int(clones.sum())))
    spikes = kind >= 0.99
    chunk[spikes] = _drawn(chance, _SPIKES, int(spikes.sum()))
    return chunk


def _drawn(chance: np.random.Generator, signatures: Numbers, size: int) -> Numbers:
    return signatures[chance.integers(0, len(signatures), size)]


def flipped(chance: np.random.Generator, signatures: Numbers, most: int = 6) -> Numbers:
    """Flip 0 to *most* bits of each signature."""
    flips = chance.integers(0, most + 1, len(signatures))
    for number in range(most):
        bit = np.uint64(1) << chance.integers(0, 64, len(signatures), dtype=np.uint64)
        signatures = signatures ^ np.where(number < flips, bit, np.uint64(0))
    return signatures


def questions(stored: Numbers, size: int, seed: int) -> list[int]:
    """Return signatures to look up: in turn a stored signature with up to six bits flipped, and a random signature."""
    chance = np.random.default_rng(seed)
    asked = chance.integers(0, 1 << 64, size, dtype=np.uint64)
    asked[::2] = flipped(chance, _drawn(chance, stored, len(asked[::2])))
    return [int(signature) for signature in asked]


def fresh(*seed: int) -> Iterator[int]:
    """Yield an endless stream of signatures with clusters, as they are inserted while an index is used."""
    for number in count():
        yield from clustered(_FRESH, (*seed, number)).tolist()


def neighbours(stored: Numbers, signature: int, most: int) -> dict[int, int]:
    """Return all *stored* signatures within *most* bits, with their distances, by brute force with numpy."""
    near_signatures: dict[int, int] = {}
    for at in range(0, len(stored), _CHUNK):
        block = stored[at : at + _CHUNK]
        distances = np.bitwise_count(block ^ np.uint64(signature))
        near = np.flatnonzero(distances <= most)
        near_signatures.update(zip(block[near].tolist(), distances[near].tolist(), strict=True))
    return near_signatures


def pages(signatures: Iterable[int], seed: int) -> Iterator[SignedPage]:
    """Yield a page of realistic size for each signature. Their titles differ, so that no page stands for another."""
    chance = np.random.default_rng(seed)
    for number, signature in enumerate(signatures):
        key = sha1(b"%d of %d" % (number, seed)).hexdigest()
        yield SignedPage(
            key=key,
            url=f"https://www.example.org/{key}".ljust(80, "x"),
            scope="spider bench",
            title=f"{key[:20]} · a title of pages".ljust(40, "."),
            digest=chance.bytes(16),
            size=20_000,
            chars=2000,
            signature=signature,
            features=300,
            link_count=30,
            link_digest=chance.bytes(8),
        )
