"""The blocks of a text page as they are kept for the rules: facts with a short hash, longer blocks with a sketch.

A block of up to :data:`LONG` letters is a fact (a city, a price, a date): another fact in its place makes another page. A
longer block is a text that may be edited: its sketch has six min-hashes of four bits, by which two states of one text are
recognised (Broder, "On the resemblance and containment of documents", 1997), and it has sets of its numbers and names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.signedpage import COVER_IS_NEW, COVER_SET_END, LONGEST_FACT, CoverParts, Trait, split_cover
from crawler_dedup.signing.names import DENIAL_BITS, NAME_BITS

LONG = 60
"""Letters: longer blocks have a sketch."""
# The key of a longer block has, from its lowest bits, a set of its numbers, a set of its names, its sketch, and a mark.
_SET_BITS = 127  # 128 less one: a byte has room for a member, and for the mark of the last one
_SET = (1 << _SET_BITS) - 1
_SKETCH = 2 * _SET_BITS
_SKETCHED = 1 << _SKETCH + 24
_WINDOW = 6  # bytes: about a word; two unrelated texts of a language have hardly any in common
_FACTORS = np.array(
    [
        0x9E3779B97F4A7C15,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0xD6E8FEB86659FD93,
        0xA0761D6478BD642F,
        0xE7037ED1A0B428DB,
    ],
    dtype=np.uint64,
)
# Sizes are codes of a byte: up to 512 letters in steps of 4, above in steps of 3 %, up to 20,000.
_SIZES = np.array(
    [4 * code if code < 128 else round(512 * 1.03 ** (code - 128)) for code in range(256)], dtype=np.uint32
)
_REMEMBERED = 128
_HIDDEN = int(Trait.HIDDEN)
_BIT_OF = [1 << (byte & ~COVER_SET_END) for byte in range(256)]


class CoverBlock(NamedTuple):
    """A block of a text page.

    Attributes:
        key: of a fact 16 bits of its hash; of a longer block its sketch (24 bits) above the sets of its names and of its
            numbers (127 bits each).
        traits: bits of :class:`crawler_dedup.signedpage.Trait`. Of a kept page only HIDDEN.
        size: its size in Latin letters, rounded up.
        needed: the set of names that a kept block must have if this block is an edit of it. Of a kept page it is empty.
    """

    key: int
    traits: int
    size: int
    needed: int = 0

    @property
    def is_fact(self) -> bool:
        """Whether another block in its place makes another page."""
        return self.key < _SKETCHED


# The same as CoverBlock._make, without calling a function in Python for each block.
_make_block = partial(tuple.__new__, CoverBlock)


def count_common(first: CoverBlock, second: CoverBlock) -> int:
    """Return how many of the six min-hashes of two longer blocks are the same."""
    different = (first.key ^ second.key) >> _SKETCH
    return sum(not different >> shift & 0xF for shift in range(0, 24, 4))


def lacks_numbers(new: CoverBlock, kept: CoverBlock) -> bool:
    """Return whether *new* has a number that *kept* lacks."""
    return bool(new.key & ~kept.key & _SET)


def lacks_names(new: CoverBlock, kept: CoverBlock, *, is_part: bool) -> bool:
    """Return whether *new* has a name that *kept* lacks, or a different number of denials.

    Args:
        is_part: whether *new* is so much shorter that it is rather a part of *kept*, which may deny more.
    """
    names = kept.key >> _SET_BITS & _SET
    new_denials, denials = new.needed & DENIAL_BITS, names & DENIAL_BITS
    return bool(new.needed & ~names & NAME_BITS) or (new_denials > denials if is_part else new_denials != denials)


def key_of_fact(number: int) -> int:
    """Return the key of a fact with the hash *number*."""
    return number & 0xFFFF


def keys_of_texts(texts: Sequence[tuple[bytes, Sequence[str], int]]) -> list[int]:
    """Return the keys of longer blocks, given the letters, the numbers and the set of names of each.

    The windows of six bytes are hashed at every offset, for all blocks at once.
    """
    if not texts:
        return []
    content = b"".join([*(letters.ljust(_WINDOW, b"\0") for letters, *_ in texts), b"\0\0"])  # eight bytes are read
    ends = np.cumsum([max(len(letters), _WINDOW) for letters, *_ in texts])
    windows = np.ndarray((len(content) - 7,), dtype="<u8", buffer=content, strides=(1,)).astype(np.uint64) << np.uint64(
        16
    )
    windows ^= windows >> np.uint64(29)
    starts = np.concatenate([[0], ends[:-1]])
    # A block has no window that goes on in the next one: of each two slices the second is left out.
    bounds = np.stack([starts, ends - _WINDOW + 1], axis=1).ravel()[: 2 * len(texts) - 1]
    sketches = np.zeros(len(texts), dtype=np.uint64)
    for factor in _FACTORS:
        least = np.minimum.reduceat(_mix(windows * factor), bounds)[::2]
        sketches = sketches << np.uint64(4) | (least ^ least >> np.uint64(7) ^ least >> np.uint64(17)) & np.uint64(0xF)
    return [
        _SKETCHED | sketch << _SKETCH | names << _SET_BITS | _set_of(numbers)
        for sketch, (_, numbers, names) in zip(sketches.tolist(), texts, strict=True)
    ]


def _set_of(numbers: Sequence[str]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << xxh3_64_intdigest(number.encode()) % _SET_BITS
    return bits


def _mix(values: np.ndarray) -> np.ndarray:
    values ^= values >> np.uint64(32)
    return values * np.uint64(0x9FB21C651E98DF25)


def encode_cover(blocks: Sequence[CoverBlock], *, is_new: bool) -> bytes:
    """Pack *blocks*, whose sizes may be rounded up (:func:`decode_cover`).

    A fact takes about 3 bytes, a longer block 4, and its numbers and names a byte each.

    Args:
        is_new: whether the page may be compared as the new one: all traits are kept, and the names that a kept block needs.
            Of a kept page only the trait of hidden blocks is kept.
    """
    if not blocks:
        return b""
    sizes = np.minimum(np.searchsorted(_SIZES, np.array([block.size for block in blocks], dtype=np.uint32)), 255)
    sizes = np.where(
        [block.is_fact for block in blocks], np.minimum(sizes, LONGEST_FACT), np.maximum(sizes, LONGEST_FACT + 1)
    )
    traits = [block.traits for block in blocks]
    facts = np.array([block.key for block in blocks if block.is_fact], dtype="<u2")
    texts = [block for block in blocks if not block.is_fact]
    sketches = np.array([block.key >> _SKETCH & 0xFFFFFF for block in texts], dtype="<u4").view(np.uint8)
    sets = [part for block in texts for part in (block.key & _SET, block.key >> _SET_BITS & _SET)]
    if is_new:
        sets += [block.needed for block in texts]
    columns = (
        sizes.astype(np.uint8).tobytes(),
        bytes(traits) if is_new else _pack_flags([trait & _HIDDEN for trait in traits]),
        facts.tobytes(),
        sketches.reshape(-1, 4)[:, :3].tobytes(),
        _pack_flags(sets),
        *map(_pack_set, filter(None, sets)),
    )
    return (len(blocks) | COVER_IS_NEW * is_new).to_bytes(2, "little") + b"".join(columns)


def _pack_flags(values: Sequence[int]) -> bytes:
    return np.packbits(np.array([bool(value) for value in values], dtype=bool)).tobytes()


def _unpack_flags(packed: bytes, count: int) -> list[int]:
    flags: list[int] = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), count=count).tolist()
    return flags


def _pack_set(bits: int) -> bytes:
    members = bytearray()
    while bits:
        members.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    members[-1] |= COVER_SET_END
    return bytes(members)


@lru_cache(maxsize=_REMEMBERED)
def decode_cover(packed: bytes) -> tuple[CoverBlock, ...]:
    """Return the blocks that :func:`encode_cover` has packed. Raises :class:`msgspec.DecodeError`."""
    if not packed:
        return ()
    parts = _split(packed)
    codes = np.frombuffer(parts.sizes, dtype=np.uint8)
    count, is_text = len(codes), codes > LONGEST_FACT
    texts = int(is_text.sum())
    hidden = () if parts.is_new else _unpack_flags(parts.traits, count)
    traits = parts.traits if parts.is_new else [_HIDDEN * flag for flag in hidden]
    values = np.zeros(count, dtype=np.uint32)
    values[~is_text] = np.frombuffer(parts.facts, dtype="<u2")
    sketches = np.zeros((texts, 4), dtype=np.uint8)
    sketches[:, :3] = np.frombuffer(parts.sketches, dtype=np.uint8).reshape(-1, 3)
    values[is_text] = sketches.view("<u4").ravel()
    keys: list[int] = values.tolist()
    needed = [0] * count
    members = iter(_unpack_sets(parts.members))
    sets = [next(members) if flag else 0 for flag in _unpack_flags(parts.flags, (2 + parts.is_new) * texts)]
    for at, place in enumerate(np.flatnonzero(is_text).tolist()):
        numbers, names = sets[2 * at : 2 * at + 2]
        keys[place] = _SKETCHED | keys[place] << _SKETCH | names << _SET_BITS | numbers
        needed[place] = sets[2 * texts + at] if parts.is_new else 0
    return tuple(map(_make_block, zip(keys, traits, _SIZES[codes].tolist(), needed, strict=True)))


def _split(packed: bytes) -> CoverParts:
    parts = split_cover(packed)
    if parts is None:
        raise msgspec.DecodeError("the blocks of a text have a length that they cannot have")
    return parts


def read_traits(packed: bytes) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """Return, for each block of a new page, whether it has a size, and its traits. Raises :class:`msgspec.DecodeError`."""
    parts = _split(packed)
    if not parts.is_new:
        raise msgspec.DecodeError("the blocks of a text are those of a kept page")
    return np.frombuffer(parts.sizes, dtype=np.uint8) > 0, np.frombuffer(parts.traits, dtype=np.uint8)


def keep_blocks(packed: bytes, is_kept: NDArray[np.bool_]) -> bytes:
    """Return those blocks of a new page that are kept, as :func:`encode_cover` packs the blocks of a kept page."""
    if not is_kept.any():
        return b""
    parts = _split(packed)
    sizes, traits, members = (
        np.frombuffer(column, dtype=np.uint8) for column in (parts.sizes, parts.traits, parts.members)
    )
    is_text = sizes > LONGEST_FACT
    kept_texts = is_kept[is_text]
    has_members = np.unpackbits(np.frombuffer(parts.flags, dtype=np.uint8), count=3 * len(kept_texts)).view(np.bool_)
    # A kept page has no names that another one needs, which are the last third of the sets.
    kept_sets = np.concatenate([np.repeat(kept_texts, 2), np.zeros(len(kept_texts), dtype=np.bool_)])
    ends = members >= COVER_SET_END
    kept_members = kept_sets[has_members][np.cumsum(ends) - ends]
    columns = (
        sizes[is_kept],
        np.packbits(traits[is_kept] & _HIDDEN > 0),
        np.frombuffer(parts.facts, dtype="<u2")[is_kept[~is_text]],
        np.frombuffer(parts.sketches, dtype=np.uint8).reshape(-1, 3)[kept_texts],
        np.packbits(has_members[kept_sets]),
        members[kept_members],
    )
    return int(is_kept.sum()).to_bytes(2, "little") + b"".join([column.tobytes() for column in columns])


def _unpack_sets(packed: bytes) -> list[int]:
    sets, bits = [], 0
    for byte in packed:
        bits |= _BIT_OF[byte]
        if byte & COVER_SET_END:
            sets.append(bits)
            bits = 0
    return sets
