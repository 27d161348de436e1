"""The outlinks of a page, made comparable between two addresses of one page, and how they are packed for the index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.signedpage import digest_of
from crawler_dedup.signing.limits import MAX_LINKS

# Host, path and query of a link with a host, or from the root, without anything that changes when it is joined.
_USUAL = re.compile(
    r"(?:https?://([A-Za-z0-9_.:-]+)(?=[/?#]|\Z)|(?=/(?!/))(?![^?#]*/\.))"
    r"(/[^?#;\0-\x20]*)?(?:\?([^#\0-\x20]*))?(?:#[^\0-\x20]*)?"
)
# Folders to leave, path and query of a link from the folder of the page, likewise.
_NAME = r"[\w-][^/?#;:\0-\x20]*+"
_RELATIVE = re.compile(rf"((?:\.\./)*+)({_NAME}(?:/{_NAME})*+/?)(?:\?([^#\0-\x20]*))?(?:#[^\0-\x20]*)?")
_CHANGED = re.compile(r"//|/\.|;")
# Parameters that identify the visit or the origin of a visitor; hardly ever the content (old forums number stories by sid).
_VISIT = re.compile(
    r"utm_\w+|[gdf]clid|fbclid|msclkid|yclid|gbraid|wbraid|_ga|_gl|mc_[ce]id|igshid|spm|scm|"
    r"(?:php|j|asp|cf)?sess(?:ion)?_?(?:id)?|sid|jsessionid|phpsessid|aspsessionid\w*|cfid|cftoken",
    re.IGNORECASE,
)
_PATH_SESSION = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
_NOWHERE = ("#", "javascript:", "mailto:", "tel:", "data:")  # up to 11 characters


@dataclass(frozen=True)
class Links:
    """The outlinks of a page.

    Attributes:
        hashes: uint64, shape (n,), ascending, distinct: xxh3 of each comparable link.
    """

    hashes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def digest(self) -> bytes:
        """BLAKE2b of all links, 8 bytes."""
        return digest_of(self.hashes.astype("<u8", copy=False).tobytes())

    @property
    def packed(self) -> bytes:
        """The first 32 bits of each hash; empty if there are more than :data:`MAX_LINKS`. See :func:`unpack_links`."""
        if len(self.hashes) > MAX_LINKS:
            return b""
        return self.hashes.astype("<u8", copy=False).view("<u4")[1::2].tobytes()


def unpack_links(packed: bytes) -> list[int]:
    """Return the numbers that :attr:`Links.packed` holds."""
    return [*np.frombuffer(packed, dtype="<u4").tolist()]


@lru_cache(maxsize=256)  # a new page is compared with several kept pages
def hash_target(href: str, url: str) -> int:
    """Return the number that :attr:`Links.packed` holds for a link *href* of the page at *url*; 0 if it leads nowhere."""
    target = make_comparable(href, url, find_host(url))
    return 0 if target is None else xxh3_64_intdigest(target.encode("utf-8", "replace")) >> 32


@lru_cache(maxsize=256)
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
    if href[:11].lower().startswith(_NOWHERE) or not (parts := _resolve(href, base)):
        return None
    netloc, path, query = parts
    target = path if netloc == host else netloc + path
    if not query:
        return target
    kept = sorted([item for item in query.split("&") if item and not _VISIT.fullmatch(item.partition("=")[0])])
    return f"{target}?{'&'.join(kept)}" if kept else target


def _resolve(href: str, base: str) -> tuple[str, str, str] | None:
    """Return host, path and query of the target of *href* from *base*; ``None`` if it is no page of the web."""
    # Without this, links take more than twice the time, a twelfth of that of signing.
    own = find_host(base) if base.startswith(("http://", "https://")) else ""
    if own and (usual := _USUAL.fullmatch(href)):
        return (usual[1] or own).lower(), usual[2] or "/", usual[3] or ""
    if own and (relative := _RELATIVE.fullmatch(href)) and (folders := _folders_of(base)):
        folders = folders[: max(1, len(folders) - relative[1].count("/"))]
        return own, "/".join([*folders, relative[2]]), relative[3] or ""
    try:
        parts = urlsplit(urljoin(base, href))
    except ValueError:
        return None
    if parts.scheme not in ("http", "https"):
        return None
    return parts.netloc.lower(), _PATH_SESSION.sub("", parts.path) or "/", parts.query


@lru_cache(maxsize=256)
def _folders_of(base: str) -> list[str]:
    """Return the folders of the page at *base*, after ``""``; none if joining changes one of them."""
    path = urlsplit(base).path
    return [] if _CHANGED.search(path) else path.rpartition("/")[0].split("/")
