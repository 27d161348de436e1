"""Figures from an index and its journals, each read once; memory does not grow with them."""

from __future__ import annotations

from collections import Counter, deque

from crawler_dedup.errors import DedupError
from crawler_dedup.hamming import BITS
from crawler_dedup.index.maintenance import measure
from crawler_dedup.index.records import Record
from crawler_dedup.index.store import Store
from crawler_dedup.journal.entry import Entry, Event
from crawler_dedup.journal.reader import Journals
from crawler_dedup.report.figures import (
    Count,
    Crossing,
    Figures,
    Group,
    Pages,
    Pair,
    Place,
    Run,
    Saved,
    Swallowing,
)
from crawler_dedup.report.heaviest import Heaviest
from crawler_dedup.report.spread import Signatures
from crawler_dedup.report.timeline import Timeline
from crawler_dedup.signedpage import Kind
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.urls import host_of

HOSTS = 25
"""Shown by name."""
SHOWN = 20
"""Of everything else that is listed."""
CASES = 10
"""Of the watchdog."""
EXAMPLES = 3

_BLOCK = 10_000
# What a page would have cost was saved, or would have been.
_SAVING: dict[Event, str] = {"drop": "drop", "unchanged_dropped": "drop", "mark": "mark"}
_SPIDERS = 5
_SLICE = 1_000


def gather(
    store: Store, journals: Journals, run: str = "", advance: Advance = ignore_progress, read: Advance = ignore_progress
) -> Figures:
    """Read *journals* and then the index.

    Args:
        run: only what this one did, 8 hexadecimal digits. How signatures lie is told of the whole index.
        advance: called with numbers of records that were read.
        read: called with numbers of entries that were read.

    Raises:
        DedupError: a journal cannot be read, or nothing is known of *run*.
    """
    place = Place(store.directory, store.header.spec, store.header.libraries, measure(store).disk_bytes)
    gathering = _Gathering(place, run)
    for number, entry in enumerate(journals.entries(), 1):
        gathering.note(entry)
        if number % _SLICE == 0:
            read(_SLICE)
    gathering.choose_groups()
    for block in store.records(_BLOCK):
        gathering.keep(block)
        advance(len(block))
    if run and not gathering.runs:
        raise DedupError(f"Nothing is known of a run {run}: `crawler-dedup index stats` names those of the index.")
    return gathering.figures(journals)


class _Gathering:
    """What was counted so far."""

    def __init__(self, place: Place, run: str) -> None:
        self._place = place
        self._run = run
        self._entries = 0
        self._total = Pages()
        self._open_claims = 0
        self._saved = {"drop": Saved(), "mark": Saved()}
        self._hosts: Heaviest[str, Pages] = Heaviest(Pages)
        self._timeline = Timeline()
        self._distances: Counter[int] = Counter()
        self._resemblances: Counter[int] = Counter()
        self._coverages: Counter[int] = Counter()
        self._rules: Heaviest[str, Count] = Heaviest(Count)
        self._reasons: Heaviest[str, Count] = Heaviest(Count)
        self._groups: Heaviest[tuple[str, str], Group] = Heaviest(Group)
        self._largest: dict[tuple[str, str], Group] = {}
        self._pairs: Heaviest[tuple[str, str], Crossing] = Heaviest(Crossing)
        self._watchdog: deque[Swallowing] = deque(maxlen=CASES)
        self._watchdog_count = 0
        self.runs: Heaviest[str, Run] = Heaviest(Run)
        self._signatures = Signatures() if place.scheme == SimHash.name else None  # of other schemes they are hashes

    # The journal

    def note(self, entry: Entry) -> None:
        """Count a line."""
        self._entries += 1
        if self._run and entry.run != self._run:
            return
        seconds = entry.seconds
        run = self.runs.of(entry.run)
        run.meet(seconds)
        if len(run.spiders) < _SPIDERS:
            run.spiders.add(entry.spider)
        if entry.event == "watchdog":
            self._watchdog.append(Swallowing(entry.time, entry.run, entry.kept_url, entry.url))
            self._watchdog_count += 1
            return
        if entry.event == "released":
            return
        host = host_of(entry.url)
        field = self._became(entry)
        for pages in (self._total, run.pages, self._hosts.of(host)):
            setattr(pages, field, getattr(pages, field) + 1)
        if entry.event == "unchecked":
            self._reasons.of(entry.reason).number += 1
        if action := _SAVING.get(entry.event):
            self._saved[action] = self._saved[action].plus(entry.bytes, entry.links)
        if field in ("dropped", "marked"):
            self._timeline.add(seconds, duplicates=1)
            self._note_duplicate(entry, host)

    @staticmethod
    def _became(entry: Entry) -> str:
        """The field of :class:`Pages` that counts the page of *entry*."""
        if entry.event == "unchecked":
            return "unchecked"
        if entry.event in ("unchanged", "unchanged_dropped"):
            return "unchanged"
        return "dropped" if entry.event == "drop" else "marked"

    def _note_duplicate(self, entry: Entry, host: str) -> None:
        self._rules.of(entry.rule).number += 1
        if entry.distance is not None and 0 <= entry.distance <= BITS:  # a journal is a file like any other
            self._distances[entry.distance] += 1
        for counts, share in ((self._resemblances, entry.resemblance), (self._coverages, entry.coverage)):
            if share is not None and 0 <= share <= 1:
                counts[int(share * 100)] += 1
        group = self._groups.of((entry.scope, entry.kept_url))
        group.number += 1
        if len(group.examples) < EXAMPLES and entry.url not in group.examples:
            group.examples.append(entry.url)
        if (other := host_of(entry.kept_url)) != host:
            crossing = self._pairs.of((host, other))
            crossing.number += 1
            crossing.example = crossing.example or entry.url

    def choose_groups(self) -> None:
        """The journal was read: of the largest groups the kept pages will be looked up."""
        self._largest = {kept: group for kept, group in self._groups.top(SHOWN) if group.number > 1}

    # The index

    def keep(self, records: list[Record]) -> None:
        """Count records."""
        if self._signatures is not None:
            self._signatures.add([record.page for record in records if record.page.kind is Kind.TEXT])
        for record in records:
            page = record.page
            if group := self._largest.get((page.scope, page.url)):
                group.title, group.is_kept = page.title, True
            number = f"{record.run:08x}"
            if self._run and number != self._run:
                continue
            run = self.runs.of(number)
            run.meet(record.filed)
            for pages in (self._total, run.pages, self._hosts.of(host_of(page.url))):
                pages.kept += 1
            self._timeline.add(record.filed, kept=1)
            self._open_claims += not record.settled

    # The end

    def figures(self, journals: Journals) -> Figures:
        """All that was counted."""
        hosts = self._hosts.top(HOSTS)
        width, buckets = self._timeline.shown()
        latest = sorted(self.runs.top(len(self.runs)), key=lambda one: (-one[1].last, one[0]))
        return Figures(
            index=self._place,
            run=self._run,
            total=self._total,
            open_claims=self._open_claims,
            dropped=self._saved["drop"],
            marked=self._saved["mark"],
            hosts=hosts,
            other_hosts=self._total - sum((pages for _, pages in hosts), Pages()),
            host_count=len(self._hosts),
            is_cut=any(one.has_forgotten for one in (self._hosts, self._groups, self._pairs)),
            bucket_seconds=width,
            buckets=buckets,
            distances=self._distances,
            resemblances=self._resemblances,
            coverages=self._coverages,
            rules=_numbers(self._rules),
            reasons=_numbers(self._reasons),
            groups=[(url, group) for (_, url), group in self._largest.items()],
            group_count=len(self._groups),
            several_count=sum(group.number > 1 for group in self._groups.values()),
            pairs=self._shown_pairs(),
            watchdog=list(reversed(self._watchdog)),
            watchdog_count=self._watchdog_count,
            runs=latest[:SHOWN],
            run_count=len(latest),
            spread=self._signatures.spread() if self._signatures else None,
            files=journals.files,
            entries=self._entries,
            damaged=dict(journals.damaged),
        )

    def _shown_pairs(self) -> list[Pair]:
        both: Counter[tuple[str, str]] = Counter()
        for (one, other), crossing in self._pairs.top(len(self._pairs)):
            both[min(one, other), max(one, other)] += crossing.number
        largest = sorted(both.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
        return [self._pair(*hosts) for hosts, _ in largest]

    def _pair(self, first: str, second: str) -> Pair:
        by_second, by_first = (self._pairs.get(hosts) or Crossing() for hosts in ((first, second), (second, first)))
        return Pair(
            first,
            second,
            by_second.number,
            by_first.number,
            by_second.number / max(1, self._pages_of(first)),
            by_first.number / max(1, self._pages_of(second)),
            by_second.example,
            by_first.example,
        )

    def _pages_of(self, host: str) -> int:
        pages = self._hosts.get(host)
        return pages.number if pages else 0


def _numbers(counts: Heaviest[str, Count]) -> list[tuple[str, int]]:
    return [(name, count.number) for name, count in counts.top(SHOWN)]
