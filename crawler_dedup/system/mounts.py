"""Finding the file system that a directory is on, from the mounts that the operating system lists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path, PurePath
from typing import NamedTuple

_MOUNTINFO = Path("/proc/self/mountinfo")  # proc_pid_mountinfo(5)
_ESCAPE = re.compile(r"\\([0-7]{3})")
_LINE_OF_MOUNTINFO = re.compile(
    r"(?P<number>\d+) (?P<parent>\d+) [^ ]+ [^ ]+ (?P<point>/[^ ]*) (?:[^ ]+ )*?- (?P<kind>[^ ]+)"
)
_LINE_OF_MOUNT = re.compile(r".*? on (?P<point>/.*) \((?P<kind>[^,()]+)[^()]*\)")
_REMOTE_DRIVE = 4  # GetDriveTypeW


class Mount(NamedTuple):
    """A mounted file system.

    Attributes:
        point: the directory at which it is mounted.
        kind: its type, such as ``ext4`` or ``nfs4``; ``remote`` is a network drive of Windows.
    """

    point: str
    kind: str


def find_mount(path: Path) -> Mount | None:
    """Return the mount that *path* is on; ``None`` if the operating system does not tell it.

    Args:
        path: absolute and without links. Its last parts need not exist.
    """
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415

        is_remote = ctypes.windll.kernel32.GetDriveTypeW(f"{path.drive}\\") == _REMOTE_DRIVE
        return Mount(path.drive, "remote") if is_remote else None
    with suppress(OSError, subprocess.SubprocessError):
        if sys.platform == "linux":
            return find_in_mountinfo(path, os.fsdecode(_MOUNTINFO.read_bytes()))
        listed = subprocess.run(["/sbin/mount"], capture_output=True, timeout=10, check=True)
        return find_in_list(path, os.fsdecode(listed.stdout))
    return None


def find_in_mountinfo(path: PurePath, mountinfo: str) -> Mount | None:
    """Find the mount of *path* as the kernel does: go down from the root, and enter what is mounted at each directory.

    Lines of another form are skipped.
    """
    matches = [match for line in mountinfo.split("\n") if (match := _LINE_OF_MOUNTINFO.match(line))]
    mounts = {match["number"]: (match["parent"], Mount(_unescape(match["point"]), match["kind"])) for match in matches}
    inside = {
        ("" if parent == number or parent not in mounts else parent, mount.point): number
        for number, (parent, mount) in mounts.items()
    }
    current = ""  # the mount that holds the root is not always listed
    for directory in (*reversed(path.parents), path):
        while (current, str(directory)) in inside:
            current = inside[current, str(directory)]
    return mounts[current][1] if current else None


def find_in_list(path: PurePath, listed: str) -> Mount | None:
    """Find the mount of *path* in the output of the command ``mount`` of macOS or FreeBSD."""
    matches = [match for line in listed.split("\n") if (match := _LINE_OF_MOUNT.fullmatch(line))]
    mounts = {match["point"]: Mount(match["point"], match["kind"]) for match in matches}
    return next((mounts[str(parent)] for parent in (path, *path.parents) if str(parent) in mounts), None)


def _unescape(point: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), point)
