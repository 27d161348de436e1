"""How the value of a setting is read and checked: each raises :class:`ValueError` and the like for what is not allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

Read = Callable[[Any], Any]


def boolean(value: Any) -> bool:
    """As Scrapy reads booleans: settings of the command line arrive as strings."""
    words = {"1": True, "true": True, "0": False, "false": False}
    if isinstance(value, bool):
        return value
    return words[str(value).strip().lower()]


def between(kind: type[int] | type[float], low: float, high: float) -> Read:
    """A number of *kind*, not less than *low* nor more than *high*."""

    def read(value: Any) -> int | float:
        if isinstance(value, bool) or (kind is int and isinstance(value, float) and value != int(value)):
            raise ValueError(value)
        number = kind(value)
        if not low <= number <= high:
            raise ValueError(value)
        return number

    return read


def one_of(*words: str) -> Read:
    """One of *words*."""

    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(value)
        return str(value)

    return read


def text(value: Any) -> str:
    """Any text but none."""
    if value is None or not str(value):
        raise ValueError(value)
    return str(value)


def path_or(*words: str) -> Read:
    """One of *words*, or an import path."""

    def read(value: Any) -> str:
        if value in words or (isinstance(value, str) and "." in value):
            return str(value)
        raise ValueError(value)

    return read


def scope_name(value: Any) -> Any:
    """What ``DEDUP_SCOPE`` takes."""
    if callable(value) or value in ("spider", "domain", "global") or (isinstance(value, str) and "." in value):
        return value
    raise ValueError(value)


def journal_name(value: Any) -> str:
    """What ``DEDUP_JOURNAL`` takes."""
    name = str(value or "")
    if not uri_scheme(name):
        _ = name % {"time": "", "name": ""}  # raises
    elif set(re.findall(r"%\((\w*)\)", name)) - {"time", "name"}:
        raise ValueError(name)
    return name


def uri_scheme(name: str) -> str:
    """``s3`` of ``s3://bucket/journal``; ``""`` of a path, which may begin with the letter of a drive."""
    scheme = urlsplit(name).scheme
    return scheme if len(scheme) > 1 else ""
