"""Named fields, as in the heads of WARC records and HTTP messages."""

from __future__ import annotations

import re
from dataclasses import dataclass

END = re.compile(rb"\r?\n\r?\n")
"""The end of a head: the end of its last line, and an empty line."""


@dataclass(frozen=True)
class Fields:
    """Parsed head: its first line, and the names and values of its fields."""

    first_line: str
    items: tuple[tuple[str, str], ...]

    def first(self, name: str) -> str | None:
        """Return the value of the first field named *name* (in lower case), or ``None``."""
        return next((value for key, value in self.items if key.lower() == name), None)

    def last(self, name: str) -> str | None:
        """Return the value of the last field named *name* (in lower case), or ``None``."""
        return next((value for key, value in reversed(self.items) if key.lower() == name), None)

    def every(self, name: str) -> list[str]:
        """Return the values of all fields named *name* (in lower case)."""
        return [value for key, value in self.items if key.lower() == name]


def parse_fields(head: bytes) -> Fields:
    """Parse a head. Lines may end with a line feed only, and a line without a colon is ignored."""
    first_line, *lines = re.split(r"\r?\n", decode_head(head))
    unfolded: list[str] = []
    for line in lines:
        if unfolded and line[:1] in (" ", "\t"):
            unfolded[-1] += f" {line.strip()}"
        else:
            unfolded.append(line)
    parts = (line.partition(":") for line in unfolded if ":" in line)
    return Fields(first_line.strip(), tuple((name.strip(), value.strip()) for name, _, value in parts))


def decode_head(head: bytes) -> str:
    """Decode a head, which is in UTF-8, or else in Latin-1."""
    try:
        return head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1")
