"""Offers that are decided in pieces: if a piece fails, the pages of the pieces before it still get their decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

from crawler_dedup.decision import NO_ANSWER, Decision, Verdict
from crawler_dedup.errors import IndexUnusable
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.index")


def offer_in_pieces(
    offer: Callable[[Sequence[SignedPage]], Future[list[Decision]]], pages: Sequence[SignedPage], size: int
) -> Future[list[Decision]]:
    """Offer *pages* in pieces of *size*, each after the piece before it was decided; return a future of all decisions.

    It fails if the first piece fails. If only the first pages of a piece are decided, the next piece begins after these.
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
        if decided:
            combined.set_result(decided + leave_unchecked(pages[len(decided) :], error))
        else:
            combined.set_exception(error)

    offer_next()
    return combined


def leave_unchecked(pages: Sequence[SignedPage], error: BaseException) -> list[Decision]:
    """Return decisions about *pages* that could not be judged because of *error*, which is logged."""
    logger.warning("%d of the pages that were offered together are unchecked. %s", len(pages), error)
    return [Decision(Verdict.UNCHECKED, page.url, page.key, page.scope, NO_ANSWER) for page in pages]
