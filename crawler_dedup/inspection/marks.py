"""Marks that no longer count: pages that passed a dry run as duplicates, and about which a later run has decided."""

from __future__ import annotations

from collections.abc import Iterable

from xxhash import xxh3_64_intdigest

from crawler_dedup.index.records import Record
from crawler_dedup.journal.entry import OUTCOMES, Entry
from crawler_dedup.journal.reader import Journals
from crawler_dedup.system.callbacks import Advance, ignore_progress


class OutdatedMarks:
    """The marks that no longer count: what has become of each marked page last, in which run.

    That is in the journal, or the page was kept, which is in the index only. Of each marked page, a few numbers are kept in
    memory.

    Args:
        records: the records of the index, read only if there are marks.
        advance: called with numbers of bytes that were read; their sum is twice the size of the journals.
    """

    def __init__(self, journals: Journals, records: Iterable[Record], advance: Advance = ignore_progress) -> None:
        self._last: dict[int, tuple[float, str]] = {
            _name_of(entry.scope, entry.url): (0, "") for entry in journals.entries(advance) if entry.event == "mark"
        }
        if not self._last:
            return
        for entry in journals.entries(advance):
            if entry.event in OUTCOMES:
                self._note(entry.scope, entry.url, entry.seconds, entry.run)
        for record in records:
            if record.settled:  # in whole seconds
                self._note(record.page.scope, record.page.url, record.filed + 1, f"{record.run:08x}")

    def _note(self, scope: str, url: str, seconds: float, run: str) -> None:
        name = _name_of(scope, url)
        if name in self._last:
            self._last[name] = max(self._last[name], (seconds, run))

    def __contains__(self, entry: object) -> bool:
        """Return whether *entry* is a mark that no longer counts."""
        if not isinstance(entry, Entry) or entry.event != "mark":
            return False
        seconds, run = self._last.get(_name_of(entry.scope, entry.url), (0, ""))
        return seconds > entry.seconds and run != entry.run


def _name_of(scope: str, url: str) -> int:
    return xxh3_64_intdigest(f"{scope}\0{url}".encode("utf-8", "replace"))
