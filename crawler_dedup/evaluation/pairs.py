"""Sign labelled pages in several processes, and count how often the filter is right about pairs of them.

The rules of the crawl are applied to each pair in both directions, because a crawl may meet either of the two pages first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from xxhash import xxh3_64_hexdigest

from crawler_dedup.config import Config
from crawler_dedup.evaluation.labelled import Counts, Document, LabelledPair, LabelledSet, read_body
from crawler_dedup.rules import table
from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile, trim, with_site_keys
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.lookup import Lookup
from crawler_dedup.signing.schemes import Scheme, scheme_of
from crawler_dedup.signing.signer import cached_signer
from crawler_dedup.system.callbacks import Advance
from crawler_dedup.system.processes import map_in_processes
from crawler_dedup.urls import placeholder_address, site_of

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
    """

    set_name: str
    labelled: LabelledPair
    a: SignedDocument
    b: SignedDocument
    forward: DirectionResult
    backward: DirectionResult

    @property
    def is_duplicate(self) -> bool:
        """Whether a crawl drops one of the two pages in at least one of the two orders."""
        return self.forward.is_duplicate or self.backward.is_duplicate

    @property
    def is_signed(self) -> bool:
        """Whether both pages have a signature."""
        return not (self.a.page.unsigned or self.b.page.unsigned)

    @property
    def deciding_direction(self) -> DirectionResult:
        """The direction that makes the pair a duplicate, or else that in which the kept page lacks fewer blocks."""
        if not self.is_signed:
            return self.forward
        return min(
            (self.forward, self.backward),
            key=lambda direction: (not direction.is_duplicate, len(direction.pair.missing)),
        )

    @property
    def is_wrong(self) -> bool:
        """Whether the filter contradicts the label. Grey pairs cannot be wrong."""
        return self.labelled.label != "grey" and self.is_duplicate != bool(self.labelled.label)


@dataclass(frozen=True)
class Sites:
    """What is known about some sites, by scope and site."""

    profiles: Mapping[tuple[str, str], SiteProfile] = field(default_factory=dict)

    def profile_of(self, page: SignedPage) -> SiteProfile:
        """Return the profile of the site of *page*; :data:`UNKNOWN_SITE` if there is none."""
        return self.profiles.get((page.scope, site_of(page.url)), UNKNOWN_SITE)


def learn_sites(pages: Iterable[SignedPage]) -> Sites:
    """Learn what the sites of *pages* have in common, from these pages in this order."""
    counts: dict[tuple[str, str], SiteCounts] = {}
    for page in pages:
        counts.setdefault((page.scope, site_of(page.url)), SiteCounts()).add(page)
    return Sites(
        {
            key: learned.make_snapshot()
            for key, learned in counts.items()
            if key[1] and learned.pages_counted >= MIN_PAGES
        }
    )


def decide_direction(
    new: SignedPage, kept: SignedPage, config: Config, sites: Sites, scheme: Scheme
) -> DirectionResult:
    """Decide as a crawl does if it meets *new* and *kept* is kept."""
    new = with_site_keys(new, sites.profile_of(new))
    kept = trim(with_site_keys(kept, sites.profile_of(kept)))
    profiles = sites.profile_of(new), sites.profile_of(kept)
    result = _apply_rules(Pair(new, kept, config, scheme, *profiles))
    if result.is_duplicate and not Lookup(scheme).finds(new, kept):
        return DirectionResult(result.pair, "not found in the index", False)
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
            results.append(PairResult(labelled_set.name, pair, a, b, *directions))
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


def count_by_part(results: Sequence[PairResult]) -> list[tuple[str, str, Counts]]:
    """Return the rows of the table: (set, part, counts).

    The parts of a set are its categories, the part ``""`` is the whole set. The set ``""``, the last row, is all sets.
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
    return [(name, part, counts) for name, part, counts in rows if counts != Counts() or not part]
