"""Min-wise samples of sets, and the resemblance by them. Broder et al., "Min-wise independent permutations", 1998."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hamming import Numbers, mix_bits

_STEP = 0x9E3779B97F4A7C15
_ELEMENTS = 1024  # hashes that are thrown into the bins in one pass, over all its rounds
_ROUND_BITS = 16


def one_permutation(hashes: Numbers, bins: int) -> Numbers:
    """Return a number for each bin; two sets have the same number with a probability equal to their resemblance.

    One-permutation hashing (Li, Owen and Zhang 2012): the hashes are thrown into the bins, and each bin keeps its smallest.
    If a set is too small to fill all bins, its hashes are permuted in another way and thrown into the empty bins, round
    after round (Dahlgaard, Knudsen and Thorup, "Fast similarity sketching", FOCS 2017, §2). Unlike copying from a
    neighbouring bin (Shrivastava and Li 2014), this leaves the estimate as exact as with independent permutations.

    Args:
        hashes: uint64, distinct, at least one.
        bins: number of bins, a power of two.

    Returns:
        uint64, shape (bins,); each number has 48 bits less the bits of a bin's number.
    """
    width = bins.bit_length() - 1
    order_bits = np.uint64(64 - _ROUND_BITS - width)
    filled = np.zeros(bins, dtype=np.uint64)
    is_full = np.zeros(bins, dtype=np.bool_)
    first, rounds = 0, 1
    while not is_full.all():
        seeds = (np.arange(first, first + rounds, dtype=np.uint64) * np.uint64(_STEP))[:, None]
        thrown = mix_bits(hashes[None, :] ^ seeds)
        into = thrown >> np.uint64(64 - width)
        order = (thrown >> np.uint64(_ROUND_BITS)) & ((np.uint64(1) << order_bits) - np.uint64(1))
        round_of = np.arange(rounds, dtype=np.uint64)[:, None]
        # Sorted by bin, round and order within: the first of each bin is the smallest of its earliest round.
        ranked = np.sort(((into << np.uint64(_ROUND_BITS) | round_of) << order_bits | order).ravel())
        owners = (ranked >> np.uint64(64 - width)).astype(np.intp)
        at = np.flatnonzero(np.diff(owners, prepend=-1))
        new = at[~is_full[owners[at]]]
        filled[owners[new]] = ranked[new] & ((np.uint64(1) << order_bits) - np.uint64(1))
        is_full[owners[new]] = True
        first += rounds
        rounds = max(1, min(_ELEMENTS // len(hashes), (1 << _ROUND_BITS) - 1))
    return filled


def estimate_resemblance(new: NDArray[np.uint8], kept: NDArray[np.uint8]) -> float:
    """Estimate the resemblance of two sets, 0 to 1, from the low 8 bits of each of their min-wise numbers.

    The estimate is the share of equal numbers, corrected for those that are equal by chance (Li and König, "b-Bit minwise
    hashing", WWW 2010, theorem 1, for large sets). Raises :class:`ValueError` if the shapes differ.
    """
    if new.shape != kept.shape:
        raise ValueError("two signatures of different lengths")
    agreeing = np.count_nonzero(new == kept) / max(len(new), 1)
    return float(max(0.0, (agreeing - 1 / 256) / (1 - 1 / 256)))
