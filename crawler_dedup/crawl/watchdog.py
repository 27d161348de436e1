"""What looks wrong about drops: a page that stands for suspiciously many others (an error page, a form, a captcha that
became a representative), and a page that is asked for again and again after it was dropped."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace

from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.index.records import name_of
from crawler_dedup.urls import host_of

_EXAMPLES = 5
_EXAMPLE_CHARS = 500
_MAX_WATCHED = 10_000
_MAX_DROPS = 5
"""Drops of one page in a run. An errback that asks for it again each time would never come to an end."""


@dataclass(slots=True)
class Swallowed:
    """The pages of one site for which one kept page stood in this run.

    Attributes:
        examples: addresses of the last of them before the warning, which are all that is needed.
    """

    count: int = 0
    examples: list[str] = field(default_factory=list)


class Watchdog:
    """Counts duplicates by kept page and site, for the kept pages met last.

    Each is known by a hash of its address: addresses may be long, and there are many.

    Args:
        limit: duplicates of one site that a kept page may have.
        passes: whether further ones pass.
    """

    def __init__(self, limit: int, *, passes: bool) -> None:
        self._limit = limit
        self._passes = passes
        self._swallowed: OrderedDict[bytes, Swallowed] = OrderedDict()
        self._drops: OrderedDict[bytes, int] = OrderedDict()

    def insists(self, decision: Decision) -> bool:
        """Count a drop. Whether the page was dropped so often that whoever asks for it shall have it."""
        name = name_of(decision.scope, decision.key)
        drops = self._drops.get(name, 0)
        self._drops[name] = drops + 1
        self._drops.move_to_end(name)
        if len(self._drops) > _MAX_WATCHED:
            self._drops.popitem(last=False)
        return drops >= _MAX_DROPS

    def look(self, decision: Decision) -> tuple[Decision, Swallowed | None]:
        """Count *decision*. Returns what becomes of it, and what to warn of: each kept page and site once."""
        if decision.verdict is not Verdict.DUPLICATE:
            return decision, None
        swallowed = self._of(decision)
        swallowed.count += 1
        if self._limit + 1 - _EXAMPLES < swallowed.count <= self._limit + 1:
            swallowed.examples.append(decision.url[:_EXAMPLE_CHARS])
        if swallowed.count <= self._limit:
            return decision, None
        if self._passes:
            decision = replace(
                decision, verdict=Verdict.UNCHECKED, reason="too many duplicates", duplicate_of="", match=None
            )
        if swallowed.count > self._limit + 1:
            return decision, None
        warning = replace(swallowed)
        swallowed.examples = []
        return decision, warning

    def _of(self, decision: Decision) -> Swallowed:
        name = name_of(decision.scope, f"{host_of(decision.url)} {decision.duplicate_of}")
        swallowed = self._swallowed.setdefault(name, Swallowed())
        self._swallowed.move_to_end(name)
        if len(self._swallowed) > _MAX_WATCHED:
            self._swallowed.popitem(last=False)
        return swallowed
