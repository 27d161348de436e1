"""What the index asks about pages and signatures: it knows neither scheme nor rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from crawler_dedup.decision import Match
from crawler_dedup.hashes import Numbers
from crawler_dedup.signedpage import SignedPage

if TYPE_CHECKING:
    from crawler_dedup.index.profiles import Snapshot


class Filing(Protocol):
    """Determines where the index files a page."""

    def keys(self, page: SignedPage) -> Sequence[int]:
        """Return the buckets under which *page* is filed. They are the same for pages with the same signature."""

    def title_key(self, page: SignedPage) -> int:
        """Return the 64-bit key of the title under which *page* is also filed; 0 if none. Only the page determines it."""


class Matcher(Filing, Protocol):
    """Answers all questions of the index."""

    def probes(self, page: SignedPage) -> Iterable[int]:
        """Return the buckets that contain the candidates for *page*."""

    def count(self, page: SignedPage, pages_counted: int, counts: bytes) -> tuple[bytes, bytes]:
        """Count *page*, which was handled, in the encoded *counts* of its site; ``b""``: those of a site without pages.

        Args:
            pages_counted: how many pages were counted before.

        Returns:
            The counts, and a snapshot of them if one is due, else ``b""``.
        """

    def prepare(self, page: SignedPage, snapshot: Snapshot) -> SignedPage:
        """Return *page* with the keys for filing and look-up, by what is known about its site now."""

    def trim(self, page: SignedPage) -> SignedPage:
        """Return *page*, which was handled, without data that no rule uses."""

    def bucket_limit(self, page: SignedPage) -> int | None:
        """Return the maximum number of pages under one key that are read; ``None``: all."""

    def near(self, page: SignedPage, filed: Numbers) -> Sequence[int]:
        """Return the signatures of *filed* that are candidates, each once, nearest first."""

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        """Return the first of the *kept* pages that covers *new*, with the match. They come nearest first.

        Args:
            snapshot_of: returns what is known about the site of a page.
        """
