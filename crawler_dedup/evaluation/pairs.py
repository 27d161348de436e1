"""Sign labelled pages in several processes, and count how often the filter is right about pairs of them.

The rules of the crawl are applied to each pair in both directions, because a crawl may meet either of the two pages first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from xxhash import xxh3_64_hexdigest

from crawler_dedup.config import Config
from crawler_dedup.evaluation.counts import Counts, Share
from crawler_dedup.evaluation.labelled import Document, LabelledPair, LabelledSet, read_body
from crawler_dedup.hamming import MAX_DISTANCE
from crawler_dedup.rules import table
from crawler_dedup.rules.counts import learn_sites
from crawler_dedup.rules.filing import trim, with_site_keys
from crawler_dedup.rules.matcher import pair_of
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import Sites
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing.lookup import Lookup
from crawler_dedup.signing.schemes import Scheme, scheme_of
from crawler_dedup.signing.signer import cached_signer
from crawler_dedup.system.callbacks import Advance
from crawler_dedup.system.processes import map_in_processes
from crawler_dedup.urls import placeholder_address

SHORT = 250
"""A pair counts as short if its shorter text has fewer characters than this, without the site's furniture."""
THIN_PAGES = "thin pages"
"""The row of pairs whose pages both have too little main text, so that they are compared by their blocks."""
NOTHING_LEARNED = "nothing learned"
"""The row of all pairs, judged as if nothing were known about their sites."""

_OPENING_CHARS = 100

DocumentKey = tuple[str, str]
"""(name of a set, identifier of a document in it)."""


@dataclass(frozen=True)
class SignedDocument:
    """A labelled page, signed.

    Attributes:
        page: the signed page.
        text: its main text.
    """

    page: SignedPage
    text: str

    @property
    def first_line(self) -> str:
        """The first line of the text, or else the title."""
        first = next((line for line in self.text.splitlines() if line.strip()), self.page.title)
        return first.strip()[:_OPENING_CHARS]


def sign_documents(
    folder: Path, sets: Sequence[LabelledSet], config: Config, jobs: int, advance: Advance
) -> dict[DocumentKey, SignedDocument]:
    """Sign every document of *sets* in *jobs* processes.

    Args:
        advance: called with the number of documents that were done since the last call.

    Raises:
        DedupError: a file cannot be read, or a process died.
    """
    keys = [(labelled_set.name, identifier) for labelled_set in sets for identifier in labelled_set.documents]
    documents = [document for labelled_set in sets for document in labelled_set.documents.values()]
    return dict(zip(keys, map_in_processes(partial(_sign, folder, config), documents, jobs, advance), strict=True))


def _sign(folder: Path, config: Config, document: Document) -> SignedDocument:
    url = document.url or placeholder_address(document.id)
    page, text = cached_signer(config).sign(url, read_body(folder, document), encoding=None, key=document.id, scope="")
    return SignedDocument(page, text or "")


class DirectionResult(NamedTuple):
    """The result of the rules for one page of a pair if the other page is kept.

    Attributes:
        pair: the two pages, measured.
        rule: the name of the rule that decided, or the reason why no rule decided.
        is_duplicate: whether the new page would be dropped.
    """

    pair: Pair
    rule: str
    is_duplicate: bool


@dataclass(frozen=True)
class PairResult:
    """A labelled pair with the result of the filter for it.

    Attributes:
        set_name: the name of its set.
        labelled: the pair and its label.
        a: one page.
        b: the other page.
        forward: the result for *a* if *b* is kept.
        backward: the result for *b* if *a* is kept.
        config: the settings with which it was decided.
    """

    set_name: str
    labelled: LabelledPair
    a: SignedDocument
    b: SignedDocument
    forward: DirectionResult
    backward: DirectionResult
    config: Config

    @property
    def is_duplicate(self) -> bool:
        """Whether a crawl drops one of the two pages in at least one of the two orders."""
        return self.forward.is_duplicate or self.backward.is_duplicate

    def is_duplicate_within(self, max_distance: int) -> bool:
        """Return :attr:`is_duplicate` for another largest distance."""
        directions = (self.forward, self.backward)
        return any(
            _apply_rules(replace(direction.pair, max_distance=max_distance)).is_duplicate for direction in directions
        )

    @property
    def is_signed(self) -> bool:
        """Whether both pages have a signature."""
        return not (self.a.page.unsigned or self.b.page.unsigned)

    @property
    def are_thin(self) -> bool:
        """Whether the rules compare both pages by their blocks, because they have too little main text."""
        return self.a.page.kind is self.b.page.kind is PageKind.THIN

    @property
    def is_site_known(self) -> bool:
        """Whether something is known about the site of one of the pages."""
        pair = self.forward.pair
        return pair.new_site.is_known or pair.kept_site.is_known

    def with_nothing_learned(self) -> PairResult:
        """Return the result as if nothing were known about the sites."""
        pair, a, b = self.forward.pair, self.a.page, self.b.page
        decide = partial(decide_direction, config=self.config, sites=Sites(), scheme=pair.scheme)
        return replace(self, forward=decide(a, b), backward=decide(b, a))

    @property
    def deciding_direction(self) -> DirectionResult:
        """The direction that makes the pair a duplicate, or else that in which the kept page lacks fewer blocks."""
        if not self.is_signed:
            return self.forward
        return min(
            (self.forward, self.backward),
            key=lambda direction: (not direction.is_duplicate, len(direction.pair.comparison.missing)),
        )

    @property
    def source(self) -> str:
        """The site of the pair; the name of its set if the pair names no site."""
        return self.labelled.source or self.set_name

    @property
    def is_wrong(self) -> bool:
        """Whether the filter contradicts the label. Grey pairs cannot be wrong."""
        return self.labelled.label != "grey" and self.is_duplicate != bool(self.labelled.label)


class SiteMean(NamedTuple):
    """The mean of a figure over the sites that have it, ``None`` if no site has it, and the number of these sites."""

    value: float | None
    sites: int


def decide_direction(
    new: SignedPage, kept: SignedPage, config: Config, sites: Sites, scheme: Scheme
) -> DirectionResult:
    """Decide as a crawl does if it meets *new* and *kept* is kept."""
    new = with_site_keys(new, sites.profile_of(new))
    kept = trim(with_site_keys(kept, sites.profile_of(kept)))
    profiles = sites.profile_of(new), sites.profile_of(kept)
    result = _apply_rules(pair_of(config, scheme, new, kept, *profiles))
    if result.is_duplicate and not Lookup(scheme).finds(new, kept):
        return DirectionResult(result.pair, "not met in the index", False)
    return result


def _apply_rules(pair: Pair) -> DirectionResult:
    if unsigned := pair.new.unsigned or pair.kept.unsigned:
        return DirectionResult(pair, unsigned, False)
    return DirectionResult(pair, *table.decide(pair))


def shuffle_pages(pages: Iterable[SignedPage]) -> list[SignedPage]:
    """Return *pages* ordered by the hash of their keys. This mixes two states of a site, as a crawl would meet them."""
    return sorted(pages, key=lambda page: xxh3_64_hexdigest(page.key.encode()))


def evaluate_pairs(
    sets: Iterable[LabelledSet], documents: Mapping[DocumentKey, SignedDocument], config: Config
) -> list[PairResult]:
    """Decide about every pair of *sets*, with the site profiles that a crawl of all their pages learns."""
    pages = [document.page for document in documents.values()]
    sites = learn_sites(shuffle_pages(pages))
    decide = partial(decide_direction, config=config, sites=sites, scheme=scheme_of(config.scheme, config))
    results = []
    for labelled_set in sets:
        for pair in labelled_set.pairs:
            a, b = documents[labelled_set.name, pair.id_a], documents[labelled_set.name, pair.id_b]
            directions = decide(a.page, b.page), decide(b.page, a.page)
            results.append(PairResult(labelled_set.name, pair, a, b, *directions, config))
    return results


def count_outcomes(
    results: Iterable[PairResult], is_called: Callable[[PairResult], bool] = lambda result: result.is_duplicate
) -> Counts:
    """Count the outcomes of pairs without the grey pairs.

    Args:
        is_called: returns whether a pair is called a duplicate; by default the rules decide.
    """
    numbers = Counter((result.labelled.label, is_called(result)) for result in results)
    return Counts(found=numbers[1, True], missed=numbers[1, False], false=numbers[0, True], apart=numbers[0, False])


def count_by_distance(results: Sequence[PairResult]) -> list[Counts]:
    """Count outcomes for each ``max_distance`` from 0 to 7, with all rules."""
    least = {id(result): _least_distance(result) for result in results}
    return [
        count_outcomes(results, partial(lambda distance, result: least[id(result)] <= distance, distance))
        for distance in range(MAX_DISTANCE + 1)
    ]


def _least_distance(result: PairResult) -> int:
    """Return the least ``max_distance`` that makes the pair a duplicate; all greater ones do so, too."""
    if not result.is_duplicate_within(MAX_DISTANCE):
        return MAX_DISTANCE + 1
    return next(distance for distance in range(MAX_DISTANCE + 1) if result.is_duplicate_within(distance))


PARTS: tuple[tuple[str, Callable[[LabelledPair], bool]], ...] = (
    ("page–page", lambda pair: pair.kind_a == pair.kind_b == "page"),
    ("lists", lambda pair: pair.has_list),
    (f"short (under {SHORT} characters)", lambda pair: pair.min_chars is not None and pair.min_chars < SHORT),
    ("long", lambda pair: pair.min_chars is not None and pair.min_chars >= SHORT),
)
"""The parts of all sets together: (name, function that returns whether a pair belongs to the part)."""


def count_by_part(results: Sequence[PairResult]) -> list[tuple[str, str, Counts]]:
    """Return the rows of the table: (set, part, counts). The set ``""`` is all sets together, the part ``""`` a whole set.

    The parts of a set are its categories. The parts of all sets together are those of :data:`PARTS`, as far as the needed
    properties of a pair are known, and :data:`THIN_PAGES`. Parts without a labelled pair are left out. If something is known
    about a site, :data:`NOTHING_LEARNED` is the last row.
    """
    rows = []
    for name in dict.fromkeys(result.set_name for result in results):
        of_set = [result for result in results if result.set_name == name]
        rows.append((name, "", count_outcomes(of_set)))
        rows.extend(
            (name, category, count_outcomes(result for result in of_set if result.labelled.category == category))
            for category in sorted({result.labelled.category for result in of_set} - {""})
        )
    rows.append(("", "", count_outcomes(results)))
    for part, belongs in PARTS:
        rows.append(("", part, count_outcomes(result for result in results if belongs(result.labelled))))
    rows.append(("", THIN_PAGES, count_outcomes(result for result in results if result.are_thin)))
    if any(result.is_site_known for result in results):
        rows.append(("", NOTHING_LEARNED, count_outcomes(result.with_nothing_learned() for result in results)))
    return [(name, part, counts) for name, part, counts in rows if counts != Counts() or not part]


def grey_shares(results: Iterable[PairResult]) -> list[tuple[str, Share]]:
    """Return the share of grey pairs that are dropped, by tenths of their labelled resemblance."""
    names = ["under .3", ".3–.4", ".4–.5", ".5–.6", ".6–.7", ".7–.8", ".8 and more", "not given"]
    dropped: list[list[bool]] = [[] for _ in names]
    for result in results:
        if result.labelled.label == "grey":
            dropped[_bin(result.labelled.j_sub)].append(result.is_duplicate)
    return [(name, Share(sum(flags), len(flags))) for name, flags in zip(names, dropped, strict=True) if flags]


def _bin(resemblance: float | None) -> int:
    if resemblance is None:
        return 7
    return sum(resemblance >= tenth / 10 for tenth in range(3, 9))


def average_over_sites(results: Iterable[PairResult]) -> tuple[SiteMean, SiteMean]:
    """Return mean precision and mean recall over the sites. Each site has the same weight, however many pairs it has."""
    sites: dict[str, list[PairResult]] = {}
    for result in results:
        sites.setdefault(result.source, []).append(result)
    counts = [count_outcomes(of_site) for of_site in sites.values()]
    return _mean(site.precision for site in counts), _mean(site.recall for site in counts)


def _mean(shares: Iterable[Share]) -> SiteMean:
    values = [share.value for share in shares if share.value is not None]
    return SiteMean(sum(values) / len(values) if values else None, len(values))
