"""Every ``DEDUP_*`` setting: type, allowed values, default and explanation, each stated once.

The type of a field of :class:`Config` states which values the setting takes. The type determines how a value is read and
checked, what the error message about a wrong value says, and what ``docs/reference/settings.md`` says.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, Literal, get_type_hints

from msgspec import Meta

from crawler_dedup.config import values
from crawler_dedup.errors import ConfigError
from crawler_dedup.urls import registered_domain, text_without_credentials

PREFIX = "DEDUP_"
AUTO = "auto"
"""Value of ``DEDUP_TOKENIZER``: the tokenizer that the index was made with, in a new index the best that is installed."""

DOMAIN, LANGUAGE, GLOBAL = "domain", "language", "global"
"""Values of ``DEDUP_SCOPE`` that hold outside a crawl, too."""

Action = Literal["drop", "follow", "mark"]
"""What happens to a duplicate."""

_MAX_NAMES = 3  # that an error message suggests
_LEAST_LIKENESS = 0.8
"""Least likeness of a mistyped name and a suggestion (Ratcliff and Obershelp's): about a letter in five may differ."""

_GIB = 1 << 30
MAP_SIZE = 4 * _GIB if os.name == "nt" else 1024 * _GIB if sys.maxsize > 1 << 32 else _GIB
"""Default size of the map. On Linux and macOS it is sparse and costs address space only; Windows allocates the file."""

PROCESSES = 0 if os.name == "nt" else 1
"""Default number of workers. On Windows none can be started: they get a socket of their parent process."""


def _setting(default: Any, explanation: str, *, shown: str = "") -> Any:
    """Make a field of :class:`Config`; *shown* is the text in the docs for a default that depends on the system."""
    return field(default=default, metadata={"explanation": explanation, "shown": shown or f"`{default!r}`"})


@dataclass(frozen=True)
class Config:
    """All settings, as plain keyword arguments (``DEDUP_MAX_DISTANCE`` is ``max_distance``).

    Raises :class:`ConfigError` for a value that is not allowed.

    >>> Config(max_distance=3).scope
    'spider'
    >>> Config.from_settings({"DEDUP_SCOPE": "domain", "BOT_NAME": "shop"}).scope
    'domain'
    """

    enabled: bool = _setting(True, "Whether the filter runs.")
    action: Action = _setting(
        "drop",
        "`drop`: a duplicate never reaches the spider. `follow`: it reaches its callback; the requests that the "
        "callback yields are followed, and its items are discarded. `mark` (a dry run): every page passes, with the "
        'decision in `response.meta["dedup"]` and in the statistics. The meta key [`dedup_action`](meta.md#dedup_action) '
        "of a request has precedence.",
    )
    dir: values.PathString = _setting(
        "dedup",
        "Directory of the index. A relative path is relative to Scrapy's data directory (`.scrapy/` of the project); "
        "without a project it is an error ([where it runs](../how-to/where-it-runs.md)).",
    )
    index: values.Server = _setting(
        "",
        "URL of the index on a Valkey or Redis [server](../how-to/machines.md): "
        "`redis://[[user]:password@]host[:port][/database]`, `rediss://` with TLS, or `unix://` and the path of a "
        "socket. `?index=NAME` selects one of several indexes in a database. If it is empty, the index is in `DEDUP_DIR`. "
        "Journals are in `DEDUP_DIR` in any case; without a project and with a relative path, none is written.",
    )
    index_wait: Annotated[float, Meta(ge=0, le=86_400, extra={"zero": "it does not wait"})] = _setting(
        60.0,
        "Seconds for which a crawl waits in each [outage](../how-to/machines.md#outages) of the server of its index. "
        "After that, pages pass as `unchecked`, and a crawl that starts ends with an error.",
    )
    fresh: bool = _setting(
        False,
        "Empty the index when the crawl starts, even if it was made with another configuration, or other processes use "
        "it. If another spider of this process uses it, it is not emptied.",
    )
    scope: (
        Literal["spider", "domain", "language", "global"]
        | Annotated[values.ImportPath, Meta(title="the import path of a callable (request, response) -> str")]
        | Annotated[Callable[..., str], values.read_callable, Meta(title="such a callable")]
    ) = _setting(
        "spider",
        "Which pages are compared with each other: those of one spider (on all hosts), of one registered domain, in "
        "one language, all, or those for which a callable returns the same ([scopes](../how-to/scopes.md)). If you crawl "
        'hosts that you do not trust, set "domain" ([why](../explanation/trust.md)).',
    )
    extractor: (
        Literal["paragraphs", "trafilatura"]
        | Annotated[values.ImportPath, Meta(title="the import path of a function from an lxml tree to text")]
    ) = _setting(
        "paragraphs",
        "What extracts the text by which pages are compared. `paragraphs` is several times as fast as `trafilatura`, "
        "and its text changes less from template to template. Fixed when the index is made; another value needs another "
        "index. `main_text()` always uses trafilatura.",
    )
    tokenizer: Literal["auto", "jieba", "rjieba", "bigrams"] = _setting(
        AUTO,
        "How Chinese text becomes tokens. `jieba` and `rjieba` (extra `fast`) have the same dictionary; `rjieba` is "
        "faster. `bigrams` needs no dictionary. `auto` is the tokenizer of the index; a new index gets `rjieba` if it is "
        "installed, else `jieba`. If several environments share an index, name a tokenizer that all of them have. "
        "Fixed when the index is made; another value needs another index.",
    )
    scheme: Annotated[str, Meta(min_length=1, title='a name, or "NAME option=value …"')] = _setting(
        "simhash",
        "How signatures of pages are computed and compared: `simhash`, `exact`, `shingling`, `minhash`, `checksums`, "
        "`imatch`, `ddw`, `sentences`, `pinyin`, `winnowing`, or one of another package ([schemes](schemes.md)). Fixed "
        "when the index is made; another value needs another index.",
    )
    max_distance: Annotated[int, Meta(ge=0, le=7)] = _setting(
        7,
        "Largest Hamming distance between the signatures of duplicates, in bits (scheme `simhash`). Texts with the same "
        "title are compared even if they differ in more; with 0 they are not. It may change from run to run on one index.",
    )
    compare: Literal["words", "signatures"] = _setting(
        "words",
        "`words`: a page is a duplicate only if each of its blocks that its site does not repeat is on the kept page, in "
        "the same words. "
        "`signatures`: for texts, the signatures decide as in the papers, besides titles and links, so that edited copies "
        "are dropped, too ([what each loses](../explanation/limits.md)). It may change from run to run on one index.",
    )
    min_features: Annotated[int, Meta(ge=1, le=10_000)] = _setting(
        20,
        "A page whose main text has fewer distinct words than this, not counting stop words, is "
        "[thin](../explanation/rules.md#thin-pages), and compared by all its blocks. Fixed when the index is made; another "
        "value needs another index.",
    )
    settle: Literal["item", "callback", "manual"] = _setting(
        "item",
        "When a page that passed counts as handled, so that others may be dropped as its duplicates "
        "([claims](../explanation/claims.md)). `item`: when its first item has come out of the pipelines; what happens "
        "later does not count. `callback`: when its callback and all its items have ended without an error, and at least "
        "one item has come out of the pipelines. With both, a page without items counts when its callback has ended "
        "without an error, and a page that never counts as handled is forgotten. `manual`: when "
        "`crawler_dedup.settle(response)` is called (which also works with the other values); all other pages are "
        "forgotten at the end of the run.",
    )
    grace: Annotated[int, Meta(ge=0, le=86_400)] = _setting(
        60,
        "If a crawl is killed, pages that it handled in its last `DEDUP_GRACE` seconds count as not handled: their items "
        "came out of the pipelines, but may not be on disk yet, because feeds are buffered.",
    )
    revisit: Literal["pass", "drop"] = _setting(
        "pass",
        "`drop`: a page that is unchanged since an earlier run handled it is dropped (an incremental crawl); its links "
        'are followed only with `DEDUP_ACTION = "follow"`. The pages of a run that was killed pass again, and so do those '
        "of a run without a JOBDIR that Ctrl-C or `CLOSESPIDER_…` ended, and pages that Scrapy's HTTP cache replays. With "
        "either value, if two requested addresses of a run redirect to one page, it is dropped the second time, unless it "
        "has changed; a second request for the same address passes.",
    )
    never_drop: values.Prefixes = _setting(
        (),
        "No page is dropped as a duplicate if its address begins with one of these. `crawler-dedup keep --below` does "
        "the same for one index ([a page that must pass](../how-to/operating.md#a-page-that-must-pass)).",
        shown="`[]`",
    )
    expire_days: Annotated[float, Meta(ge=0, le=36_500, extra={"zero": "no page expires"})] = _setting(
        0.0, "Days without a visit after which a page no longer counts. It is removed when the next crawl starts."
    )
    store_text: bool = _setting(
        False, "Store the main text, compressed: of kept pages in the index, of others in the journal."
    )
    dropped_warc: values.Size = _setting(
        0,
        "Dropped duplicates are written to [WARC files](../how-to/operating.md#dropped-pages-as-warc) beside the index (or "
        "beside the journal, if the index is on a server), up to this total size.",
    )
    max_bytes: Annotated[int, Meta(ge=1, le=1 << 40)] = _setting(
        8 << 20, "A larger body is not parsed; the page passes as `unchecked`."
    )
    timeout: Annotated[float, Meta(ge=0.01, le=86_400)] = _setting(
        30.0,
        "Seconds that a worker may take for a page, not counting the time to load a dictionary. After that the worker is "
        "replaced, and the page passes as `unchecked`. A signed page waits for the answer of the index for up to "
        "`min(DEDUP_TIMEOUT, max(6, DEDUP_TIMEOUT / 5))` seconds or, while the server of the index is unavailable, for "
        "`DEDUP_INDEX_WAIT`.",
    )
    processes: Annotated[int, Meta(ge=0, le=64, extra={"zero": "pages are signed on the event loop"})] = _setting(
        PROCESSES,
        "Number of processes that compute the signatures of pages, decide about them and extract texts "
        "([processors and memory](../how-to/where-it-runs.md#processors-and-memory)). With 0, nothing protects the crawl "
        "from a page that takes long, crashes or takes too much memory.",
        shown="`1` (0 on Windows)",
    )
    journal: values.JournalPath = _setting(
        "journal-%(time)s.jsonl",
        "File with a line for each drop, and for some other [events](journal.md). "
        "`%(time)s` is the time when the crawl began, `%(name)s` the name of the spider. A relative path is in the "
        "directory of the index. If it is empty, no journal is written.",
    )
    works: Annotated[str, Meta(title="a path, or an empty string")] = _setting(
        "",
        "Directory of a library of [works](../how-to/works.md#in-a-crawl) with which each page that passes is compared. A "
        "relative path is relative to Scrapy's data directory. If it is empty, nothing is compared.",
    )
    map_size: Annotated[int, Meta(ge=1 << 20, le=1 << 46, title="2^20 (1 MiB) to 2^46 (64 TiB) bytes")] = _setting(
        MAP_SIZE,
        "Largest size of the index in bytes. The file is sparse and takes only the room for its contents (not on "
        "Windows).",
        shown="`1 << 40` (1 TiB; 4 GiB on Windows)",
    )

    def __post_init__(self) -> None:
        for setting in fields(self):
            value, declared = getattr(self, setting.name), declared_types()[setting.name]
            try:
                object.__setattr__(self, setting.name, values.read_value(value, declared))
            except (ValueError, TypeError, KeyError, OverflowError):
                raise ConfigError(
                    f"{setting_name(setting.name)} = {value!r} is not allowed; it takes {values.describe_values(declared)}."
                ) from None

    def __repr__(self) -> str:
        """Return all settings, without the user names and passwords that addresses may hold."""
        shown = ", ".join(f"{setting.name}={getattr(self, setting.name)!r}" for setting in fields(self))
        return text_without_credentials(f"{type(self).__name__}({shown})")

    @property
    def is_dry(self) -> bool:
        """Whether all duplicates pass, as in a dry run."""
        return self.action == "mark"

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Config:
        """Read the ``DEDUP_*`` entries of a settings mapping.

        Raises:
            ConfigError: a value is not allowed, or a ``DEDUP_*`` name is unknown (a misspelt name would otherwise
                have no effect, without a message).
        """
        known = {setting_name(setting.name): setting.name for setting in fields(cls)}
        names = [name for name in settings if isinstance(name, str) and name.startswith(PREFIX)]
        if unknown := sorted(set(names) - set(known)):
            raise ConfigError(" ".join(map(_unknown, unknown)))
        return cls(**{known[name]: settings[name] for name in names})


def _unknown(name: str) -> str:
    """Return the error message about a name that no setting has."""
    nearest = nearest_settings(name)
    hint = f"did you mean {' or '.join(nearest)}?" if nearest else "`crawler-dedup settings` lists all."
    return f"Unknown setting {name}; {hint}"


def nearest_settings(wrong_name: str) -> list[str]:
    """Return up to three names of settings that *wrong_name* may mean, best first; often none.

    They differ from *wrong_name* in a few letters, or contain all its words.
    """
    from difflib import get_close_matches  # noqa: PLC0415  (only for an error)

    wrong_name = wrong_name.upper().removeprefix(PREFIX)
    names = [setting.name.upper() for setting in fields(Config)]
    hardly_different = get_close_matches(wrong_name, names, _MAX_NAMES, _LEAST_LIKENESS)
    words = set(wrong_name.split("_"))
    with_its_words = [name for name in names if words <= set(name.split("_"))]
    return [setting_name(name) for name in dict.fromkeys([*hardly_different, *with_its_words])][:_MAX_NAMES]


def setting_name(field_name: str) -> str:
    """Return the name of a setting: ``max_distance`` → ``DEDUP_MAX_DISTANCE``."""
    return PREFIX + field_name.upper()


@cache
def declared_types() -> dict[str, Any]:
    """Return the declared type of each field of :class:`Config`."""
    return get_type_hints(Config, include_extras=True)


def default_scope(config: Config) -> str:
    """Return the value of ``DEDUP_SCOPE`` to use outside a crawl: ``global`` if it is ``spider``, else unchanged.

    Raises:
        ConfigError: it is a callable, which needs a request and a response.
    """
    if config.scope == "spider":
        return GLOBAL
    if config.scope in (DOMAIN, LANGUAGE, GLOBAL):
        return str(config.scope)
    raise ConfigError(
        f"DEDUP_SCOPE = {config.scope!r} needs the requests and responses of a crawl, and there is no crawl here: give the"
        " scope of the pages (--scope, scope=), or set DEDUP_SCOPE to domain, language or global."
    )


def scope_of(url: str, scope: str) -> str | None:
    """Return the scope of a page.

    Args:
        scope: ``domain``: the registered domain of the page; ``language``: ``None``, because the language is known only
            after the page is signed; any other value: that value.
    """
    return None if scope == LANGUAGE else f"{DOMAIN} {registered_domain(url)}" if scope == DOMAIN else scope
