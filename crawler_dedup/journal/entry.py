"""Entries of the journal: what happened to a page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec

from crawler_dedup.decision import Decision, DroppedRequest
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.urls import identifier_without_credentials, text_without_credentials, without_credentials

VERSION = 2
"""Version of the schema of entries, raised when a field changes its meaning."""

_Number = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]  # commands store it in 64 bits
Compressed = bytes  # a field of :class:`Entry` hides the name of the type
Event = Literal[
    "started",
    "dry_run",
    "emptied",
    "drop",
    "mark",
    "unchanged",
    "unchanged_dropped",
    "unchecked",
    "skipped",
    "released",
    "forgotten",
    "watchdog",
    "form",
]
DUPLICATES: tuple[Event, ...] = ("drop", "mark")
"""Events of duplicates, which were dropped or marked."""
OUTCOMES: tuple[Event, ...] = (*DUPLICATES, "unchanged", "unchanged_dropped", "unchecked", "released", "forgotten")
"""Events that say what has become of a page."""

_CLEAN: dict[str, Callable[[str], str]] = {
    "url": without_credentials,
    "duplicate_of": without_credentials,
    "scope": identifier_without_credentials,
    "reason": text_without_credentials,
}


class Entry(msgspec.Struct, frozen=True):
    """What happened to one page, or that a run has started.

    User names and passwords are removed from its addresses, even if an older version has written them.

    Attributes:
        version: :data:`VERSION`.
        time: time of the event in UTC (ISO 8601, milliseconds).
        run: number of the run, 8 hexadecimal digits; ``""`` if no run, but a command has written it.
        event: ``started``: the run began (no page); ``dry_run``: a run began that drops nothing (no page); ``emptied``: the
            run emptied the index (no page); ``drop``: a duplicate was dropped; ``mark``: a duplicate passed, because the
            action is "mark"; ``unchanged``: an unchanged page passed; ``unchanged_dropped``: an unchanged page was dropped;
            ``unchecked``: a page that could not be judged passed; ``skipped``: a page passed because the filter does not
            check such responses; ``released``: a page that had passed was forgotten, because its handling failed;
            ``forgotten``: `crawler-dedup forget` has removed a kept page; ``watchdog``: a kept page represents suspiciously
            many pages; ``form``: suspiciously many passed pages differ only in numbers, dates or parts of their address.
        spider: name of the spider.
        scope: the scope within which the page was compared.
        url: address of the page; of a ``form`` the beginning that the addresses of its pages have in common.
        duplicate_of: address of the page that represents it, as in :class:`crawler_dedup.Decision`, else ``""``. (An
            ``unchanged`` page was compared with its own kept version.)
        rule: name of the rule that decided.
        distance: Hamming distance of the two signatures, in bits; ``None`` if the scheme has no distance.
        resemblance: 0 to 1; ``None`` if the scheme does not measure it.
        coverage: 0 to 1; ``None`` if the scheme does not measure it.
        title: title of the page.
        bytes: size of its body.
        links: number of its outlinks.
        links_followed: whether the crawl follows them even if it is dropped; otherwise it does not.
        reason: why the page is unchecked or was skipped.
        text: its main text in UTF-8, compressed with Zstandard, if ``Config.store_text`` is on.
        snapshot: number of the snapshot of its site that the rules saw (:class:`crawler_dedup.Decision`); 0: nothing was
            known about the site; ``None``: an earlier version has written the entry.
        kept_snapshot: number of the snapshot of the site of ``duplicate_of``.
        count: number of passed pages that have the form; only in a ``form``.
        request: the request whose response was dropped; only in a ``drop``. ``None``: an earlier version has written it.
    """

    version: int
    time: str
    run: str
    event: Event
    spider: str
    scope: str
    url: str
    duplicate_of: str = ""
    rule: str = ""
    distance: _Number | None = None
    resemblance: float | None = None
    coverage: float | None = None
    title: str = ""
    bytes: _Number = 0
    links: _Number = 0
    links_followed: bool = False
    reason: str = ""
    text: Compressed = b""
    snapshot: int | None = None
    kept_snapshot: int | None = None
    count: _Number = 0
    request: DroppedRequest | None = None

    def __post_init__(self) -> None:
        for name, clean in _CLEAN.items():
            if (shown := clean(getattr(self, name))) != getattr(self, name):
                msgspec.structs.force_setattr(self, name, shown)

    @property
    def seconds(self) -> float:
        """The time in seconds since 1970; 0 if it cannot be read."""
        return parse_time(self.time)

    @property
    def is_duplicate(self) -> bool:
        """Whether another page represents this page, which was dropped, or marked and passed."""
        return self.event in DUPLICATES


def entry_of(
    event: Event,
    decision: Decision,
    page: SignedPage | None,
    *,
    run: int,
    spider: str,
    request: DroppedRequest | None = None,
) -> Entry:
    """Make the entry for *decision* about *page* (``None``: only its address is known).

    Args:
        request: the request whose response was dropped.
    """
    match = decision.match
    return Entry(
        version=VERSION,
        time=_now(),
        run=f"{run:08x}",
        event=event,
        spider=spider,
        scope=decision.scope,
        url=decision.url,
        duplicate_of=decision.duplicate_of,
        rule=match.rule if match else "",
        distance=match.distance if match else None,
        resemblance=match.resemblance if match else None,
        coverage=match.coverage if match else None,
        title=page.title if page else "",
        bytes=page.size if page else 0,
        links=page.link_count if page else 0,
        links_followed=decision.links_followed,
        reason=decision.reason,
        text=page.text if page else b"",
        snapshot=decision.snapshot,
        kept_snapshot=decision.kept_snapshot,
        request=request,
    )


def form_of(path: str, count: int, decision: Decision, page: SignedPage, *, run: int, spider: str) -> Entry:
    """Make the entry for the *count* passed pages below *path* with the form of *page*, about which *decision* was made."""
    return msgspec.structs.replace(
        entry_of("form", decision, page, run=run, spider=spider), url=path, count=count, text=b""
    )


def run_started(run: int, spider: str, *, is_dry: bool = False) -> Entry:
    """Make the entry that a run begins with. *is_dry*: whether it drops nothing."""
    return Entry(VERSION, _now(), f"{run:08x}", "dry_run" if is_dry else "started", spider, scope="", url="")


def index_emptied(run: int, spider: str, time: datetime) -> Entry:
    """Make the entry of a run that emptied the index at *time*."""
    return Entry(VERSION, _format_time(time), f"{run:08x}", "emptied", spider, scope="", url="")


def page_forgotten(scope: str, url: str) -> Entry:
    """Make the entry of a kept page that a person has removed from the index."""
    return Entry(VERSION, _now(), "", "forgotten", spider="", scope=scope, url=url)


def _now() -> str:
    return _format_time(datetime.now(UTC))


def _format_time(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(time: str) -> float:
    """Return a time in ISO 8601 as seconds since 1970; 0 if it cannot be read."""
    try:
        return datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
