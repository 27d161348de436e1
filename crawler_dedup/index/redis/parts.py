"""An offer that is made in several parts, each of which may fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from crawler_dedup.decision import Decision
from crawler_dedup.errors import IndexUnusable


def combine(
    parts: Sequence[tuple[Sequence[int], Future[list[Decision]]]], give_back: Callable[[Decision], Any]
) -> Future[list[Decision]]:
    """Return a future of all decisions, which fails where a part fails.

    Args:
        parts: places of the decisions among all, and the future of the decisions.
        give_back: called for each claim of the other parts where one fails, because nobody will handle these pages.
    """
    combined: Future[list[Decision]] = Future()
    combined.set_running_or_notify_cancel()
    left, lock = len(parts), threading.Lock()

    def note(_future: Future[list[Decision]]) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left:
                return
        error = next((error for _, part in parts if (error := part.exception()) is not None), None)
        if error is None:
            decisions = [
                (at, decision) for places, part in parts for at, decision in zip(places, part.result(), strict=True)
            ]
            combined.set_result([decision for _, decision in sorted(decisions, key=lambda pair: pair[0])])
            return
        combined.set_exception(error)
        for _, part in parts:
            for decision in part.result() if part.exception() is None else ():
                if decision.claim:
                    with suppress(IndexUnusable):  # it is closed, which releases the claim too
                        give_back(decision)

    for _, future in parts:
        future.add_done_callback(note)
    return combined
