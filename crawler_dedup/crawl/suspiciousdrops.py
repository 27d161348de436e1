"""Detection of suspicious drops.

A kept page that represents suspiciously many other pages may be an error page, a form or a captcha. A page that is requested
again and again after it was dropped is requested by an errback that does not stop.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace

from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.signedpage import hash_page_key
from crawler_dedup.urls import host_of

_EXAMPLES = 5
_EXAMPLE_CHARS = 500
MAX_DUPLICATES = 50
"""Maximum number of duplicates of a kept page on one site in a run without a warning: few pages have as many copies."""
MAX_WATCHED = 10_000
"""Maximum number of kept pages, and of dropped pages, whose counts are remembered."""
_MAX_DROPS = 5
"""Maximum number of drops at one address in a run. An errback that requests it again each time would never end."""


@dataclass(slots=True)
class UsedPage:
    """The use of a kept page for the pages of one site in this run.

    Attributes:
        count: number of its duplicates.
        examples: addresses of the last of these pages before the warning; empty after it.
    """

    count: int = 0
    examples: list[str] = field(default_factory=list)


class SuspiciousDrops:
    """Counts duplicates by kept page and site, for the kept pages that were used last, and drops by requested address.

    Each page is identified by a hash of its address, because addresses may be long, and there are many.
    """

    def __init__(self) -> None:
        self._used: OrderedDict[bytes, UsedPage] = OrderedDict()
        self._drops: OrderedDict[bytes, int] = OrderedDict()

    def dropped_too_often(self, decision: Decision, address: str) -> bool:
        """Count a drop. Return whether the page was dropped so often at *address* that it should pass."""
        page_hash = hash_page_key(decision.scope, address)
        drops = self._drops.get(page_hash, 0)
        self._drops[page_hash] = drops + 1
        self._drops.move_to_end(page_hash)
        if len(self._drops) > MAX_WATCHED:
            self._drops.popitem(last=False)
        return drops >= _MAX_DROPS

    def count_duplicate(self, decision: Decision) -> UsedPage | None:
        """Count *decision* for the kept page, if it is a duplicate.

        Returns the use to warn about, once for each kept page and site; otherwise ``None``.
        """
        if decision.verdict is not Verdict.DUPLICATE:
            return None
        page = self._used_page(decision)
        page.count += 1
        if MAX_DUPLICATES + 1 - _EXAMPLES < page.count <= MAX_DUPLICATES + 1:
            page.examples.append(decision.url[:_EXAMPLE_CHARS])
        if page.count != MAX_DUPLICATES + 1:
            return None
        overused = replace(page)
        page.examples = []
        return overused

    def _used_page(self, decision: Decision) -> UsedPage:
        page_hash = hash_page_key(decision.scope, f"{host_of(decision.url)} {decision.duplicate_of}")
        page = self._used.setdefault(page_hash, UsedPage())
        self._used.move_to_end(page_hash)
        if len(self._used) > MAX_WATCHED:
            self._used.popitem(last=False)
        return page
