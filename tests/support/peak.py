"""The peak memory of a process."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

_UNIT = 1 << 20 if sys.platform == "darwin" else 1 << 10  # what ru_maxrss counts in, as a part of a megabyte


def forget() -> None:
    """Let the peak begin anew, where the system can (Linux); else it is that of the whole process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def megabytes() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNIT
