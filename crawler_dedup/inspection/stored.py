"""Single dropped pages in WARC files, found without FastWARC being loaded where there are none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_dedup.journal.entry import Entry
from crawler_dedup.system.extras import has_extra

if TYPE_CHECKING:
    from crawler_dedup.warc.droppedpage import DroppedPage

DropId = tuple[str, str, str, str]


def id_of(entry: Entry) -> DropId:
    """Return what identifies the drop of *entry*, in a journal and in WARC files."""
    return entry.run, entry.scope, entry.url, entry.duplicate_of


class StoredPages:
    """Finds dropped pages in the WARC files of a directory; none without the extra ``warc``.

    Attributes:
        problems: a sentence for each file that the last :meth:`refresh` could not read to its end.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[Path, tuple[int, int]] = {}  # the size of each file, and the offset of its last page
        self._positions: dict[int, tuple[Path, int]] = {}
        self.problems: list[str] = []

    def refresh(self) -> None:
        """Find the pages in files that are new or have grown: such a file is read from its last known page on."""
        if not has_extra("warc") or not self._directory.exists():
            return
        from crawler_dedup.warc.droppedpage import find_files, read_pages  # noqa: PLC0415  (imports FastWARC)

        self.problems.clear()
        for path in find_files(self._directory):
            known, last = self._read.get(path, (0, 0))
            with suppress(FileNotFoundError):  # a crawl has removed it meanwhile
                if (size := path.stat().st_size) != known:
                    for page, offset in read_pages(path, self.problems, last if size > known else 0):
                        self._positions[hash(id_of(page.drop))] = path, offset
                        last = offset
                    self._read[path] = size, last

    def __contains__(self, key: DropId) -> bool:
        """Return whether there is such a page: the oldest files are removed when all of them are too large."""
        position = self._positions.get(hash(key))
        return position is not None and position[0].exists()

    def find(self, key: DropId) -> DroppedPage | None:
        """Return a page, or ``None``. Raises :class:`DedupError` if its file was changed meanwhile."""
        if key not in self:
            return None
        from crawler_dedup.warc.droppedpage import read_at  # noqa: PLC0415

        return read_at(*self._positions[hash(key)])
