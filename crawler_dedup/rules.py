"""New page against kept page: may *new* be dropped because *kept* is kept?

One ordered table. Each row looks at the pair and says duplicate, different, or nothing; the first that speaks decides,
and its name goes into the decision. Everything a row looks at stands in the two records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from crawler_dedup import sketch
from crawler_dedup.config import Config
from crawler_dedup.decision import Match
from crawler_dedup.hamming import distance
from crawler_dedup.signedpage import SignedPage


@dataclass(frozen=True)
class Pair:
    """A new and a kept page with what is measured between them, computed when a row asks for it."""

    new: SignedPage
    kept: SignedPage
    limits: Config

    @cached_property
    def distance(self) -> int:
        return distance(self.new.signature, self.kept.signature)

    @cached_property
    def resemblance(self) -> float:
        return sketch.resemblance(self.new.sketch, self.kept.sketch)

    @cached_property
    def coverage(self) -> float:
        return sketch.containment(self.resemblance, self.new.features, self.kept.features)

    @property
    def same_links(self) -> bool:
        return self.new.link_digest == self.kept.link_digest


def too_little_text(page: SignedPage, limits: Config) -> bool:
    """Whether *page* says too little to be compared with anything."""
    return page.features < limits.min_features


def is_list(page: SignedPage) -> bool:
    """Whether its links hold at least half as much text as its main text: an index, an archive, a tag page."""
    return 2 * page.link_chars >= page.chars


def _same_bytes(pair: Pair) -> bool | None:
    if pair.new.digest != pair.kept.digest:
        return None
    # Relative links of the same bytes at another path lead elsewhere.
    return pair.same_links


def _row(differs: Callable[[Pair], bool]) -> Callable[[Pair], bool | None]:
    return lambda pair: False if differs(pair) else None


ROWS: tuple[tuple[str, Callable[[Pair], bool | None]], ...] = (
    (
        "too little text",
        _row(lambda pair: too_little_text(pair.new, pair.limits) or too_little_text(pair.kept, pair.limits)),
    ),
    ("same bytes", _same_bytes),
    ("signatures far apart", _row(lambda pair: pair.distance > pair.limits.max_distance)),
    (
        "lists with other links",
        # One new link is reason enough to keep a list: behind it stands a page that nobody has seen.
        _row(lambda pair: is_list(pair.new) and is_list(pair.kept) and not pair.same_links),
    ),
    ("other words", _row(lambda pair: pair.resemblance < pair.limits.min_resemblance)),
    ("not covered", _row(lambda pair: pair.coverage < pair.limits.min_coverage)),
    ("alike", lambda _: True),
)


def decide(pair: Pair) -> tuple[str, bool]:
    """The name of the row that decides *pair*, and whether it says duplicate."""
    for name, row in ROWS:
        verdict = row(pair)
        if verdict is not None:
            return name, verdict
    raise AssertionError("the last row always decides")


def compare(new: SignedPage, kept: SignedPage, limits: Config) -> Match | None:
    """The match if *kept* covers *new*, else ``None``. Directional: a longer page is not covered by its excerpt."""
    pair = Pair(new, kept, limits)
    rule, duplicate = decide(pair)
    return Match(rule, pair.distance, pair.resemblance, pair.coverage) if duplicate else None
