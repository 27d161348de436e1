"""Decide which responses are checked (whole HTML pages of scheduled requests), and under which key, scope and action.

Pages with more than ``Config.max_bytes`` bytes, or beyond ``signing.limits``, are refused when they are signed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args
from weakref import WeakSet

from scrapy.http import HtmlResponse, Request, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import load_object

from crawler_dedup.config import Config
from crawler_dedup.config.settings import DOMAIN, GLOBAL, LANGUAGE, Action, default_scope, scope_of
from crawler_dedup.errors import ConfigError
from crawler_dedup.urls import escape_surrogates, hash_page_key, identifier_without_credentials
from crawler_dedup.worker.messages import Checked, CheckPage

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


Scope = Callable[[Request, Response], "str | None"]

META_SCHEDULED = "_dedup_scheduled"
META_INHERITED = "_dedup_redirects"
META_REPEATED = "_dedup_repeated"
META_REDIRECTIONS = "redirect_urls"


@dataclass
class Question:
    """A page about which the index is asked.

    Attributes:
        job: what a worker gets. Its alias is the key of the address that redirected to the page; without a scope, the page
            is compared in that of its language, which is known once it is signed.
        body: the body of the page.
        page: a hash of its key and scope.
        address: a hash of the key of the requested page: of the first address, if there were redirections.
        asks_again: whether the callback of the page has asked for it again.
        action: what happens to a duplicate.
        checked: the first answer of a worker, with the signed page.
        waited: seconds until its signing began.
    """

    job: CheckPage
    body: bytes | memoryview
    page: bytes
    address: bytes
    asks_again: bool
    action: str
    checked: Checked | None = None
    waited: float = 0.0


class Gate:
    """Decides which responses are checked.

    Only responses of scheduled requests are checked, not those of downloads inside a callback, whose handling the filter
    cannot observe. The mark of a scheduled request is stored in ``meta``, because a scheduler on disk returns another
    object. It names the request, and is removed before a callback can copy it into another request.

    Raises:
        ConfigError: ``DEDUP_SCOPE`` cannot be imported.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self._crawler = crawler
        self._config = config
        self._scope = configured_scope(config, crawler)
        self._scheduled: WeakSet[Request] = WeakSet()

    def mark_scheduled(self, request: Request) -> None:
        """Note in its ``meta`` that *request* was scheduled. A page has many links, so this has to be quick."""
        request.meta[META_SCHEDULED] = request.url

    def take_scheduled_mark(self, request: Request) -> None:
        """Remember whether *request* was scheduled, and remove the mark from its ``meta``."""
        mark = request.meta.pop(META_SCHEDULED, None)
        if mark is not None and mark == request.url:
            self._scheduled.add(request)

    def skip_reason(self, request: Request, response: Response) -> str:  # noqa: PLR0911  (one return a reason)
        """Return why *response* is not checked; ``""`` if it is."""
        self.take_scheduled_mark(request)  # a middleware may have answered before ours saw the request
        if request.meta.get("dedup_skip"):
            return "asked"
        if request.callback is NO_CALLBACK:
            return "no_callback"
        if request not in self._scheduled:
            return "inline"
        if request.method == "HEAD":
            return "head"
        if response.status != 200:
            return "status"
        # Scrapy's flag "partial" says only that the server named no length: such a page is judged as others are.
        if "dataloss" in response.flags:
            return "incomplete"
        if not isinstance(response, HtmlResponse):
            return "not_html"
        return ""

    def ask_about(self, request: Request, response: Response) -> Question:
        """Return the question about a page: key, scope and action come from its request, or else from the settings.

        Raises:
            ConfigError: the action of the request is unknown.
        """
        action = request.meta.get("dedup_action", self._config.action)
        if action not in get_args(Action):
            allowed = ", ".join(f'"{name}"' for name in get_args(Action))
            raise ConfigError(f'meta["dedup_action"] = {action!r} is not allowed; it takes one of {allowed}.')
        scope = request.meta.get("dedup_scope")
        scope = self._scope(request, response) if scope is None else str(scope)
        key, first = fingerprint_of(request, self._crawler), first_address(request)
        alias = fingerprint_of(Request(first), self._crawler) if first else ""
        asks_again = request.meta.get(META_REPEATED, "") in {key, alias} - {""}
        if given := request.meta.get("dedup_key"):
            key, alias = identifier_without_credentials(str(given)), ""
        encoding, scope = declared_encoding(response), scope and identifier_without_credentials(scope)
        job = CheckPage(
            escape_surrogates(response.url),
            encoding,
            key,
            scope,
            alias,
            is_dry=self._config.action == action == "mark",
            links_followed=action == "follow",
            size=len(response.body),
        )
        body = memoryview(response.body)[: self._config.max_bytes + 1]  # a larger page is refused without the rest
        page, address = hash_page_key(scope or "", key), hash_page_key("", alias or key)
        return Question(job, body, page, address, asks_again, action)


def fingerprint_of(request: Request, crawler: Crawler) -> str:
    """Return the fingerprint of *request* as hexadecimal digits: the key of its page, unless ``dedup_key`` names another."""
    return crawler.request_fingerprinter.fingerprint(request).hex()


def mark_inherited_redirections(request: Request) -> None:
    """Mark the redirections that *request*, which a callback yields, has only copied with the ``meta`` of its parent."""
    if META_REDIRECTIONS in request.meta or META_INHERITED in request.meta:
        request.meta[META_INHERITED] = len(_redirections(request))


def first_address(request: Request) -> str:
    """Return the address from which *request* was redirected, ``""`` if it was not."""
    redirected = _redirections(request)[request.meta.get(META_INHERITED, 0) :]
    return str(redirected[0]) if redirected else ""


def _redirections(request: Request) -> list[Any]:
    addresses = request.meta.get(META_REDIRECTIONS)
    return addresses if isinstance(addresses, list) else []


def declared_encoding(response: Any) -> str | None:
    """Return the charset that a response declares. If it declares none, signing detects it, as Scrapy does."""
    encoding: str | None = response._declared_encoding()  # ``encoding`` would detect it here, which may take seconds
    return encoding


def configured_scope(config: Config, crawler: Crawler) -> Scope:
    """Return the function of ``DEDUP_SCOPE`` that returns the scope of a page; raises :class:`ConfigError`."""
    if config.scope == "spider":
        return lambda *_: f"spider {crawler.spider.name if crawler.spider else ''}"
    if config.scope in (DOMAIN, LANGUAGE, GLOBAL):
        kind = default_scope(config)
        return lambda _, response: scope_of(response.url, kind)
    try:
        scope: Scope = load_object(config.scope)
    except Exception as error:  # a module may raise anything
        raise ConfigError(f"DEDUP_SCOPE = {config.scope!r} cannot be imported: {error}") from error
    if not callable(scope):
        raise ConfigError(f"DEDUP_SCOPE = {config.scope!r} is not callable.")

    def checked(request: Request, response: Response) -> str:
        name = scope(request, response)
        if not isinstance(name, str):
            raise TypeError(f"DEDUP_SCOPE = {config.scope!r} returned {type(name).__name__}, not str.")
        return name

    return checked


JOURNAL_REASONS = ("asked", "incomplete", "inline")
"""The reasons to skip responses that may be pages."""

SKIP_REASONS = {
    "asked": 'meta["dedup_skip"] of the request',
    "inline": "downloaded inside a callback (`await engine.download(…)`, an inline request)",
    "head": "the answer to a HEAD request",
    "status": "a status other than 200",
    "incomplete": "incomplete (Scrapy's flag dataloss)",
    "not_html": "not HTML",
}
"""All reasons that may concern pages, in words; ``robots.txt`` and images have another one."""
_ENOUGH = 10
_NEARLY_ALL = 0.95


def find_cause(checked: int, skipped: Mapping[str, int]) -> str:
    """Return a warning if nearly all responses were skipped for one reason, so that the filter is nearly off; else ``""``.

    Args:
        checked: how many responses were checked.
        skipped: how many were skipped for each of the reasons :data:`SKIP_REASONS`.
    """
    responses = checked + sum(skipped.values())
    reason = max(skipped, key=skipped.__getitem__)
    if skipped[reason] < max(_ENOUGH, _NEARLY_ALL * responses):
        return ""
    return (
        f"The filter has checked only {checked} pages, and skipped {skipped[reason]} of {responses} responses:"
        f" {SKIP_REASONS[reason]} (dedup/skipped/{reason})"
    )
