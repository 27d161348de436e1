"""Load dictionaries and tables in threads, so that only the pages that need them wait."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from crawler_dedup.crawl.background import run_in_own_thread
from crawler_dedup.errors import DedupError
from crawler_dedup.signing.loading import Resource

PATIENCE = 60.0
"""Minimum number of seconds for which pages wait, counted from the beginning of loading."""
_PAUSE = 60.0
"""Seconds after which loading that has failed is tried again."""


class LoadingFailed(DedupError):
    """A page needs something that cannot be loaded."""


@dataclass(frozen=True)
class _Attempt:
    began: float
    task: asyncio.Future[Any]


class Loading:
    """Loads each resource once, however many pages wait for it. Belongs to the event loop of a crawl.

    Args:
        patience: seconds for which pages wait, counted from the beginning of loading.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._attempts: dict[Resource[Any], _Attempt] = {}

    async def wait_for(self, resource: Resource[Any]) -> None:
        """Wait until *resource* is loaded, until *patience* seconds after its loading began at most.

        Raises:
            LoadingFailed: it is not loaded by then, or loading has failed within the last minute.
        """
        attempt = self._attempts.get(resource)
        if attempt is None or (attempt.task.done() and time.monotonic() > attempt.began + _PAUSE):
            task = asyncio.ensure_future(run_in_own_thread(resource.load))
            task.add_done_callback(lambda task: task.cancelled() or task.exception())  # no page may await it any more
            attempt = self._attempts[resource] = _Attempt(time.monotonic(), task)
        seconds_left = attempt.began + self._patience - time.monotonic()
        loaded, _ = await asyncio.wait([attempt.task], timeout=max(0.0, seconds_left))  # does not cancel the task
        if not loaded:
            raise LoadingFailed(f"{resource.name} is not loaded after {self._patience:.0f} seconds.")
        try:
            attempt.task.result()
        except Exception as error:
            raise LoadingFailed(
                f"{resource.name} cannot be loaded ({type(error).__name__}: {error}); this is tried again after a minute."
            ) from error
