"""The pages of an index: what happens to them in one write transaction."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import islice
from pathlib import Path

import lmdb
import msgspec

from crawler_dedup.decision import Decision
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.catalogue import Catalogue, PagesInTransaction
from crawler_dedup.index.engine import KEEP_MAP_SIZE
from crawler_dedup.index.environment import Environment
from crawler_dedup.index.header import FORMAT, Header, check_header
from crawler_dedup.index.keptpages import Filing
from crawler_dedup.index.profiles import FrozenProfiles, SiteFigures, Snapshot, StoredSite, site_key
from crawler_dedup.index.records import Record
from crawler_dedup.index.runs import RunEntry, RunLock, wall_clock
from crawler_dedup.index.verdicts import Matcher, OfferTerms, Verdicts
from crawler_dedup.index.verification import find_problems
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.callbacks import Advance, ignore_progress

KIND = "pages"

_SLICE = 500
_SITES_SLICE = 256  # of which each may take 400 KB
_MAX_OPEN_CLAIMS = 10_000
_END_TIMEOUT = 5.0


class Store:
    """The pages of one index directory. Use :meth:`open` or :meth:`attach`."""

    def __init__(self, environment: Environment, header: Header, frozen: FrozenProfiles | None = None) -> None:
        self.environment = environment
        self.header = header
        self._catalogue = Catalogue(environment)
        self._frozen = frozen
        self._open_claims: set[int] = set()
        self._has_lost_count = False

    @classmethod
    def open(
        cls,
        directory: Path,
        spec: Mapping[str, str],
        libraries: Mapping[str, str],
        *,
        map_size: int,
        fresh: bool,
        frozen: FrozenProfiles | None = None,
    ) -> Store:
        """Open or create the index in *directory*.

        Args:
            spec: what signatures depend on; must equal the header's.
            libraries: versions that are noted; others are only warned about.
            fresh: empty it first, unless this process has it open already.
            frozen: what decisions know of sites, in the place of what the index knows; nothing is learned then.

        Raises:
            IndexMismatch: the header has another *spec*.
            IndexUnusable: it cannot be opened.
        """
        environment = Environment.open(directory, map_size=map_size)
        try:
            return cls(environment, environment.prepare(KIND, spec, libraries, fresh=fresh), frozen)
        except BaseException:
            environment.close()
            raise

    @classmethod
    def attach(cls, directory: Path) -> Store:
        """Open an existing index of pages, whatever its configuration. Raises as :meth:`open`."""
        environment = Environment.open(directory, map_size=KEEP_MAP_SIZE)
        try:
            header = environment.existing_header()
            return cls(environment, environment.prepare(KIND, header.spec, header.libraries, fresh=False))
        except BaseException:
            environment.close()
            raise

    @classmethod
    def open_to_read(cls, directory: Path, spec: Mapping[str, str] | None = None) -> Store:
        """Open an existing index of pages to read it, also one that this user may not write; nothing in it is changed.

        What writes raises :class:`IndexUnusable` then, unless this process has the index open to write it too.

        Args:
            spec: what signatures depend on; must equal the header's. ``None``: it may be anything.

        Raises:
            IndexMissing: there is no index.
            IndexMismatch: the header has another *spec*, format or kind.
            IndexUnusable: it cannot be opened.
        """
        environment = Environment.open(directory, map_size=KEEP_MAP_SIZE, readonly=True)
        try:
            header = environment.existing_header()
            ours = Header(FORMAT, header.spec if spec is None else dict(spec), header.libraries, KIND)
            check_header(environment.directory, header, ours)
            return cls(environment, header)
        except BaseException:
            environment.close()
            raise

    @property
    def directory(self) -> Path:
        """The directory of the index."""
        return self.environment.directory

    def close(self) -> None:
        """Close this opening of the index; the last one of a process closes the files."""
        self.environment.close()

    def begin_run(self) -> RunLock:
        """Begin a new run of this index. Raises :class:`IndexUnusable`."""
        try:
            return RunLock(self.directory)
        except OSError as error:
            raise IndexUnusable(f"The index in {self.directory} cannot be written: {error}.") from error

    def end_run(self, terms: OfferTerms, *, finished: bool) -> None:
        """End the run of *terms*: what it settled is stored, but for what came later than its ``stored_until``.

        Args:
            finished: whether the links of all its pages were followed.

        Raises:
            IndexUnusable: the index is locked; after a few seconds.
        """

        def job(txn: lmdb.Transaction) -> None:
            self._catalogue.runs.end(
                txn,
                terms.run,
                wall_clock(),
                has_finished=finished,
                is_tidy=not self._open_claims and not self._has_lost_count,
                stored_until=terms.stored_until(),
            )

        self.environment.write(job, _END_TIMEOUT)

    def offer(
        self,
        pages: Sequence[SignedPage],
        matcher: Matcher,
        terms: OfferTerms = OfferTerms(),
        *,
        aliases: Mapping[str, str] | None = None,
    ) -> Future[list[Decision]]:
        """Decide about *pages* and file them, in order and also against each other.

        All offers that wait share one transaction. See :class:`~crawler_dedup.index.verdicts.Verdicts`.

        Args:
            aliases: page key → another key by which that page is known from then on.
        """

        def job(txn: lmdb.Transaction) -> list[Decision]:
            if self.environment.header_in(txn) != self.header:
                raise IndexUnusable(f"The index in {self.directory} was emptied for another configuration meanwhile.")
            now, runs = self._touch_run(txn, terms), self._catalogue.runs.states(txn)
            verdicts = Verdicts(self._pages_in(txn), matcher, terms, now=now, runs=runs)
            return [verdicts.decide(page, (aliases or {}).get(page.key, "")) for page in pages]

        future = self.environment.submit(job)
        if terms.makes_claims:
            future.add_done_callback(self._note_claims)
        return future

    def look(
        self, page: SignedPage, matcher: Matcher, terms: OfferTerms = OfferTerms(), *, alias: str = ""
    ) -> Decision:
        """Return the decision that an offer of *page* would get now, as far as it is committed; change nothing."""
        dead = self._find_dead()
        with self.environment.read() as txn:
            runs = self._catalogue.runs.states_in_reading(txn, dead)
            return Verdicts(self._pages_in(txn), matcher, terms, now=terms.clock(), runs=runs).look(page, alias)

    def end_claim(
        self, decision: Decision, matcher: Matcher, terms: OfferTerms, *, settled: bool, urgent: bool = False
    ) -> Future[bool]:
        """Settle the claim of *decision*, so that its page may stand for others, or release it and forget the page.

        The site of a page that is settled is learned from it.

        The result is ``False`` if the page is not recorded, or holds its place by another claim. A decision without claim
        means whatever is recorded of the page. Unless *urgent*, this waits a moment for another transaction with which it
        is written.

        Args:
            settled: whether the page was handled, so that the claim is settled; if not, it is released.
        """
        job = partial(self._end_claim, decision=decision, matcher=matcher, terms=terms, settled=settled)
        return self.environment.submit(job, urgent=urgent)

    def forget(self, select: Callable[[Record], bool], filing: Filing, advance: Advance = ignore_progress) -> int:
        """Forget every page whose record *select* picks; returns how many.

        In transactions of a few hundred pages, so that a crawl can go on. *advance* is called with numbers of records
        that were looked at.
        """
        forgotten = 0
        for numbers in self._selected(select, advance):
            forgotten += self.environment.write(partial(self._forget, numbers=numbers, select=select, filing=filing))
        return forgotten

    def _selected(self, select: Callable[[Record], bool], advance: Advance) -> Iterator[list[int]]:
        """Yield the numbers of the records that *select* picks, some hundred at a time."""
        picked: list[int] = []
        with self.environment.read() as txn:
            for number, record in self.environment.iterate_checked(self._catalogue.records.items(txn)):
                advance(1)
                if record is not None and select(record):
                    picked.append(number)
                if len(picked) == _SLICE:
                    yield picked
                    picked = []
        yield picked

    def tidy(self, filing: Filing, max_age: int, advance: Advance = ignore_progress) -> int:
        """Forget what stands for nothing any more: pages not visited for *max_age* seconds (0: whatever their age), and
        those that runs that have died may have lost. Returns how many."""
        dead = self.environment.write(self._catalogue.runs.find_dead)
        left = {number: run for number, run in dead.items() if not run.is_tidy}
        if not left and not max_age:
            return 0
        oldest = wall_clock() - max_age if max_age else 0

        def is_gone(record: Record) -> bool:
            return record.seen < oldest or (record.run in left and left[record.run].may_have_lost(record))

        def job(txn: lmdb.Transaction) -> None:
            for number, run in left.items():
                self._catalogue.runs.end(txn, number, run.last, has_finished=run.has_finished, is_tidy=True)

        forgotten = self.forget(is_gone, filing, advance)
        self.environment.write(job)
        return forgotten

    def records(self, size: int, *, handled_only: bool = False) -> Iterator[list[Record]]:
        """Yield all records that can be read, in lists of up to *size*. One state of the index, while it goes on.

        Args:
            handled_only: only those of pages that were handled.
        """
        is_wanted = self._make_handled_test() if handled_only else lambda _: True
        with self.environment.read() as txn:
            numbered = self.environment.iterate_checked(self._catalogue.records.items(txn))
            readable = (record for _, record in numbered if record is not None)
            wanted = filter(is_wanted, readable)
            while batch := list(islice(wanted, size)):
                yield batch

    def sharing(
        self, probes: Sequence[Sequence[int]], choose: Callable[[Iterable[Numbers]], Iterable[int]]
    ) -> list[Record]:
        """Return the records of handled pages, of every scope, under the signatures that *choose* picks of those in the
        buckets *probes*, which come in blocks."""
        is_handled = self._make_handled_test()
        with self.environment.read() as txn:
            return [record for record in self._catalogue.sharing(txn, probes, choose) if is_handled(record)]

    def _make_handled_test(self) -> Callable[[Record], bool]:
        """Make a test of whether the page of a record was handled, and not by a run that died and may have lost it."""
        dead = self._find_dead()

        def is_handled(record: Record) -> bool:
            return bool(record.settled) and not (record.run in dead and dead[record.run].may_have_lost(record))

        return is_handled

    def _find_dead(self) -> dict[int, RunEntry]:
        """Find the runs that have died, or ended and left something behind, without writing."""
        runs = self._catalogue.runs
        with self.environment.read() as txn:
            dead = runs.find_dead(txn)
        with self.environment.read() as txn:
            return {number: run for number, run in dead.items() if runs.find(txn, number) == run}

    def latest_snapshot(self, scope: str, url: str) -> Snapshot:
        """Return what the rules know now of the site of an address."""
        with self.environment.read() as txn:
            return self._catalogue.profiles.snapshot(txn, site_key(scope, url))

    def find_snapshot(self, scope: str, url: str, number: int, moment: float) -> Snapshot | None:
        """Return what the rules knew of the site of an address at a *moment*, by the number of the snapshot; ``None``: it is
        not kept any more."""
        with self.environment.read() as txn:
            return self._catalogue.profiles.find_snapshot(txn, site_key(scope, url), number, moment)

    def sites(self) -> Generator[StoredSite, None, None]:
        """Yield what is stored of each site. One state of the index, while it goes on."""
        with self.environment.read() as txn:
            yield from self.environment.iterate_checked(self._catalogue.profiles.read_all(txn))

    def merge_sites(self, sites: Iterable[StoredSite]) -> None:
        """Let each of *sites* take the place of what is known of it, if more of its pages were counted.

        In transactions of a few hundred sites, so that a crawl can go on.
        """
        waiting = iter(sites)
        while batch := list(islice(waiting, _SITES_SLICE)):
            self.environment.write(partial(self._merge_sites, sites=batch))

    def measure_sites(self) -> SiteFigures:
        """Count the sites and what is stored of them."""
        with self.environment.read() as txn:
            return self._catalogue.profiles.measure(txn)

    def merge(self, records: Sequence[Record], filing: Filing) -> int:
        """File *records* as they are, but for pages that are recorded already; returns how many are new.

        They are not compared with each other or with what is kept.
        """
        return self.environment.write(lambda txn: self._merge(txn, records, filing))

    def verify(self, filing: Filing, advance: Advance = ignore_progress) -> list[str]:
        """Check every bucket against the records; return what is wrong, a sentence each."""
        try:
            with self.environment.read() as txn:
                return find_problems(txn, self._catalogue, filing.keys, advance)
        except IndexUnusable as error:
            return [str(error)]

    def repair(self, filing: Filing, advance: Advance = ignore_progress) -> None:
        """Build everything else anew from the records, in one transaction. Records that cannot be read are removed."""
        self.environment.write(lambda txn: self._catalogue.rebuild(txn, filing, advance))

    def __len__(self) -> int:
        with self.environment.read() as txn:
            return self._catalogue.records.count(txn)

    def _note_claims(self, decided: Future[list[Decision]]) -> None:
        """Remember which claims this run has made. Called in the writing thread.

        A claim stays open for ever where another middleware takes the page away. Of too many of them it is enough to know
        that there were some: the next run looks for them.
        """
        if not decided.cancelled() and decided.exception() is None:
            self._open_claims.update(decision.claim for decision in decided.result() if decision.claim)
        if len(self._open_claims) > _MAX_OPEN_CLAIMS:
            self._has_lost_count = True
            self._open_claims.clear()

    def _pages_in(self, txn: lmdb.Transaction) -> PagesInTransaction:
        return PagesInTransaction(self._catalogue, txn, self._frozen)

    # One write transaction

    def _touch_run(self, txn: lmdb.Transaction, terms: OfferTerms) -> int:
        """Note that the run lives, and return the time of the transaction."""
        now = terms.clock()
        if not terms.run:
            return now
        return self._catalogue.runs.touch(txn, terms.run, terms.grace, now, stored_until=terms.stored_until())

    def _end_claim(
        self, txn: lmdb.Transaction, decision: Decision, matcher: Matcher, terms: OfferTerms, *, settled: bool
    ) -> bool:
        self._open_claims.discard(decision.claim)
        own = self._catalogue.records.find(txn, decision.scope, decision.key)
        if own is None:
            return False
        number, record = own
        if decision.claim and (record.run, record.claim) != (terms.run, decision.claim):
            return False
        if not settled:
            self._catalogue.remove(txn, number, record, matcher)
        elif decision.claim and not record.settled:
            self._settle(txn, number, record, matcher, self._touch_run(txn, terms))
        return True

    def _settle(self, txn: lmdb.Transaction, number: int, record: Record, matcher: Matcher, now: int) -> None:
        page, pages = record.page, self._pages_in(txn)
        kept = matcher.trim(page, pages.snapshot(site_key(page.scope, page.url)))
        pages.teach(page, matcher, now)
        pages.replace(number, msgspec.structs.replace(record, settled=now, page=kept))

    def _forget(
        self, txn: lmdb.Transaction, numbers: Iterable[int], select: Callable[[Record], bool], filing: Filing
    ) -> int:
        forgotten = 0
        for number in numbers:
            record = self._catalogue.records.get(txn, number)
            if record is not None and select(record):
                self._catalogue.remove(txn, number, record, filing)
                forgotten += 1
        return forgotten

    def _merge_sites(self, txn: lmdb.Transaction, sites: Iterable[StoredSite]) -> None:
        now = wall_clock()
        for site in sites:
            self._catalogue.profiles.merge(txn, site, now)

    def _merge(self, txn: lmdb.Transaction, records: Sequence[Record], filing: Filing) -> int:
        new = 0
        for record in records:
            if not self._catalogue.records.has(txn, record.page.scope, record.page.key):
                self._catalogue.add(txn, record, filing)
                new += 1
        return new
