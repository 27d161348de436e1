"""Decide what a crawl that begins now would do with a page, without filing it."""

from __future__ import annotations

from contextlib import closing

from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.errors import IndexMissing
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.location import Location
from crawler_dedup.index.maintenance import open_index
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import SignedPage, clean_identifier
from crawler_dedup.signing.signer import Signer


def preview(location: Location, signer: Signer, page: SignedPage, *, alias: str = "") -> Decision:
    """Return the decision that a crawl which begins now would make about *page*, and change nothing.

    Works while a crawl uses the index. If there is no index, the page is new, and no directory is created.

    Args:
        signer: the signer that has signed the page. Use :func:`with_tokenizer_of_index` to make it and to call this.
        alias: another key of the page: that of an address that redirected to it.

    Raises:
        IndexMismatch: the index was made with another configuration.
        IndexUnusable: it cannot be read.
    """
    try:
        store = open_index(location, signer.spec)
    except IndexMissing:
        verdict = Verdict.UNCHECKED if page.unsigned else Verdict.NEW
        return Decision(verdict, page.url, page.key, page.scope, page.unsigned)
    with closing(store):
        return store.preview(page, RuleMatcher(signer), RunContext.of(signer.config), alias=clean_identifier(alias))
