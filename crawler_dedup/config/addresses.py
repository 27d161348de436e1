"""Settings that hold an address or a path: ``DEDUP_INDEX`` and ``DEDUP_JOURNAL``."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

JOURNAL = "journal-%(time)s.jsonl"
"""Default path of the journal."""

JOURNAL_TITLE = 'a path, in which "%" begins "%(time)s" or "%(name)s" or is doubled; or an empty string'


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


def _uri_scheme(name: str) -> str:
    """Return ``redis`` for ``redis://host/0``, and ``""`` for a path, even one with a drive letter."""
    scheme = urlsplit(name).scheme
    return scheme if len(scheme) > 1 else ""
