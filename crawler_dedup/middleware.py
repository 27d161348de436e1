"""The downloader middleware: gate, ask, drop or pass.

Whatever goes wrong here lets the page pass: the filter may miss a duplicate, it never loses a page.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import tldextract
from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Request, Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import create_looping_call, is_asyncio_available
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from scrapy.utils.project import data_path

from crawler_dedup import background, maintext
from crawler_dedup.config import Config
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.deduplicator import Deduplicator
from crawler_dedup.errors import ConfigError, DedupError
from crawler_dedup.signals import NearDuplicate, near_duplicate_dropped
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.watchdog import Watchdog

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

logger = logging.getLogger(__name__)

META_DECISION = "dedup"
_META_SCHEDULED = "_dedup_scheduled"
_Scope = Callable[[Request, Response], str]
_STATISTIC = {
    Verdict.NEW: "kept",
    Verdict.UNCHANGED: "unchanged",
    Verdict.CHANGED: "changed",
    Verdict.UNCHECKED: "unchecked",
}


def config_of(crawler: Crawler) -> Config:
    """The crawl's configuration, for both middlewares.

    Raises:
        NotConfigured: the filter is off, or this is no crawl (``scrapy shell``, ``fetch``, ``view``, ``parse``,
            ``check``).
        ConfigError: a setting has a value that is not allowed.
    """
    config = Config.from_settings({name: crawler.settings[name] for name in crawler.settings})
    if not config.enabled or _is_inspection():
        raise NotConfigured
    return config


def require_companion(settings: BaseSettings, component_list: str, companion: str) -> None:
    """Raise :class:`ConfigError` unless *companion* (an import path) stands in *component_list*."""
    wanted = load_object(companion)
    listed = build_component_list(settings.get_component_priority_dict_with_base(component_list))
    if not any(isinstance(one, type) and issubclass(one, wanted) for one in map(load_object, listed)):
        raise ConfigError(
            f"crawler-dedup needs both its middlewares, but {component_list} lacks {companion}. Add it, or let"
            ' ADDONS = {"crawler_dedup.Addon": 500} install both.'
        )


def _is_inspection() -> bool:
    """Whether a Scrapy command runs that looks at single pages: it must neither file them nor drop any."""
    if os.environ.get("SCRAPY_CHECK") == "true":
        return True
    program = Path(sys.argv[0])
    if program.stem != "scrapy" and program.parts[-2:] != ("scrapy", "__main__.py"):
        return False
    # Scrapy takes the command out of sys.argv.
    words = sys.orig_argv
    at = next(at for at, word in enumerate(words) if Path(word).stem == "scrapy")
    command = next((word for word in words[at + 1 :] if not word.startswith("-")), "")
    return command in {"bench", "check", "fetch", "parse", "shell", "view"}


class DedupMiddleware:
    """Drops near-duplicate pages and with them their outlinks.

    Stands at order 40, so that it is the last to see a response before the spider: what users' own middlewares turn
    into a retry (bans, captchas) is never judged.
    """

    def __init__(self, crawler: Crawler, config: Config) -> None:
        self.crawler = crawler
        self.config = config
        self._scope = _scope_of(config, crawler)
        self._directory = Path(data_path(config.dir)).resolve()
        self.deduplicator = Deduplicator.open(self._directory, config)
        self._watchdog = Watchdog(config.max_duplicates, passes=config.pass_beyond_max_duplicates)
        self._summary = create_looping_call(self._log_summary)
        self._seen_errors: set[str] = set()
        self._is_loaded = False
        self._scheduled: WeakSet[Request] = WeakSet()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the index. What is wrong with it or with a setting stops the crawl here, before the first page."""
        config = config_of(crawler)
        require_companion(crawler.settings, "SPIDER_MIDDLEWARES", "crawler_dedup.settling.SettlingMiddleware")
        if not is_asyncio_available():
            raise DedupError(
                "crawler-dedup needs the asyncio reactor, Scrapy's default, or TWISTED_REACTOR_ENABLED = False;"
                f" TWISTED_REACTOR is {crawler.settings['TWISTED_REACTOR']!r}."
            )
        middleware = cls(crawler, config)
        crawler.signals.connect(middleware.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(middleware.request_scheduled, signal=signals.request_scheduled)
        return middleware

    def spider_opened(self) -> None:
        """Say what is at work; load the dictionaries before the first page, beside the event loop."""
        self._log(
            logging.INFO,
            "Near-duplicate filter: index %s holds %d pages; run %08x, scheme %s, distance %d, scope %s, action %s",
            self._directory,
            len(self.deduplicator),
            self.deduplicator.run,
            self.deduplicator.scheme,
            self.config.max_distance,
            self.config.scope,
            self.config.action,
        )
        self._loading = asyncio.ensure_future(background.run(self.deduplicator.load))
        self._loading.add_done_callback(self._loaded)
        self._summary.start(self.config.summary_interval, now=False)

    def _loaded(self, loading: asyncio.Future[None]) -> None:
        self._is_loaded = not loading.cancelled() and loading.exception() is None
        if not loading.cancelled() and (error := loading.exception()):
            self._log(logging.ERROR, "A dictionary cannot be loaded; Chinese pages pass unchecked: %s", error)

    async def spider_closed(self) -> None:
        """Close the index; the last page has its answer by now. Not in the one thread: a page may still hold that up."""
        if self._summary.running:
            self._summary.stop()
        self._log_summary()
        await asyncio.to_thread(self.deduplicator.close)

    def request_scheduled(self, request: Request) -> None:
        """Tell scheduled requests from downloads inside a callback, whose answers no callback of ours would see.

        The mark stands in ``meta`` because a scheduler on disk hands out another object. It names the request, and goes
        before a callback can copy it into another one.
        """
        request.meta.pop(META_DECISION, None)  # queues on disk may take less than pickle does
        request.meta[_META_SCHEDULED] = self._key(request)

    def _take_mark(self, request: Request) -> None:
        mark = request.meta.pop(_META_SCHEDULED, None)
        if mark is not None and mark == self._key(request):
            self._scheduled.add(request)

    def process_request(self, request: Request) -> None:
        """Remove the decision that ``meta=response.meta`` has copied from the parent page."""
        request.meta.pop(META_DECISION, None)
        self._take_mark(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Pass *response*, or raise :class:`NearDuplicate`."""
        action = self.config.action
        try:
            reason = self._gate(request, response)
            if reason:
                self._count(f"skipped/{reason}")
                request.meta.pop(META_DECISION, None)
                return response
            action = _action_of(request, action)
            page, decision = await asyncio.wait_for(self._decide(request, response), self.config.timeout)
        except Exception as error:
            page, decision = None, self._failed(response, error)
            if isinstance(error, asyncio.TimeoutError):
                # The thread may still read the tree: the spider, which may change it, gets one of its own.
                response = response.copy()
        decision = self._watch(decision)
        request.meta[META_DECISION] = decision
        self._count_decision(decision, action)
        if page is None or decision.passes or action == "mark":
            return response
        self._drop(request, response, page, decision)
        raise NearDuplicate(decision)

    def _gate(self, request: Request, response: Response) -> str:  # noqa: PLR0911  (one return a reason)
        """Why this response is none of ours, ``""`` if it is."""
        if request.meta.get("dedup_skip"):
            return "asked"
        if request.callback is NO_CALLBACK:
            return "no_callback"
        self._take_mark(request)  # again, for a middleware that answered before ours saw the request
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

    async def _decide(self, request: Request, response: Response) -> tuple[SignedPage, Decision]:
        given = request.meta.get("dedup_scope")
        scope = str(given) if given is not None else self._scope(request, response)
        key = str(request.meta.get("dedup_key") or self._key(request))
        if self._is_quick(response):
            page = self._sign(response, key, scope)
        else:
            page = await background.run(self._sign, response, key, scope)
        return page, (await asyncio.wrap_future(self.deduplicator.submit([page])))[0]

    def _is_quick(self, response: Response) -> bool:
        """Whether signing takes a few milliseconds at most, so that the event loop can do it itself."""
        return self._is_loaded and len(response.body) <= self.deduplicator.quick_bytes

    def _sign(self, response: Any, key: str, scope: str) -> SignedPage:
        # The tree stays with the response for the spider.
        tree = None if len(response.body) > self.config.max_bytes else response.selector.root
        page, text = self.deduplicator.sign_with_text(response.url, response.body, tree, key=key, scope=scope)
        if text is not None and self.config.extractor == "trafilatura":
            maintext.remember(response, text)
        return page

    def _watch(self, decision: Decision) -> Decision:
        kept = decision.duplicate_of
        decision, swallowed = self._watchdog.look(decision)
        if swallowed is not None:
            self._count("watchdog")
            self._log(
                logging.WARNING,
                "%s stands for more than %d pages of one site%s. Is it an error page or a form? Some of them: %s",
                kept,
                self.config.max_duplicates,
                "; further ones pass" if self.config.pass_beyond_max_duplicates else "",
                ", ".join(swallowed.examples),
            )
        return decision

    def _failed(self, response: Response, error: Exception) -> Decision:
        name = type(error).__name__
        self._count(f"error/{name}")
        self._log(
            logging.DEBUG if name in self._seen_errors else logging.WARNING,
            "%s passes unchecked, and so do others of which this happens: %s: %s",
            response,
            name,
            error,
            exc_info=name not in self._seen_errors and error,
        )
        self._seen_errors.add(name)
        return Decision(Verdict.UNCHECKED, response.url, "", "", reason="error")

    def _count_decision(self, decision: Decision, action: str) -> None:
        self._count("checked")
        if decision.verdict is Verdict.DUPLICATE:
            assert decision.match is not None
            self._count(f"distance/{decision.match.distance}")
            self._count("marked" if action == "mark" else "dropped")
        else:
            self._count(_STATISTIC[decision.verdict])
        if decision.reason:
            self._count(f"unchecked/{decision.reason.replace(' ', '_')}")

    def _drop(self, request: Request, response: Response, page: SignedPage, decision: Decision) -> None:
        self._count("bytes_dropped", page.size)
        self._count("links_dropped", page.link_count)
        self._log(logging.DEBUG, "Dropped %s", decision)
        self.crawler.signals.send_catch_log(
            near_duplicate_dropped,
            decision=decision,
            request=request,
            response=response,
            spider=self.crawler.spider,
        )

    def _key(self, request: Request) -> str:
        return self.crawler.request_fingerprinter.fingerprint(request).hex()

    def _count(self, name: str, by: int = 1) -> None:
        self.crawler.stats.inc_value(f"dedup/{name}", by)

    def _log(self, level: int, message: str, *args: object, exc_info: Any = None) -> None:
        logger.log(level, message, *args, exc_info=exc_info, extra={"spider": self.crawler.spider})

    def _log_summary(self) -> None:
        counts = {
            name: self.crawler.stats.get_value(f"dedup/{name}", 0)
            for name in ("checked", "kept", "dropped", "marked", "unchanged", "changed", "unchecked")
        }
        hits = counts["dropped"] + counts["marked"]
        self._log(
            logging.INFO,
            "Near-duplicate filter: %s; %.1f %% are duplicates",
            ", ".join(f"{name} {count}" for name, count in counts.items() if count or name in ("checked", "dropped")),
            100 * hits / max(1, counts["checked"]),
        )


def _action_of(request: Request, default: str) -> str:
    action = request.meta.get("dedup_action", default)
    if action not in ("drop", "mark"):
        raise ConfigError(f'meta["dedup_action"] = {action!r} is not allowed; it takes "drop" or "mark".')
    return str(action)


def _scope_of(config: Config, crawler: Crawler) -> _Scope:
    if config.scope == "spider":
        return lambda *_: f"spider {crawler.spider.name if crawler.spider else ''}"
    if config.scope == "global":
        return lambda *_: "global"
    if config.scope == "domain":
        return _domain_scope()
    try:
        scope: _Scope = load_object(config.scope)
    except (ImportError, NameError, ValueError, TypeError) as error:
        raise ConfigError(f"DEDUP_SCOPE = {config.scope!r} cannot be imported: {error}") from error
    if not callable(scope):
        raise ConfigError(f"DEDUP_SCOPE = {config.scope!r} is not callable.")
    return scope


def _domain_scope() -> _Scope:
    # Only the list of public suffixes that comes with the package: nothing is fetched.
    split = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

    def domain(_: Request, response: Response) -> str:
        parts = split(response.url)
        return f"domain {parts.top_domain_under_public_suffix or parts.fqdn or parts.domain}"

    return domain
