"""What people have said about pages: it is asked before the rules, and no threshold overrules it.

It is asked by :class:`~crawler_dedup.index.decider.Decider` where a page is not recorded, and for each kept page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

import msgspec
from xxhash import xxh3_128_digest

from crawler_dedup.decision import DroppedRequest
from crawler_dedup.urls import without_credentials

OverrideKind = Literal["keep", "below", "separate"]


class Restoration(msgspec.Struct, frozen=True, array_like=True):
    """A dropped page that the next crawl of a spider requests again, because its drop was wrong.

    Attributes:
        spider: name of the spider.
        request: the request whose response was dropped.
        failures: the number of crawls that have requested the page, and could not handle it.
    """

    spider: str
    request: DroppedRequest
    failures: int = 0


class Override(msgspec.Struct, frozen=True, array_like=True):
    """What a person has said about a page, or about two.

    Attributes:
        kind: ``keep``: the page is never a duplicate; ``below``: nor is any page whose address begins with this one, which
            ends with a slash; ``separate``: neither of two pages represents the other.
        urls: the address, or the two addresses in ascending order.
        since: when it was made, in seconds since 1970.
        restorations: with ``keep``: the crawls that request the page again.
    """

    kind: OverrideKind
    urls: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=2)]
    since: int = 0
    restorations: tuple[Restoration, ...] = ()

    @property
    def name(self) -> bytes:
        """The name by which it is stored: it does not depend on the time."""
        return xxh3_128_digest("\n".join((self.kind, *self.urls)).encode("utf-8", "replace"))

    @property
    def spiders(self) -> list[str]:
        """The spiders whose next crawls request the page again."""
        return [restoration.spider for restoration in self.restorations]

    def concerns(self, url: str) -> bool:
        """Return whether it is about the page at *url*."""
        url = url.partition("#")[0]
        return url.startswith(self.urls[0]) if self.kind == "below" else url in self.urls

    def __str__(self) -> str:
        kind = "keep --below" if self.kind == "below" else self.kind  # as the command is written
        return f"{kind} {' '.join(self.urls)}"


def make_override(kind: OverrideKind, urls: Iterable[str], since: int = 0) -> Override:
    """Make an override for *urls*, without user names, passwords and fragments.

    Raises:
        ValueError: *urls* are not what *kind* takes.
    """
    clean = sorted({without_credentials(url.strip()).partition("#")[0] for url in urls})
    for url in clean:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is not an address: it must begin with http:// or https://.")
        if kind == "below" and (not url.endswith("/") or "/" not in url.partition("://")[2]):
            raise ValueError(f"{url!r} does not end with a slash; write https://host/path/ for the pages below it.")
    if len(clean) != 1 + (kind == "separate"):
        raise ValueError("Two different addresses are needed." if kind == "separate" else "One address is needed.")
    return Override(kind, tuple(clean), since)


class Overrides:
    """Overrides that are looked up by the addresses of pages, in a time that does not depend on their number.

    Their restorations are left out: each may have 20 KB, and each process that decides has all overrides in memory.
    """

    def __init__(self, overrides: Iterable[Override] = ()) -> None:
        self._kept: dict[str, Override] = {}
        self._below: dict[str, Override] = {}
        self._separate: dict[str, set[str]] = {}
        for override in overrides:
            if override.kind == "separate":
                for url, other in (override.urls, override.urls[::-1]):
                    self._separate.setdefault(url, set()).add(other)
            else:
                overrides_of_kind = self._below if override.kind == "below" else self._kept
                overrides_of_kind[override.urls[0]] = Override(override.kind, override.urls)

    def find_keeping(self, url: str) -> Override | None:
        """Return an override by which the page at *url* is never a duplicate, or ``None``."""
        if not (self._kept or self._below):
            return None
        url = url.partition("#")[0]
        if (override := self._kept.get(url)) is not None or not self._below:
            return override
        end = url.find("/", url.find("://") + 3)
        while end >= 0:
            if (override := self._below.get(url[: end + 1])) is not None:
                return override
            end = url.find("/", end + 1)
        return None

    def find_separate(self, url: str) -> Collection[str]:
        """Return the addresses of the pages that may neither represent the page at *url* nor be represented by it."""
        return self._separate.get(url.partition("#")[0], ()) if self._separate else ()


NO_OVERRIDES = Overrides()


class KnownOverrides:
    """The overrides that the transactions of an open index have read last.

    Attributes:
        latest: their version, and the overrides.
    """

    def __init__(self) -> None:
        self.latest: tuple[bytes, Overrides] = b"", NO_OVERRIDES
