"""Schemes that compare the words of two texts as sets, and the options that define their features.

Options as in Manku, Jain and Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, §2 (stemming, phrases) and
§6 (sensitivity to features).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Self, cast

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError
from crawler_dedup.signing.features import LANGUAGES, Features, normalise, stem_words, tokenise, weigh_tokens
from crawler_dedup.signing.schemes.scheme import PATH, Scheme, option
from crawler_dedup.signing.text import Text
from crawler_dedup.signing.wordtables import GENERAL, stop_words
from crawler_dedup.system.extras import require_extra

if TYPE_CHECKING:
    from crawler_dedup.signing.lexicon import Lexicon


@dataclass(frozen=True)
class LexicalScheme(Scheme):
    """A scheme whose signatures depend on a lexicon, whose digest is in the index header.

    Attributes:
        lexicon: a file that ``crawler-dedup lexicon build`` made; ``general`` has English and Chinese in general.
    """

    _: KW_ONLY
    lexicon: str = option(GENERAL, PATH, filed=False)

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:
        scheme = super().build(options, config)
        if scheme.lexicon != GENERAL and not scheme.needs_lexicon:
            raise ConfigError(f"lexicon={scheme.lexicon}: the scheme {scheme.spec!r} does not use a lexicon.")
        return scheme

    @cached_property
    def loaded_lexicon(self) -> Lexicon:
        """Counts of a collection, read when they are first needed."""
        return cast("Lexicon", _lexicon().lexicon_of(self.lexicon))

    @property
    def needs_lexicon(self) -> bool:
        """Whether the scheme needs a lexicon with these options."""
        return True

    @property
    def depends_on(self) -> dict[str, str]:
        return {"lexicon": _lexicon().lexicon_digest(self.lexicon)} if self.needs_lexicon else {}

    def load(self) -> None:
        if self.needs_lexicon:
            _ = self.loaded_lexicon


NO = "no"


@dataclass(frozen=True)
class FeatureScheme(LexicalScheme):
    """A scheme whose signatures are made of the words of a text. The options are for pages that the defaults do not suit.

    Attributes:
        stem: the language by whose rules words are cut to their stems.
        phrases: whether each pair of neighbouring words is a feature too, unless one of the words is a stop word.
        title: how many times the words of the page's title are counted in addition to those of its text.
    """

    _: KW_ONLY
    stem: str = option(NO, "|".join((NO, *LANGUAGES)), added_later=True)
    phrases: str = option(NO, f"{NO}|yes", added_later=True)
    title: int = option(0, "0 to 10", added_later=True)

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:
        scheme = super().build(options, config)
        if scheme.stem != NO:
            require_extra("stem", f"DEDUP_SCHEME = {cls.name!r} with stem={scheme.stem}")
        return scheme

    @property
    def libraries(self) -> Sequence[str]:  # type: ignore[override]
        return ("snowballstemmer",) if self.stem != NO else ()

    @cached_property
    def loaded_lexicon(self) -> Lexicon:
        return cast("Lexicon", _lexicon().lexicon_of(self.lexicon, "" if self.stem == NO else self.stem))

    def features_of(self, text: Text) -> Features:
        if (self.stem, self.phrases, self.title) == (NO, NO, 0):
            return text.features
        of_title = self.featured(tokenise(normalise(text.title), text.cut_han)) if self.title else []
        return weigh_tokens([*self.featured(text.tokens), *of_title * self.title])

    def featured(self, tokens: list[str]) -> list[str]:
        """Return the features (stems, phrases) of *tokens*, which are the tokens of a text from its beginning on."""
        words = tokens if self.stem == NO else stem_words(tokens, self.stem)
        if self.phrases == NO:
            return words
        ignored = stop_words()
        content = [None if word in ignored else word for word in words]
        return words + [f"{first} {second}" for first, second in pairwise(content) if first and second]


def _lexicon() -> ModuleType:
    """Import the module of lexicons, which simhash needs with some options only."""
    from crawler_dedup.signing import lexicon  # noqa: PLC0415

    return lexicon
