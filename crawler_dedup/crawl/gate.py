"""Which responses are judged (whole HTML pages that answer scheduled requests), and what their requests ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from scrapy.http import HtmlResponse, Request, Response
from scrapy.http.request import NO_CALLBACK

from crawler_dedup.errors import ConfigError

_META_SCHEDULED = "_dedup_scheduled"
_META_INHERITED = "_dedup_redirects"


def leave_callback(request: Request) -> None:
    """Note the redirections that *request*, which a callback yields, has only copied with its parent's ``meta``."""
    inherited = len(_redirections(request))
    if inherited or _META_INHERITED in request.meta:
        request.meta[_META_INHERITED] = inherited


def _first_address(request: Request) -> str:
    """The address from which *request* was redirected, ``""`` if it was not."""
    redirected = _redirections(request)[request.meta.get(_META_INHERITED, 0) :]
    return str(redirected[0]) if redirected else ""


def _redirections(request: Request) -> list[Any]:
    found = request.meta.get("redirect_urls")
    return found if isinstance(found, list) else []


def action_of(request: Request, default: str) -> str:
    """What becomes of a duplicate: as the request asks, or *default*; raises :class:`ConfigError` for another word."""
    action = request.meta.get("dedup_action", default)
    if action not in ("drop", "mark"):
        raise ConfigError(f'meta["dedup_action"] = {action!r} is not allowed; it takes "drop" or "mark".')
    return str(action)


def keys_of(request: Request, key: Callable[[Request], str]) -> tuple[str, str]:
    """The page key, and that of the address from which the page was redirected to; *key* makes them."""
    given = request.meta.get("dedup_key")
    if given:
        return str(given), ""
    first = _first_address(request)
    return key(request), key(Request(first)) if first else ""


class Gate:
    """Tells scheduled requests from downloads inside a callback, whose answers no callback of ours would see.

    The mark stands in ``meta`` because a scheduler on disk hands out another object. It names the request, and goes
    before a callback can copy it into another one.
    """

    def __init__(self, key: Callable[[Request], str]) -> None:
        self._key = key
        self._scheduled: WeakSet[Request] = WeakSet()

    def mark(self, request: Request) -> None:
        """*request* was scheduled."""
        request.meta[_META_SCHEDULED] = self._key(request)

    def take_mark(self, request: Request) -> None:
        """Remember whether *request* was scheduled, and clean its ``meta``."""
        mark = request.meta.pop(_META_SCHEDULED, None)
        if mark is not None and mark == self._key(request):
            self._scheduled.add(request)

    def refuses(self, request: Request, response: Response) -> str:  # noqa: PLR0911  (one return a reason)
        """Why *response* is not judged, ``""`` if it is."""
        if request.meta.get("dedup_skip"):
            return "asked"
        if request.callback is NO_CALLBACK:
            return "no_callback"
        self.take_mark(request)  # again, for a middleware that answered before ours saw the request
        if request not in self._scheduled:
            return "inline"
        if request.method == "HEAD":
            return "head"
        if response.status != 200:
            return "status"
        if "partial" in response.flags or "dataloss" in response.flags:
            return "incomplete"
        if not isinstance(response, HtmlResponse):
            return "not_html"
        return ""
