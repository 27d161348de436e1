"""Traditional Chinese characters → simplified ones, so that a text in either writing is one text.

Character by character, by the table of OpenCC; also a few characters that are folded in some words only (瞭 is 了 in 瞭解).
That they are folded here in all words does not matter: both writings of a text go through the same table.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import opencc
from numpy.typing import NDArray

_BLOCKS = ((0x3400, 0xA000), (0xF900, 0xFB00), (0x20000, 0x323B0))
_SIZE = _BLOCKS[-1][1]
_IN_SOME_WORDS = {"瞭": "了", "覆": "复", "藉": "借", "暱": "昵", "著": "着"}


def simplified(text: str) -> str:
    """*text* with every Traditional character folded to its simplified form."""
    if text.isascii():
        return text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    folded = _table()[np.minimum(codes, _SIZE)]
    # What stands above the table stays; so does a text without anything to fold.
    changed = (folded != codes) & (codes < _SIZE)
    if not changed.any():
        return text
    return np.where(changed, folded, codes).astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _table() -> NDArray[np.uint32]:
    table = np.arange(_SIZE + 1, dtype=np.uint32)
    codes = np.concatenate([np.arange(*block, dtype=np.uint32) for block in _BLOCKS])
    lines = opencc.OpenCC("t2s").convert("\n".join(map(chr, codes.tolist()))).split("\n")
    table[codes] = [ord(line) if len(line) == 1 else code for line, code in zip(lines, codes.tolist(), strict=True)]
    table[[ord(one) for one in _IN_SOME_WORDS]] = [ord(one) for one in _IN_SOME_WORDS.values()]
    folded: NDArray[np.uint32] = table[table]  # a form between two others leads on to the last
    return folded
