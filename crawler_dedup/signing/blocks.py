"""The blocks of a page as short hashes, by which a site learns what its pages have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.outline import Block

MAX_BLOCKS = 512
"""Blocks of a page that are hashed; of more, those that say most."""


def pack_blocks(blocks: Sequence[Block], max_chars: int) -> bytes:
    """Return 32 bits of xxh3 of each different block, in reading order, as little-endian numbers.

    Two blocks are the same if their texts are after normalising (NFKC, case and Traditional characters folded, runs of
    white space as one space).

    Args:
        max_chars: characters that are read; of a page that has more, the blocks behind them are left out.
    """
    sizes: dict[str, int] = {}
    # All at once: of a short text the call costs more than the work.
    plain = normalise("\n".join(_first(blocks, max_chars)))
    for text, block in zip(plain.split("\n"), blocks, strict=False):
        sizes.setdefault(text if text.isascii() else " ".join(text.split()), block.size)
    if len(sizes) > MAX_BLOCKS:
        largest = set(sorted(sizes, key=sizes.__getitem__, reverse=True)[:MAX_BLOCKS])
        sizes = {text: size for text, size in sizes.items() if text in largest}
    hashes = [xxh3_64_intdigest(text.encode("utf-8", "replace")) >> 32 for text in sizes]
    return np.array(hashes, dtype="<u4").tobytes()


def _first(blocks: Sequence[Block], max_chars: int) -> list[str]:
    """Return the texts of the first blocks that have up to *max_chars* characters together."""
    texts, left = [], max_chars
    for block in blocks:
        left -= len(block.text)
        if left < 0:
            break
        texts.append(block.text)
    return texts
