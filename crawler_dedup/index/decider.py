"""Decisions about the pages that are offered, one after the other, and the filing of pages that pass.

The kept pages are read and changed within one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.decision import BEING_HANDLED, Decision, Match, Verdict
from crawler_dedup.index.limits import MAX_COMPARED, MAX_KNOWN_SNAPSHOTS
from crawler_dedup.index.overrides import NO_OVERRIDES, Override, Overrides, make_override
from crawler_dedup.index.profiles import Snapshot, site_key
from crawler_dedup.index.protocols import Matcher
from crawler_dedup.index.records import Record, name_page, shorten_key
from crawler_dedup.index.runs import RecordState, wall_clock
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.signedpage import SignedPage


@dataclass(frozen=True)
class RunContext:
    """The context in which a run offers pages.

    Attributes:
        run: number of the run; 0: none, so that its pages are settled whatever happens.
        grace: seconds during which pages that the run settled are perhaps not stored yet, if it dies.
        next_claim: returns the number of the next claim; ``None``: a page that passes is settled at once.
        max_age: seconds after which a page that was not visited no longer counts; 0: it always counts.
        is_dry: whether duplicates pass. Pages that only such runs have kept represent nothing where duplicates are dropped,
            unless this run itself has kept them.
        clock: returns the time, in seconds since 1970.
        stored_until: returns the time from which on pages that the run has settled are not stored yet; ``None``: the grace
            covers them.
        overrides: overrides beside those in the index.
    """

    run: int = 0
    grace: int = 0
    next_claim: Callable[[], int] | None = None
    max_age: int = 0
    is_dry: bool = False
    clock: Callable[[], int] = wall_clock
    stored_until: Callable[[], int | None] = lambda: None
    overrides: Overrides = NO_OVERRIDES

    @classmethod
    def of(cls, config: Config, **fields: Any) -> RunContext:
        """Make the context in which pages are offered with *config*; *fields*: what depends on the run."""
        overrides = Overrides(make_override("below", [prefix]) for prefix in config.never_drop)
        max_age = round(86_400 * config.expire_days)
        return cls(grace=config.grace, max_age=max_age, is_dry=config.is_dry, overrides=overrides, **fields)


@dataclass
class _Changes:
    """The changes that a decision makes in the index.

    Attributes:
        outdated: records that no longer count, or whose place the page takes, by number.
        lost_aliases: pairs of the number of a record and a key that is no longer an alias of it.
        visited: number and record of the page itself, which is unchanged.
        is_filed: whether the page is filed.
        claim: number of the claim that it makes; 0: it is settled at once.
        representative: the kept page that represents it; ``None``: no page does.
    """

    outdated: dict[int, Record] = field(default_factory=dict)
    lost_aliases: list[tuple[int, str]] = field(default_factory=list)
    visited: tuple[int, Record] | None = None
    is_filed: bool = False
    claim: int = 0
    representative: SignedPage | None = None


class Decider:
    """Decides about pages by the pages that are kept.

    Args:
        kept: the kept pages, in one state.
        context: the context in which all these pages are offered.
        now: the time, in seconds since 1970.

    Attributes:
        dropped: pairs of a kept page and the address of its duplicate, for the duplicates that do not pass.
    """

    def __init__(self, kept: Transaction, matcher: Matcher, context: RunContext, *, now: int) -> None:
        self._kept = kept
        self._runs = kept.runs
        self._matcher = matcher
        self._context = context
        self._now = now
        self._oldest = now - context.max_age if context.max_age else 0
        self._overrides = kept.overrides()
        self.dropped: list[tuple[SignedPage, str]] = []
        self._snapshots: dict[bytes, Snapshot] = {}  # that were looked up since the last change

    def decide(self, page: SignedPage, alias: str = "") -> Decision:
        """Decide about *page*, and file it if it passes.

        A page similar to one that is being handled gets :data:`~crawler_dedup.decision.BEING_HANDLED`, and is not filed; it
        can be offered again.

        Args:
            alias: another key by which the page is found from then on; ``""``: none.
        """
        changes = _Changes()
        page = self._prepare(page)
        decision = self._judge(page, alias, changes)
        for number, record in changes.outdated.items():
            self._kept.remove(number, record, self._matcher)
        for number, key in changes.lost_aliases:
            self._kept.remove_alias(number, key)
        if changes.visited is not None:
            self._record_visit(page, alias, *changes.visited)
        if changes.is_filed:
            self._file(page, alias, changes.claim)
        if changes.representative is not None and not self._context.is_dry:
            self.dropped.append((changes.representative, decision.url))
        return decision

    def preview(self, page: SignedPage, alias: str = "") -> Decision:
        """Return the decision about *page* and change nothing."""
        return self._judge(self._prepare(page), alias, _Changes())

    def _prepare(self, page: SignedPage) -> SignedPage:
        if len(self._snapshots) >= MAX_KNOWN_SNAPSHOTS:
            self._snapshots.clear()
        return page if page.unsigned else self._matcher.prepare(page, self._snapshot_of(page))

    def _judge(self, page: SignedPage, alias: str, changes: _Changes) -> Decision:
        """Decide about *page*, and put the changes in the index that this implies into *changes*."""
        if page.unsigned:
            return Decision(Verdict.UNCHECKED, page.url, page.key, page.scope, page.unsigned)
        return self._judge_revisit(page, alias, changes) or self._judge_unrecorded(page, changes)

    def _judge_revisit(self, page: SignedPage, alias: str, changes: _Changes) -> Decision | None:
        """Decide about a page that is recorded, under its key or under *alias*; return ``None`` if it is not."""
        for key in (page.key, alias) if alias else (page.key,):
            recorded = self._kept.find(page.scope, key)
            if recorded is None:
                continue
            number, record = recorded
            if self._state_of(record) is RecordState.VOID or self._is_from_dry_run(record):
                changes.outdated[number] = record
                continue
            is_own = record.page.key == shorten_key(page.key)
            is_another = not is_own and self._is_another(page, record.page)
            kept = self._comparable(record)
            # By the page key the rules recognise that it is the page itself, and no variant of it.
            chosen = self._choose(page, [msgspec.structs.replace(kept, key=page.key) if is_own else kept])
            if chosen is not None and not is_another:
                return self._judge_unchanged(page, number, record, chosen[1], changes)
            if is_own:
                changes.outdated[number] = record
                return self._file_as(Verdict.CHANGED, page, changes, also_at=record.also_at)
            if record.page.key != shorten_key(key):
                # The address redirected to another page once, which may still exist.
                changes.lost_aliases.append((number, key))
        return None

    def _judge_unchanged(
        self, page: SignedPage, number: int, record: Record, match: Match, changes: _Changes
    ) -> Decision:
        """Decide about an unchanged page. Its record is kept, so that many small changes add up to a change.

        A page that is being handled is not kept yet: the present visit replaces it, however the other visit ends.
        """
        state = self._state_of(record)
        if state is RecordState.CLAIMED and self._context.next_claim is not None:
            changes.outdated[number] = record
            return self._file_as(Verdict.UNCHANGED, page, changes, record.page, match=match)
        earlier = (
            record.run != self._context.run and state is RecordState.ACTIVE and self._runs.has_finished(record.run)
        )
        if (
            self._context.run
            and not earlier
            and self._runs.is_over(record.run)
            and record.is_dry == self._context.is_dry
        ):
            # The links of the page may not have been followed. They were followed if this run, which follows them, finishes.
            # (A dry run follows them as well, but the pages that it reaches represent nothing for other runs.)
            record = msgspec.structs.replace(record, run=self._context.run, claim=0)
        changes.visited = number, record
        return self._decision(
            page, Verdict.UNCHANGED, record.page, match=match, from_earlier_run=earlier, also_at=record.also_at
        )

    def _judge_unrecorded(self, page: SignedPage, changes: _Changes) -> Decision:
        """Decide about a page that is not recorded."""
        override = self._find_keeping(page)
        if override is not None:
            return self._file_as(Verdict.NEW, page, changes, reason=f"override: {override}")
        being_handled: list[SignedPage] = []
        from_dry_runs: list[tuple[int, Record]] = []
        chosen = self._choose(page, self._candidates(page, being_handled, from_dry_runs, changes))
        if chosen is not None:
            kept, match = changes.representative, _ = chosen
            return self._decision(page, Verdict.DUPLICATE, kept, duplicate_of=kept.url, match=match)
        chosen = self._choose(page, being_handled) if being_handled else None
        if chosen is not None:
            kept, match = chosen
            reason = BEING_HANDLED
            return self._decision(page, Verdict.UNCHECKED, kept, reason=reason, duplicate_of=kept.url, match=match)
        for number, record in from_dry_runs:
            if self._choose(page, [self._comparable(record)]) is not None:
                changes.outdated[number] = record  # the page replaces it
        return self._file_as(Verdict.NEW, page, changes)

    def _find_keeping(self, page: SignedPage) -> Override | None:
        return self._context.overrides.find_keeping(page.url) or self._overrides.find_keeping(page.url)

    def _is_another(self, page: SignedPage, kept: SignedPage) -> bool:
        """Return whether an override says that *kept*, to which the address of *page* redirected once, is another page."""
        is_separate = kept.url.partition("#")[0] in self._overrides.find_separate(page.url)
        return is_separate or self._find_keeping(page) is not None

    def _candidates(
        self,
        page: SignedPage,
        being_handled: list[SignedPage],
        from_dry_runs: list[tuple[int, Record]],
        changes: _Changes,
    ) -> Iterator[SignedPage]:
        """Yield the settled pages near *page* or under its title.

        Pages that are still open are put into *being_handled*, those that only dry runs have kept into *from_dry_runs*, and
        records that no longer count into *changes*.
        """
        separate = self._overrides.find_separate(page.url)
        for number, record in islice(self._read_candidates(page), MAX_COMPARED):
            state = self._state_of(record)
            if state is RecordState.VOID:
                changes.outdated[number] = record
            elif separate and record.page.url.partition("#")[0] in separate:
                continue
            elif self._is_from_dry_run(record):
                from_dry_runs.append((number, record))
            elif state is RecordState.CLAIMED:
                being_handled.append(self._comparable(record))
            else:
                yield record.page

    def _read_candidates(self, page: SignedPage) -> Iterator[tuple[int, Record]]:
        """Yield (number, record) of the pages near *page*, nearest first, and then of those under its title."""
        filed = self._kept.read_buckets(page.scope, self._matcher.probes(page), self._matcher.bucket_limit(page))
        near = set()
        for signature in self._matcher.near(page, filed):
            for number, record in self._kept.read_filed(page.scope, signature):
                if record.page.signature == signature:
                    near.add(number)
                    yield number, record
        if title := self._matcher.title_key(page):
            yield from (row for row in self._kept.read_filed(page.scope, title) if row[0] not in near)

    def _record_visit(self, page: SignedPage, alias: str, number: int, record: Record) -> None:
        """Record that the page of *record* was visited as *page*, by whose keys it is found from now on."""
        for key in (page.key, alias):
            if key and shorten_key(key) != record.page.key:
                record = self._kept.add_alias(number, record, key)
        self._kept.replace(number, msgspec.structs.replace(record, seen=self._now))

    def _state_of(self, record: Record) -> RecordState:
        return RecordState.VOID if record.seen < self._oldest else self._runs.state_of(record)

    def _is_from_dry_run(self, record: Record) -> bool:
        """Return whether *record* represents nothing, because only earlier dry runs have kept its page."""
        return record.is_dry and not self._context.is_dry and record.run != self._context.run

    def _file_as(
        self, verdict: Verdict, page: SignedPage, changes: _Changes, kept: SignedPage | None = None, **fields: Any
    ) -> Decision:
        """Return the decision about a page that is filed, with the number of its claim."""
        changes.is_filed = True
        if self._context.next_claim is not None:
            changes.claim = self._context.next_claim()
        return self._decision(page, verdict, kept, claim=changes.claim, **fields)

    def _file(self, page: SignedPage, alias: str, claim: int) -> None:
        """File *page*. Without a claim it counts as handled, and is counted for its site now."""
        self._kept.add(self.record_of(page, alias, claim), self._matcher)
        if not claim:
            self._kept.sites.count_page(page, self._matcher, self._now)
            self._snapshots.clear()

    def record_of(self, page: SignedPage, alias: str = "", claim: int = 0) -> Record:
        """Return the record of a page that passes now."""
        return Record(
            page=page if claim else self._matcher.trim(page),
            run=self._context.run,
            claim=claim,
            filed=self._now,
            seen=self._now,
            settled=0 if claim else self._now,
            aliases=(name_page(page.scope, alias),) if alias else (),
            is_dry=self._context.is_dry,
        )

    def _choose(self, page: SignedPage, kept: Iterable[SignedPage]) -> tuple[SignedPage, Match] | None:
        return self._matcher.choose(page, kept, self._snapshot_of)

    def _comparable(self, record: Record) -> SignedPage:
        """Return the page of *record* as it will be once it is handled: pages are compared in this form."""
        return record.page if record.settled else self._matcher.trim(record.page)

    def _snapshot_of(self, page: SignedPage) -> Snapshot:
        key = site_key(page.scope, page.url)
        snapshot = self._snapshots.get(key)
        if snapshot is None:
            snapshot = self._snapshots[key] = self._kept.sites.snapshot(key)
        return snapshot

    def _decision(self, page: SignedPage, verdict: Verdict, kept: SignedPage | None = None, **fields: Any) -> Decision:
        numbers = self._snapshot_of(page).number, 0 if kept is None else self._snapshot_of(kept).number
        return Decision(
            verdict,
            page.url,
            page.key,
            page.scope,
            snapshot=numbers[0],
            kept_snapshot=numbers[1],
            links_followed=page.links_followed,
            **fields,
        )
