"""How large the file of an index is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileFigures:
    """What the file of an index takes.

    Attributes:
        file_bytes: its length.
        disk_bytes: what it takes on the disk.
        page_bytes: length of a page of LMDB.
        pages: how many pages the file has.
        used_pages: how many of them hold something.
        readers: how many read transactions are open, in all processes.
    """

    file_bytes: int
    disk_bytes: int
    page_bytes: int
    pages: int
    used_pages: int
    readers: int
