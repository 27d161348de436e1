"""Every ``DEDUP_*`` setting: default, check and explanation, in one place.

``docs/settings.md`` is printed by :func:`settings_reference`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from w3lib.url import file_uri_to_path

from crawler_dedup.checks import Read, between, boolean, journal_name, one_of, path_or, scope_name, text, uri_scheme
from crawler_dedup.errors import ConfigError
from crawler_dedup.urls import text_without_credentials

PREFIX = "DEDUP_"

_GIB = 1 << 30
MAP_SIZE = 4 * _GIB if os.name == "nt" else 1024 * _GIB if sys.maxsize > 1 << 32 else _GIB
"""Default size of the map. On Linux and macOS it is sparse and costs address space only; Windows allocates the file."""

_JOURNAL = "journal-%(time)s.jsonl"


def _setting(default: Any, read: Read, allowed: str, doc: str) -> Any:
    return field(default=default, metadata={"read": read, "allowed": allowed, "doc": doc})


@dataclass(frozen=True)
class Config:
    """All settings, as plain keyword arguments (``DEDUP_MAX_DISTANCE`` is ``max_distance``).

    Raises :class:`ConfigError` for a value that is not allowed.
    """

    enabled: bool = _setting(True, boolean, "True or False", "Whether the filter runs at all.")
    action: str = _setting(
        "drop",
        one_of("drop", "mark"),
        '"drop" or "mark"',
        "`drop`: a duplicate never reaches the spider. `mark`: every page passes, the decision stands in "
        '`response.meta["dedup"]` and in the statistics. A request\'s meta key `dedup_action` wins.',
    )
    dir: str = _setting(
        "dedup",
        text,
        "a path",
        "Directory of the index. A relative path stands in Scrapy's data directory (`.scrapy/` of the project).",
    )
    fresh: bool = _setting(
        False,
        boolean,
        "True or False",
        "Empty the index when the crawl starts (also one of another configuration), unless another spider of this process "
        "has it open.",
    )
    scope: Any = _setting(
        "spider",
        scope_name,
        '"spider", "domain", "global" or the import path of a callable (request, response) -> str',
        "What is compared with what: the pages of one spider (whatever their host), of one registered domain, or all. "
        'Crawls of hosts that you do not trust need "domain": a host can make pages disappear that it has copied, in its '
        "scope ([trust.md](trust.md)).",
    )
    extractor: str = _setting(
        "paragraphs",
        path_or("paragraphs", "trafilatura"),
        '"paragraphs", "trafilatura" or the import path of a function from an lxml tree to text',
        "What takes the text that pages are compared by. `paragraphs` is ten times as fast as `trafilatura`, and stays "
        "the same in another template. Part of the index header. `main_text()` is always trafilatura's.",
    )
    tokenizer: str = _setting(
        "jieba",
        one_of("jieba", "rjieba", "bigrams"),
        '"jieba", "rjieba" or "bigrams"',
        "How runs of Chinese characters become tokens. `rjieba` (extra `fast`) has jieba's dictionary and is about "
        "20 times faster. Part of the index header: another tokenizer needs another index.",
    )
    scheme: str = _setting(
        "simhash",
        text,
        'a name, or "NAME option=value …"',
        "How pages are signed and compared: `simhash`, `exact`, `shingling`, `minhash`, `checksums`, `imatch`, `ddw`, "
        "`sentences`, `pinyin`, or one of another package ([schemes.md](schemes.md)). Part of the index header.",
    )
    lexicon: str = _setting(
        "general",
        text,
        '"general" or a path',
        "How many documents of a collection have each word, for the schemes that weigh words by it: a file that "
        "`crawler-dedup lexicon build` made. `general` is English and Chinese at large. Part of the index header, where "
        "the scheme uses it.",
    )
    fold_han: bool = _setting(
        True,
        boolean,
        "True or False",
        "Whether Traditional Chinese characters of a text count as their simplified forms (those of titles always do). "
        "Part of the index header.",
    )
    max_distance: int = _setting(
        7,
        between(int, 0, 7),
        "0 to 7",
        "Largest Hamming distance between the signatures of duplicates, in bits of 64 (scheme `simhash`). May change from "
        "run to run on one index.",
    )
    min_features: int = _setting(
        20,
        between(int, 1, 10_000),
        "1 to 10,000",
        "A page whose main text has fewer different tokens (stop words not counted) is compared as a list, by its links, "
        "or as a short page, by all its visible words. Part of the index header.",
    )
    min_resemblance: float = _setting(
        0.65,
        between(float, 0, 1),
        "0 to 1",
        "Least share of common tokens (Jaccard, estimated from the sketches) of duplicates, with schemes that do not "
        "estimate it themselves (`simhash`, `checksums`, `imatch`).",
    )
    min_coverage: float = _setting(
        0.85,
        between(float, 0, 1),
        "0 to 1",
        "Least share of the new page's tokens that the kept page has too (containment, estimated), with the same schemes.",
    )
    max_list_variants: int = _setting(
        50,
        between(int, 0, 64),
        "0 to 64; 0: without bound",
        "A list with new links passes, but not for ever (calendars, session identifiers in paths): when so many lists "
        "with the same text and other links are kept, further ones are duplicates.",
    )
    settle: str = _setting(
        "item",
        one_of("item", "callback", "manual"),
        '"item", "callback" or "manual"',
        "When a page that passed counts as handled, so that it may stand for others. `item`: one of its items came out of "
        "the pipelines, or it yielded none and the callback ended well. `callback`: the callback and all of its items ended "
        "without an error, and one of the items came out of the pipelines, or it yielded none. `manual`: when "
        "`crawler_dedup.settle(response)` is called; what is not settled by the end of the run is forgotten. In the other "
        "two it is forgotten as soon as that failed. A page whose items were all dropped by pipelines is stored nowhere, "
        "and stands for others only if `settle` is called.",
    )
    grace: int = _setting(
        60,
        between(int, 0, 86_400),
        "0 to 86,400",
        "Seconds for which what came out of the pipelines may not be on disk (feeds are buffered). Where a crawl dies, what "
        "it handled in its last so many seconds counts as not handled.",
    )
    claim_timeout: float = _setting(
        10.0,
        between(float, 0, 86_400),
        "0 to 86,400",
        "Seconds that a page waits for the outcome of an alike one that is being handled; then it passes as `unchecked`.",
    )
    revisit: str = _setting(
        "pass",
        one_of("pass", "drop"),
        '"pass" or "drop"',
        "What becomes of a page that is unchanged and that an earlier run has handled, which then came to its end by itself "
        "(or has a JOBDIR). `drop` makes incremental crawls; "
        "its links are not followed either. What Scrapy's HTTP cache replays passes all the same.",
    )
    expire_days: float = _setting(
        0.0,
        between(float, 0, 36_500),
        "0 to 36,500; 0: never",
        "A page that was not visited for so many days counts no more, and is removed when the next crawl starts.",
    )
    store_text: bool = _setting(
        False,
        boolean,
        "True or False",
        "Keep the main text of each kept page in the index, and of each other one in the journal, compressed.",
    )
    max_duplicates: int = _setting(
        50,
        between(int, 1, 1 << 31),
        "1 to 2^31",
        "When one kept page has stood for more than so many pages of one site in a run, a warning with examples is "
        "logged: it may be an error page or a form.",
    )
    pass_beyond_max_duplicates: bool = _setting(
        False,
        boolean,
        "True or False",
        "Let the pages beyond `DEDUP_MAX_DUPLICATES` pass, as `unchecked`.",
    )
    max_bytes: int = _setting(
        8 << 20,
        between(int, 1, 1 << 40),
        "1 to 2^40",
        "A larger body is not parsed by the filter; the page passes as `unchecked`.",
    )
    max_nodes: int = _setting(
        50_000,
        between(int, 1, 1 << 31),
        "1 to 2^31",
        "A page with more elements passes as `unchecked`; one with four times as many `<` is not even parsed.",
    )
    max_depth: int = _setting(
        100, between(int, 1, 250), "1 to 250", "A page nested deeper than this passes as `unchecked`."
    )
    max_chars: int = _setting(
        200_000,
        between(int, 1, 1 << 31),
        "1 to 2^31",
        "A page with a longer main text passes as `unchecked`. The default is several times as long as the longest of "
        "1,700 real pages; jieba cuts so many Chinese characters in about a second.",
    )
    timeout: float = _setting(
        30.0,
        between(float, 0.01, 86_400),
        "0.01 to 86,400",
        "Seconds that a page waits for its decision; then it passes as `unchecked`. For the answer of the index it waits "
        "for a fifth of them, at least 6. (Small pages are signed on the event loop, which takes milliseconds and is not "
        "interrupted.)",
    )
    journal: str = _setting(
        _JOURNAL,
        journal_name,
        'a path, in which "%" begins "%(time)s" or "%(name)s" or is doubled; a URI, in which there may be these two; or an '
        "empty string",
        "The record of drops ([journal.md](journal.md)). `%(time)s` is when the crawl began, `%(name)s` the spider. A "
        "relative path stands in the directory of the index. A URI has the scheme of one of Scrapy's feed storages "
        "(`s3://`, `gs://`, `ftp://`, what `FEED_STORAGES` adds): the journal is written beside the index and handed over "
        "when the crawl ends; `file:` is a path. Empty: none is written.",
    )
    journal_bytes: int = _setting(
        100 << 20,
        between(int, 1 << 10, 1 << 40),
        "2^10 to 2^40",
        "When a file of the journal is longer, the next one begins (`….2.jsonl`). None is removed.",
    )
    summary_interval: float = _setting(
        60.0, between(float, 1, 86_400), "1 to 86,400", "Seconds between two summary lines in the log."
    )
    map_size: int = _setting(
        MAP_SIZE,
        between(int, 1 << 20, 1 << 46),
        "2^20 to 2^46",
        "Largest size of the index in bytes. The file is sparse: it takes what it holds (not on Windows, where the "
        "default is 4 GiB).",
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            try:
                read = one.metadata["read"](value)
            except (ValueError, TypeError, KeyError, OverflowError):
                raise ConfigError(
                    f"{setting_name(one.name)} = {value!r} is not allowed; it takes {one.metadata['allowed']}."
                ) from None
            object.__setattr__(self, one.name, read)

    def __repr__(self) -> str:
        """Without the user name and password that ``DEDUP_JOURNAL`` may hold."""
        values = ", ".join(f"{setting.name}={getattr(self, setting.name)!r}" for setting in fields(self))
        return text_without_credentials(f"{type(self).__name__}({values})")

    @property
    def journal_file(self) -> str:
        """Where the lines of the journal are written: a path for ``%`` and ``time`` and ``name``; ``""``: nowhere."""
        scheme = uri_scheme(self.journal)
        if scheme == "file":
            path = file_uri_to_path(self.journal).replace("%", "%%")
            return path.replace("%%(time)s", "%(time)s").replace("%%(name)s", "%(name)s")
        return _JOURNAL if scheme else self.journal

    @property
    def journal_uri(self) -> str:
        """Where the journal is handed over when the crawl ends; ``""``: nowhere."""
        return self.journal if uri_scheme(self.journal) not in ("", "file") else ""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Config:
        """Read the ``DEDUP_*`` entries of a settings mapping.

        Raises:
            ConfigError: a value is not allowed, or a ``DEDUP_*`` name is unknown (a typing error would otherwise
                leave the filter with its default in silence).
        """
        known = {setting_name(one.name): one.name for one in fields(cls)}
        given = [name for name in settings if isinstance(name, str) and name.startswith(PREFIX)]
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise ConfigError(f"Unknown setting {', '.join(unknown)}; there are {', '.join(known)}.")
        return cls(**{known[name]: settings[name] for name in given})


def setting_name(field_name: str) -> str:
    """``max_distance`` → ``DEDUP_MAX_DISTANCE``."""
    return PREFIX + field_name.upper()


def settings_reference() -> str:
    """The text of ``docs/settings.md``."""
    parts = [
        "# Settings\n",
        "All are read once when the crawl starts; a wrong value or an unknown `DEDUP_*` name stops it with a sentence.",
        "In Python they are keyword arguments of `crawler_dedup.Config` (`DEDUP_MAX_DISTANCE` is `max_distance`).",
        "\nThis page is printed by `crawler-dedup settings`.",
    ]
    for one in fields(Config):
        default = one.default
        shown = "`1 << 40` (1 TiB; 4 GiB on Windows)" if one.name == "map_size" else f"`{default!r}`"
        parts.append(f"\n## {setting_name(one.name)}\n")
        parts.append(f"Default {shown}; takes {one.metadata['allowed']}.\n")
        parts.append(one.metadata["doc"])
    return "\n".join(parts) + "\n"
