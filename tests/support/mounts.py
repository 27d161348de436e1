"""Mounted file systems, according to a simulated list."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath


def mountinfo(mounts: Iterable[tuple[str, str]]) -> str:
    """Write ``/proc/self/mountinfo`` for these *mounts*, each with a directory and a type; the first is the root's."""
    lines: list[str] = []
    over: dict[PurePosixPath, int] = {}  # the last one at each point
    for number, (point, kind) in enumerate(mounts, start=20):
        path = PurePosixPath(point)
        parent = next((over[directory] for directory in (path, *path.parents) if directory in over), 1)
        over[path] = number
        escaped = re.sub(r"[ \t\n\\]", lambda letter: f"\\{ord(letter[0]):03o}", point)
        lines.append(f"{number} {parent} 0:{number} / {escaped} rw,relatime shared:{number} - {kind} /dev/source rw\n")
    return "".join(lines)
