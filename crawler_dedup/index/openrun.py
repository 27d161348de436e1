"""An index that a run has opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from crawler_dedup.config import Config
from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.runs import Run
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.deduplicator")


@dataclass(frozen=True)
class OpenRun:
    """The open index, and the contexts in which its run offers pages: to be settled at once, or to claim their places.

    Attributes:
        is_emptied: whether it was emptied when it was opened.
    """

    store: Index
    run: Run
    context: RunContext
    claiming: RunContext
    is_emptied: bool

    @classmethod
    def begin(
        cls,
        store: Index,
        config: Config,
        claims: Iterator[int],
        stored_until: Callable[[], float | None],
        begin_run: Callable[[Index], Run],
    ) -> OpenRun:
        """Begin a run of the open index *store*, which is closed if that fails.

        Args:
            claims: the numbers of the claims of this run.
            stored_until: returns the time of :func:`time.monotonic` until which all settled pages are stored; ``None``:
                they all are.
            begin_run: begins or joins the run.

        Raises:
            IndexUnusable: the run cannot begin.
        """
        try:
            is_emptied = config.fresh and not len(store)  # it is not emptied if another crawl of this process uses it
            run = begin_run(store)
        except BaseException:
            store.close()
            raise

        def stored_time() -> int | None:
            moment = stored_until()  # called once: the event loop changes it, and this is the writing thread
            return None if moment is None else run.time_of(moment)

        context = RunContext.of(config, run=run.number, clock=run.now, stored_until=stored_time)
        return cls(store, run, context, replace(context, next_claim=claims.__next__), is_emptied)

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
