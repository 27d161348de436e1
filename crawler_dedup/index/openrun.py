"""An index that a run has opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from crawler_dedup.config import Config
from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.runs import Run
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.deduplicator")


class OpenRun:
    """The open index, and the contexts in which its run offers pages.

    Attributes:
        store: the index.
        run: the run.
        context: for pages that are settled at once.
        claiming: for pages that claim their places.
        is_emptied: whether the index was emptied when it was opened.

    Args:
        store: the index, which is closed if the run cannot begin.
        claims: the numbers of the claims of this run.
        stored_until: returns the time of :func:`time.monotonic` until which all settled pages are stored; ``None``: they
            all are.
        begin_run: begins or joins the run.

    Raises:
        IndexUnusable: the run cannot begin.
    """

    def __init__(
        self,
        store: Index,
        config: Config,
        claims: Iterator[int],
        stored_until: Callable[[], float | None],
        begin_run: Callable[[Index], Run],
    ) -> None:
        self.store = store
        self._stored_until = stored_until
        try:
            self.is_emptied = config.fresh and not len(store)  # not if another crawl of this process uses it
            self.run = begin_run(store)
        except BaseException:
            store.close()
            raise
        self.context = RunContext.of(
            config, run=self.run.number, clock=self.run.now, stored_until=self._find_stored_until
        )
        self.claiming = replace(self.context, next_claim=claims.__next__)

    def _find_stored_until(self) -> int | None:
        moment = self._stored_until()  # called once: the event loop changes it, and this is the writing thread
        return None if moment is None else self.run.time_of(moment)

    def end(self, *, all_stored: bool, finished: bool) -> None:
        """End the run, and close the index: see :meth:`~crawler_dedup.deduplicator.Deduplicator.close`."""
        try:
            if all_stored and self.run.is_held:
                self.store.end_run(self.context, finished=finished)
        except IndexGone:
            pass  # and with it all that the run has settled
        except IndexUnusable as error:
            logger.warning(
                "The end of the run could not be recorded: the next crawl may store its last pages a second time (%s)",
                error,
            )
        finally:
            self.store.close()
            self.run.release(is_over=all_stored)
