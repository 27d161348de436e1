"""The file system of a directory, as Linux finds it, and as `mount` of other systems reports it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from crawler_dedup.index.lmdb.locks import find_in_list, find_in_mountinfo, find_mount
from tests.support.mounts import mountinfo

ROOT = ("/", "ext4")


def test_the_uppermost_mount_at_a_place_is_found() -> None:
    for mounts, expected in [
        ([ROOT], "ext4 at /"),
        ([ROOT, ("/data", "xfs")], "xfs at /data"),
        ([ROOT, ("/data/crawl", "nfs"), ("/data", "xfs")], "xfs at /data"),  # hides what was below
        ([ROOT, ("/data", "xfs"), ("/data/crawl", "nfs")], "nfs at /data/crawl"),
        ([ROOT, ("/data", "nfs"), ("/data/crawl/index", "btrfs")], "btrfs at /data/crawl/index"),
        ([ROOT, ("/data", "nfs"), ("/data", "xfs")], "xfs at /data"),
        ([ROOT, ("/data", "xfs"), ("/data", "nfs")], "nfs at /data"),
        ([ROOT, ("/data", "autofs"), ("/data", "nfs"), ("/data/crawl", "xfs")], "xfs at /data/crawl"),
        ([ROOT, ("/data/crawl/index beside", "nfs"), ("/dat", "nfs"), ("/data/crawl/ind", "nfs")], "ext4 at /"),
        ([("/", "rootfs"), ROOT, ("/data", "fuse.sshfs")], "fuse.sshfs at /data"),
    ]:
        mount = find_in_mountinfo(PurePosixPath("/data/crawl/index"), mountinfo(mounts))
        assert mount is not None
        assert f"{mount.kind} at {mount.point}" == expected


def test_a_directory_is_found_by_its_name() -> None:
    for name in ["with space", "tab\there", "new\nline", "back\\slash", "\\040", "Übung", "a - b", "a\x85b"]:
        mount = find_in_mountinfo(PurePosixPath("/data") / name / "index", mountinfo([ROOT, (f"/data/{name}", "nfs")]))
        assert mount == (f"/data/{name}", "nfs")


def test_a_root_that_is_its_own_parent_is_recognised() -> None:
    lines = "1 1 0:2 / / rw - rootfs rootfs rw\n22 1 0:20 / /proc rw - proc proc rw\n"
    assert find_in_mountinfo(PurePosixPath("/data"), lines) == ("/", "rootfs")
    assert find_in_mountinfo(PurePosixPath("/proc/1"), lines) == ("/proc", "proc")


def test_other_mounts_are_found_if_the_root_is_not_listed() -> None:
    """The root is not listed in a changed root directory that is not a mount."""
    lines = "30 27 0:30 / /data rw - nfs host:/x rw\n31 30 0:31 / /data/crawl rw - xfs /dev/a rw\n"
    assert find_in_mountinfo(PurePosixPath("/data/a"), lines) == ("/data", "nfs")
    assert find_in_mountinfo(PurePosixPath("/data/crawl/a"), lines) == ("/data/crawl", "xfs")
    assert find_in_mountinfo(PurePosixPath("/home"), lines) is None
    assert find_in_mountinfo(PurePosixPath("/home"), "") is None


def test_a_line_of_another_form_is_ignored() -> None:
    for line in [
        "",
        "40",
        "40 22 - ext4 /dev/a rw",
        "40 22 0:40 / - ext4 /dev/a rw",
        "40 22 0:40 / /data/crawl rw -",
        "40 22 0:40 / /data/crawl rw ext4 /dev/a rw",
        " - ext4 /dev/a rw",
        " - ",
        "x y 0:40 / /data/crawl rw - ext4 /dev/a rw",
    ]:
        listed = mountinfo([ROOT, ("/data", "nfs")])
        for lines in (f"{line}\n{listed}", f"{listed}{line}\n", f"{listed}{line}"):
            assert find_in_mountinfo(PurePosixPath("/data/crawl/index"), lines) == ("/data", "nfs")


LISTED = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
//me@nas.local/crawl on /Volumes/crawl (smbfs, nodev, nosuid, mounted by me)
nas:/on the (first) floor on /Volumes/first floor (1) (nfs)
/dev/disk5s1 on /Volumes/crawl/local (hfs, local, nodev, nosuid, journaled, noowners)
"""


def test_the_output_of_mount_of_other_systems_is_read() -> None:
    for path, expected in [
        ("/Users/me/index", ("/", "apfs")),
        ("/Volumes/crawl/index", ("/Volumes/crawl", "smbfs")),
        ("/Volumes/crawling", ("/", "apfs")),
        ("/Volumes/crawl/local/index", ("/Volumes/crawl/local", "hfs")),
        ("/Volumes/first floor (1)/index", ("/Volumes/first floor (1)", "nfs")),
    ]:
        assert find_in_list(PurePosixPath(path), LISTED) == expected


NAMESPACE = """
mkdir -p "a b/hidden" outer/inner bound kept
mount -t tmpfs none "a b" && mkdir "a b/c"
mount -t ramfs none "a b/c"
mount -t tmpfs none outer/inner 2>/dev/null
mount -t ramfs none outer && mkdir outer/inner
mount --bind "a b/c" bound
mount -t ramfs none kept && mount -t tmpfs none kept
exec "$0" - <<'END'
import os
from pathlib import Path
from crawler_dedup.index.lmdb.locks import find_mount
here = Path.cwd()
for name in ("a b", "a b/c", "outer/inner", "bound", "kept", "."):
    mount = find_mount(here / name / "not" / "there")
    descriptor = os.open(name, os.O_RDONLY)
    (number,) = [line.split()[1] for line in open(f"/proc/self/fdinfo/{descriptor}") if line.startswith("mnt_id")]
    (kind,) = [line.split(" - ")[1].split()[0] for line in open("/proc/self/mountinfo") if line.split()[0] == number]
    print(name, kind, mount.kind == kind, sep="|")
END
"""


def test_the_mount_that_is_found_is_the_one_that_the_kernel_uses(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if sys.platform != "linux" or not unshare or os.geteuid():
        pytest.skip("only root mounts, in a namespace of its own")
    done = subprocess.run(
        [unshare, "--mount", "sh", "-c", NAMESPACE, sys.executable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare" in done.stderr:
        pytest.skip("this kernel lets nobody have a namespace of mounts")
    assert done.returncode == 0, done.stderr
    kinds = {name: (kind, same) for name, kind, same in (line.split("|") for line in done.stdout.splitlines())}
    mount = find_mount(tmp_path.resolve())
    assert mount is not None
    assert kinds == {
        "a b": ("tmpfs", "True"),
        "a b/c": ("ramfs", "True"),
        "outer/inner": ("ramfs", "True"),
        "bound": ("ramfs", "True"),
        "kept": ("tmpfs", "True"),
        ".": (mount.kind, "True"),
    }
