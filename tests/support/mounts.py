"""Simulated lists of mounted file systems."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath


def mountinfo(mounts: Iterable[tuple[str, str]]) -> str:
    """Return the content of ``/proc/self/mountinfo`` for *mounts* (directory, type), of which the first is the root."""
    lines: list[str] = []
    over: dict[PurePosixPath, int] = {}  # the number of the last mount at each point
    for number, (point, kind) in enumerate(mounts, start=20):
        path = PurePosixPath(point)
        parent = next((over[directory] for directory in (path, *path.parents) if directory in over), 1)
        over[path] = number
        escaped = re.sub(r"[ \t\n\\]", lambda letter: f"\\{ord(letter[0]):03o}", point)
        lines.append(f"{number} {parent} 0:{number} / {escaped} rw,relatime shared:{number} - {kind} /dev/source rw\n")
    return "".join(lines)
