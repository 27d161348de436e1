"""What is known of an address: from the index what is kept, from the journals what has become of the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawler_dedup.index import maintenance
from crawler_dedup.index.records import Record
from crawler_dedup.index.store import Store
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Address, Journals, find_duplicates
from crawler_dedup.rules.sites import SiteProfiles
from crawler_dedup.system.callbacks import Advance
from crawler_dedup.urls import host_of, without_credentials

_MOST_ENTRIES = 20
_MOST_SIMILAR = 5
_TOLD_APART = 12


@dataclass
class Case:
    """What is known of an address in one scope.

    Attributes:
        entries: what the journals say of it, the latest last; the last twenty.
        kept: its record.
        representative: the record of the page that stands for it.
        duplicates: where it is not kept other pages for which that one stands, else those for which it stands, since that
            was filed; by address.
    """

    entries: list[Entry] = field(default_factory=list)
    kept: Record | None = None
    representative: Record | None = None
    duplicates: dict[str, Entry] = field(default_factory=dict)

    @property
    def last(self) -> Entry | None:
        """What the journals say last."""
        return self.entries[-1] if self.entries else None

    def add(self, entry: Entry) -> None:
        self.entries = sorted([*self.entries, entry], key=lambda one: one.time)[-_MOST_ENTRIES:]


@dataclass
class Findings:
    """What is known of an address.

    Attributes:
        url: the address.
        cases: by scope; none: nothing is known.
        similar: known addresses that may be meant, where nothing is known of this one.
        sites: what kept pages show of the sites of the address and of those that stand for it.
    """

    url: str
    cases: dict[str, Case] = field(default_factory=dict)
    similar: list[str] = field(default_factory=list)
    sites: SiteProfiles = field(default_factory=SiteProfiles)

    def case(self, scope: str) -> Case:
        return self.cases.setdefault(scope, Case())


def inquire(url: str, pages: Store, journals: Journals, advance: Advance) -> Findings:
    """Look through the index once and through the journals three times.

    Args:
        advance: called with numbers of records that were looked at.

    Raises:
        DedupError: a journal was written by a version with another schema, or index or journal cannot be read.
    """
    url = without_credentials(url)
    found = Findings(url)
    resembling = _Resembling(url)
    for entry in journals.entries():
        if entry.url == url and entry.event != "watchdog":
            found.case(entry.scope).add(entry)
        elif entry.kept_url == url and entry.is_duplicate:
            found.case(entry.scope)
        resembling.look(entry.url)
    _look_into_index(found, resembling, pages, advance)
    if not found.cases:
        found.similar = list(resembling.found)
    _add_duplicates(found, journals)
    return found


def _look_into_index(found: Findings, resembling: _Resembling, pages: Store, advance: Advance) -> None:
    standing: dict[Address, Case] = {
        (scope, case.last.kept_url): case for scope, case in found.cases.items() if case.last and case.last.kept_url
    }
    hosts = {host_of(one) for one in (found.url, *(kept for _, kept in standing))}
    for record in maintenance.read_records(pages, advance):
        page = record.page
        if any(host in page.url for host in hosts) and host_of(page.url) in hosts:
            found.sites.add(page)
        if page.url == found.url:
            found.case(page.scope).kept = record
        elif case := standing.get((page.scope, page.url)):
            case.representative = record
        resembling.look(page.url)


def _add_duplicates(found: Findings, journals: Journals) -> None:
    meant: dict[Address, Case] = {}
    for scope, case in found.cases.items():
        if case.kept is None and case.last is not None:
            meant[scope, case.last.kept_url] = case
        else:
            meant[scope, found.url] = case
    for (scope, url), entry in find_duplicates(journals, meant.__contains__).items():
        case = meant[scope, entry.kept_url]
        record = case.kept or case.representative
        if url != found.url and (record is None or entry.seconds >= record.filed):
            case.duplicates[url] = entry


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
    bare = url.lower().partition("#")[0].removeprefix("https://").removeprefix("http://")
    host, slash, path = bare.partition("/")
    bare = host.removeprefix("www.") + slash + path
    return bare.removesuffix("/index.html").rstrip("/")
