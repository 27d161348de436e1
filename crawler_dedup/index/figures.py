"""The size of the file of an index."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileFigures:
    """The size of the file of an index.

    Attributes:
        file_bytes: its length.
        disk_bytes: the space that it takes on the disk.
        page_bytes: length of a page of LMDB.
        pages: number of pages in the file.
        used_pages: number of those that contain data.
        readers: number of open read transactions, in all processes.
    """

    file_bytes: int
    disk_bytes: int
    page_bytes: int
    pages: int
    used_pages: int
    readers: int
