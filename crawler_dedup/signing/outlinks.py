"""Tree → outlinks, made comparable between two addresses of one page."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import cast
from urllib.parse import unquote_plus, urljoin, urlsplit

import numpy as np
from lxml import etree
from lxml.html import HtmlElement
from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.links import Links, find_host, make_comparable

_HREFS = etree.XPath("//a/@href", smart_strings=False)
_BASE = etree.XPath("string((descendant::base)[1]/@href)", smart_strings=False)
_MAX_HREF = 2083  # as Scrapy's URLLENGTH_LIMIT; a longer link takes long to join, and is not followed
_MAX_FOLDERS = 100  # joining goes through all of them for each link
_MAX_PARTS = 200  # folders and parameters of a link; one with more takes long to join, and is compared as it is written
_MAX_REMEMBERED = 300  # characters: 8,192 entries take 12 MB at most, and usually 4
_MAX_PARAMETERS = 10  # of a link, in which the address of the page is looked for
_ANYWHERE = ("/", "http://", "https://")
_SAME_PAGE = ("", "?", "#")


def find_links(tree: HtmlElement, url: str) -> Links:
    """Return all places that the ``<a href>`` of a page lead to.

    Links with the address of the page in a parameter ("Log in", to come back) are left out: each address has others.
    """
    base, host = find_base(tree, url), find_host(url)
    own = make_comparable(url, url, host) or ""
    root, directory = _root_and_directory(base)
    longest = min(_MAX_PARTS, _MAX_REMEMBERED - len(directory) - len(host))  # a shorter link cannot have more parts
    targets = {
        _hash_unremembered(href, base, host)
        if len(href) > longest or href[:1] in _SAME_PAGE
        # Links are joined with as short an address as possible, so that the navigation of a site stays in the cache.
        else _hash_of(href, root if href.startswith(_ANYWHERE) else directory, host)
        for href in set(map(str.strip, cast("list[str]", _HREFS(tree))))
        if "=" not in href or not _leads_back(href, base, host, own)
    }
    targets.discard(None)
    hashes = np.array(list(targets), dtype=np.uint64)
    hashes.sort()
    return Links(hashes)


def _leads_back(href: str, base: str, host: str, own: str) -> bool:
    """Return whether a parameter of *href* is the address *own*, or names it as where to return."""
    if len(href) > _MAX_HREF:
        return False
    path, _, query = own.partition("?")
    file = path.rpartition("/")[2]
    for parameter in href.partition("?")[2].split("&", _MAX_PARAMETERS)[:_MAX_PARAMETERS]:
        name, _, value = parameter.partition("=")
        value = unquote_plus(value)
        # A bare word is an identifier, which another page may have, too: "reviews?product=5" on "/product/5".
        if file in value and ("/" in value or "." in value) and make_comparable(value, base, host) == own:
            return True
        if "return" in name.lower():  # a wiki returns to a title: returnto=Main+Page
            title = value.replace(" ", "_")
            return title in (unquote_plus(part.partition("=")[2]) for part in (f"={file}", *query.split("&")))
    return False


def _hash_unremembered(href: str, base: str, host: str) -> int | None:
    """Return the hash of the place that *href* leads to from *base*, or of *href* if it has too many parts to be joined.

    ``None``: it leads nowhere, or is too long.
    """
    if len(href) > _MAX_HREF:
        return None
    if href.count("/") + href.count("&") > _MAX_PARTS:
        return xxh3_64_intdigest(href.encode("utf-8", "replace"))
    return _hash_of.__wrapped__(href, base, host)


def _root_and_directory(base: str) -> tuple[str, str]:
    """Return the shortest addresses to join with links from *base*: for links that begin with ``/``, and for others."""
    if not find_host(base):
        return base, base
    parts = urlsplit(base)
    origin = f"{parts.scheme}://{parts.netloc}"
    return f"{origin}/", f"{origin}{parts.path.rpartition('/')[0]}/"


@lru_cache(maxsize=1 << 13)
def _hash_of(href: str, base: str, host: str) -> int | None:
    """Return the hash of the place that *href* leads to from *base*; ``None`` if it leads nowhere."""
    target = make_comparable(href, base, host)
    return None if target is None else xxh3_64_intdigest(target.encode("utf-8", "replace"))


def find_base(tree: HtmlElement, url: str) -> str:
    """Return the address with which the links of a page are joined."""
    href = cast("str", _BASE(tree)).strip()
    with suppress(ValueError):
        base = urljoin(url, href) if href and len(href) <= _MAX_HREF else url
        is_long = len(base) > _MAX_HREF or base.count("/") > _MAX_FOLDERS
        return urljoin(base[:_MAX_HREF], "/") if is_long else base
    return url[:_MAX_HREF]
