"""The peak memory of a process."""

import resource
import sys
from contextlib import suppress
from pathlib import Path

_UNIT = 1 << 20 if sys.platform == "darwin" else 1 << 10  # units of ru_maxrss in a megabyte


def forget() -> None:
    """Reset the peak if the system can (Linux); otherwise it is the peak since the process began."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def megabytes() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _UNIT
