"""The results of the filter: verdict, match, decision."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from crawler_dedup.urls import text_without_credentials, without_credentials

BEING_HANDLED = "a similar page is still being handled"
"""Reason of an ``unchecked`` page: a similar page has passed, and it is not yet known whether it was handled."""


class Verdict(StrEnum):
    """The answer for one page: a string.

    >>> Verdict("duplicate") is Verdict.DUPLICATE
    True
    >>> print(Verdict.UNCHECKED)
    unchecked
    """

    NEW = "new"
    """No similar page is kept: the page passes and represents its duplicates from now on."""
    DUPLICATE = "duplicate"
    """A kept page represents this page."""
    UNCHANGED = "unchanged"
    """The page itself is kept, and its content is the same."""
    CHANGED = "changed"
    """The page itself is kept with another content; the new content replaces it."""
    UNCHECKED = "unchecked"
    """The page could not be judged (too little text, a limit, an error): it passes and represents nothing."""


@dataclass(frozen=True)
class Match:
    """Why a new page is covered by a kept one.

    Attributes:
        rule: name of the row of :mod:`crawler_dedup.rules.table` that decided.
        distance: Hamming distance of the two signatures, in bits; ``None`` if the scheme has no distance.
        resemblance: estimated Jaccard coefficient of what the scheme compares, 0 to 1; ``None`` if it does not measure it
            (simhash).
        coverage: estimated share of what the scheme compares of the new page that the kept page has too, 0 to 1; ``None`` if
            it does not measure it.

    >>> body = b"<p>" + b" ".join(b"word%d" % number for number in range(40))
    >>> with Deduplicator.open("index") as deduplicator:
    ...     decisions = [deduplicator.check(f"https://example.com/{name}", body) for name in "ab"]
    >>> decisions[1].match
    Match(rule='same bytes', distance=0, resemblance=None, coverage=None)
    """

    rule: str
    distance: int | None
    resemblance: float | None = None
    coverage: float | None = None


def describe_figures(distance: int | None, resemblance: float | None, coverage: float | None) -> str:
    """Return what a scheme has measured between two texts: ``distance 3``, or ``resemblance 0.91, coverage 0.95``."""
    figures = [] if distance is None else [f"distance {distance}"]
    shares = ("resemblance", resemblance), ("coverage", coverage)
    return ", ".join([*figures, *(f"{name} {share:.2f}" for name, share in shares if share is not None)])


@dataclass(frozen=True)
class Decision:
    """The filter's answer for one page: small, frozen, picklable. Its addresses lose user names and passwords.

    Attributes:
        verdict: the answer.
        url: address of the page.
        key: identity of the page in the index.
        scope: the scope within which it was compared.
        reason: for ``unchecked``, why the page could not be checked; for a page that an override keeps, the override; else
            ``""``.
        duplicate_of: for ``duplicate``, or if a similar page is being handled, the address of that page, else ``""``.
        match: how the two pages agree; for ``unchanged``, how the page agrees with its kept version; else ``None``.
        claim: in a crawl, for a page that passes and is not yet kept, the number of its claim in this run; 0 if it has none.
        from_earlier_run: for ``unchanged``, whether an earlier run has handled the page and then come to its end.
        snapshot: number of the snapshot of the page's site that the rules saw; 0: nothing was known about the site.
        kept_snapshot: number of the snapshot of the other page's site, if there is another page.
        links_followed: whether the links of the page are followed even if it is dropped, so that they did not count.
        also_at: for ``unchanged`` and ``changed``, the addresses of its duplicates since it was kept, the first 32. They are
            stored a moment after their decisions.

    >>> decision = Decision(Verdict.UNCHECKED, "https://user:password@example.com/", "key", "global", "too large")
    >>> decision.passes
    True
    >>> print(decision)
    unchecked https://example.com/ (too large)
    """

    verdict: Verdict
    url: str
    key: str
    scope: str
    reason: str = ""
    duplicate_of: str = ""
    match: Match | None = None
    claim: int = 0
    from_earlier_run: bool = False
    snapshot: int = 0
    kept_snapshot: int = 0
    links_followed: bool = False
    also_at: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", without_credentials(self.url))
        object.__setattr__(self, "duplicate_of", without_credentials(self.duplicate_of))
        object.__setattr__(self, "reason", text_without_credentials(self.reason))

    @property
    def passes(self) -> bool:
        """Whether the verdict is not ``duplicate``.

        It does not say whether the page was dropped: a duplicate passes in a dry run, and an unchanged page may be dropped.
        """
        return self.verdict is not Verdict.DUPLICATE

    def __str__(self) -> str:
        text = f"{self.verdict} {self.url}"
        if self.match is not None and self.duplicate_of:
            match = self.match
            figures = describe_figures(match.distance, match.resemblance, match.coverage)
            text += f" of {self.duplicate_of} ({figures}{', ' if figures else ''}rule {match.rule!r})"
        return text + (f" ({self.reason})" if self.reason else "")


class DroppedRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is recorded of the request whose response was dropped, so that it can be made again.

    Attributes:
        method: its method.
        callback: name of the method of the spider that is its callback; ``None``: it has none, so that ``parse``
            gets the page; ``""``: its callback is not a method of the spider.
        errback: the same for its errback.
        cb_kwargs: its ``cb_kwargs``.
        meta: the recorded part of its ``meta``.
        left_out: names of the values that are missing in ``cb_kwargs`` and ``meta``, because they are not JSON, too long, or
            seem to contain credentials.
    """

    method: str = "GET"
    callback: str | None = None
    errback: str | None = None
    cb_kwargs: dict[str, Any] = {}
    meta: dict[str, Any] = {}
    left_out: tuple[str, ...] = ()
