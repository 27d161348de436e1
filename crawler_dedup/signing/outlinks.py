"""Tree → outlinks, made comparable between two addresses of one page."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import cast
from urllib.parse import urljoin, urlsplit

import numpy as np
from lxml import etree
from lxml.html import HtmlElement
from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.links import Links

_HREFS = etree.XPath("//a/@href", smart_strings=False)
# Parameters that identify the visit or the origin of a visitor; hardly ever the content (old forums number stories by sid).
_VISIT = re.compile(
    r"utm_\w+|[gdf]clid|fbclid|msclkid|yclid|gbraid|wbraid|_ga|_gl|mc_[ce]id|igshid|spm|scm|"
    r"(?:php|j|asp|cf)?sess(?:ion)?_?(?:id)?|sid|jsessionid|phpsessid|aspsessionid\w*|cfid|cftoken",
    re.IGNORECASE,
)
_PATH_SESSION = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
_MAX_HREF = 2083  # as Scrapy's URLLENGTH_LIMIT; a longer link takes long to join, and is not followed
_MAX_FOLDERS = 100  # joining goes through all of them for each link
_MAX_PARTS = 200  # folders and parameters of a link; one with more takes long to join, and is compared as it is written
_MAX_REMEMBERED = 300  # characters: 8,192 entries take 12 MB at most, and usually 4
_ANYWHERE = ("/", "http://", "https://")
_SAME_PAGE = ("", "?", "#")
# Host, path and query of an address without anything unusual, which parsers of addresses would read differently.
_USUAL = re.compile(
    r"(?:https?://([A-Za-z0-9_.:-]+)(?=[/?#]|$))?([^?#;\0-\x20]*)(?:\?([^#\0-\x20]*))?(?:#[^\0-\x20]*)?"
)
_NOWHERE = ("#", "javascript:", "mailto:", "tel:", "data:")


def find_links(tree: HtmlElement, url: str) -> Links:
    """Return all places that the ``<a href>`` of a page lead to."""
    base, host = find_base(tree, url), find_host(url)
    root, directory = _root_and_directory(base)
    targets = {
        # Links are joined with as short an address as possible, so that the navigation of a site stays in the cache.
        _hash_href(href, root if href.startswith(_ANYWHERE) else base if href[:1] in _SAME_PAGE else directory, host)
        for href in {href.strip() for href in cast("list[str]", _HREFS(tree))}
    }
    targets.discard(None)
    hashes = np.array(list(targets), dtype=np.uint64)
    hashes.sort()
    return Links(hashes)


def _hash_href(href: str, base: str, host: str) -> int | None:
    """Return the hash of the place that *href* leads to from *base*; ``None`` if it leads nowhere."""
    if len(href) > _MAX_HREF:
        return None
    if len(href) > _MAX_PARTS and href.count("/") + href.count("&") > _MAX_PARTS:
        return xxh3_64_intdigest(href.encode("utf-8", "replace"))
    remembered = len(href) + len(base) + len(host) <= _MAX_REMEMBERED
    return (_hash_of if remembered else _hash_of.__wrapped__)(href, base, host)


def _root_and_directory(base: str) -> tuple[str, str]:
    """Return the shortest addresses to join with links from *base*: for links that begin with ``/``, and for others."""
    try:
        parts = urlsplit(base)
    except ValueError:
        return base, base
    if not parts.netloc:
        return base, base
    origin = f"{parts.scheme}://{parts.netloc}"
    return f"{origin}/", f"{origin}{parts.path.rpartition('/')[0]}/"


@lru_cache(maxsize=1 << 13)
def _hash_of(href: str, base: str, host: str) -> int | None:
    target = make_comparable(href, base, host)
    return None if target is None else xxh3_64_intdigest(target.encode("utf-8", "replace"))


def find_base(tree: HtmlElement, url: str) -> str:
    """Return the address with which the links of a page are joined."""
    declared = next(tree.iter("base"), None)
    href = "" if declared is None else declared.get("href", "").strip()
    try:
        base = urljoin(url, href) if href and len(href) <= _MAX_HREF else url
        if len(base) > _MAX_HREF or base.count("/") > _MAX_FOLDERS:
            return urljoin(base[:_MAX_HREF], "/")
    except ValueError:
        return url[:_MAX_HREF]
    return base


def find_host(url: str) -> str:
    """Return the host of an address, with its port; ``""`` if it has none."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:  # such as an unclosed IPv6 bracket
        return ""


def make_comparable(href: str, base: str, host: str) -> str | None:
    """Resolve *href* for comparison, without fragment, session and tracking parameters; the other parameters are sorted.

    Links to *host* lose the host, so that the links of a mirror agree. Returns ``None`` for a link that leads to no page.
    """
    href = href.strip()
    if href.lower().startswith(_NOWHERE):
        return None
    parts = _resolve_usual(href, base) or _resolve(href, base)
    if parts is None:
        return None
    netloc, path, query = parts
    if not query:
        return path if netloc == host else netloc + path
    kept = sorted(item for item in query.split("&") if item and not _VISIT.fullmatch(item.partition("=")[0]))
    return ("" if netloc == host else netloc) + path + ("?" + "&".join(kept) if kept else "")


def _resolve(href: str, base: str) -> tuple[str, str, str] | None:
    """Return host, path and query of the target of *href* from *base*; ``None`` if it is no page of the web."""
    try:
        parts = urlsplit(urljoin(base, href))
    except ValueError:
        return None
    if parts.scheme not in ("http", "https"):
        return None
    return parts.netloc.lower(), _PATH_SESSION.sub("", parts.path) or "/", parts.query


def _resolve_usual(href: str, base: str) -> tuple[str, str, str] | None:
    """Return what :func:`_resolve` returns, in a fifth of the time; ``None`` if either address has anything unusual."""
    origin, target = _USUAL.fullmatch(base), _USUAL.fullmatch(href)
    if origin is None or target is None or origin[1] is None:
        return None
    netloc, path, query = target.groups("")
    if not netloc:
        netloc = origin[1]
        if path[:1] != "/":
            if ":" in href or "//" in origin[2] or "/." in origin[2] or "//" in path:
                return None
            directory = origin[2].rpartition("/")[0]
            while path[:3] == "../":
                path, directory = path[3:], directory.rpartition("/")[0]
            path = f"{directory}/{path}"
        if not target[2] or path[:2] == "//" or "/." in path:
            return None
    return netloc.lower(), path or "/", query
