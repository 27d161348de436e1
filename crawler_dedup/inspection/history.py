"""Find all that the index and the journals have about an address."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from crawler_dedup.index import opening
from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Override
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.comparison import PairSites, find_sites_then
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Journals, RunPeriods, ScopedUrl, find_duplicates
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
        address: the history of the address in all scopes.
        entries: its last twenty journal entries, the latest last.
        kept: its record, if it is kept.
        representative: the record of the page that represents it.
        duplicates: the journal entries of other pages, by address: if the page is kept, its duplicates; if not, the other
            duplicates of its representative. Only entries since the kept page or the representative was filed.
        sites: if another page represents it, the profiles of both sites at the time of that decision.
        similar: if it is kept, the address of the other kept page that resembles it most; ``""``: none, or not looked for.
    """

    address: AddressHistory = field(repr=False)
    entries: list[Entry] = field(default_factory=list)
    kept: Record | None = None
    representative: Record | None = None
    duplicates: dict[str, Entry] = field(default_factory=dict)
    sites: PairSites = field(default_factory=PairSites)
    similar: str = ""

    @property
    def missed_by(self) -> str:
        """The number of the last run of its spider, if nothing is known of the address from that run; else ``""``."""
        runs, scopes = self.address.runs, self.address.scopes.values()
        seen = {entry.run: entry.seconds for page in scopes for entry in page.entries}
        seen |= {f"{page.kept.run:08x}": page.kept.seen + 1 for page in scopes if page.kept}  # in whole seconds
        spiders = {entry.spider for entry in self.entries if entry.run}
        if self.kept and not spiders:
            spiders = runs.get(f"{self.kept.run:08x}").spiders
        run = max(map(runs.latest_of, spiders), key=lambda run: runs.get(run).first, default="")
        return run if run not in seen and runs.get(run).first > max(seen.values(), default=inf) else ""

    @property
    def outcome(self) -> Entry | None:
        """The journal entry that says what the page is now.

        ``None`` if its record says it, or nothing does: the page was kept then, but is not now, or it was marked, and a
        later run has not fetched it.
        """
        if not self.entries:
            return None
        last = self.entries[-1]
        is_kept = self.kept is not None and not (self.kept.is_dry and last.seconds > self.kept.seen + 1)
        was_kept = last.event in ("unchanged", "unchanged_dropped")
        return None if is_kept or was_kept or (last.event == "mark" and self.missed_by) else last

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
        runs: the runs of the journal.
    """

    url: str
    scopes: dict[str, PageHistory] = field(default_factory=dict)
    similar: list[str] = field(default_factory=list)
    overrides: list[Override] = field(default_factory=list)
    runs: RunPeriods = field(default_factory=RunPeriods)

    def in_scope(self, scope: str) -> PageHistory:
        """Return the history in *scope*; add an empty one if there is none."""
        return self.scopes.setdefault(scope, PageHistory(self))


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
        history.runs.note(entry.run, entry.seconds, entry.spider)
        if entry.url == url and entry.event not in ("watchdog", "form"):
            history.in_scope(entry.scope).add(entry)
        elif entry.duplicate_of == url and entry.is_duplicate:
            history.in_scope(entry.scope)
        similar.add(entry.url)
    represented: dict[ScopedUrl, PageHistory] = {
        (scope, page.outcome.duplicate_of): page
        for scope, page in history.scopes.items()
        if page.outcome and page.outcome.duplicate_of
    }
    duplicates = find_duplicates(journals, lambda kept: kept in represented or kept[1] == url, read)
    for page in represented.values():
        if page.outcome is not None:
            page.sites = find_sites_then(pages, page.outcome)
    for record in opening.read_records(pages, advance):
        address = record.page.scope, record.page.url
        if record.page.url == url:
            history.in_scope(record.page.scope).kept = record
        elif represents := represented.get(address):
            represents.representative = record
        elif address in duplicates and _is_kept_since(record, duplicates[address]):
            del duplicates[address]
        similar.add(record.page.url)
    for (scope, other), entry in duplicates.items():
        page = history.in_scope(scope)
        kept_url = (page.outcome and page.outcome.duplicate_of) or url
        representative = page.representative if page.outcome else page.kept
        is_since = representative is None or entry.seconds >= representative.filed
        if other != url and entry.duplicate_of == kept_url and is_since:
            page.duplicates[other] = entry
    if not history.scopes:
        history.similar = list(similar.addresses)
    return history


def _is_kept_since(record: Record, drop: Entry) -> bool:
    """Return whether the page of *drop* was kept since then; by a dry run, only if it was marked."""
    return record.settled >= int(drop.seconds) and not (record.is_dry and drop.event == "drop")


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
