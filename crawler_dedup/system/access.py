"""Access rights to the files of an index: those of its directory, whatever the umask is.

Made by the filter, a directory is for its user alone. In one that is there already (that of a group, say) new files get
its group and its rights to read and write, so that several users can share an index on purpose.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_private_directory(path: Path) -> None:
    """Make the directory *path*, for its user alone, unless it is there. Raises :class:`OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)


def make_inheriting_directories(path: Path) -> None:
    """Make the directory *path* and those missing above it; each may be used like the one that it is in.

    Raises :class:`OSError`.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
        inherit_access(folder, folder.parent, folder=True)


def opener(name: str, flags: int) -> int:
    """Open a file for ``open(…, opener=opener)``; one that is made may be used like the directory that it is in."""
    if flags & os.O_CREAT:
        with suppress(FileExistsError):
            handle = os.open(name, flags | os.O_EXCL, 0o600)
            inherit_access(handle if os.name == "posix" else name, Path(name).parent)
            return handle
    return os.open(name, flags, 0o600)


def inherit_access(file: int | str | Path, directory: Path, *, folder: bool = False) -> None:
    """Give *file*, which is new, the group of *directory* and its rights to read and write (a *folder* all of its rights).

    What the system or the file system does not allow is left.
    """
    if os.name != "posix":
        return
    with suppress(OSError):
        place = directory.stat()
        mode = 0o700 | place.st_mode & 0o2077 if folder else 0o600 | place.st_mode & 0o066
        if os.stat(file).st_gid != place.st_gid:
            try:
                os.chown(file, -1, place.st_gid)
            except OSError:  # we are not in that group, and what is for it is not for ours
                mode &= ~0o2070
        os.chmod(file, mode)


def owner_of(file: Path) -> str:
    """Return in words the user to whom *file* belongs."""
    try:
        return f"the user {file.owner()}"
    except (KeyError, OSError, NotImplementedError):  # a user without a name; gone; Windows
        return "another user"
