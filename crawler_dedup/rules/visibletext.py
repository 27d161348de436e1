"""The visible parts of the texts by which two pages are compared."""

from __future__ import annotations

from dataclasses import dataclass

from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing import sketch


@dataclass(frozen=True)
class VisibleText:
    """The visible parts of the texts of two pages.

    Text that the kept page hides does not cover text that the new page shows: no reader would see it there. So the visible
    parts are compared separately, by sketches alone. Text that the new page hides needs to be covered too, but hidden text
    of the kept page may cover it: of two copies with the same closed tabs, one is enough. Hidden links count like other
    links: a crawl follows them too.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would stand for it.
    """

    new: SignedPage
    kept: SignedPage

    @property
    def is_less(self) -> bool:
        """Whether one of the pages shows only a part of the text by which it is compared."""
        return self.new.partly_hidden is not None or self.kept.partly_hidden is not None

    @property
    def coverage(self) -> float:
        """The share of the new page's visible text that the kept page shows too, estimated from sketches."""
        resemblance = sketch.resemblance(self.new.shown.sketch, self.kept.shown.sketch)
        return sketch.containment(resemblance, self.new.shown.features, self.kept.shown.features)

    @property
    def same_words(self) -> bool:
        """Whether the kept page shows all words that the new page shows, given that both have the same words."""
        hidden = self.kept.partly_hidden
        return hidden is None or hidden.feature_digest == self.new.shown.feature_digest
