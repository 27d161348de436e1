"""Page → :class:`SignedPage`: parse, limits, main text, features, signature and sketches, in this order.

Pure: it knows neither Scrapy nor index, and gives the same answer in the crawl, on the command line and in a batch job.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unicodedata import unidata_version

import msgspec
import numpy as np
from lxml import etree
from lxml.html import HtmlElement
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError, IndexDamaged
from crawler_dedup.signedpage import Kind, Shown, Signature, SignedPage
from crawler_dedup.signing import parsing
from crawler_dedup.signing.embedded import embedded_content
from crawler_dedup.signing.features import (
    CutHan,
    Features,
    load_han_cutter,
    simplify_han,
    size_in_letters,
    stop_words,
    weigh_tokens,
)
from crawler_dedup.signing.hidden import hidden_elements
from crawler_dedup.signing.links import Links
from crawler_dedup.signing.maintext import (
    MainBlocks,
    find_extractor,
    find_main_blocks,
    join_shown_text,
    join_text,
    unlinked_blocks,
)
from crawler_dedup.signing.outline import Outline, read_outline
from crawler_dedup.signing.outlinks import find_links
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.sketch import set_digest, sketch
from crawler_dedup.signing.storedtext import pack_text
from crawler_dedup.signing.text import Text
from crawler_dedup.signing.titles import MAX_CHARS, split_title
from crawler_dedup.urls import name_without_credentials, without_credentials

BEHAVIOUR = 3
"""Version of everything between bytes and signature. It rises whenever the golden values change."""

_QUICK_BYTES = 64 << 10
_QUICK_BYTES_JIEBA = 16 << 10  # it cuts a few hundred thousand characters a second
_SHORT_FEATURES = 8
_LIST_LINKS = 5
_LIST_SHARE = 1 / 4
_MOSTLY_HIDDEN = "mostly hidden"
_LEAST_SHOWN = 1 / 2


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
        self.scheme = scheme_of(config.scheme, config)
        self._extractor = find_extractor(config.extractor)
        self._cache_dir = cache_dir

    @cached_property
    def _cut_han(self) -> CutHan:
        return load_han_cutter(self.config.tokenizer, self._cache_dir)

    @property
    def quick_bytes(self) -> int:
        """Pages up to this size are signed in a few milliseconds once :meth:`load` was called; 0: any may take longer."""
        if self.config.extractor != "paragraphs":
            return 0
        limit = _QUICK_BYTES_JIEBA if self.config.tokenizer == "jieba" else _QUICK_BYTES
        return limit // self.scheme.effort

    def load(self) -> None:
        """Load dictionaries now instead of with the first page. Takes up to a second."""
        stop_words()
        _ = self._cut_han
        self.scheme.load()

    def text_of(self, text: str) -> Text:
        """*text* as schemes look at it."""
        return Text(text, self._cut_han_later, self.config.fold_han)

    def _cut_han_later(self, runs: list[str]) -> Iterable[str]:
        return self._cut_han(runs)

    @property
    def spec(self) -> dict[str, str]:
        """What signatures depend on: an index made with other values cannot be compared with."""
        return {
            "behaviour": str(BEHAVIOUR),
            "scheme": self.scheme.spec,
            "extractor": self._extractor.spec,
            "min features": str(self.config.min_features),
            "tokenizer": self.config.tokenizer,
            "fold han": "yes" if self.config.fold_han else "no",
            **self.scheme.depends_on,
        }

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of the libraries that have a say in signatures: noted in the index, warned about."""
        names = (
            ["lxml", "stopwordsiso", "opencc"]
            + list(self.scheme.libraries)
            + ["trafilatura"] * (self.config.extractor == "trafilatura")
            + [self.config.tokenizer] * (self.config.tokenizer != "bigrams")
        )
        return {"unicode": unidata_version, **{name: version(name) for name in names}}

    def sign(
        self,
        url: str,
        body: bytes,
        tree: HtmlElement | None = None,
        *,
        encoding: str | None,
        key: str | None,
        scope: str,
        alias: str = "",
    ) -> tuple[SignedPage, str | None]:
        """Sign a page; returns it with its main text (``None`` where extraction was not reached).

        Args:
            tree: the body as :func:`parsing.parse` would parse it, where somebody has it already.

        Never raises for what a page holds: beyond a limit it comes back with ``unsigned`` set.
        """
        url = _storable(without_credentials(url))
        key = _storable(name_without_credentials(key)) if key else url
        scope = _storable(name_without_credentials(scope))
        alias = _storable(name_without_credentials(alias)) if alias else ""
        base = SignedPage(key=key, url=url, scope=scope, size=len(body), alias=alias)
        try:
            tree, layout, main, text = self._extract(body, tree, encoding)
        except parsing.BeyondLimits as limit:
            return msgspec.structs.replace(base, unsigned=str(limit)), None
        if len(text) > self.config.max_chars:
            return msgspec.structs.replace(base, unsigned="too many characters"), text
        return self._sign_tree(base, body, tree, layout, main, text), text

    def main_text(self, body: bytes, encoding: str | None = None) -> str:
        """The main text of a page alone. Raises :class:`parsing.BeyondLimits`."""
        text = self._extract(body, None, encoding)[3]
        if len(text) > self.config.max_chars:
            raise parsing.BeyondLimits("too many characters")
        return text

    def _extract(
        self, body: bytes, tree: HtmlElement | None, encoding: str | None
    ) -> tuple[HtmlElement, Outline, MainBlocks, str]:
        """The tree, all that it says, where its main text lies, and what the extractor takes for it.

        Raises :class:`parsing.BeyondLimits`.
        """
        parsing.check_body(body, self.config)
        if tree is None:
            tree = parsing.parse(body, encoding)
        parsing.check_nodes(tree, len(body), self.config)
        if self.config.extractor != "paragraphs":
            parsing.check_depth(tree, self.config)
        layout = read_outline(tree, self.config.max_depth)
        main = find_main_blocks(layout)
        return tree, layout, main, self._extractor.extract(tree, main)

    def _sign_tree(
        self, page: SignedPage, body: bytes, tree: HtmlElement, layout: Outline, main: MainBlocks, text: str
    ) -> SignedPage:
        main_text = self.text_of(text)
        outlinks = find_links(tree, page.url)
        page = msgspec.structs.replace(
            page,
            text=pack_text(text) if self.config.store_text else b"",
            title=_title(tree),
            digest=hashlib.blake2b(body, digest_size=8).digest(),
            chars=main.size,
            inner_link_chars=main.linked,
            numbers=_numbers(main_text),
            link_count=len(outlinks),
            link_chars=sum(block.linked for block in layout.blocks),
            link_digest=outlinks.digest,
            links=outlinks.packed,
        )
        if len(main_text.features.content) < self.config.min_features:
            return self._sign_short(page, tree, layout, outlinks)
        hides = any(block.shown != block.text for block in layout.blocks)
        shown_text = self._extractor.extract_shown(tree, main) if hides else text
        # What is shown may be less than the page is about: a frame that waits for a script, or one of many tabs.
        if size_in_letters(shown_text) < _LEAST_SHOWN * size_in_letters(text):
            return msgspec.structs.replace(page, unsigned=_MOSTLY_HIDDEN)
        page = _with_features(page, main_text.features, Kind.TEXT, self.scheme.sign(main_text))
        if shown_text == text:
            return page
        part = self.text_of(shown_text)
        return _with_shown(page, part.features, numbers=_numbers(part))

    def _sign_short(self, page: SignedPage, tree: HtmlElement, layout: Outline, outlinks: Links) -> SignedPage:
        """By all that is visible, by the links if there are more of them, or not at all."""
        text = join_text(unlinked_blocks(layout))
        if len(text) > self.config.max_chars:
            return msgspec.structs.replace(page, unsigned="too many characters")
        visible_text = self.text_of(text)
        # An error page, a form or a shell that a script fills looks the same wherever it stands.
        if not len(outlinks) or _asks_for_password(tree):
            return msgspec.structs.replace(page, unsigned="too little text")
        all_text, shown_text = join_text(layout.blocks), join_shown_text(layout.blocks)
        if size_in_letters(shown_text) < _LEAST_SHOWN * size_in_letters(all_text):
            return msgspec.structs.replace(page, unsigned=_MOSTLY_HIDDEN)
        if len(outlinks) >= _LIST_LINKS and page.link_chars >= _LIST_SHARE * size_in_letters(text):
            return self._sign_list(page, tree, layout, outlinks, visible_text)
        return self._sign_words(page, tree, layout, visible_text)

    def _sign_list(
        self, page: SignedPage, tree: HtmlElement, layout: Outline, outlinks: Links, text: Text
    ) -> SignedPage:
        own = self._without_title(text, page.title)
        page = _with_features(page, own, Kind.LIST, Signature(_hash_of(outlinks.hashes)))
        hidden = frozenset(hidden_elements(tree))
        if not hidden:
            return page
        own = self._without_title(self._shown_text(layout), page.title)
        places = find_links(tree, page.url, hidden).digest
        return _with_shown(page, own, rest=places if places != outlinks.digest else b"")

    def _sign_words(self, page: SignedPage, tree: HtmlElement, layout: Outline, text: Text) -> SignedPage:
        if len(text.features.hashes) < _SHORT_FEATURES:
            return msgspec.structs.replace(page, unsigned="too little text")
        around = embedded_content(tree)
        rest = "\n".join([*sorted(split_title(page.title)), *around])
        seed = xxh3_64_intdigest((simplify_han(rest) if self.config.fold_han else rest).encode("utf-8", "replace"))
        page = _with_features(page, text.features, Kind.SHORT, Signature(_hash_of(text.features.hashes, seed)))
        hidden = frozenset(hidden_elements(tree))
        if not hidden:
            return page
        seen = embedded_content(tree, hidden)
        return _with_shown(page, self._shown_text(layout).features, rest=_digest_of(seen) if seen != around else b"")

    def _shown_text(self, layout: Outline) -> Text:
        return self.text_of(join_shown_text(unlinked_blocks(layout)))

    def _without_title(self, text: Text, title: str) -> Features:
        """Two tags of the same posts differ in the name of the tag, which is the title."""
        name = set(self.text_of(title).tokens)
        return weigh_tokens(token for token in text.tokens if token not in name)


def config_from_spec(spec: Mapping[str, str], config: Config) -> Config:
    """*config* with the settings on which signatures of *spec* depend: the inverse of :attr:`Signer.spec`.

    Raises:
        ConfigError: this version does not have its scheme, tokenizer or extractor.
        IndexDamaged: *spec*, which was read from a header, does not say what they are.
    """
    try:
        settings: dict[str, Any] = {
            "scheme": spec["scheme"],
            "extractor": spec["extractor"].split()[0],
            "min_features": int(spec["min features"]),
            "tokenizer": spec["tokenizer"],
            "fold_han": spec["fold han"] == "yes",
        }
        return replace(config, **settings)
    except ConfigError:  # a ValueError too
        raise
    except (KeyError, IndexError, ValueError) as error:
        raise IndexDamaged(f"The header of the index is damaged: {error!r}.") from error


def _with_features(page: SignedPage, weighted: Features, kind: Kind, signature: Signature) -> SignedPage:
    content = weighted.content
    return msgspec.structs.replace(
        page,
        kind=kind,
        signature=signature.number,
        value=signature.value,
        features=len(content),
        sketch=sketch(content),
        feature_digest=set_digest(content),
    )


def _with_shown(page: SignedPage, part: Features, numbers: bytes | None = None, rest: bytes = b"") -> SignedPage:
    """*page* with *part*, which is what it shows of its features, if it hides something that is not shown elsewhere."""
    content = part.content
    numbers = page.numbers if numbers is None else numbers
    shown = Shown(len(content), sketch(content), set_digest(content), numbers, rest)
    return page if shown == page.shown else msgspec.structs.replace(page, partly_hidden=shown)


def _numbers(text: Text) -> bytes:
    return sketch(weigh_tokens(token for token in text.tokens if token[0].isdecimal()).hashes)


def _hash_of(hashes: NDArray[np.uint64], seed: int = 0) -> int:
    return xxh3_64_intdigest(hashes.astype("<u8").tobytes(), seed)


def _digest_of(texts: list[str]) -> bytes:
    return hashlib.blake2b("\n".join(texts).encode("utf-8", "replace"), digest_size=8).digest()


def _storable(text: str) -> str:
    """*text* with lone surrogates written out: they stand in no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _title(tree: HtmlElement) -> str:
    # A picture may have a title too.
    found = next((one for one in tree.iter("title") if one.getparent().tag != "svg"), None)
    return "" if found is None else " ".join("".join(found.itertext()).split())[:MAX_CHARS]


_asks_for_password = etree.XPath("boolean(//input[@type='password'])")
