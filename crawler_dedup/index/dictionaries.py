"""Dictionaries with which an index compresses short texts that are alike: scopes, addresses, titles.

Zstandard's trainer chooses what stands in a dictionary; the texts are raw DEFLATE (RFC 1951) with that as preset. For a
hundred bytes this is smaller than a frame of Zstandard, and a tenth of the work to read: Python makes a decompressor of
Zstandard anew for each frame, which clears 100 KB.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import lmdb
import msgspec
from xxhash import xxh3_64_digest

from crawler_dedup.index.decoding import decode_number
from crawler_dedup.system.compression import train_dictionary

TRAINED_ON = 1024
"""Texts from which a dictionary is made."""
MAX_TEXT_BYTES = 1 << 20
"""Bytes of the longest text that is compressed."""

_SAMPLE_BYTES = 512
_DICTIONARY_BYTES = 1 << 14
_WINDOW_BITS = -14  # raw DEFLATE
_MEMORY_LEVEL = 5  # little to copy for each text
_LEVEL = 6
_DIGEST_BYTES = 8


@dataclass(frozen=True)
class Dictionary:
    """What the texts of an index often contain.

    Attributes:
        number: by which records name it.
        digest: XXH3-64 of the content.
        content: the preset of DEFLATE.
    """

    number: int
    digest: bytes
    content: bytes
    _compressor: zlib._Compress = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        compressor = zlib.compressobj(
            _LEVEL, zlib.DEFLATED, _WINDOW_BITS, _MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, self.content
        )
        object.__setattr__(self, "_compressor", compressor)

    def compress(self, text: bytes) -> bytes:
        """Compress a text of up to :data:`MAX_TEXT_BYTES`."""
        compressor = self._compressor.copy()
        return compressor.compress(text) + compressor.flush()

    def decompress(self, packed: bytes) -> bytes:
        """Return the text that was compressed; raise :class:`msgspec.DecodeError` for anything else."""
        decompressor = zlib.decompressobj(_WINDOW_BITS, self.content)
        try:
            text = decompressor.decompress(packed, MAX_TEXT_BYTES)
        except zlib.error as error:
            raise msgspec.DecodeError(f"a text is damaged: {error}") from error
        if not decompressor.eof or decompressor.unused_data:
            raise msgspec.DecodeError("a text is cut off, too long, or followed by something")
        return text


class Dictionaries:
    """The dictionaries of one index, by number. The numbers begin with 1; 0 means none."""

    def __init__(self, env: lmdb.Environment, txn: lmdb.Transaction | None) -> None:
        self._dictionaries = env.open_db(b"dictionaries", txn)
        self._last: Dictionary | None = None  # replaced at once: several threads read

    def find(self, txn: lmdb.Transaction, number: int) -> Dictionary:
        """Return the dictionary with *number*; raise :class:`msgspec.DecodeError` where it is missing or damaged."""
        stored = txn.get(_name(number), db=self._dictionaries)
        if stored is None:
            raise msgspec.DecodeError(f"there is no dictionary {number}")
        last = self._last
        # By its digest: another process may have emptied the index and trained another one with this number.
        if last is None or last.number != number or last.digest != stored[:_DIGEST_BYTES]:
            last = self._last = _load(number, bytes(stored))
        return last

    def find_newest(self, txn: lmdb.Transaction) -> Dictionary | None:
        """Return the dictionary with the highest number, or ``None``. Raises as :meth:`find`."""
        newest = self._find_newest_number(txn)
        return self.find(txn, newest) if newest else None

    def add(self, txn: lmdb.Transaction, texts: Iterable[bytes]) -> bool:
        """Train a dictionary on *texts* and store it; return ``False`` where they are too short for one."""
        content = train_dictionary([text[:_SAMPLE_BYTES] for text in texts], _DICTIONARY_BYTES)
        if content is None:
            return False
        txn.put(_name(self._find_newest_number(txn) + 1), xxh3_64_digest(content) + content, db=self._dictionaries)
        return True

    def find_unreadable(self, txn: lmdb.Transaction) -> list[bytes]:
        """Find the dictionaries that cannot be read, and return their names."""
        with txn.cursor(db=self._dictionaries) as cursor:
            return [bytes(name) for name, content in cursor if len(name) != 1 or not _is_sound(bytes(content))]

    def rebuild(self, txn: lmdb.Transaction) -> None:
        """Remove the dictionaries that cannot be read."""
        for name in self.find_unreadable(txn):
            txn.delete(name, db=self._dictionaries)

    def _find_newest_number(self, txn: lmdb.Transaction) -> int:
        with txn.cursor(db=self._dictionaries) as cursor:
            return decode_number(cursor.key(), 1) if cursor.last() else 0


def _name(number: int) -> bytes:
    return number.to_bytes(1, "big")


def _load(number: int, stored: bytes) -> Dictionary:
    if not _is_sound(stored):
        raise msgspec.DecodeError(f"dictionary {number} is damaged")
    return Dictionary(number, stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:])


def _is_sound(stored: bytes) -> bool:
    return stored[:_DIGEST_BYTES] == xxh3_64_digest(stored[_DIGEST_BYTES:])
