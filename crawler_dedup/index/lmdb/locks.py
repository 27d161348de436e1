"""The locks of an index directory and of its runs, and the refusal of network file systems, where locks are unreliable."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePath
from typing import IO, NamedTuple

from crawler_dedup.errors import IndexUnusable
from crawler_dedup.system.filelocks import LockFailed, is_held, is_held_or_raise, lock
from crawler_dedup.system.files import opener, owner_of

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


# Two hosts that map one file do not see each other's changes, and locks often have no effect.
_NETWORK = set(
    "9p afs beegfs ceph cifs gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 afpfs davfs ocfs2 orangefs"
    " prl_fs remote smb smb2 smb3 smbfs vboxsf vmhgfs webdav".split()
)
_NETWORK |= {f"fuse.{name}" for name in (*_NETWORK, "ceph-fuse", "gcsfuse", "juicefs", "rclone", "s3fs", "sshfs")}


def refuse_network(directory: Path) -> None:
    """Raise :class:`IndexUnusable` where *directory* is on a network file system.

    A file system of an unknown type is accepted.
    """
    path = directory.resolve()
    if path.drive.startswith("\\\\") and not (path.drive.startswith("\\\\?\\") and path.drive.endswith(":")):
        raise _on_network(directory, "a share", path.drive)
    mount = find_mount(path)
    if mount is not None and mount.kind.lower() in _NETWORK:
        raise _on_network(directory, mount.kind, mount.point)


def _on_network(directory: Path, kind: str, location: str) -> IndexUnusable:
    return IndexUnusable(
        f"{directory} is on a network file system ({kind} at {location}): a memory map is not shared between hosts"
        " there, and the index would be damaged. Name a directory on a local disk (DEDUP_DIR)."
    )


class SharedLock:
    """A lock on an index directory across processes: shared by all that have the index open, or held by one exclusively.

    The system releases it when the process ends, however that happens. The data file is locked in the same way, for the
    case that somebody deletes ``users.lock``. (Not on Windows, where a locked file cannot be read and an open file cannot
    be deleted.)

    Args:
        readonly: create no file; if there is no ``users.lock``, lock only the data file.

    Raises:
        OSError: ``users.lock`` cannot be opened.
    """

    def __init__(self, directory: Path, data_file: str, *, readonly: bool = False) -> None:
        users_file = directory / "users.lock"
        if not readonly:
            open(users_file, "a", opener=opener).close()
        self._paths = [users_file, directory / data_file] if os.name == "posix" else [users_file]
        self._files: list[IO[bytes]] = []

    def acquire_exclusive(self) -> bool:
        """Lock the directory for this process alone; return ``False`` if other processes have it open."""
        return self._acquire(shared=False)

    def acquire_shared(self, timeout: float) -> bool:
        """Take a shared lock; return ``False`` if another process holds the exclusive lock for *timeout* seconds."""
        give_up = time.monotonic() + timeout
        while not self._acquire(shared=True):
            if time.monotonic() > give_up:
                return False
            time.sleep(0.02)
        return True

    def release(self) -> None:
        """Release the lock. Idempotent."""
        while self._files:
            self._files.pop().close()

    def _acquire(self, *, shared: bool) -> bool:
        self.release()  # no system converts one kind of lock to the other in one step
        for path in self._paths:
            with suppress(FileNotFoundError):
                self._files.append(path.open("rb"))
                try:
                    if not lock(self._files[-1], shared=shared):
                        return False
                except LockFailed as error:
                    raise IndexUnusable(f"{path} cannot be locked: {error}") from error
        return True


_LOCK_FILE = "run-{}.lock"
_REMEMBERED = 64  # paths of lock files: each transaction checks whether runs are alive


def remove_dead_locks(directory: Path) -> None:
    """Remove the lock files of the runs in *directory* that are over.

    Raises:
        IndexUnusable: a file may not be opened, so that the run, and its claims, would count as alive for ever.
    """
    for path in directory.glob(_LOCK_FILE.format("*")):
        try:
            with suppress(LockFailed):
                is_held_or_raise(path)
        except PermissionError:
            raise IndexUnusable(
                f"The lock file {path} of another run, which belongs to {owner_of(path)}, cannot be opened"
                " (permission denied), so it is unknown whether that run has ended. Run as that user; or give the directory"
                " and its files to a group that both users are in (chgrp, chmod g+rwxs); or remove the file if that run has"
                " ended."
            ) from None


def is_run_alive(directory: Path, number: int, *, readonly: bool) -> bool | None:
    """Return whether a run is alive; ``None`` if this is not known.

    Args:
        readonly: do not remove the lock file of a run that is over.
    """
    return is_held(lock_file(directory, number), readonly=readonly)


@lru_cache(maxsize=_REMEMBERED)
def lock_file(directory: Path, number: int) -> Path:
    """Return the path of the lock file of a run."""
    return directory / _LOCK_FILE.format(f"{number:08x}")
