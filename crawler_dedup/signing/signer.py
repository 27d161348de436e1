"""Page → :class:`SignedPage`: limits, tree, outline, main text, features, signature, in this order.

Pure: it depends on neither Scrapy nor index, and gives the same answer in the crawl, on the command line and in a batch job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any
from unicodedata import unidata_version

import msgspec
from lxml.html import HtmlElement
from xxhash import xxh3_64_intdigest

from crawler_dedup.config import Config
from crawler_dedup.errors import BeyondLimits, ConfigError, IndexDamaged
from crawler_dedup.signedpage import PageKind, SignedPage, digest_of, identify_page
from crawler_dedup.signing import parsing
from crawler_dedup.signing.blocks import pack_blocks
from crawler_dedup.signing.embedded import find_embedded_content
from crawler_dedup.signing.extractors import find_extractor, load_trafilatura
from crawler_dedup.signing.features import check_length, size_in_letters
from crawler_dedup.signing.language import UNKNOWN, find_language
from crawler_dedup.signing.maintext import ReadPage, join_shown_text, join_text, read_page
from crawler_dedup.signing.outlinks import find_links
from crawler_dedup.signing.schemes import add_unfiled_options, scheme_of
from crawler_dedup.signing.schemes.scheme import Scheme
from crawler_dedup.signing.scriptdata import awaits_script, find_data
from crawler_dedup.signing.segmentation import CutHan, han_cutter, resolve_tokenizer
from crawler_dedup.signing.text import Text, pack_text
from crawler_dedup.signing.titles import split_title
from crawler_dedup.signing.wordtables import stop_words

BEHAVIOUR = 15
"""Version of everything between bytes and signature. It rises whenever the golden values change."""


_LEAST_LETTERS = 20
_LEAST_SHOWN = 1 / 2


class Signer:
    """Signs pages according to one configuration.

    Attributes:
        config: the configuration, with a tokenizer in the place of ``auto``.
        around_loading: returns a context in which a dictionary is loaded, for the first text with Chinese words.

    Raises:
        ExtraMissing: the tokenizer is not installed.
    """

    def __init__(self, config: Config) -> None:
        self.config = resolve_tokenizer(config)
        self.scheme = scheme_of(config.scheme, self.config)
        self._extractor = find_extractor(config.extractor)
        self.around_loading: Callable[[], AbstractContextManager[object]] = nullcontext

    def load(self, *, dictionary: bool = True) -> None:
        """Load tables and the extractor now, instead of with the first page that needs them; also the *dictionary*."""
        if self.config.extractor == "trafilatura":
            load_trafilatura()
        stop_words()
        _ = self._loaded_scheme
        if dictionary:
            _ = self._han_cutter

    @cached_property
    def _loaded_scheme(self) -> Scheme:
        self.scheme.load()
        return self.scheme

    @cached_property
    def _han_cutter(self) -> CutHan:
        with nullcontext() if self.config.tokenizer == "bigrams" else self.around_loading():
            return han_cutter(self.config.tokenizer)

    def _cut_han(self, runs: list[str]) -> Iterable[str]:
        return self._han_cutter(runs)

    def text_of(self, text: str, *, title: str = "") -> Text:
        """Return *text* in the form that schemes take: it is normalised, cut into tokens and weighted when needed."""
        return Text(text, self._cut_han, title)

    @property
    def spec(self) -> dict[str, str]:
        """The values that signatures depend on: signatures made with other values cannot be compared with these."""
        return {
            "behaviour": str(BEHAVIOUR),
            "scheme": self.scheme.spec,
            "extractor": self._extractor.spec,
            "min features": str(self.config.min_features),
            "tokenizer": self.config.tokenizer,
            "fold han": "yes",  # Traditional characters count as their simplified forms
            **self.scheme.depends_on,
        }

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of the libraries on which signatures depend. The index notes them, and warns of others."""
        names = ["lxml", *self.scheme.libraries, *["trafilatura"] * (self.config.extractor == "trafilatura")]
        names += [self.config.tokenizer] * (self.config.tokenizer != "bigrams")
        return {"unicode": unidata_version, **{name: version(name) for name in names}}

    def sign(
        self,
        url: str,
        body: bytes,
        tree: HtmlElement | None = None,
        *,
        encoding: str | None,
        key: str | None,
        scope: str | None,
        read: Callable[[HtmlElement], ReadPage] = read_page,
    ) -> tuple[SignedPage, str | None]:
        """Sign a page; return it with its main text (``None`` if the text was not extracted).

        Never raises because of the content of a page: a page beyond a limit is returned with ``unsigned`` set.

        Args:
            tree: the body as :meth:`parse` parses it, if the caller has it already.
            scope: ``None``: the language of the text that the page is compared by.
            read: reads the tree; for own texts it notes more than signing needs.
        """
        page = identify_page(
            url,
            key=key,
            scope=f"language {UNKNOWN}" if scope is None else scope,
            size=len(body),
            links_followed=self.config.action == "follow",
        )
        text = None
        try:
            tree, content = self.read_page(body, encoding, tree, read)
            text = self._extractor.extract(tree, content.main)
            main_text = self.text_of(text, title=content.title)
            signed = self._sign_content(page, body, tree, content, main_text)
            if scope is None and not signed.unsigned:
                compared = main_text if signed.kind is PageKind.TEXT else self.text_of(join_text(content.outline))
                language = find_language(compared.plain, compared.tokens)
                signed = msgspec.structs.replace(signed, scope=f"language {language}")
        except BeyondLimits as limit:
            signed = msgspec.structs.replace(page, unsigned=str(limit))
        return signed, text

    def main_text(self, body: bytes, encoding: str | None = None) -> str:
        """Return only the main text of a page. Raises :class:`BeyondLimits`."""
        tree, content = self.read_page(body, encoding)
        text = self._extractor.extract(tree, content.main)
        check_length(text)
        return text

    def parse(self, body: bytes, encoding: str | None = None) -> HtmlElement:
        """Parse a page that is not too large. Raises :class:`BeyondLimits`."""
        parsing.check_body(body, self.config.max_bytes)
        return parsing.parse(body, encoding)

    def read_page(
        self,
        body: bytes,
        encoding: str | None = None,
        tree: HtmlElement | None = None,
        read: Callable[[HtmlElement], ReadPage] = read_page,
    ) -> tuple[HtmlElement, ReadPage]:
        """Read the body within the limits into a tree, outline and main text. Raises :class:`BeyondLimits`.

        Args:
            tree: the body as :meth:`parse` parses it, if the caller has it already.
            read: reads the tree, as for :meth:`sign`.
        """
        if tree is None:
            tree = self.parse(body, encoding)
        parsing.check_nodes(tree, len(body))
        if self.config.extractor != "paragraphs":
            parsing.check_depth(tree)
        return tree, read(tree)

    def _sign_content(
        self, page: SignedPage, body: bytes, tree: HtmlElement, content: ReadPage, main_text: Text
    ) -> SignedPage:
        """Fill in the data of the page, and sign it by its main text or, if this is not enough, as a thin page."""
        check_length(main_text.raw)
        links, features = find_links(tree, page.url), len(main_text.features.content)
        is_thin = features < self.config.min_features or content.main.are_links
        page = msgspec.structs.replace(
            page,
            text=pack_text(main_text.raw) if self.config.store_text else b"",
            title=content.title,
            digest=digest_of(body),
            chars=content.main.size,
            inner_link_chars=content.main.linked,
            link_count=len(links),
            link_chars=content.outline.linked,
            link_digest=links.digest,
            links=links.packed,
        )
        if reason := self._find_obstacle(tree, content, main_text.raw, is_thin=is_thin, has_links=len(links) > 0):
            return msgspec.structs.replace(page, unsigned=reason)
        data = find_data(tree, body, content.outline, content.main, is_thin=is_thin)
        embedded = find_embedded_content(tree, revealed=content.revealed) if is_thin else {}
        blocks = pack_blocks(content.outline, content.main, page.title, page.url, embedded, data)
        page = msgspec.structs.replace(page, blocks=blocks.packed, named=blocks.named)
        if is_thin:
            names = "\n".join(sorted(split_title(page.title)))
            number = xxh3_64_intdigest(page.blocks, xxh3_64_intdigest(names.encode("utf-8", "replace")))
            return msgspec.structs.replace(page, kind=PageKind.THIN, signature=number)
        signature = self._loaded_scheme.sign(main_text)
        return msgspec.structs.replace(page, signature=signature.number, value=signature.value, features=features)

    def _find_obstacle(self, tree: HtmlElement, content: ReadPage, text: str, *, is_thin: bool, has_links: bool) -> str:
        """Return why a page cannot be signed by what it shows; ``""`` if it can. *text*: its main text."""
        if is_thin:
            text, shown = join_text(content.outline), join_shown_text(content.outline)
            check_length(text)
            # A form or a shell that a script fills looks the same at every URL.
            is_shell = not has_links and next(tree.iter("script"), None) is not None
            if is_shell or parsing.asks_for_password(tree) or size_in_letters(shown) < _LEAST_LETTERS:
                return "too little text"
        else:
            shown = text
            if content.outline.hides:
                shown = self._extractor.extract_shown(tree, content.main, revealed=content.revealed)
        # The shown text may be a small part of the page: a frame that waits for a script, or one of many tabs.
        if shown != text and size_in_letters(shown) < _LEAST_SHOWN * size_in_letters(text):
            return "mostly hidden"
        return "filled by a script" if not content.revealed and awaits_script(tree) else ""


@lru_cache(maxsize=1)
def cached_signer(config: Config) -> Signer:
    """Return the signer of this process. It is cached because its dictionary takes a second to load."""
    return Signer(config)


def config_from_spec(spec: Mapping[str, str], config: Config) -> Config:
    """Return *config* with the settings on which signatures of *spec* depend: the inverse of :attr:`Signer.spec`.

    Options of the scheme that a header does not have are those of *config*, if it names the same scheme.

    Raises:
        ConfigError: this version does not have the scheme, the tokenizer or the extractor.
        IndexDamaged: *spec*, which was read from a header, does not name them.
    """
    try:
        settings: dict[str, Any] = {
            "scheme": add_unfiled_options(spec["scheme"], config.scheme),
            "extractor": spec["extractor"].split()[0],
            "min_features": int(spec["min features"]),
            "tokenizer": spec["tokenizer"],
        }
        return replace(config, **settings)
    except ConfigError:  # a ValueError too
        raise
    except (KeyError, IndexError, ValueError) as error:
        raise IndexDamaged(f"The header of the index is damaged: {error!r}.") from error
