"""The JSON Lines of ``crawl``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crawler_dedup.cli.jsontypes.base import Line


class Crawl(Line, frozen=True, kw_only=True, tag="crawl"):
    """What came of a crawl, as `crawler-dedup crawl --json` prints it."""

    checked: Annotated[int, Meta(description="Number of pages about which the filter decided.")]
    kept: Annotated[int, Meta(description="Number of new pages that stand for others from now on.")]
    released: Annotated[int, Meta(description="Number of pages that passed, but were not handled, and stand for none.")]
    dropped: Annotated[int, Meta(description="Number of pages that were dropped as near-duplicates of kept pages.")]
    marked: Annotated[int, Meta(description="Number of such pages that passed, as in a dry run.")]
    unchanged: Annotated[int, Meta(description="Number of pages that were seen before, and have not changed.")]
    changed: Annotated[int, Meta(description="Number of pages that were seen before, and have changed.")]
    unchecked: Annotated[int, Meta(description="Number of pages that could not be judged, and passed.")]
    failed: Annotated[int, Meta(description="Number of pages that could not be fetched.")]
    failed_starts: Annotated[int, Meta(description="Number of given URLs that could not be crawled.")]
    items: Annotated[int, Meta(description="Number of pages that were handed to the feeds.")]
    feeds: Annotated[list[str], Meta(description="Files and other URIs to which pages were written.")]
    failed_feeds: Annotated[bool, Meta(description="Whether pages may be missing in a feed, because it failed.")]
    index: Annotated[str, Meta(description="Directory of the index and of the journal.")]
