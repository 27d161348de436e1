"""A page once more, outside any crawl: to look at it."""

from __future__ import annotations

import gzip
import zlib
from codecs import BOM_UTF8
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from urllib.parse import urljoin

import urllib3
from w3lib.encoding import html_to_unicode, http_content_type_encoding

from crawler_dedup.errors import DedupError

_TIMEOUT = 30.0  # of a connection, and between two bytes
_PATIENCE = 60.0
_REDIRECTS = 10
_USER_AGENT = "crawler-dedup"


@dataclass(frozen=True)
class Fetched:
    """Bytes of a page; *encoding* is what the transport says of them."""

    url: str
    body: bytes
    encoding: str | None = None

    @property
    def saved(self) -> bytes:
        """The body so that it says its encoding itself."""
        if self.encoding is None:
            return self.body
        return BOM_UTF8 + html_to_unicode(f"charset={self.encoding}", self.body)[1].encode("utf-8", "replace")


def is_address(where: str) -> bool:
    """Whether *where* is an address, not a file."""
    return where.lower().startswith(("http://", "https://"))


def load(where: str, url: str, max_bytes: int) -> Fetched:
    """A page from the web, or from a file (``.gz`` is gunzipped).

    Args:
        where: an http(s) address, or a path.
        url: the address of the page in a file.
        max_bytes: of which one is read at most beyond.

    Raises:
        DedupError: it cannot be had; the message says why.
    """
    if is_address(where):
        return fetch(where, max_bytes)
    path = Path(where)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return Fetched(url, file.read(max_bytes + 1))
    except FileNotFoundError:
        raise DedupError(f"{where} does not exist, and is no address (http://…, https://…).") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DedupError(f"{where} cannot be read: {error}") from None


def fetch(url: str, max_bytes: int) -> Fetched:
    """The page at *url*, redirections followed. Raises as :func:`load`; also for an answer that is not 200."""
    try:
        with urllib3.PoolManager(headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "gzip"}) as web:
            answer = web.request(
                "GET",
                url,
                preload_content=False,
                timeout=_TIMEOUT,
                retries=urllib3.Retry(_REDIRECTS, connect=1, read=1),
            )
            body = _read(answer, url, max_bytes)
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise DedupError(f"{url} cannot be fetched: {error}") from None
    if answer.status != 200:
        raise DedupError(f"{url} cannot be fetched: the answer has status {answer.status}.")
    content_type = answer.headers.get("Content-Type")
    return Fetched(_end_of(url, answer.retries), body, http_content_type_encoding(content_type))


def _read(answer: urllib3.BaseHTTPResponse, url: str, max_bytes: int) -> bytes:
    """Not more than one byte beyond *max_bytes*, and not for longer than a minute, however slowly it comes."""
    body, end = b"", monotonic() + _PATIENCE
    while len(body) <= max_bytes and (chunk := answer.read1(max_bytes + 1 - len(body), decode_content=True)):
        body += chunk
        if monotonic() > end:
            raise DedupError(f"{url} cannot be fetched: it takes longer than {_PATIENCE:.0f} seconds.")
    return body


def _end_of(url: str, retries: urllib3.Retry | None) -> str:
    """Where the redirections from *url* ended: each may be relative to the one before."""
    for step in retries.history if retries is not None else ():
        url = urljoin(url, step.redirect_location or "")
    return url
