"""An entry of the journal: what happened to one page, and what that means."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Literal

import msgspec

from crawler_dedup.decision import Decision
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.urls import identifier_without_credentials, text_without_credentials, without_credentials

VERSION = 1
"""Schema of the entries. It rises when a field changes its meaning."""

Compressed = bytes  # a field of :class:`Entry` has the name of the type
Event = Literal["drop", "mark", "unchanged", "unchanged_dropped", "unchecked", "released", "watchdog"]
DUPLICATES: tuple[Event, ...] = ("drop", "mark")
"""Events of pages that were dropped, or that would have been."""

_CLEAN: dict[str, Callable[[str], str]] = {
    "url": without_credentials,
    "kept_url": without_credentials,
    "scope": identifier_without_credentials,
    "reason": text_without_credentials,
}


class Entry(msgspec.Struct, frozen=True):
    """What happened to one page.

    Its addresses lose user names and passwords, also where an older version has written it with them.

    Attributes:
        version: :data:`VERSION`.
        time: when, in UTC (ISO 8601, milliseconds).
        run: number of the run, 8 hexadecimal digits.
        event: ``drop``; ``mark``: a duplicate that passed, because the action is "mark"; ``unchanged``: a page that is what
            it was, and passed; ``unchanged_dropped``: one that did not; ``unchecked``: one that could not be judged, and
            passed; ``released``: one that passed and is forgotten, because its handling failed; ``watchdog``: a kept page
            that stands for suspiciously many.
        spider: its name.
        scope: what the page was compared with.
        url: address of the page.
        kept_url: address of the page that stands for it; of an ``unchanged`` page itself; ``""``: there is none.
        rule: the row that decided.
        distance: of the signatures, in bits; ``None`` where the scheme has no such thing.
        resemblance: estimated, 0 to 1.
        coverage: estimated, 0 to 1.
        title: of the page.
        bytes: of its body.
        links: its outlinks, which are not followed from there if it was dropped.
        reason: why the page is unchecked.
        text: its main text in UTF-8, compressed with Zstandard, where ``Config.store_text`` asks for it.
    """

    version: int
    time: str
    run: str
    event: Event
    spider: str
    scope: str
    url: str
    kept_url: str = ""
    rule: str = ""
    distance: int | None = None
    resemblance: float | None = None
    coverage: float | None = None
    title: str = ""
    bytes: int = 0
    links: int = 0
    reason: str = ""
    text: Compressed = b""

    def __post_init__(self) -> None:
        for name, clean in _CLEAN.items():
            if (shown := clean(getattr(self, name))) != getattr(self, name):
                msgspec.structs.force_setattr(self, name, shown)

    @property
    def seconds(self) -> float:
        """The time in seconds since 1970; 0 where it cannot be read."""
        try:
            return datetime.fromisoformat(self.time.replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0

    @property
    def is_duplicate(self) -> bool:
        """Whether another page stands for this one: it was dropped, or marked and passed."""
        return self.event in DUPLICATES


def entry_of(event: Event, decision: Decision, page: SignedPage | None, *, run: int, spider: str) -> Entry:
    """Make the entry for *decision* about *page* (``None``: only its address is known)."""
    match = decision.match
    return Entry(
        version=VERSION,
        time=datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        run=f"{run:08x}",
        event=event,
        spider=spider,
        scope=decision.scope,
        url=decision.url,
        kept_url=decision.duplicate_of or (decision.url if decision.match else ""),
        rule=match.rule if match else "",
        distance=match.distance if match else None,
        resemblance=match.resemblance if match else None,
        coverage=match.coverage if match else None,
        title=page.title if page else "",
        bytes=page.size if page else 0,
        links=page.link_count if page else 0,
        reason=decision.reason,
        text=page.text if page else b"",
    )
