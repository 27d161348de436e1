"""An offer that is made in several parts, each of which may fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from crawler_dedup.decision import Decision
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.signedpage import SignedPage


def combine(
    parts: Sequence[tuple[Sequence[int], Future[list[Decision]]]], give_back: Callable[[Decision], None]
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
            _give_back(part.result() if part.exception() is None else (), give_back)

    for _, future in parts:
        future.add_done_callback(note)
    return combined


def offer_in_pieces(
    offer: Callable[[Sequence[SignedPage]], Future[list[Decision]]],
    pages: Sequence[SignedPage],
    size: int,
    give_back: Callable[[Decision], None],
) -> Future[list[Decision]]:
    """Offer *pages* in pieces of *size*, each when the one before was decided; return a future of all decisions.

    Args:
        give_back: called for each claim of the pieces before where one fails, because nobody will handle these pages.
    """
    combined: Future[list[Decision]] = Future()
    combined.set_running_or_notify_cancel()
    decided: list[Decision] = []

    def offer_next() -> None:
        try:
            piece = offer(pages[len(decided) : len(decided) + size])
        except IndexUnusable as error:
            fail(error)
        else:
            piece.add_done_callback(note)

    def note(piece: Future[list[Decision]]) -> None:
        error = piece.exception()
        if error is not None:
            fail(error)
            return
        decided.extend(piece.result())
        if len(decided) < len(pages):
            offer_next()
        else:
            combined.set_result(decided)

    def fail(error: BaseException) -> None:
        combined.set_exception(error)
        _give_back(decided, give_back)

    offer_next()
    return combined


def _give_back(decisions: Sequence[Decision], give_back: Callable[[Decision], None]) -> None:
    for decision in decisions:
        if decision.claim:
            give_back(decision)
