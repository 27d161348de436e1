"""The interface of the filter for spiders and extensions: a key in ``meta``, two signals, and an exception."""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from crawler_dedup.decision import Decision

META_DECISION = "dedup"
"""The key of ``request.meta`` under which the :class:`~crawler_dedup.Decision` is stored."""

near_duplicate_dropped = object()
"""A page was dropped, or its items will be discarded (``DEDUP_ACTION = "follow"``). Handlers get ``decision``, ``request``,
``response`` and ``spider``."""

page_handled = object()
"""A page's callback and all its items have ended. Handlers get ``outcome`` (:class:`crawler_dedup.settling.Outcome`),
``response`` and ``spider``."""


work_matched = object()
"""A page shares passages with a work of the library (``DEDUP_WORKS``). Handlers get ``match``
(:class:`crawler_dedup.works.matches.Match`), ``is_new`` (whether it is seen for the first time), ``response`` and
``spider``."""


class NearDuplicate(IgnoreRequest):
    """A page was dropped: a kept page represents it, or it is itself kept and unchanged (``DEDUP_REVISIT``).

    Attributes:
        decision: the decision, which names the kept page and the reason.
    """

    def __init__(self, decision: Decision) -> None:
        super().__init__(str(decision))
        self.decision = decision

    def __reduce__(self) -> tuple[type[NearDuplicate], tuple[Decision]]:
        return type(self), (self.decision,)
