"""Dropped pages: those that WARC files have, and wrong drops, which are taken back.

A page that is taken back represents itself from now on, and the next crawl of its spider requests it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from crawler_dedup.decision import DroppedRequest
from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Override, Restoration, make_override
from crawler_dedup.journal.entry import Entry
from crawler_dedup.system.extras import has_extra

if TYPE_CHECKING:
    from crawler_dedup.warc.droppedpage import DroppedPage

_UNKNOWN_REQUEST = DroppedRequest(callback="")
_UNCHANGED = (
    "it was dropped as unchanged since an earlier visit, which has stored it. After `crawler-dedup forget --url URL`,"
    " the next crawl that visits it stores it again."
)


@dataclass(frozen=True)
class Restored:
    """What became of drops; of each page and spider, the last one counts.

    Attributes:
        restored: the drops that were taken back.
        refused: the others, each with the reason.
    """

    restored: Sequence[Entry]
    refused: Sequence[tuple[Entry, str]]


def restore(
    pages: Index,
    entries: Iterable[Entry],
    now: int,
    *,
    is_kept: Callable[[Entry], bool] = lambda _: False,
    is_stored: Callable[[Entry], bool] = lambda _: False,
    is_dry: bool = False,
) -> Restored:
    """Take drops back: for each page, store an override, and what the next crawl of its spider has to request.

    All of it is stored in one transaction. Of a page that was dropped several times, the last drop counts.

    Args:
        entries: entries of a journal; all but those of dropped pages are ignored.
        now: the time, in seconds since 1970.
        is_kept: returns whether the page of an entry has been kept since.
        is_stored: returns whether a WARC file has the page of an entry, whose request was no GET.
        is_dry: whether nothing is stored.

    Raises:
        IndexUnusable: the index cannot be used, or would have too many overrides.
    """
    drops: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        last = drops.get((entry.spider, entry.url))
        if entry.event in ("drop", "unchanged_dropped") and (last is None or entry.time >= last.time):
            drops[entry.spider, entry.url] = replace(entry, text=b"")
    overrides = {override.name: override for override in pages.list_overrides()}
    changed: dict[bytes, Override] = {}
    restored, refused = list[Entry](), list[tuple[Entry, str]]()
    for entry in drops.values():
        request = entry.request or _UNKNOWN_REQUEST
        try:
            override = make_override("keep", [entry.url], now)
            if entry.event == "unchanged_dropped":
                raise ValueError(_UNCHANGED)
            if request.method != "GET" and not is_stored(entry):
                raise ValueError(f"it is the response to a {request.method}, and no WARC file has it.")
            if is_kept(entry):
                raise ValueError("it need not be restored, because a later crawl has kept it.")
        except ValueError as error:
            refused.append((entry, str(error)))
            continue
        override = changed.get(override.name) or overrides.get(override.name) or override
        others = tuple(each for each in override.restorations if each.spider != entry.spider)
        changed[override.name] = replace(override, restorations=(*others, Restoration(entry.spider, request)))
        restored.append(entry)
    if changed and not is_dry:
        pages.add_overrides(list(changed.values()))
    return Restored(restored, refused)


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
