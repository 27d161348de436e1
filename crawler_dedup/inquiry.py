"""What is known of an address: from the index what is kept, from the journals what has become of the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from crawler_dedup.history import Journals, duplicates_of
from crawler_dedup.journal import Entry
from crawler_dedup.records import Record
from crawler_dedup.sites import Sites, host_of
from crawler_dedup.store import Store

Advance = Callable[[int], None]

_BLOCK = 1000
_MOST_ENTRIES = 20
_MOST_SIMILAR = 5
_TOLD_APART = 12


@dataclass
class Findings:
    """What is known of an address.

    Attributes:
        url: the address.
        entries: what the journals say of it, the latest last; the last twenty.
        kept: the records under this address, one a scope.
        representative: the address of the page that stands for it, or, where it is kept, its own; ``""``: there is none.
        representatives: the records of that.
        duplicates: other pages for which that stands since it was filed, by address.
        similar: known addresses that may be meant, where nothing is known of this one.
        sites: what kept pages show of the sites of the two.
    """

    url: str
    entries: list[Entry] = field(default_factory=list)
    kept: list[Record] = field(default_factory=list)
    representative: str = ""
    representatives: list[Record] = field(default_factory=list)
    duplicates: dict[str, Entry] = field(default_factory=dict)
    similar: dict[str, None] = field(default_factory=dict)
    sites: Sites = field(default_factory=Sites)

    @property
    def is_known(self) -> bool:
        return bool(self.kept or self.entries)

    @property
    def last(self) -> Entry | None:
        """What the journals say last."""
        return self.entries[-1] if self.entries else None


def inquire(url: str, pages: Store, journals: Journals, advance: Advance) -> Findings:
    """Look through the index once and through the journals three times.

    Args:
        advance: called with numbers of records that were looked at.

    Raises:
        DedupError: a journal was written by a version with another schema, or index or journal cannot be read.
    """
    found = Findings(url)
    resembling = _Resembling(url)
    for entry in journals.entries():
        if entry.event != "watchdog" and entry.url == url:
            found.entries = sorted([*found.entries, entry], key=lambda one: one.time)[-_MOST_ENTRIES:]
        resembling.look(entry.url)
    named = found.last.kept_url if found.last else ""
    hosts = host_of(url), host_of(named or url)
    for block in pages.records(_BLOCK):
        for record in block:
            _look(record, found, named, hosts)
            resembling.look(record.page.url)
        advance(len(block))
    found.representative = url if found.kept else named
    if found.kept:
        found.representatives = found.kept
    if not found.is_known:
        found.similar = resembling.found
    if found.representative:
        _add_duplicates(found, journals)
    return found


def _look(record: Record, found: Findings, named: str, hosts: tuple[str, str]) -> None:
    if (hosts[0] in record.page.url or hosts[1] in record.page.url) and host_of(record.page.url) in hosts:
        found.sites.learn(record.page)
    if record.page.url == found.url:
        found.kept.append(record)
    elif record.page.url == named:
        found.representatives.append(record)


def _add_duplicates(found: Findings, journals: Journals) -> None:
    filed = min((record.filed for record in found.representatives), default=0)
    for url, entry in duplicates_of(journals, {found.representative}).items():
        if url != found.url and entry.seconds >= filed:
            found.duplicates[url] = entry


class _Resembling:
    """Addresses that differ from one only in what people leave out when they copy it."""

    def __init__(self, url: str) -> None:
        self._wanted = _bare(url)
        self._end = self._wanted[-_TOLD_APART:]  # most addresses are told apart by it, in a tenth of the time
        self.found: dict[str, None] = {}

    def look(self, url: str) -> None:
        if self._end in url.lower() and len(self.found) < _MOST_SIMILAR and _bare(url) == self._wanted:
            self.found[url] = None


def _bare(url: str) -> str:
    bare = url.lower().partition("#")[0].removeprefix("https://").removeprefix("http://").removeprefix("www.")
    return bare.removesuffix("/index.html").rstrip("/")
