"""The matcher of an index, which answers its questions about pages from a scheme and the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from crawler_dedup.decision import Match
from crawler_dedup.rules import table
from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import SiteProfile, decode_profile, trim, with_site_keys
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.lookup import Lookup

if TYPE_CHECKING:
    from crawler_dedup.config import Config
    from crawler_dedup.index.profiles import Snapshot
    from crawler_dedup.signing.schemes import Scheme


class RuleMatcher(Lookup):
    """Answers the questions of the index about pages, from scheme and rules."""

    trim = staticmethod(trim)

    def __init__(self, config: Config, scheme: Scheme) -> None:
        super().__init__(scheme)
        self._config = config

    @staticmethod
    def count(page: SignedPage, pages_counted: int, counts: bytes) -> tuple[bytes, bytes]:
        decoded = SiteCounts.decode(counts, pages_counted)
        decoded.add(page)
        return decoded.encode(), decoded.make_snapshot().encode() if decoded.snapshot_due else b""

    def prepare(self, page: SignedPage, snapshot: Snapshot) -> SignedPage:
        return with_site_keys(page, decode_profile(snapshot.content))

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        return table.first_match(self.pair_up(new, kept, snapshot_of))

    def pair_up(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> Iterator[Pair]:
        """Yield the pairs of a new page and each of the *kept* pages, with what is known of their sites."""

        def site_of(page: SignedPage) -> SiteProfile:
            return decode_profile(snapshot_of(page).content)

        site = site_of(new)
        return (Pair(new, page, self._config, self.scheme, site, site_of(page)) for page in kept)
