"""Take wrong drops back: each page represents itself from now on, and the next crawl of its spider requests it again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from msgspec.structs import replace

from crawler_dedup.decision import DroppedRequest
from crawler_dedup.index import opening
from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Override, Restoration, make_override
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import ScopedUrl
from crawler_dedup.system.callbacks import Advance, ignore_progress

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
    advance: Advance = ignore_progress,
    *,
    kept: Collection[ScopedUrl] | None = None,
    is_stored: Callable[[Entry], bool] = lambda _: False,
    is_dry: bool = False,
) -> Restored:
    """Take drops back: for each page, store an override, and what the next crawl of its spider has to request.

    All of it is stored in one transaction. Of a page that was dropped several times, the last drop counts.

    Args:
        entries: entries of a journal; all but those of dropped pages are ignored.
        now: the time, in seconds since 1970.
        advance: called with the number of records of the index that were read.
        kept: the pages that have been kept since their drops; ``None``: the whole index is read to find them.
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
    if kept is None:
        kept = _find_kept(pages, drops.values(), advance)
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
            if (entry.scope, entry.url) in kept:
                raise ValueError("it was kept after this drop.")
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


def _find_kept(pages: Index, drops: Iterable[Entry], advance: Advance) -> set[ScopedUrl]:
    """Return which pages have been kept since their drops."""
    times = {(entry.scope, entry.url): int(entry.seconds) for entry in drops}  # as records have them
    return {
        (record.page.scope, record.page.url)
        for record in opening.read_records(pages, advance)
        if not record.is_dry and record.settled >= times.get((record.page.scope, record.page.url), inf)
    }
