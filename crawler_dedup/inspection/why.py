"""Find all that the index and the journals have about an address."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawler_dedup.index import maintenance
from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Override
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.sites import PairSites, find_sites_then
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Journals, ScopedUrl, find_duplicates
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.urls import without_credentials

JOURNAL_PASSES = 3
"""Number of times the journals are read to look an address up."""
_MAX_ENTRIES = 20
_MAX_SIMILAR = 5
_ENDING = 12


@dataclass
class PageHistory:
    """The history of an address in one scope.

    Attributes:
        entries: its last twenty journal entries, the latest last.
        kept: its record, if it is kept.
        representative: the record of the page that represents it.
        duplicates: the journal entries of other pages, by address: if the page is kept, its duplicates; if not, the other
            duplicates of its representative. Only entries since the kept page or the representative was filed.
        sites: if another page represents it, the profiles of both sites at the time of that decision.
        similar: if it is kept, the address of the other kept page that resembles it most; ``""``: none, or not looked for.
    """

    entries: list[Entry] = field(default_factory=list)
    kept: Record | None = None
    representative: Record | None = None
    duplicates: dict[str, Entry] = field(default_factory=dict)
    sites: PairSites = field(default_factory=PairSites)
    similar: str = ""

    @property
    def last_entry(self) -> Entry | None:
        """The latest journal entry."""
        return self.entries[-1] if self.entries else None

    def add(self, entry: Entry) -> None:
        """Add a journal entry of the page."""
        self.entries = sorted([*self.entries, entry], key=lambda entry: entry.time)[-_MAX_ENTRIES:]


@dataclass
class AddressHistory:
    """The history of an address.

    Attributes:
        url: the address.
        scopes: its history in each scope; empty: nothing is known about it.
        similar: if nothing is known about it, known addresses that may be meant.
        overrides: the overrides in the index that are about it.
    """

    url: str
    scopes: dict[str, PageHistory] = field(default_factory=dict)
    similar: list[str] = field(default_factory=list)
    overrides: list[Override] = field(default_factory=list)

    def in_scope(self, scope: str) -> PageHistory:
        """Return the history in *scope*; add an empty one if there is none."""
        return self.scopes.setdefault(scope, PageHistory())


def find_history(
    url: str, pages: Index, journals: Journals, advance: Advance, read: Advance = ignore_progress
) -> AddressHistory:
    """Look *url* up: read the index once and the journals :data:`JOURNAL_PASSES` times.

    Args:
        advance: called with the number of records that were read since the last call.
        read: called with the number of bytes of the journals that were read since the last call.

    Raises:
        DedupError: a journal was written by a version with another schema, or index or journal cannot be read.
    """
    url = without_credentials(url)
    history = AddressHistory(url, overrides=[each for each in pages.list_overrides() if each.concerns(url)])
    similar = _SimilarAddresses(url)
    for entry in journals.entries(read):
        if entry.url == url and entry.event not in ("watchdog", "form"):
            history.in_scope(entry.scope).add(entry)
        elif entry.duplicate_of == url and entry.is_duplicate:
            history.in_scope(entry.scope)
        similar.add(entry.url)
    _read_index(history, similar, pages, advance)
    if not history.scopes:
        history.similar = list(similar.addresses)
    _add_duplicates(history, journals, read)
    return history


def _read_index(history: AddressHistory, similar: _SimilarAddresses, pages: Index, advance: Advance) -> None:
    """Find the record of the address, the records of its representatives, and the profiles of their sites."""
    represented: dict[ScopedUrl, PageHistory] = {
        (scope, page.last_entry.duplicate_of): page
        for scope, page in history.scopes.items()
        if page.last_entry and page.last_entry.duplicate_of
    }
    for page_history in represented.values():
        if page_history.last_entry is not None:
            page_history.sites = find_sites_then(pages, page_history.last_entry)
    for record in maintenance.read_records(pages, advance):
        page = record.page
        if page.url == history.url:
            history.in_scope(page.scope).kept = record
        elif duplicate := represented.get((page.scope, page.url)):
            duplicate.representative = record
        similar.add(page.url)


def _add_duplicates(history: AddressHistory, journals: Journals, read: Advance) -> None:
    """Find the other duplicates of the address if it is kept, or else of its representative."""
    histories: dict[ScopedUrl, PageHistory] = {}
    for scope, page in history.scopes.items():
        if page.kept is None and page.last_entry is not None:
            histories[scope, page.last_entry.duplicate_of or history.url] = page
        else:
            histories[scope, history.url] = page
    for (scope, url), entry in find_duplicates(journals, histories.__contains__, read).items():
        page = histories[scope, entry.duplicate_of]
        record = page.kept or page.representative
        if url != history.url and (record is None or entry.seconds >= record.filed):
            page.duplicates[url] = entry


class _SimilarAddresses:
    """Known addresses that differ from a given one only in parts that people leave out when they copy an address."""

    def __init__(self, url: str) -> None:
        self._bare = _bare(url)
        self._ending = self._bare[-_ENDING:]  # rules most addresses out, in a tenth of the time
        self.addresses: dict[str, None] = {}

    def add(self, url: str) -> None:
        """Add *url* if it is similar."""
        if self._ending in url.lower() and len(self.addresses) < _MAX_SIMILAR and _bare(url) == self._bare:
            self.addresses[url] = None


def _bare(url: str) -> str:
    bare = url.lower().partition("#")[0].removeprefix("https://").removeprefix("http://")
    host, slash, path = bare.partition("/")
    bare = host.removeprefix("www.") + slash + path
    return bare.removesuffix("/index.html").rstrip("/")
