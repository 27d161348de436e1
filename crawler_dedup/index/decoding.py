"""Decoding the contents of an index: every fault in them raises :class:`msgspec.DecodeError`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import msgspec

_T = TypeVar("_T")


def decode_struct(decode: Callable[[bytes | memoryview], _T], content: bytes | memoryview) -> _T:
    """Call *decode*, a decoder of msgspec; raise :class:`msgspec.DecodeError` also if it raises another error."""
    try:
        return decode(content)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def decode_number(content: bytes | memoryview, size: int, order: Literal["big", "little"] = "big") -> int:
    """Return the number in *content*; raise :class:`msgspec.DecodeError` if *content* does not have *size* bytes."""
    if len(content) != size:
        raise msgspec.DecodeError(f"a number has {len(content)} bytes instead of {size}")
    return int.from_bytes(content, order)
