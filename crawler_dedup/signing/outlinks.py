"""Tree → outlinks, made comparable between two addresses of one page."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple, cast
from urllib.parse import urljoin, urlsplit

import numpy as np
from lxml import etree
from lxml.html import HtmlElement
from xxhash import xxh3_64_intdigest

from crawler_dedup.signing.links import Links
from crawler_dedup.signing.native import replaceable

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


class _Places(NamedTuple):
    """Addresses with which the links of a page are joined.

    Attributes:
        host: host of the page itself.
        origin: host of the base, if its address has nothing unusual.
        folder: path of the base before its last slash, if it has nothing unusual.
        root, base, directory: addresses for links that begin with ``/``, for links to the same page, and for other links.
    """

    host: str
    origin: str | None
    folder: str | None
    root: str
    base: str
    directory: str


def _for_core() -> dict[str, Any]:
    return {"places": _find_places, "hash_href": _hash_href, "links": _read_hashes}


def _read_hashes(content: bytearray) -> Links:
    return Links(np.frombuffer(content, dtype=np.uint64))


@replaceable(_for_core, revision=1)
def find_links(tree: HtmlElement, url: str) -> Links:
    """Return all places that the ``<a href>`` of a page lead to."""
    places = _find_places(url, _declared_base(tree))
    targets = {_hash_href(href, places) for href in {href.strip() for href in cast("list[str]", _HREFS(tree))}}
    targets.discard(None)
    hashes = np.array(list(targets), dtype=np.uint64)
    hashes.sort()
    return Links(hashes)


def _find_places(url: str, declared: str) -> _Places:
    """Return the addresses to join links with, given the address of a page and the address that its ``<base>`` declares."""
    base = _join_base(url, declared)
    root, directory = _root_and_directory(base)
    origin, folder = _USUAL.fullmatch(root), _USUAL.fullmatch(directory)
    has_unusual = folder is None or folder[1] is None or _has_unusual_folders(folder[2])
    return _Places(
        find_host(url),
        None if origin is None else origin[1],
        None if folder is None or has_unusual else folder[2].rpartition("/")[0],
        root,
        base,
        directory,
    )


def _hash_href(href: str, places: _Places) -> int | None:
    """Return the hash of the place that *href* leads to; ``None`` if it leads nowhere."""
    if len(href) > _MAX_HREF:
        return None
    if len(href) > _MAX_PARTS and href.count("/") + href.count("&") > _MAX_PARTS:
        return xxh3_64_intdigest(href.encode("utf-8", "replace"))
    # Links are joined with as short an address as possible, so that the navigation of a site stays in the cache.
    near = places.root if href.startswith(_ANYWHERE) else places.base if href[:1] in _SAME_PAGE else places.directory
    remembered = len(href) + len(near) + len(places.host) <= _MAX_REMEMBERED
    return (_hash_of if remembered else _hash_of.__wrapped__)(href, near, places.host)


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
    return _join_base(url, _declared_base(tree))


def _declared_base(tree: HtmlElement) -> str:
    declared = next(tree.iter("base"), None)
    return "" if declared is None else declared.get("href", "")


def _join_base(url: str, declared: str) -> str:
    href = declared.strip()
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


def _has_unusual_folders(path: str) -> bool:
    return "//" in path or "/." in path


def _resolve_usual(href: str, base: str) -> tuple[str, str, str] | None:
    """Return what :func:`_resolve` returns, in a fifth of the time; ``None`` if either address has anything unusual."""
    origin, target = _USUAL.fullmatch(base), _USUAL.fullmatch(href)
    if origin is None or target is None or origin[1] is None:
        return None
    netloc, path, query = target.groups("")
    if not netloc:
        netloc = origin[1]
        if path[:1] != "/":
            if ":" in href or _has_unusual_folders(origin[2]) or "//" in path:
                return None
            directory = origin[2].rpartition("/")[0]
            while path[:3] == "../":
                path, directory = path[3:], directory.rpartition("/")[0]
            path = f"{directory}/{path}"
        if not target[2] or path[:2] == "//" or "/." in path:
            return None
    return netloc.lower(), path or "/", query
