"""An index on a server that consists of several shards: each contains some of the scopes, and is an index by itself.

In a cluster, the shards are on several nodes. If a shard cannot be reached, the others are still used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain, islice

from crawler_dedup.decision import Decision
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.backend import Backend
from crawler_dedup.index.figures import FileFigures
from crawler_dedup.index.header import Header
from crawler_dedup.index.keptpages import Filing
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.profiles import SiteFigures, Snapshot, StoredSite
from crawler_dedup.index.records import Record, hash_scope
from crawler_dedup.index.redis.parts import Part, combine
from crawler_dedup.index.redis.runs import ServerRun
from crawler_dedup.index.redis.store import ServerStore
from crawler_dedup.index.runs import Run
from crawler_dedup.index.transactional import SITES_SLICE
from crawler_dedup.index.verdicts import Matcher, OfferTerms
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.callbacks import Advance, ignore_progress


class ShardedStore(Backend):
    """The pages of an index of several shards.

    Args:
        address: the address of the whole index.
        shards: all shards in order. The hash of a scope modulo their number is the shard that contains the scope.
    """

    def __init__(self, address: ServerAddress, shards: Sequence[ServerStore]) -> None:
        super().__init__(shards[0].header)
        self.address = address
        self._shards = shards

    def shard_number(self, scope: str) -> int:
        return hash_scope(scope) % len(self._shards)

    def _shard_of(self, scope: str) -> ServerStore:
        return self._shards[self.shard_number(scope)]

    @property
    def name(self) -> str:
        return str(self.address)

    @property
    def stored_bytes(self) -> int:
        return sum(shard.stored_bytes for shard in self._shards)

    def measure(self) -> FileFigures | None:
        return None

    def close(self) -> None:
        _run_at_once([shard.close for shard in self._shards])

    def begin_run(self) -> Run:
        return _ShardedRun(self._shards)

    def verify(self, filing: Filing, advance: Advance = ignore_progress) -> list[str]:
        return [
            f"Shard {number}: {problem}"
            for number, shard in enumerate(self._shards)
            for problem in shard.verify(filing, advance)
        ]

    def repair(self, filing: Filing, advance: Advance = ignore_progress) -> None:
        for shard in self._shards:
            shard.repair(filing, advance)

    def read_header(self) -> Header:
        return self._shards[0].read_header()

    def end_run(self, terms: OfferTerms, *, finished: bool) -> None:
        _run_at_once([partial(shard.end_run, terms, finished=finished) for shard in self._shards])

    def offer(
        self,
        pages: Sequence[SignedPage],
        matcher: Matcher,
        terms: OfferTerms = OfferTerms(),
        *,
        aliases: Mapping[str, str] | None = None,
    ) -> Future[list[Decision]]:
        places: dict[ServerStore, list[int]] = {}
        for at, page in enumerate(pages):
            places.setdefault(self._shard_of(page.scope), []).append(at)
        if len(places) == 1:
            return next(iter(places)).offer(pages, matcher, terms, aliases=aliases)
        parts = []
        for shard, part in places.items():
            some = [pages[at] for at in part]
            parts.append(Part(some, part, shard.offer(some, matcher, terms, aliases=aliases)))
        return combine(parts)

    def look(
        self, page: SignedPage, matcher: Matcher, terms: OfferTerms = OfferTerms(), *, alias: str = ""
    ) -> Decision:
        return self._shard_of(page.scope).look(page, matcher, terms, alias=alias)

    def end_claim(
        self, decision: Decision, matcher: Matcher, terms: OfferTerms, *, settled: bool, urgent: bool = False
    ) -> Future[bool]:
        shard = self._shard_of(decision.scope)
        return shard.end_claim(decision, matcher, terms, settled=settled, urgent=urgent)

    def forget(self, select: Callable[[Record], bool], filing: Filing, advance: Advance = ignore_progress) -> int:
        return sum(shard.forget(select, filing, advance) for shard in self._shards)

    def tidy(self, filing: Filing, max_age: int, advance: Advance = ignore_progress) -> int:
        return sum(shard.tidy(filing, max_age, advance) for shard in self._shards)

    def records(self, size: int, *, handled_only: bool = False) -> Iterator[list[Record]]:
        return chain.from_iterable(shard.records(size, handled_only=handled_only) for shard in self._shards)

    def sharing(
        self, probes: Sequence[Sequence[int]], choose: Callable[[Iterable[Numbers]], Iterable[int]]
    ) -> list[Record]:
        return [record for shard in self._shards for record in shard.sharing(probes, choose)]

    def latest_snapshot(self, scope: str, url: str) -> Snapshot:
        return self._shard_of(scope).latest_snapshot(scope, url)

    def find_snapshot(self, scope: str, url: str, number: int, moment: float) -> Snapshot | None:
        return self._shard_of(scope).find_snapshot(scope, url, number, moment)

    def sites(self) -> Generator[StoredSite, None, None]:
        for shard in self._shards:
            yield from shard.sites()

    def merge_sites(self, sites: Iterable[StoredSite]) -> None:
        # The key of a site does not name the scope. Only the shard of this scope has pages of the site and accepts it.
        waiting = iter(sites)
        while batch := list(islice(waiting, SITES_SLICE)):
            for shard in self._shards:
                shard.merge_sites(batch)

    def measure_sites(self) -> SiteFigures:
        return SiteFigures(*map(sum, zip(*(shard.measure_sites() for shard in self._shards), strict=True)))

    def merge(self, records: Sequence[Record], filing: Filing) -> int:
        parts: dict[ServerStore, list[Record]] = {}
        for record in records:
            parts.setdefault(self._shard_of(record.page.scope), []).append(record)
        return sum(shard.merge(part, filing) for shard, part in parts.items())

    def __len__(self) -> int:
        return sum(map(len, self._shards))


class _ShardedRun(Run):
    """A run in all shards, which is dead if it is dead in any of them."""

    def __init__(self, shards: Sequence[ServerStore]) -> None:
        self._runs: list[ServerRun] = []
        try:
            for shard in shards:
                self._runs.append(shard.begin_run(self._runs[0].number if self._runs else 0))
        except BaseException:
            self.release()
            raise
        self.number = self._runs[0].number

    def time_of(self, moment: float) -> int:
        return self._runs[0].time_of(moment)

    @property
    def is_held(self) -> bool:
        return all(run.is_held for run in self._runs)

    @property
    def is_visible(self) -> bool:
        return all(run.is_visible for run in self._runs)

    def release(self) -> None:
        _run_at_once([run.release for run in self._runs])


def _run_at_once(functions: Sequence[Callable[[], object]]) -> None:
    """Run *functions* in parallel, so that waiting for several unreachable servers takes no longer than for one.

    Raises:
        IndexUnusable: one of the functions has raised it; all the others were run, too.
    """
    errors: list[IndexUnusable] = []

    def run(function: Callable[[], object]) -> None:
        try:
            function()
        except IndexUnusable as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
