"""Settings that hold an address: of an index on a server (``DEDUP_INDEX``), and of the journal (``DEDUP_JOURNAL``)."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

JOURNAL = "journal-%(time)s.jsonl"
"""Default path of the journal."""

JOURNAL_TITLE = (
    'a path, in which "%" begins "%(time)s" or "%(name)s" or is doubled; a URI, in which there may be these two; or an '
    "empty string"
)


def read_server(value: Any) -> str:
    """Return *value* if it is empty or has a scheme of a server; the rest is read when the index is opened."""
    address = str(value)
    if address and _uri_scheme(address) not in ("redis", "rediss", "unix"):
        raise ValueError(address)
    return address


def read_journal(value: Any) -> str:
    """Return *value* as text if it is a path or a URI whose only placeholders are those of ``DEDUP_JOURNAL``."""
    name = str(value or "")
    if not _uri_scheme(name):
        _ = name % {"time": "", "name": ""}  # raises
    elif set(re.findall(r"%\((\w*)\)", name)) - {"time", "name"}:
        raise ValueError(name)
    return name


def is_remote(journal: str) -> bool:
    """Return whether *journal* is a URI that does not name a file of this machine."""
    return _uri_scheme(journal) not in ("", "file")


def local_journal(journal: str) -> str:
    """Return the path at which *journal* is written, with its placeholders: the default path for a remote journal."""
    if is_remote(journal):
        return JOURNAL
    if not _uri_scheme(journal):
        return journal
    from w3lib.url import file_uri_to_path  # noqa: PLC0415  (slow)

    path = file_uri_to_path(journal).replace("%", "%%")
    return path.replace("%%(time)s", "%(time)s").replace("%%(name)s", "%(name)s")


def _uri_scheme(name: str) -> str:
    """Return ``s3`` for ``s3://bucket/journal``, and ``""`` for a path, even one with a drive letter."""
    scheme = urlsplit(name).scheme
    return scheme if len(scheme) > 1 else ""
