"""Names from outside (of spiders) as names of files."""

from __future__ import annotations

import re
import unicodedata

from xxhash import xxh3_64_hexdigest

_MAX_BYTES = 120
"""Of 255 that file systems take: time, number and suffix stand beside it."""
_SIGNS = frozenset("-_.+,=@() ")
_CLASSES = frozenset("LMN")
"""Letters, marks and digits of every script."""
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|$)", re.IGNORECASE)


def safe_name(name: str) -> str:
    """Return *name* as a part of a file's name: an ordinary one as it is, another one so that it stays in its directory.

    What no system forbids stays: letters and digits of every script, a few signs. Everything else (``/``, ``\\``, ``:``,
    what cannot be printed, dots at the beginning, names of Windows' devices, more than 120 bytes) is replaced or cut off,
    and a hash of the whole name keeps two such names apart.
    """
    allowed = "".join(sign if sign in _SIGNS or unicodedata.category(sign)[0] in _CLASSES else "_" for sign in name)
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
