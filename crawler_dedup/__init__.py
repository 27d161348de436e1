"""A near-duplicate filter for Scrapy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawler_dedup.addon import Addon
    from crawler_dedup.config import Config
    from crawler_dedup.crawl.claims import release, settle
    from crawler_dedup.crawl.signals import NearDuplicate, near_duplicate_dropped, page_handled
    from crawler_dedup.crawl.text import main_text
    from crawler_dedup.decision import Decision, Match, Verdict
    from crawler_dedup.deduplicator import Deduplicator
    from crawler_dedup.errors import (
        ConfigError,
        DedupError,
        ExportUnreadable,
        IndexDamaged,
        IndexGone,
        IndexMismatch,
        IndexUnusable,
    )
    from crawler_dedup.hamming import Numbers, SignatureMatch
    from crawler_dedup.index.export import Export
    from crawler_dedup.index.lmdb.permuted import PermutedIndex
    from crawler_dedup.signedpage import SignedPage
    from crawler_dedup.signing.schemes.scheme import Agreement, Scheme, ValueScheme, option
    from crawler_dedup.signing.text import Text

__all__ = [
    "Addon",
    "Agreement",
    "Config",
    "ConfigError",
    "Decision",
    "DedupError",
    "Deduplicator",
    "Export",
    "ExportUnreadable",
    "IndexDamaged",
    "IndexGone",
    "IndexMismatch",
    "IndexUnusable",
    "Match",
    "NearDuplicate",
    "Numbers",
    "PermutedIndex",
    "Scheme",
    "SignatureMatch",
    "SignedPage",
    "Text",
    "ValueScheme",
    "Verdict",
    "main_text",
    "near_duplicate_dropped",
    "option",
    "page_handled",
    "release",
    "settle",
]

# Imported on first use: the core works without loading Scrapy, and Scrapy without loading the extractor too early.
_MODULES = {
    "Addon": "addon",
    "Agreement": "signing.schemes.scheme",
    "Config": "config",
    "ConfigError": "errors",
    "Decision": "decision",
    "DedupError": "errors",
    "Deduplicator": "deduplicator",
    "Export": "index.export",
    "ExportUnreadable": "errors",
    "IndexDamaged": "errors",
    "IndexGone": "errors",
    "IndexMismatch": "errors",
    "IndexUnusable": "errors",
    "Match": "decision",
    "NearDuplicate": "crawl.signals",
    "Numbers": "hamming",
    "PermutedIndex": "index.lmdb.permuted",
    "Scheme": "signing.schemes.scheme",
    "SignatureMatch": "hamming",
    "SignedPage": "signedpage",
    "Text": "signing.text",
    "ValueScheme": "signing.schemes.scheme",
    "Verdict": "decision",
    "main_text": "crawl.text",
    "near_duplicate_dropped": "crawl.signals",
    "option": "signing.schemes.scheme",
    "page_handled": "crawl.signals",
    "release": "crawl.claims",
    "settle": "crawl.claims",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
