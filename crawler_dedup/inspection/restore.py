"""Take wrong drops back: each page represents itself from now on, and the next crawl of its spider requests it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from crawler_dedup.decision import DroppedRequest
from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Override, Restoration, make_override
from crawler_dedup.journal.entry import Entry

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
