"""Reading the values of settings by their declared types, and describing in words the values that a type takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

_LEAST_SIZE = 1_000_000


def read_import_path(value: Any) -> str:
    """Return *value* if it can be an import path: a string with a dot."""
    if not isinstance(value, str) or "." not in value:
        raise ValueError(value)
    return str.__str__(value)


def read_callable(value: Any) -> Any:
    """Return *value* if it can be called."""
    if not callable(value):
        raise TypeError(value)
    return value


def read_server(value: Any) -> str:
    """Return *value* if it is empty or has a scheme of a server; the rest is read when the index is opened."""
    address = str(value)
    if address and _uri_scheme(address) not in ("redis", "rediss", "unix"):
        raise ValueError(address)
    return address


def read_journal(value: Any) -> str:
    """Return *value* as text if it is a path whose only placeholders are those of ``DEDUP_JOURNAL``."""
    name = str(value or "")
    if _uri_scheme(name):
        raise ValueError(name)
    _ = name % {"time": "", "name": ""}  # raises
    return name


def read_prefixes(value: Any) -> tuple[str, ...]:
    """Return the addresses in *value*, a sequence or a text with commas, each of which ends with a slash."""
    prefixes = tuple(part.strip() for part in (value.split(",") if isinstance(value, str) else value) if part.strip())
    if not all(re.fullmatch("https?://[^/]+/(.*/)?", prefix) for prefix in prefixes):
        raise ValueError(value)
    return prefixes


def read_size(value: Any) -> int:
    """Return a size in bytes: 0, or at least a million; a number, or a text such as ``1.5 GB``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", str(value).strip().upper())
    size = int(float(match[1]) * 1000 ** " KMGT".index(match[2] or " ")) if match else -1
    if size != 0 and size < _LEAST_SIZE:
        raise ValueError(value)
    return size


def _uri_scheme(name: str) -> str:
    """Return ``redis`` for ``redis://host/0``, and ``""`` for a path, even one with a drive letter."""
    scheme = urlsplit(name).scheme
    return scheme if len(scheme) > 1 else ""


# A function in the annotation of a type reads its values; `_READERS` reads those of other types. Error messages and
# docs/reference/settings.md use `title` in place of the description that follows from the type. `zero` is the meaning of 0.
PathString = Annotated[str, Meta(min_length=1, title="a path")]
ImportPath = Annotated[str, read_import_path]
Server = Annotated[str, read_server, Meta(title="an address (redis://, rediss:// or unix://), or an empty string")]
Prefixes = Annotated[
    tuple[str, ...],
    read_prefixes,
    Meta(title="a list of addresses (http:// or https://) that end with a slash; after -s separated by commas"),
]
Size = Annotated[int, read_size, Meta(le=1 << 50, title='a size such as "1 GB", at least "1 MB"; or 0')]
JournalPath = Annotated[
    str,
    read_journal,
    Meta(title='a path, in which "%" occurs only in "%(time)s", "%(name)s" and "%%"; or an empty string'),
]


def _alternatives(declared: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type itself."""
    return get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)


def read_value(value: Any, declared: Any) -> Any:
    """Convert *value* to the first alternative of a declared type that takes it.

    Raises:
        ValueError, TypeError, KeyError, OverflowError: no alternative takes *value*.
    """
    *earlier, last = _alternatives(declared)
    for alternative in earlier:
        with suppress(ValueError, TypeError):
            return _read_as(value, alternative)
    return _read_as(value, last)


def _read_as(value: Any, declared: Any) -> Any:
    if get_origin(declared) is Literal:
        if value not in get_args(declared):
            raise ValueError(value)
        return next(word for word in get_args(declared) if word == value)  # str() of an Enum would give its name
    kind, *notes = get_args(declared) if get_origin(declared) is Annotated else [declared]
    read = next((note for note in notes if callable(note)), None) or _READERS[kind]
    try:
        return msgspec.convert(read(value), declared)
    except msgspec.ValidationError as error:  # before msgspec 0.21 it is no ValueError
        raise ValueError(value) from error


def _boolean(value: Any) -> bool:
    """Read a boolean as Scrapy does: settings of the command line arrive as strings."""
    words = {"1": True, "true": True, "0": False, "false": False}
    return value if isinstance(value, bool) else words[str(value).strip().lower()]


def _whole_number(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
        raise ValueError(value)
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(value)
    return float(value)


def _text(value: Any) -> str:
    if value is None:
        raise ValueError(value)
    return str(value)


_READERS: dict[Any, Callable[[Any], Any]] = {bool: _boolean, int: _whole_number, float: _number, str: _text}


def describe_values(declared: Any) -> str:
    """Return the values that a declared type takes, in words that follow "it takes"."""
    *earlier, last = [words for alternative in _alternatives(declared) for words in _allowed_by(alternative)]
    return f"{', '.join(earlier)} or {last}" if earlier else last


def _allowed_by(declared: Any) -> list[str]:
    if declared is bool:
        return ["True", "False"]
    if get_origin(declared) is Literal:
        return [f'"{word}"' for word in get_args(declared)]
    limits = next(note for note in reversed(get_args(declared)) if isinstance(note, Meta))
    if limits.title:
        return [limits.title]
    meaning_of_zero = f"; with 0, {limits.extra['zero']}" if limits.extra else ""
    return [f"{_shown_number(limits.ge)} to {_shown_number(limits.le)}{meaning_of_zero}"]


def _shown_number(number: float | None) -> str:
    """Format a limit, as ``10,000``, or as ``2^10`` for powers of two from 1,024 on."""
    assert number is not None
    is_power = number >= 1 << 10 and math.log2(number).is_integer()
    return f"2^{math.log2(number):.0f}" if is_power else f"{number:,}"
