"""The scope of a page outside a crawl, where there is no spider and no request."""

from __future__ import annotations

from crawler_dedup.config.settings import Config
from crawler_dedup.errors import ConfigError
from crawler_dedup.urls import registered_domain

DOMAIN, LANGUAGE, GLOBAL = "domain", "language", "global"


def default_scope(config: Config) -> str:
    """Return the value of ``DEDUP_SCOPE`` that holds outside a crawl: instead of ``spider`` it is ``global``.

    Raises:
        ConfigError: it is a callable, which needs a request and a response.
    """
    if config.scope == "spider":
        return GLOBAL
    if config.scope in (DOMAIN, LANGUAGE, GLOBAL):
        return str(config.scope)
    raise ConfigError(
        f"DEDUP_SCOPE = {config.scope!r} is called with requests and responses of a crawl, and there is none here: give the"
        " scope of the pages, or set DEDUP_SCOPE to domain, language or global."
    )


def scope_of(url: str, scope: str) -> str | None:
    """Return the scope of a page.

    Args:
        scope: ``domain``: the registered domain of the page; ``language``: its language, for which ``None`` is returned,
            because it is known once the page is signed; else the scope itself.
    """
    return None if scope == LANGUAGE else f"{DOMAIN} {registered_domain(url)}" if scope == DOMAIN else scope
