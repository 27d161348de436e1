"""What is measured between a new page and a kept one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crawler_dedup.config import Config
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing import sketch, titles
from crawler_dedup.signing.links import unpack_links
from crawler_dedup.signing.schemes import Agreement, Scheme
from crawler_dedup.urls import host_of

_NEARLY_ALL = 0.95
_MANY_FEATURES = 100  # below, labelled pages with the same words under two titles were two pages
_MANY_NUMBERS = 5  # fewer are a date
_SAME_NUMBERS = 0.3  # of labelled duplicates every pair shares .8
_SAME_NUMBERS_ESTIMATED = 0.08  # from sketches, whose standard error is .03 there


@dataclass(frozen=True)
class Pair:
    """A new page and a kept page with what is measured between them, computed when a rule asks for it.

    Attributes:
        new: the page that may be dropped.
        kept: the page that would stand for it.
        limits: the settings with the thresholds.
        scheme: the scheme by which both pages are signed.
        new_site: what is known of the new page's site.
        kept_site: what is known of the kept page's site.
    """

    new: SignedPage
    kept: SignedPage
    limits: Config
    scheme: Scheme
    new_site: SiteProfile = UNKNOWN_SITE
    kept_site: SiteProfile = UNKNOWN_SITE

    # Signatures

    @cached_property
    def agreement(self) -> Agreement | None:
        """How the signatures agree by the scheme; ``None``: they do not.

        Pages of another kind than TEXT are signed by a hash, which is the same or not.
        """
        if self.new.kind is PageKind.TEXT and self.kept.kind is PageKind.TEXT:
            return self.scheme.compare(self.new.signed, self.kept.signed)
        return Agreement(distance=0) if self.new.signature == self.kept.signature else None

    @property
    def distance(self) -> int | None:
        """The Hamming distance of the signatures in bits; ``None`` if they do not agree, or the scheme has no distance."""
        return None if self.agreement is None else self.agreement.distance

    @property
    def signatures_far_apart(self) -> bool:
        """Whether the texts are different by their signatures."""
        return self.agreement is None or (self.distance is not None and self.distance > self.limits.max_distance)

    # Words

    @property
    def is_estimated(self) -> bool:
        """Whether resemblance and coverage are estimated from the sketches, because the scheme does not measure them."""
        return self.agreement is None or self.agreement.resemblance is None

    @cached_property
    def resemblance(self) -> float:
        """|A∩B| / |A∪B| of what the scheme compares, or else of the features, 0 to 1."""
        measured = None if self.agreement is None else self.agreement.resemblance
        return sketch.resemblance(self.new.sketch, self.kept.sketch) if measured is None else measured

    @cached_property
    def coverage(self) -> float:
        """The share of what the new page says that the kept page says too, 0 to 1."""
        measured = None if self.agreement is None else self.agreement.coverage
        if measured is not None:
            return measured
        return sketch.containment(self.resemblance, self.new.features, self.kept.features)

    @property
    def words_covered(self) -> bool:
        """Whether the words of the new page stand on the kept one, and are visible there if they are on the new one."""
        if self.is_estimated and self.coverage < self.limits.min_coverage:
            return False
        return not self.any_partly_hidden or self.visible_coverage >= self.limits.min_coverage

    @property
    def same_words(self) -> bool:
        """Whether both pages have the same words, of which the kept page shows all that the new page shows."""
        return self.new.feature_digest == self.kept.feature_digest and self.same_words_visible

    @property
    def nearly_same_words(self) -> bool:
        """Whether the pages differ in hardly any word, also of those that are visible."""
        return self.resemblance >= _NEARLY_ALL and (
            not self.any_partly_hidden or self.visible_resemblance >= _NEARLY_ALL
        )

    @property
    def numbers_differ(self) -> bool:
        """Whether both texts have some numbers, and hardly any in common: two tables in the same words."""
        return _numbers_differ(self.new.numbers, self.kept.numbers) or (
            self.any_partly_hidden and _numbers_differ(self.new.shown.numbers, self.kept.shown.numbers)
        )

    # Hidden elements

    @property
    def any_partly_hidden(self) -> bool:
        """Whether one of the pages shows only a part of what it is compared by.

        What the kept page hides does not cover what the new one shows: no reader would see it there. So the visible
        parts are compared once more, by sketches alone. What the new page hides needs to be covered too, but by all of
        the kept page: of two copies with the same closed tabs one is enough. Links count also where they are hidden,
        except on lists: a crawl follows hidden links too.
        """
        return self.new.partly_hidden is not None or self.kept.partly_hidden is not None

    @cached_property
    def visible_resemblance(self) -> float:
        """The resemblance of what both pages show, estimated from sketches."""
        return sketch.resemblance(self.new.shown.sketch, self.kept.shown.sketch)

    @property
    def visible_coverage(self) -> float:
        """The share of what the new page shows that the kept page shows too, estimated from sketches."""
        return sketch.containment(self.visible_resemblance, self.new.shown.features, self.kept.shown.features)

    @property
    def same_words_visible(self) -> bool:
        """Whether the kept page shows all words that the new page shows, given that both have the same words."""
        hidden = self.kept.partly_hidden
        return hidden is None or hidden.feature_digest == self.new.shown.feature_digest

    @property
    def same_links_or_pictures_visible(self) -> bool:
        """Whether the kept page shows all links (of a list) or pictures (of a short page) that the new page shows.

        Given that both pages have the same ones.
        """
        return self.kept.shown.rest in (b"", self.new.shown.rest)

    # Links

    @cached_property
    def same_host(self) -> bool:
        """Whether both pages stand on one host, which is known."""
        host = host_of(self.new.url)
        return bool(host) and host == host_of(self.kept.url)

    @property
    def same_links(self) -> bool:
        """Whether both pages have the same outlinks."""
        return self.new.link_digest == self.kept.link_digest

    @cached_property
    def new_content_links(self) -> set[int]:
        """The links of the new page without the navigation of its site."""
        return set(unpack_links(self.new.links)) - self.new_site.navigation

    @cached_property
    def links_covered(self) -> bool:
        """Whether all links of the new page, without the navigation of its site, stand on the kept one."""
        return self.same_links or (
            bool(self.new.links) and self.new_content_links <= set(unpack_links(self.kept.links))
        )

    # Titles

    @cached_property
    def new_title_parts(self) -> frozenset[str]:
        """The parts of the new page's title without those that its site writes into every title."""
        return self.new_site.own_parts(self.new.title)

    @cached_property
    def kept_title_parts(self) -> frozenset[str]:
        """The parts of the kept page's title without those that its site writes into every title."""
        return self.kept_site.own_parts(self.kept.title)

    @cached_property
    def same_title(self) -> bool:
        """Whether the titles can name one page."""
        new, kept = titles.split_title(self.new.title), titles.split_title(self.kept.title)
        # Few words make many titles: "Manual | Router".
        if not self.kept_title_parts and len(kept) > 1 and not kept <= new:
            return not self.new_title_parts and new <= kept
        known = self.same_host or (self.new_site.is_known and self.kept_site.is_known)
        return titles.titles_agree(self.new_title_parts, self.kept_title_parts, own_parts=known)

    @property
    def is_retitled_copy(self) -> bool:
        """Whether two pages with different titles, on two hosts, have the very same words, and many of them.

        On one host the same words are rather those of a template, and the name stands elsewhere on the page. A page
        whose title says no more than the other's is a start page or a page of an archive, which shows an article among
        others.
        """
        return (
            self.same_words
            and not self.same_host
            and self.new.features >= _MANY_FEATURES
            and bool(self.new_title_parts - self.kept_title_parts)
        )


def _numbers_differ(new: bytes, kept: bytes) -> bool:
    """Return whether two sketches of numbers have hardly any number in common."""
    new_numbers, kept_numbers = sketch.read_members(new), sketch.read_members(kept)
    if new_numbers is None and kept_numbers is None:
        return sketch.resemblance(new, kept) < _SAME_NUMBERS_ESTIMATED
    if new_numbers is None or kept_numbers is None:
        return False
    fewer = min(len(new_numbers), len(kept_numbers))
    return fewer >= _MANY_NUMBERS and len(np.intersect1d(new_numbers, kept_numbers)) < _SAME_NUMBERS * fewer


def is_list(page: SignedPage) -> bool:
    """Say whether a page is there to go on from: an index, an archive, a tag page.

    Beside its main text stands half as much in links, or on the whole page twice as much (an index without text, whose
    main text is a box at its side).
    """
    inside, outside = 2 * page.inner_link_chars >= page.chars, page.link_chars >= 2 * page.chars
    return page.kind is PageKind.LIST or (page.chars > 0 and (inside or outside))


def needs_links(page: SignedPage) -> bool:
    """Say whether a rule ever looks at the links of a page, so that the index must keep them."""
    return page.kind is not PageKind.TEXT or is_list(page)
