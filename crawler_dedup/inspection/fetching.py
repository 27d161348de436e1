"""Fetch a page outside of any crawl, or read it from a file, to inspect it."""

from __future__ import annotations

from codecs import BOM_UTF8
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import closing
from dataclasses import dataclass
from http.client import BadStatusLine, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import urllib3
from w3lib.encoding import html_to_unicode, http_content_type_encoding

from crawler_dedup.errors import DedupError
from crawler_dedup.signing.parsing import is_charset
from crawler_dedup.system.files import read_maybe_gzipped
from crawler_dedup.system.threads import call_in_thread

if TYPE_CHECKING:
    from crawler_dedup.warc.droppedpage import DroppedPage

_TIMEOUT = 30.0  # seconds for connecting, and between two bytes
_MAX_SECONDS = 60.0
_REDIRECTS = 10
# One retry if the connection breaks; none after a response, even if the server asks for it with Retry-After.
_RETRIES = urllib3.Retry(1, redirect=0, status=0, other=0, respect_retry_after_header=False)
_CHUNK = 1 << 16
_MAX_REASON = 300
_USER_AGENT = "crawler-dedup"


@dataclass(frozen=True)
class FetchedPage:
    """A page as it was fetched or read.

    Attributes:
        url: its address, after redirections.
        body: its bytes.
        encoding: the charset that the transport names; ``None``: no charset, or an unknown one.
        is_plain_text: whether the transport says that it is no HTML but plain text.
    """

    url: str
    body: bytes
    encoding: str | None = None
    is_plain_text: bool = False

    @property
    def self_describing_body(self) -> bytes:
        """The body for a file: in UTF-8 with a byte-order mark if the transport names the encoding, otherwise unchanged."""
        if self.encoding is None:
            return self.body
        return BOM_UTF8 + html_to_unicode(f"charset={self.encoding}", self.body)[1].encode("utf-8", "replace")


def as_fetched(dropped: DroppedPage) -> FetchedPage:
    """Return a dropped page, which is in a WARC file, as if it had been fetched."""
    return FetchedPage(dropped.drop.url, dropped.body, dropped.drop.charset or None)


def is_address(source: str) -> bool:
    """Return whether *source* is an address rather than a path."""
    return source.lower().startswith(("http://", "https://"))


def load_page(source: str, url: str, max_bytes: int) -> FetchedPage:
    """Fetch a page, or read it from a file (``.gz`` is gunzipped).

    Args:
        source: an http(s) address, or a path.
        url: the address of the page in a file.
        max_bytes: the largest size; at most one byte more is read.

    Raises:
        DedupError: the page cannot be fetched or read; the message says why.
    """
    if is_address(source):
        return fetch_page(source, max_bytes)
    path = Path(source)
    if not path.exists():
        raise DedupError(f"{source} does not exist, and is not an address (http://…, https://…).")
    return FetchedPage(url, read_maybe_gzipped(path, max_bytes + 1))


def fetch_page(url: str, max_bytes: int) -> FetchedPage:
    """Fetch the page at *url* within a minute, following redirections.

    Raises :class:`DedupError` as :func:`load_page` does, and if the status is not 200.
    """
    # The page is fetched in a thread, which is abandoned after a minute: a server that sends a byte of its headers now and
    # then, or one interim response after another, keeps the connection from ever timing out.
    try:
        return call_in_thread(_fetch, url, max_bytes).result(_MAX_SECONDS)
    except FutureTimeout:
        raise DedupError(f"{url} cannot be fetched: it takes longer than {_MAX_SECONDS:.0f} seconds.") from None


def _fetch(url: str, max_bytes: int) -> FetchedPage:
    try:
        with urllib3.PoolManager(headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "gzip"}) as web:
            target, answer = _follow(web, url)
            with closing(answer):
                if answer.status != 200:
                    raise DedupError(f"{url} cannot be fetched: the answer has status {answer.status}.")
                body = bytearray()
                for chunk in answer.stream(_CHUNK, decode_content=True):
                    body += chunk
                    if len(body) > max_bytes:
                        break
    except (urllib3.exceptions.HTTPError, HTTPException, OSError, ValueError) as error:
        raise DedupError(f"{url} cannot be fetched: {_reason(error)}") from None
    content_type = answer.headers.get("Content-Type", "")
    encoding = http_content_type_encoding(content_type)
    is_plain_text = content_type.lower().startswith("text/plain")
    return FetchedPage(target, bytes(body[: max_bytes + 1]), encoding if is_charset(encoding) else None, is_plain_text)


def _follow(web: urllib3.PoolManager, url: str) -> tuple[str, urllib3.BaseHTTPResponse]:
    """Follow redirections from *url*; return the last address and its response, of which only the headers were read."""
    target = url
    for _ in range(_REDIRECTS + 1):
        # Redirections are not left to urllib3: it reads the body of each to its end, which may never come.
        answer = web.request("GET", target, redirect=False, preload_content=False, timeout=_TIMEOUT, retries=_RETRIES)
        location = answer.get_redirect_location()
        if not location:
            return target, answer
        answer.close()
        target = urljoin(target, location)
        if not is_address(target):
            raise DedupError(f"{url} cannot be fetched: it does not redirect to an address (http://…, https://…).")
    raise DedupError(f"{url} cannot be fetched: too many redirects.")


def _reason(error: BaseException) -> str:
    """Return the message of *error* without the text that urllib3 adds."""
    if isinstance(error, urllib3.exceptions.MaxRetryError) and error.reason is not None:
        error = error.reason
    if isinstance(error, urllib3.exceptions.ProtocolError) and isinstance(error.args[-1], Exception):
        error = error.args[-1]
    if isinstance(error, BadStatusLine) and not isinstance(error, ConnectionError):
        return "the answer is no HTTP."
    if isinstance(error, urllib3.exceptions.DecodeError) and error.args:
        return str(error.args[0])
    reason = str(error) or type(error).__name__
    return reason if len(reason) <= _MAX_REASON else f"{reason[:_MAX_REASON]}…"
