"""Pages of one host that pass and differ only in numbers, dates or parts of their address: a calendar without end, an error
page with status 200.

The worker reads their forms (:mod:`crawler_dedup.signing.forms`). Nothing is dropped because of them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from crawler_dedup.counting import HeavyHitters
from crawler_dedup.crawl.addresspattern import AddressPattern

LIMIT = 100
"""A form is reported when this many pages that pass have it."""
MAX_FORMS = 2_000
"""Number of forms that are counted at the same time."""
COMPARED = 1_000
"""Number of the latest pages that pass, none of whose addresses may match the pattern of a form that they lack."""
_EXAMPLES = 3
_MAX_URL_CHARS = 500


@dataclass(slots=True)
class FormUse:
    """The pages of one host that pass and have one form.

    Attributes:
        count: how many there are.
        path: the common beginning of their addresses, up to a slash.
        examples: addresses of the latest of them, until the form is reported.
        pattern: an expression for their addresses and for no other of the latest; empty if there is none. Known when the
            form is reported.
    """

    count: int = 0
    path: str = ""
    examples: deque[str] = field(default_factory=lambda: deque(maxlen=_EXAMPLES))
    pattern: str = ""
    _addresses: AddressPattern | None = None

    def add(self, url: str) -> None:
        """Count the page at *url*."""
        self.count += 1
        self.path = _common_path(self.path, url) if self.path else _directory(url)
        if self.count <= LIMIT:
            self.examples.append(url[:_MAX_URL_CHARS])
            if self._addresses is None:
                self._addresses = AddressPattern(url)
            else:
                self._addresses.add(url)

    def find_pattern(self, other_urls: Iterable[str]) -> None:
        """Set the pattern, unless an address of another page matches it, too."""
        pattern = str(self._addresses)
        if not any(re.match(pattern, url) for url in other_urls):
            self.pattern = pattern


class Forms:
    """Counts the most frequent forms of the pages of a crawl that pass."""

    def __init__(self) -> None:
        self._uses: HeavyHitters[bytes, FormUse] = HeavyHitters(MAX_FORMS, FormUse)
        self._latest: deque[tuple[str, Sequence[bytes]]] = deque(maxlen=COMPARED)

    def add(self, url: str, forms: Sequence[bytes]) -> FormUse | None:
        """Count a page that passes. Return its form if that is to be reported now.

        A page with a form that was reported already is counted only for that form.
        """
        self._latest.append((url[:_MAX_URL_CHARS], forms))
        reported = [form for form in forms if (use := self._uses.get(form)) is not None and use.count >= LIMIT]
        for form in reported[:1] or forms:
            use = self._uses.add(form)
            use.add(url)
            if use.count == LIMIT:
                use.find_pattern(other for other, its_forms in self._latest if form not in its_forms)
                return use
        return None


def _directory(url: str) -> str:
    return url[:_MAX_URL_CHARS].partition("?")[0].rpartition("/")[0] + "/"


def _common_path(path: str, url: str) -> str:
    """Return what *path*, which ends in a slash, and the address *url* have in common, up to a slash."""
    pairs = zip(path.split("/")[:-1], _directory(url).split("/")[:-1], strict=False)
    return "/".join([first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]) + "/"
