"""What the filter tells the crawl: two signals, and the exception that a dropped page's errback gets."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from crawler_dedup.decision import Decision

near_duplicate_dropped = object()
"""A page was dropped. Handlers get ``decision``, ``request``, ``response`` and ``spider``."""

page_handled = object()
"""A page's callback and all its items have ended. Handlers get ``outcome`` (:class:`crawler_dedup.settling.Outcome`),
``response`` and ``spider``."""


class NearDuplicate(IgnoreRequest):
    """A page was dropped: a kept one stands for it, or it is itself kept and unchanged (``DEDUP_REVISIT = "drop"``).

    Attributes:
        decision: which one, and why.
    """

    def __init__(self, decision: Decision) -> None:
        super().__init__(str(decision))
        self.decision = decision

    def __reduce__(self) -> tuple[type[NearDuplicate], tuple[Decision]]:
        return type(self), (self.decision,)
