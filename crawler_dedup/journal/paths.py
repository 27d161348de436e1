"""The path of the journal of a crawl, and names of spiders as parts of such paths."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from xxhash import xxh3_64_hexdigest

_MAX_BYTES = 120
"""Maximum length. File systems take 255 bytes, and time, number and suffix are added to the name."""
_PUNCTUATION = frozenset("-_.+,=@() ")
_CLASSES = frozenset("LMN")
"""Letters, marks and digits of every script."""
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|$)", re.IGNORECASE)


def journal_path(setting: str, directory: Path | None, began: str = "", spider: str = "") -> Path | None:
    """Return the path of the journal of a crawl; ``None``: none is written.

    Args:
        setting: value of ``DEDUP_JOURNAL``.
        directory: the directory that contains a relative path; ``None``: none does.
        began: replaces ``%(time)s``.
        spider: name of the spider. As a :func:`safe_name`, it replaces ``%(name)s``.
    """
    path = Path(setting % {"time": began, "name": safe_name(spider) if spider else ""})
    if not setting or (directory is None and not path.is_absolute()):
        return None
    return path if directory is None else directory / path


def safe_name(name: str) -> str:
    """Return *name* as a part of a file name: unchanged if it is harmless, otherwise changed to a harmless name.

    Characters that no system forbids are kept: letters and digits of every script, some punctuation. Everything else
    (``/``, ``\\``, ``:``, unprintable characters, dots at the beginning, names of Windows' devices, more than 120 bytes) is
    replaced or cut off, and a hash of the whole name is added, so that different names stay different.
    """
    allowed = "".join(
        character if character in _PUNCTUATION or unicodedata.category(character)[0] in _CLASSES else "_"
        for character in name
    )
    safe = unicodedata.normalize("NFC", allowed) or "_"
    if safe[:1] in (".", "-", " "):
        safe = f"_{safe[1:]}"
    if safe[-1:] in (".", " "):
        safe = f"{safe[:-1]}_"
    if _RESERVED.match(safe):
        safe = f"_{safe}"
    if safe == name and len(name.encode()) <= _MAX_BYTES:
        return name
    mark = f"-{xxh3_64_hexdigest(name.encode('utf-8', 'surrogatepass'))}"
    return safe.encode()[: _MAX_BYTES - len(mark)].decode("utf-8", "ignore") + mark
