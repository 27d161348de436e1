"""Checking that LMDB's file has all pages that the last commit uses, by reading the file and not its map.

LMDB has no function for this. No cursor shows the pages of LMDB's own list of free pages, and reading a page behind the
end of the file through the map kills the process. A sound file can end before its last page: a transaction that takes a
page at the end and frees it again never writes it.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import lmdb
import numpy as np
from numpy.typing import NDArray

_MAGIC, _VERSION = 0xBEEFC0DE, 1
_HEADER = struct.Struct("=QHHHH")  # of a page: number, pad, flags, end of the offsets, begin of the nodes
_META = struct.Struct("=II16x")  # magic, version; address and size of the map
_TREE = struct.Struct("=IHHQQQQQ")  # pad, flags, depth, pages (branch, leaf, overflow), entries, root
_TAIL = struct.Struct("=QQ")  # last page, transaction
_NODE = 8  # bytes before the key
_BRANCH, _LEAF = 1, 2
_IN_OVERFLOW, _IS_TREE = 1, 2
_SORTS_DUPLICATES = 4
_NO_ROOT = (1 << 64) - 1
_MAX_DEPTH = 32


class _Tree(NamedTuple):
    flags: int
    depth: int
    overflow_pages: int
    root: int


def find_missing_page(env: lmdb.Environment, file: Path) -> int | None:
    """Return the number of a page that the last commit uses and that *file* does not have, or ``None``.

    Returns ``None`` also for a file with the layout of another version of LMDB.

    Raises:
        lmdb.CorruptedError: a page has unexpected content.
    """
    if sys.maxsize < 1 << 32 or sys.byteorder != "little":
        return None  # other layouts
    size = env.stat()["psize"]
    while True:
        # The transaction keeps other processes from writing over the pages of its state.
        with env.begin() as txn, file.open("rb", buffering=0) as content:
            walk = _Walk(content, size)
            trees = walk.trees(txn.id())
            if trees is not None:
                return walk.first_missing(trees)


class _Walk:
    def __init__(self, file: BinaryIO, page_size: int) -> None:
        self._file = file
        self._page_size = page_size
        self._pages = file.seek(0, 2) // page_size
        self._left = self._pages

    def trees(self, transaction: int) -> list[_Tree] | None:
        """Return the trees of free pages and of databases after *transaction*; ``None`` if a later one replaced them.

        An empty list means that the file has another layout.
        """
        page = self._read(transaction & 1)
        magic, version = _META.unpack_from(page, _HEADER.size)
        if (magic, version) != (_MAGIC, _VERSION):
            return []
        at = _HEADER.size + _META.size
        if _TAIL.unpack_from(page, at + 2 * _TREE.size)[1] != transaction:
            return None
        return [_tree(page, at), _tree(page, at + _TREE.size)]

    def first_missing(self, trees: list[_Tree]) -> int | None:
        """Return the number of a page of *trees*, or of the trees in them, that is not in the file, or ``None``."""
        # The second tree is that of the databases: its values are trees.
        waiting = [(tree, index == 1) for index, tree in enumerate(trees) if tree.root != _NO_ROOT]
        while waiting:
            tree, has_trees = waiting.pop()
            reads_leaves = has_trees or tree.overflow_pages > 0 or bool(tree.flags & _SORTS_DUPLICATES)
            level = [tree.root]
            if not 0 < tree.depth <= _MAX_DEPTH:
                raise lmdb.CorruptedError(f"a tree has {tree.depth} levels")
            for depth in range(tree.depth, 0, -1):
                if max(level) >= self._pages:
                    return max(level)
                if depth == 1 and not reads_leaves:
                    break
                below: list[int] = []
                for number in level:
                    nodes = self._nodes(number, _BRANCH if depth > 1 else _LEAF)
                    if depth > 1:
                        below += nodes.children()
                        continue
                    for last in nodes.overflow_ends(self._page_size):
                        if last >= self._pages:
                            return last
                    waiting += [(subtree, False) for subtree in nodes.trees() if subtree.root != _NO_ROOT]
                level = below
                if not level and depth > 1:
                    raise lmdb.CorruptedError("a tree has no leaves")
        return None

    def _nodes(self, number: int, kind: int) -> _Nodes:
        self._left -= 1
        if self._left < 0:
            raise lmdb.CorruptedError("a page has two places")
        page = self._read(number)
        stored, _, flags, lower, _ = _HEADER.unpack_from(page)
        if stored != number or not flags & kind or not _HEADER.size <= lower <= len(page):
            raise lmdb.CorruptedError(f"page {number} is not of the expected kind")
        return _Nodes(page, lower)

    def _read(self, number: int) -> bytes:
        self._file.seek(number * self._page_size)
        page = self._file.read(self._page_size)
        if len(page) < self._page_size:
            raise lmdb.CorruptedError(f"page {number} is missing")
        return page


class _Nodes:
    """The nodes of one page."""

    def __init__(self, page: bytes, lower: int) -> None:
        self._page = page
        self._words = np.frombuffer(page, dtype=np.uint16)
        self._at: NDArray[np.intp] = self._words[_HEADER.size // 2 : lower // 2].astype(np.intp) // 2
        if len(self._at) and self._at.max() + _NODE // 2 > len(self._words):
            raise lmdb.CorruptedError("a node is outside its page")
        self._flags = self._words[self._at + 2]

    def children(self) -> list[int]:
        """Return the pages below a branch page."""
        low, high, top = (self._words[self._at + part].astype(np.int64) for part in range(3))
        numbers: list[int] = (low | high << 16 | top << 32).tolist()
        return numbers

    def overflow_ends(self, page_size: int) -> Iterator[int]:
        """Yield the number of the last page of each value that has pages of its own."""
        for at in self._at[self._flags & _IN_OVERFLOW > 0].tolist():
            size = int(self._words[at]) | int(self._words[at + 1]) << 16
            (first,) = struct.unpack("=Q", self._data(at, 8))
            yield first + (_HEADER.size - 1 + size) // page_size

    def trees(self) -> Iterator[_Tree]:
        """Yield the trees among the values of a leaf page."""
        for at in self._at[self._flags & _IS_TREE > 0].tolist():
            yield _tree(self._data(at, _TREE.size), 0)

    def _data(self, at: int, size: int) -> bytes:
        start = 2 * at + _NODE + int(self._words[at + 3])
        data = self._page[start : start + size]
        if len(data) < size:
            raise lmdb.CorruptedError("a node is outside its page")
        return data


def _tree(content: bytes, at: int) -> _Tree:
    _, flags, depth, _, _, overflow_pages, _, root = _TREE.unpack_from(content, at)
    return _Tree(flags, depth, overflow_pages, root)
