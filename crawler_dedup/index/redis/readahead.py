"""Reading the cells that decisions will need, together for all pages that wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from crawler_dedup.index.layout import NUMBERS, SIGNATURES, SITES, place_entry, place_of_name, place_of_signature
from crawler_dedup.index.profiles import site_key
from crawler_dedup.index.protocols import Matcher
from crawler_dedup.index.records import hash_scope, name_page
from crawler_dedup.index.redis.client import Client
from crawler_dedup.signedpage import SignedPage

_MOST_PAGES = 250  # for which cells are read together: about as many as in one transaction
Offers = deque[tuple[Sequence[SignedPage], Matcher]]
"""The latest offers for which nothing was read in advance yet. The cells for older ones are not read together."""


class ReadAhead:
    """Reads, within one transaction, the cells that decisions about pages will need.

    Args:
        client: the client by which the transaction reads.
        offers: the offers about which this transaction or a later one decides.
    """

    def __init__(self, client: Client, offers: Offers) -> None:
        self._client = client
        self._offers = offers
        self._done: dict[int, Sequence[SignedPage]] = {}  # by their identity

    def read(self, pages: Sequence[SignedPage], matcher: Matcher) -> None:
        """Read the cells for *pages* and for the offers that wait, unless unknown cells are assumed to be empty."""
        if id(pages) in self._done:
            return
        if self._client.cells.is_assuming:
            self._offers.clear()
            return
        names: list[bytes] = []
        together, count = [(pages, matcher)], 0
        while self._offers and count < _MOST_PAGES:
            together.append(self._offers.popleft())
            count += len(together[-1][0])
        for some, probing in together:
            if id(some) not in self._done:
                self._done[id(some)] = some
                for page in some:
                    names += self._name_cells(page, probing)
        self._client.cells.read_ahead(dict.fromkeys(names))

    def _name_cells(self, page: SignedPage, matcher: Matcher) -> list[bytes]:
        """Return the names of the cells that every decision about *page* reads."""
        if page.unsigned:
            return []
        keys, scope = self._client.keys, hash_scope(page.scope)
        places = [place_of_name(name_page(page.scope, page.key)), place_of_signature(scope, page.signature)]
        if title := matcher.title_key(page):
            places.append(place_of_signature(scope, title))
        names = keys.bucket_names(NUMBERS, scope, [place_entry(place, 0)[0] for place in places])
        names += keys.bucket_names(SIGNATURES, scope, matcher.probes(page))
        if site := site_key(page.scope, page.url):
            names.append(keys.row(SITES, site))
        return names
