"""Base class of schemes that use a lexicon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from crawler_dedup.config import Config
from crawler_dedup.signing.lexicon import GENERAL, Lexicon, lexicon_digest, lexicon_of
from crawler_dedup.signing.schemes.scheme import Scheme


@dataclass(frozen=True)
class LexicalScheme(Scheme):
    """A scheme whose signatures depend on a lexicon, whose digest is in the index header.

    Attributes:
        lexicon_name: the lexicon, as in ``DEDUP_LEXICON``.
    """

    lexicon_name: str = field(default=GENERAL, kw_only=True)

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:
        return cls(**cls.read(options), lexicon_name=config.lexicon)

    @cached_property
    def lexicon(self) -> Lexicon:
        """Counts of a collection, read when they are first needed."""
        return lexicon_of(self.lexicon_name)

    @property
    def needs_lexicon(self) -> bool:
        """Whether the scheme needs a lexicon with these options."""
        return True

    @property
    def depends_on(self) -> dict[str, str]:
        return {"lexicon": lexicon_digest(self.lexicon_name)} if self.needs_lexicon else {}

    def load(self) -> None:
        if self.needs_lexicon:
            _ = self.lexicon
