"""A dictionary with which an index compresses short, similar texts: scopes, addresses, titles.

Zstandard's trainer chooses the content of a dictionary; the texts are raw DEFLATE (RFC 1951) with that content as preset.
For a hundred bytes this is smaller than a frame of Zstandard, and takes a tenth of the work to read: for each frame of
Zstandard, Python makes a new decompressor, which clears 100 KB.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
from xxhash import xxh3_64_digest

from crawler_dedup.system.compression import train_dictionary

TRAINED_ON = 1024
"""Number of texts from which a dictionary is made."""
MAX_TEXT_BYTES = 1 << 20
"""Maximum size of a text that is compressed, in bytes."""
DIGEST_BYTES = 8
"""Bytes of the checksum before the content of a stored dictionary."""

_SAMPLE_BYTES = 512
_DICTIONARY_BYTES = 1 << 14
_WINDOW_BITS = -14  # raw DEFLATE
_MEMORY_LEVEL = 5  # a small state, because it is copied for each text
_LEVEL = 6


@dataclass(frozen=True)
class Dictionary:
    """Strings that the texts of an index often contain.

    Attributes:
        number: the number by which records refer to it.
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


def train(texts: Iterable[bytes]) -> bytes | None:
    """Train a dictionary on *texts* and return it as it is stored; ``None`` if the texts are too short for one."""
    content = train_dictionary([text[:_SAMPLE_BYTES] for text in texts], _DICTIONARY_BYTES)
    return None if content is None else xxh3_64_digest(content) + content


def load(number: int, stored: bytes) -> Dictionary:
    """Load a dictionary that was stored; raise :class:`msgspec.DecodeError` if it is damaged."""
    if not is_sound(stored):
        raise msgspec.DecodeError(f"dictionary {number} is damaged")
    return Dictionary(number, stored[:DIGEST_BYTES], stored[DIGEST_BYTES:])


def is_sound(stored: bytes) -> bool:
    """Return whether *stored* is a dictionary as :func:`train` returns it."""
    return stored[:DIGEST_BYTES] == xxh3_64_digest(stored[DIGEST_BYTES:])
