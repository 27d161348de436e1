"""Find all that the index and the journals have about an address."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from math import inf

from msgspec.structs import replace

from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Override
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.comparison import PairSites, find_sites_then
from crawler_dedup.inspection.journals import RunPeriods, ScopedUrl, read_entries
from crawler_dedup.inspection.journaltable import IS_DUPLICATE, JournalTable, number_of
from crawler_dedup.journal.entry import Entry
from crawler_dedup.rules.table import SAME_BYTES, TOO_MANY_VARIANTS
from crawler_dedup.urls import without_credentials

_MAX_ENTRIES = 20
_MAX_SIMILAR = 5

DROPPING = {
    SAME_BYTES: "both pages have the same bytes",
    "alike": "nothing that counts distinguishes the two pages",
    TOO_MANY_VARIANTS: "enough lists that differ from it only in links are kept",
}
"""The rules by which a page is dropped, and what each says about the two pages."""


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


def find_history(url: str, pages: Index, table: JournalTable) -> AddressHistory:
    """Look *url* up in the index, and in the *table* of it and its journals.

    Raises:
        DedupError: the index or a journal cannot be read.
    """
    url = without_credentials(url)
    overrides = [override for override in pages.list_overrides() if override.concerns(url)]
    history = AddressHistory(url, overrides=overrides, runs=table.find_runs())
    own = (
        "SELECT file, offset_in_file FROM entries WHERE url = ? AND event NOT IN ('watchdog', 'form') ORDER BY time, id"
    )
    for entry in read_entries(table.select(own, [url])):
        page = history.in_scope(entry.scope)
        page.entries = [*page.entries, entry][-_MAX_ENTRIES:]

    def find_record(scope: str, address: str) -> Record | None:
        key = next(table.select("SELECT key FROM pages WHERE page = ?", [number_of(scope, address)]), None)
        return key and pages.find(scope, *key)

    known = (
        "SELECT scope FROM pages WHERE url = ?1"  # noqa: S608
        f" UNION SELECT scope FROM entries WHERE duplicate_of = ?1 AND {IS_DUPLICATE}"
    )
    for (scope,) in list(table.select(known, [url])):
        history.in_scope(scope).kept = find_record(scope, url)
    represented: dict[ScopedUrl, PageHistory] = {}
    for scope, page in history.scopes.items():
        if page.outcome and page.outcome.duplicate_of:
            page.representative = find_record(scope, page.outcome.duplicate_of)
            page.sites = find_sites_then(pages, page.outcome)
            represented[scope, page.outcome.duplicate_of] = page
    for entry in table.find_duplicates(lambda scope, kept: kept == url or (scope, kept) in represented):
        page = history.in_scope(entry.scope)
        kept_url = (page.outcome and page.outcome.duplicate_of) or url
        representative = page.representative if page.outcome else page.kept
        is_since = representative is None or entry.seconds >= representative.filed
        if entry.url != url and entry.duplicate_of == kept_url and is_since:
            page.duplicates[entry.url] = replace(entry, text=b"")
    if not history.scopes:
        addresses = table.select("SELECT url FROM entries UNION SELECT url FROM pages")
        history.similar = [*islice((other for (other,) in addresses if _bare(other) == _bare(url)), _MAX_SIMILAR)]
    return history


def _bare(url: str) -> str:
    bare = url.lower().partition("#")[0].removeprefix("https://").removeprefix("http://")
    host, slash, path = bare.partition("/")
    bare = host.removeprefix("www.") + slash + path
    return bare.removesuffix("/index.html").rstrip("/")
