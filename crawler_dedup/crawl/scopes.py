"""``DEDUP_SCOPE``: which pages a page is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import tldextract
from scrapy.http import Request, Response
from scrapy.utils.misc import load_object

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

Scope = Callable[[Request, Response], str]


def scope_of(config: Config, crawler: Crawler) -> Scope:
    """The scope of a page, as *config* says; raises :class:`ConfigError`."""
    if config.scope == "spider":
        return lambda *_: f"spider {crawler.spider.name if crawler.spider else ''}"
    if config.scope == "global":
        return lambda *_: "global"
    if config.scope == "domain":
        return _domain_scope()
    try:
        scope: Scope = load_object(config.scope)
    except (ImportError, NameError, ValueError, TypeError) as error:
        raise ConfigError(f"DEDUP_SCOPE = {config.scope!r} cannot be imported: {error}") from error
    if not callable(scope):
        raise ConfigError(f"DEDUP_SCOPE = {config.scope!r} is not callable.")
    return scope


def _domain_scope() -> Scope:
    # Only the list of public suffixes that comes with the package: nothing is fetched.
    split = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)

    def domain(_: Request, response: Response) -> str:
        parts = split(response.url)
        return f"domain {parts.top_domain_under_public_suffix or parts.fqdn or parts.domain}"

    return domain
