"""Dropped pages that a crawl has kept as WARC files, to inspect them without a request."""

from __future__ import annotations

from collections.abc import Callable
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
