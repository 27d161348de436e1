"""Page → :class:`SignedPage`: parse, limits, main text, features, signature and sketches, in this order.

Pure: it knows neither Scrapy nor index, and gives the same answer in the crawl, on the command line and in a batch job.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec
from lxml.html import HtmlElement

from crawler_dedup import maintext
from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError
from crawler_dedup.features import CutHan, features, han_cutter, stop_words, tokenize
from crawler_dedup.links import links
from crawler_dedup.schemes import SimHash
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.sketch import sketch

BEHAVIOUR = 1
"""Version of everything between bytes and signature. It rises whenever the golden values change."""

_TITLE_CHARS = 200


class Signer:
    """Signs pages as one configuration says.

    Args:
        cache_dir: where jieba may keep its compiled dictionary.

    Raises:
        ConfigError: the tokenizer is not installed.
    """

    def __init__(self, config: Config, cache_dir: Path | None = None) -> None:
        if config.tokenizer == "rjieba" and find_spec("rjieba") is None:
            raise ConfigError(
                "DEDUP_TOKENIZER = 'rjieba' needs the package rjieba, which is not installed: pip install"
                " 'crawler-dedup[fast]', or take \"jieba\"."
            )
        self.config = config
        self.scheme = SimHash()
        self._cache_dir = cache_dir

    @cached_property
    def _cut_han(self) -> CutHan:
        return han_cutter(self.config.tokenizer, self._cache_dir)

    def load(self) -> None:
        """Load dictionaries now instead of with the first page. Takes up to a second."""
        stop_words()
        _ = self._cut_han

    @property
    def spec(self) -> dict[str, str]:
        """What signatures depend on: an index made with other values cannot be compared with."""
        return {
            "behaviour": str(BEHAVIOUR),
            "scheme": self.scheme.spec,
            "extractor": maintext.EXTRACTOR,
            "tokenizer": self.config.tokenizer,
        }

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of the libraries that have a say in signatures: noted in the index, warned about."""
        names = ["trafilatura", "lxml", "stopwordsiso"] + [self.config.tokenizer] * (self.config.tokenizer != "bigrams")
        return {name: version(name) for name in names}

    def sign(
        self, url: str, body: bytes, tree: HtmlElement | None = None, *, encoding: str | None, key: str, scope: str
    ) -> tuple[SignedPage, str | None]:
        """Sign a page; returns it with its main text (``None`` where extraction was not reached).

        Args:
            tree: the body as :func:`maintext.parse` would parse it, where somebody has it already.

        Never raises for what a page holds: beyond a limit it comes back with ``unsigned`` set.
        """
        base = SignedPage(key=key, url=url, scope=scope, size=len(body))
        text = None
        try:
            maintext.check_size(body, self.config)
            if tree is None:
                tree = maintext.parse(body, encoding)
            maintext.check_shape(tree, self.config)
            text = maintext.extract(tree)
            if len(text) > self.config.max_chars:
                raise maintext.BeyondLimits("too many characters")
        except maintext.BeyondLimits as limit:
            return msgspec.structs.replace(base, unsigned=str(limit)), text
        return self._sign_text(base, body, tree, text), text

    def _sign_text(self, base: SignedPage, body: bytes, tree: HtmlElement, text: str) -> SignedPage:
        weighted = features(tokenize(text, self._cut_han))
        outlinks = links(tree, base.url)
        return msgspec.structs.replace(
            base,
            title=" ".join(str(tree.findtext(".//title", "")).split())[:_TITLE_CHARS],
            digest=hashlib.blake2b(body, digest_size=8).digest(),
            chars=len(text),
            signature=self.scheme.sign(weighted),
            features=len(weighted),
            sketch=sketch(weighted.hashes),
            link_count=len(outlinks),
            link_chars=outlinks.chars,
            link_digest=hashlib.blake2b(outlinks.hashes.astype("<u8").tobytes(), digest_size=8).digest(),
        )
