"""Marks for tests that only root can run."""

import os
import subprocess
import tempfile
from importlib.metadata import distribution

import pytest

NOBODY = 65534
"""Number of the user and of the group nobody."""
_IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def _is_closed(folder: str) -> bool:
    """Return whether the user nobody may not enter *folder*."""
    return (
        subprocess.run(["test", "-x", folder], check=False, user=NOBODY, group=NOBODY, extra_groups=[]).returncode != 0
    )


_READ_AS_NOBODY = [str(distribution("lxml").locate_file("")), tempfile.gettempdir()] if _IS_ROOT else []
_CLOSED = next(filter(_is_closed, _READ_AS_NOBODY), "")

as_root = pytest.mark.skipif(not _IS_ROOT, reason="only root has these rights")
as_two_users = pytest.mark.skipif(
    not _IS_ROOT or bool(_CLOSED),
    reason=f"other users may not enter {_CLOSED}" if _IS_ROOT else "only root can be two users",
)
"""For programs that run as root and as nobody: both must be able to read the packages and the temporary files."""
