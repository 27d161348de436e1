"""A near-duplicate filter for Scrapy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawler_dedup.addon import Addon as Addon
    from crawler_dedup.config import Config as Config
    from crawler_dedup.crawl.claims import release as release
    from crawler_dedup.crawl.claims import settle as settle
    from crawler_dedup.crawl.signals import NearDuplicate as NearDuplicate
    from crawler_dedup.crawl.signals import near_duplicate_dropped as near_duplicate_dropped
    from crawler_dedup.crawl.signals import page_handled as page_handled
    from crawler_dedup.crawl.signals import work_matched as work_matched
    from crawler_dedup.crawl.text import main_text as main_text
    from crawler_dedup.crawl.text import own_text as own_text
    from crawler_dedup.decision import BEING_HANDLED as BEING_HANDLED
    from crawler_dedup.decision import Decision as Decision
    from crawler_dedup.decision import Match as Match
    from crawler_dedup.decision import Verdict as Verdict
    from crawler_dedup.deduplicator import Deduplicator as Deduplicator
    from crawler_dedup.errors import ConfigError as ConfigError
    from crawler_dedup.errors import DedupError as DedupError
    from crawler_dedup.errors import ExportUnreadable as ExportUnreadable
    from crawler_dedup.errors import IndexDamaged as IndexDamaged
    from crawler_dedup.errors import IndexGone as IndexGone
    from crawler_dedup.errors import IndexMismatch as IndexMismatch
    from crawler_dedup.errors import IndexUnusable as IndexUnusable
    from crawler_dedup.hashes import Numbers as Numbers
    from crawler_dedup.inspection.transfer import Export as Export
    from crawler_dedup.pagetext import OwnText as OwnText
    from crawler_dedup.signedpage import SignedPage as SignedPage
    from crawler_dedup.signing.schemes.scheme import Agreement as Agreement
    from crawler_dedup.signing.schemes.scheme import Scheme as Scheme
    from crawler_dedup.signing.schemes.scheme import ValueScheme as ValueScheme
    from crawler_dedup.signing.schemes.scheme import option as option
    from crawler_dedup.signing.text import Text as Text

# Imported on first use: the core works without loading Scrapy, and Scrapy without loading the extractor too early.
_NAMES = {
    "addon": "Addon",
    "config": "Config",
    "crawl.claims": "release settle",
    "crawl.signals": "NearDuplicate near_duplicate_dropped page_handled work_matched",
    "crawl.text": "main_text own_text",
    "decision": "BEING_HANDLED Decision Match Verdict",
    "deduplicator": "Deduplicator",
    "errors": "ConfigError DedupError ExportUnreadable IndexDamaged IndexGone IndexMismatch IndexUnusable",
    "hashes": "Numbers",
    "inspection.transfer": "Export",
    "pagetext": "OwnText",
    "signedpage": "SignedPage",
    "signing.schemes.scheme": "Agreement Scheme ValueScheme option",
    "signing.text": "Text",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
