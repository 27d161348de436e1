"""A small disk, which can be full."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """Mount a file system of 4 MB at *folder*, or skip the test."""
    folder.mkdir()
    try:
        mounting = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
        subprocess.run(mounting, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a file system cannot be mounted here: {error}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)
        folder.rmdir()


def fill_up(disk: Path) -> None:
    """Write a file until *disk* is full."""
    with (disk / "else").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
