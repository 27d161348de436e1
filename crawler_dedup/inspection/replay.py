"""Decide dropped pages again, with other settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.index.index import Index
from crawler_dedup.index.verdicts import RunContext
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.signer import Signer

if TYPE_CHECKING:
    from crawler_dedup.warc.droppedpage import DroppedPage

REPLAYED = ("max_distance", "never_drop", "expire_days")
"""The settings that can be other ones. Signatures and scopes depend on others, and those of kept pages are in the index."""


@dataclass(frozen=True)
class Change:
    """The decisions about the page at *url* with the present and with the other settings."""

    url: str
    present: Decision
    other: Decision


def replay(
    dropped: Iterable[DroppedPage], index: Index, present: Signer, other: Signer, counts: Counter[str]
) -> Iterator[Change]:
    """Decide each dropped page by *index* as it is now, with the settings of both signers; yield those that change.

    Args:
        counts: gets the number of ``pages``, and of ``duplicates`` by the present settings. The rest would pass now: their
            representative was forgotten, or an override was added.
    """
    deciding = [(RuleMatcher(signer), RunContext.of(signer.config)) for signer in (present, other)]
    for stored in dropped:
        drop = stored.drop
        page, _ = present.sign(drop.url, stored.body, encoding=drop.charset or None, key=drop.key, scope=drop.scope)
        page = msgspec.structs.replace(page, links_followed=drop.links_followed)
        before, after = (index.preview(page, matcher, context) for matcher, context in deciding)
        counts["pages"] += 1
        if before.verdict is Verdict.DUPLICATE:
            counts["duplicates"] += 1
            if before != after:
                yield Change(drop.url, before, after)
