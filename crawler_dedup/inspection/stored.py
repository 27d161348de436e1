"""Dropped pages that a crawl has kept as WARC files, to inspect them without a request."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_dedup.inspection.fetching import FetchedPage
from crawler_dedup.journal.entry import Entry
from crawler_dedup.system.extras import has_extra

if TYPE_CHECKING:
    from crawler_dedup.warc.droppedpage import DroppedPage

DropId = tuple[str, str, str, str]


def id_of(entry: Entry) -> DropId:
    """Return what identifies the drop of *entry*, in a journal and in WARC files."""
    return entry.run, entry.scope, entry.url, entry.duplicate_of


def find_stored(
    directory: Path, is_wanted: Callable[[Entry], bool], report: Callable[[str], None]
) -> dict[DropId, DroppedPage]:
    """Find the dropped pages whose entries *is_wanted* picks, the latest last; none without the extra ``warc``.

    Args:
        directory: the directory of the WARC files.
        report: called with a sentence about each file that could not be read to its end.
    """
    if not has_extra("warc") or not directory.exists():
        return {}
    from crawler_dedup.warc.reader import DroppedPages  # noqa: PLC0415  (imports FastWARC)

    pages = DroppedPages(directory)
    stored = {id_of(page.drop): page for page in pages if is_wanted(page.drop)}
    for problem in pages.problems:
        report(problem)
    return stored


class StoredPages:
    """Finds single pages in the WARC files of a directory; none without the extra ``warc``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._read: dict[Path, tuple[int, int]] = {}  # the size of each file, and the place of its last page
        self._places: dict[int, tuple[Path, int]] = {}

    def refresh(self) -> None:
        """Find the pages in files that are new or have grown: such a file is read from its last known page on."""
        if not has_extra("warc") or not self._directory.exists():
            return
        from crawler_dedup.warc.droppedpage import find_files  # noqa: PLC0415  (imports FastWARC)
        from crawler_dedup.warc.reader import find_places  # noqa: PLC0415

        for path in find_files(self._directory):
            known, last = self._read.get(path, (0, 0))
            with suppress(FileNotFoundError):  # a crawl has removed it meanwhile
                if (size := path.stat().st_size) != known:
                    for drop, place in find_places(path, last if size > known else 0):
                        self._places[hash(id_of(drop))] = path, place
                        last = place
                    self._read[path] = size, last

    def __contains__(self, entry: Entry) -> bool:
        """Return whether there is the page of a drop: the oldest files are removed when all of them are too large."""
        place = self._places.get(hash(id_of(entry)))
        return place is not None and place[0].exists()

    def find(self, entry: Entry) -> FetchedPage | None:
        """Return the page of a drop, or ``None``. Raises :class:`DedupError` if its file was changed meanwhile."""
        if entry not in self:
            return None
        from crawler_dedup.warc.reader import read_at  # noqa: PLC0415

        page = read_at(*self._places[hash(id_of(entry))])
        return FetchedPage(entry.url, page.body, page.drop.charset or None)
