"""New page against kept page: may *new* be dropped because *kept* is kept?

One ordered table. Each row looks at the pair and says duplicate, different, or nothing; the first that speaks decides,
and its name goes into the decision. A row looks at the two records and at what their sites are known to share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crawler_dedup.config import Config
from crawler_dedup.decision import Match
from crawler_dedup.rules.sites import UNKNOWN, Site
from crawler_dedup.signedpage import Kind, SignedPage
from crawler_dedup.signing import sketch, titles
from crawler_dedup.signing.links import unpack_links
from crawler_dedup.signing.schemes import Agreement, Scheme
from crawler_dedup.urls import host_of

_OWN_LINKS = 2  # one may be the way back
_NEARLY_ALL = 0.95
_MUCH_TEXT = 100  # different words; below, labelled pages with the same words under two titles were two pages
_NUMBERS = 5  # fewer are a date
_SAME_NUMBERS = 0.3  # of labelled duplicates every pair shares .8
_SOME_NUMBERS = 0.08  # of an estimate from sketches, whose standard error is .03 there


@dataclass(frozen=True)
class Pair:
    """A new and a kept page with what is measured between them, computed when a row asks for it."""

    new: SignedPage
    kept: SignedPage
    limits: Config
    scheme: Scheme
    new_site: Site = UNKNOWN
    kept_site: Site = UNKNOWN

    @cached_property
    def agreement(self) -> Agreement | None:
        """What the scheme says; pages of other kinds than TEXT are signed by a hash, which is the same or not."""
        if self.new.kind is Kind.TEXT and self.kept.kind is Kind.TEXT:
            return self.scheme.compare(self.new.signed, self.kept.signed)
        return Agreement(distance=0) if self.new.signature == self.kept.signature else None

    @property
    def distance(self) -> int | None:
        """In bits, where the scheme has such a thing."""
        return None if self.agreement is None else self.agreement.distance

    @property
    def estimated(self) -> bool:
        """Whether the sketches say resemblance and coverage, not the scheme."""
        return self.agreement is None or self.agreement.resemblance is None

    @property
    def hides(self) -> bool:
        """Whether one of the pages shows only a part of what it is compared by.

        What the kept page hides covers nothing that the new one shows: nobody would read it there. So what is shown is
        compared once more, by sketches alone. What the new page hides needs to be covered too, but by all of the kept
        page: of two copies with the same closed tabs one is enough. And links count wherever they stand, but on lists:
        a crawl follows hidden ones too.
        """
        return self.new.partly_hidden is not None or self.kept.partly_hidden is not None

    @cached_property
    def shown_resemblance(self) -> float:
        return sketch.resemblance(self.new.shown.sketch, self.kept.shown.sketch)

    @property
    def shown_coverage(self) -> float:
        """How much of what the new page shows the kept one shows."""
        return sketch.containment(self.shown_resemblance, self.new.shown.features, self.kept.shown.features)

    @cached_property
    def resemblance(self) -> float:
        said = None if self.agreement is None else self.agreement.resemblance
        return sketch.resemblance(self.new.sketch, self.kept.sketch) if said is None else said

    @cached_property
    def coverage(self) -> float:
        said = None if self.agreement is None else self.agreement.coverage
        return sketch.containment(self.resemblance, self.new.features, self.kept.features) if said is None else said

    @property
    def far_apart(self) -> bool:
        """Whether the scheme sees two texts."""
        return self.agreement is None or (self.distance is not None and self.distance > self.limits.max_distance)

    @property
    def other_numbers(self) -> bool:
        """Whether both texts hold some numbers, and hardly any in common: two tables in the same words."""
        return _other_numbers(self.new.numbers, self.kept.numbers) or (
            self.hides and _other_numbers(self.new.shown.numbers, self.kept.shown.numbers)
        )

    @property
    def same_links(self) -> bool:
        return self.new.link_digest == self.kept.link_digest

    @cached_property
    def one_host(self) -> bool:
        host = host_of(self.new.url)
        return bool(host) and host == host_of(self.kept.url)

    @cached_property
    def new_links(self) -> set[int]:
        """Links of the new page that are no navigation."""
        return set(unpack_links(self.new.links)) - self.new_site.navigation

    @cached_property
    def links_covered(self) -> bool:
        """Whether all links of the new page that are no navigation stand on the kept one."""
        return self.same_links or (bool(self.new.links) and self.new_links <= set(unpack_links(self.kept.links)))

    @cached_property
    def new_title(self) -> frozenset[str]:
        """The title of the new page, less what its site writes into every title."""
        return titles.split_title(self.new.title) - self.new_site.titles

    @cached_property
    def kept_title(self) -> frozenset[str]:
        return titles.split_title(self.kept.title) - self.kept_site.titles

    @cached_property
    def same_title(self) -> bool:
        new, kept = titles.split_title(self.new.title), titles.split_title(self.kept.title)
        if not self.kept_title and len(kept) > 1 and not kept <= new:  # few words make many titles: "Manual | Router"
            return not self.new_title and new <= kept
        known = self.one_host or (self.new_site.known and self.kept_site.known)
        return titles.titles_agree(self.new_title, self.kept_title, own_parts=known)

    @property
    def same_words(self) -> bool:
        return self.new.feature_digest == self.kept.feature_digest and self.same_words_shown

    @property
    def same_words_shown(self) -> bool:
        """Whether, of two pages with the same words, the kept one shows all words that the new one shows."""
        hidden = self.kept.partly_hidden
        return hidden is None or hidden.feature_digest == self.new.shown.feature_digest

    @property
    def nearly_same_words(self) -> bool:
        return self.resemblance >= _NEARLY_ALL and (not self.hides or self.shown_resemblance >= _NEARLY_ALL)

    @property
    def same_rest_shown(self) -> bool:
        """Likewise of two lists with the same links, or two short pages with the same pictures."""
        return self.kept.shown.rest in (b"", self.new.shown.rest)

    @property
    def covered(self) -> bool:
        """Whether the words of the new page stand on the kept one."""
        if self.estimated and self.coverage < self.limits.min_coverage:
            return False
        return not self.hides or self.shown_coverage >= self.limits.min_coverage

    @property
    def renamed(self) -> bool:
        """Whether two pages with names, on two hosts, hold the very same words, enough of them to tell.

        On one host the words are a template's rather, and the name stands elsewhere on the page. And a page whose name
        says no more than the other's is a start page or a page of an archive, which shows an article among others.
        """
        return (
            self.same_words
            and not self.one_host
            and self.new.features >= _MUCH_TEXT
            and bool(self.new_title - self.kept_title)
        )


def _other_numbers(new: bytes, kept: bytes) -> bool:
    some, others = sketch.read_members(new), sketch.read_members(kept)
    if some is None and others is None:
        return sketch.resemblance(new, kept) < _SOME_NUMBERS
    if some is None or others is None:
        return False
    fewer = min(len(some), len(others))
    return fewer >= _NUMBERS and len(np.intersect1d(some, others)) < _SAME_NUMBERS * fewer


Row = Callable[[Pair], "bool | None"]
"""Duplicate, different, or nothing to say."""


def is_list(page: SignedPage) -> bool:
    """Whether it is a place to go on from: an index, an archive, a tag page.

    Beside its main text stands half as much in links, or on the whole page twice as much (an index without text, whose
    main text is a box at its side).
    """
    inside, outside = 2 * page.inner_link_chars >= page.chars, page.link_chars >= 2 * page.chars
    return page.kind is Kind.LIST or (page.chars > 0 and (inside or outside))


def links_tell(page: SignedPage) -> bool:
    """Whether a page is ever compared by its links, so that they must be kept."""
    return page.kind is not Kind.TEXT or is_list(page)


def _same_bytes(pair: Pair) -> bool | None:
    if pair.new.digest != pair.kept.digest:
        return None
    # Relative links of the same bytes at another path lead elsewhere.
    return pair.same_links


def _same_list(pair: Pair) -> bool | None:
    if pair.new.kind is not Kind.LIST:
        return None
    # Where a list leads tells which it is, but navigation, which the whole site shares, tells nothing.
    told = pair.new_site.known and len(pair.new_links) >= _OWN_LINKS
    words = pair.same_words or (told and pair.same_title and pair.nearly_same_words)
    return pair.same_links and pair.same_rest_shown and words and (told or pair.same_title)


def _same_short_page(pair: Pair) -> bool | None:
    if pair.new.kind is not Kind.SHORT:
        return None
    # The title is part of the signature, and so are words and pictures.
    shown = pair.same_words_shown and pair.same_rest_shown
    return pair.new.signature == pair.kept.signature and shown and pair.links_covered


def _differs(speaks: Callable[[Pair], bool]) -> Row:
    return lambda pair: False if speaks(pair) else None


OTHER_LINKS = "lists with other links"
SAME_BYTES = "same bytes"

ROWS: tuple[tuple[str, Row], ...] = (
    ("too little text", _differs(lambda pair: bool(pair.new.unsigned or pair.kept.unsigned))),
    (SAME_BYTES, _same_bytes),
    ("other kinds of page", _differs(lambda pair: pair.new.kind is not pair.kept.kind)),
    ("same list", _same_list),
    ("same short page", _same_short_page),
    ("signatures far apart", _differs(lambda pair: pair.far_apart)),
    ("other titles", _differs(lambda pair: not pair.same_title and not pair.renamed)),
    ("other numbers", _differs(lambda pair: pair.other_numbers)),
    ("other words", _differs(lambda pair: pair.estimated and pair.resemblance < pair.limits.min_resemblance)),
    ("not covered", _differs(lambda pair: not pair.covered)),
    # One new link is reason enough to keep a list: behind it stands a page that nobody has seen.
    # Between two hosts links tell nothing: mirrors differ in them.
    (OTHER_LINKS, _differs(lambda pair: is_list(pair.new) and pair.one_host and not pair.links_covered)),
    ("alike", lambda _: True),
)

TOO_MANY_VARIANTS = "too many variants of a list"
NAMES = (*(name for name, _ in ROWS), TOO_MANY_VARIANTS)
"""Of all that can decide."""

_VARIANTS = (SAME_BYTES, OTHER_LINKS)


def decide(pair: Pair, rows: Sequence[tuple[str, Row]] = ROWS) -> tuple[str, bool]:
    """The name of the row that decides *pair*, and whether it says duplicate; the last of *rows* always decides."""
    for name, row in rows:
        verdict = row(pair)
        if verdict is not None:
            return name, verdict
    raise AssertionError("the last row always decides")


def compare(pair: Pair) -> Match | None:
    """The match if the kept page covers the new one, else ``None``.

    Directional: a longer page is not covered by its excerpt.
    """
    rule, duplicate = decide(pair)
    return _match(rule, pair) if duplicate else None


def first_match(pairs: Iterable[Pair]) -> tuple[SignedPage, Match] | None:
    """The first kept page that covers the new one, with the match.

    A list with new links is covered by none, nor are the same bytes where their links lead elsewhere, until as many
    variants are kept as the limits allow.
    """
    variants = 0
    for pair in pairs:
        rule, duplicate = decide(pair)
        if duplicate:
            return pair.kept, _match(rule, pair)
        if rule in _VARIANTS and pair.kept.key != pair.new.key:
            variants += 1
            if variants == pair.limits.max_list_variants:
                return pair.kept, _match(TOO_MANY_VARIANTS, pair)
    return None


def _match(rule: str, pair: Pair) -> Match:
    return Match(rule, pair.distance, pair.resemblance, pair.coverage)
