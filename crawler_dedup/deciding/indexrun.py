"""A run of an open index: what the process of a crawl, or its deciding process, asks of the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from crawler_dedup.config import Config
from crawler_dedup.decision import Decision
from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Overrides, make_override
from crawler_dedup.index.verdicts import Matcher, RunContext
from crawler_dedup.signedpage import SignedPage, clean_identifier


def make_context(config: Config, **fields: Any) -> RunContext:
    """Make the context in which pages are offered with *config*; *fields*: what depends on the run."""
    return RunContext(
        max_age=round(86_400 * config.expire_days),
        is_dry=config.is_dry,
        overrides=Overrides(make_override("below", [prefix]) for prefix in config.never_drop),
        **fields,
    )


@dataclass(frozen=True)
class IndexRun:
    """A run of an open index.

    Attributes:
        context: the context in which it offers pages that are settled at once.
        claiming: the same for pages that claim their places.
    """

    store: Index
    matcher: Matcher
    context: RunContext
    claiming: RunContext

    @classmethod
    def of(
        cls,
        store: Index,
        matcher: Matcher,
        config: Config,
        number: int,
        claim_numbers: Iterator[int],
        *,
        clock: Callable[[], int],
        stored_until: Callable[[], int | None],
    ) -> IndexRun:
        """Make the contexts of the run *number*, which numbers its claims by *claim_numbers*."""
        context = make_context(config, run=number, grace=config.grace, clock=clock, stored_until=stored_until)
        return cls(store, matcher, context, replace(context, next_claim=claim_numbers.__next__))

    def submit(
        self, batch: Sequence[SignedPage], *, claim: bool, aliases: Mapping[str, str] | None, is_dry: bool | None
    ) -> Future[list[Decision]]:
        """Decide about *batch* without waiting: :meth:`Deduplicator.submit`."""
        context = self.claiming if claim else self.context
        if is_dry is not None and is_dry != context.is_dry:
            context = replace(context, is_dry=is_dry)
        clean = {key: clean_identifier(alias) for key, alias in (aliases or {}).items()}
        return self.store.offer(batch, self.matcher, context, aliases=clean)

    def end_claim(self, decision: Decision, *, settled: bool, urgent: bool = False) -> Future[bool]:
        """Settle or release the claim of *decision* without waiting: :meth:`Deduplicator.end_claim`."""
        return self.store.end_claim(decision, self.matcher, self.context, settled=settled, urgent=urgent)

    def end(self, *, finished: bool) -> None:
        """End the run: :meth:`Index.end_run`."""
        self.store.end_run(self.context, finished=finished)
