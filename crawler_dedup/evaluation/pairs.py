"""Labelled pairs of pages → how often the filter is right.

Every page is signed once; then the rules of the crawl are asked about each pair in both directions, because it is chance
which of two pages a crawl meets first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

from xxhash import xxh3_64_hexdigest

from crawler_dedup.config import Config
from crawler_dedup.errors import DedupError
from crawler_dedup.evaluation.counts import Counts, Share
from crawler_dedup.evaluation.labelled import Document, LabelledPair, LabelledSet, read_body
from crawler_dedup.rules import table
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import SiteProfiles
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.lookup import Lookup
from crawler_dedup.signing.schemes import Scheme, scheme_of
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.callbacks import Advance

SHORT = 250
"""Characters of own text below which a pair counts as short."""

_OPENING_CHARS = 100
_CHUNK = 8  # documents that a process takes at a time: few, so that all end together

DocumentKey = tuple[str, str]
"""Name of a set, identifier in it."""
_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class SignedDocument:
    """A page as the filter sees it.

    Attributes:
        page: what is kept of it.
        text: its main text.
    """

    page: SignedPage
    text: str

    @property
    def opening(self) -> str:
        """The first line of the text, or else the title."""
        first = next((line for line in self.text.splitlines() if line.strip()), self.page.title)
        return first.strip()[:_OPENING_CHARS]


class Judgement(NamedTuple):
    """What the rules say of one page when another is kept: the measured pair, the deciding row, and its word."""

    pair: Pair
    rule: str
    duplicate: bool


@dataclass(frozen=True)
class Judged:
    """A labelled pair with what the filter says of it.

    Attributes:
        set_name: the set in which it stands.
        labelled: what people say.
        a: one page.
        b: the other.
        forward: may *a* be dropped because *b* is kept?
        backward: may *b* be dropped because *a* is kept?
    """

    set_name: str
    labelled: LabelledPair
    a: SignedDocument
    b: SignedDocument
    forward: Judgement
    backward: Judgement

    @property
    def duplicate(self) -> bool:
        """Whether a crawl that meets the two in one order or the other drops one of them."""
        return self.forward.duplicate or self.backward.duplicate

    def is_duplicate_with(self, config: Config) -> bool:
        """The same with other settings, of which none changes signatures."""
        return any(_decide(replace(way.pair, limits=config)).duplicate for way in (self.forward, self.backward))

    @property
    def signed(self) -> bool:
        """Whether both pages have a signature."""
        return not (self.a.page.unsigned or self.b.page.unsigned)

    @property
    def decisive(self) -> Judgement:
        """The direction that makes it a duplicate, or else the one in which more of the new page is covered."""
        both = (self.forward, self.backward)
        if not self.signed:
            return self.forward
        return max(both, key=lambda one: (one.duplicate, one.pair.coverage))

    @property
    def source(self) -> str:
        """The site; a pair that names none has its set for one."""
        return self.labelled.source or self.set_name

    @property
    def wrong(self) -> bool:
        """Whether filter and people disagree. Grey pairs cannot be wrong."""
        return self.labelled.label != "grey" and self.duplicate != bool(self.labelled.label)


class Mean(NamedTuple):
    """The mean of a figure over the sites that have it; ``None`` if none has."""

    value: float | None
    sites: int


def sign_documents(
    folder: Path, sets: Sequence[LabelledSet], config: Config, jobs: int, advance: Advance
) -> dict[DocumentKey, SignedDocument]:
    """Sign every document of *sets* in *jobs* processes: (name of the set, identifier) → document.

    Args:
        advance: is told about each document that is done.

    Raises:
        DedupError: a file cannot be read, or a process died.
    """
    names = [(one.name, document) for one in sets for document in one.documents]
    documents = [document for one in sets for document in one.documents.values()]
    return dict(zip(names, in_processes(partial(_sign, folder, config), documents, jobs, advance), strict=True))


def in_processes(
    work: Callable[[_In], _Out], things: Sequence[_In], jobs: int, advance: Advance, *, together: int = _CHUNK
) -> Iterator[_Out]:
    """*work* on each of *things* in *jobs* processes, in order.

    Args:
        together: how many things a process takes at a time.

    Raises:
        DedupError: a process died.
    """
    # `spawn`: a forked child of a process with threads can hang, and Windows and macOS know nothing else.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) if jobs > 1 else nullcontext()
    try:
        with pool as running:
            for one in running.map(work, things, chunksize=together) if running else map(work, things):
                yield one
                advance(1)
    except BrokenProcessPool:
        raise DedupError(
            "A process that signed pages was ended from outside, perhaps for want of memory: use fewer of them (--jobs)."
        ) from None


@lru_cache(maxsize=1)
def signer_of(config: Config) -> Signer:
    """One for each process: it holds a dictionary that takes a second to load."""
    return Signer(config)


def _sign(folder: Path, config: Config, document: Document) -> SignedDocument:
    # Without an address a page stands on a host of its own, so that relative links still are links.
    url = document.url or f"http://{xxh3_64_hexdigest(document.id.encode())}.invalid/"
    page, text = signer_of(config).sign(url, read_body(folder, document), encoding=None, key=document.id, scope="")
    return SignedDocument(page, text or "")


def judge(new: SignedPage, kept: SignedPage, config: Config, sites: SiteProfiles, scheme: Scheme) -> Judgement:
    """What a crawl does with *new* while *kept* is kept."""
    found = _decide(Pair(new, kept, config, scheme, sites.profile_of(new), sites.profile_of(kept)))
    if found.duplicate and not Lookup(scheme).finds(new, kept):
        return Judgement(found.pair, "not met in the index", False)
    return found


def _decide(pair: Pair) -> Judgement:
    if unsigned := pair.new.unsigned or pair.kept.unsigned:
        return Judgement(pair, unsigned, False)
    return Judgement(pair, *table.decide(pair))


def judge_all(
    sets: Iterable[LabelledSet], signed: Mapping[DocumentKey, SignedDocument], config: Config
) -> list[Judged]:
    """Judge every pair of *sets*, with what a crawl of all their pages learns about their sites."""
    sites = SiteProfiles()
    pages = [document.page for document in signed.values()]
    # In an order that mixes two states of a site, as a crawl meets them.
    pages.sort(key=lambda page: xxh3_64_hexdigest(page.key.encode()))
    for page in pages:
        sites.add(page)
    judged, scheme = [], scheme_of(config.scheme, config)
    for one in sets:
        for labelled in one.pairs:
            a, b = signed[one.name, labelled.id_a], signed[one.name, labelled.id_b]
            forward, backward = (
                judge(new, kept, config, sites, scheme) for new, kept in ((a.page, b.page), (b.page, a.page))
            )
            judged.append(Judged(one.name, labelled, a, b, forward, backward))
    return judged


def count(judged: Iterable[Judged], is_called: Callable[[Judged], bool] = lambda judged: judged.duplicate) -> Counts:
    """Count what became of pairs; grey ones are left out.

    Args:
        is_called: whether a pair is called duplicates, where something else than the rules decides.
    """
    numbers = Counter((one.labelled.label, is_called(one)) for one in judged)
    return Counts(found=numbers[1, True], missed=numbers[1, False], false=numbers[0, True], apart=numbers[0, False])


def breakdown(judged: Sequence[Judged]) -> list[tuple[str, str, Counts]]:
    """The rows of the table: set, part of it (``""``: the whole), counts. The set ``""`` is all of them together.

    Parts without a labelled pair are left out: those of a set are its categories; those of all sets together are pairs of
    pages, pairs with a list, short and long pairs, as far as that is known of a pair.
    """
    rows = []
    for name in dict.fromkeys(one.set_name for one in judged):
        inside = [one for one in judged if one.set_name == name]
        rows.append((name, "", count(inside)))
        rows.extend(
            (name, category, count(one for one in inside if one.labelled.category == category))
            for category in sorted({one.labelled.category for one in inside} - {""})
        )
    rows.append(("", "", count(judged)))
    rows.extend(("", part, count(one for one in judged if belongs(one.labelled))) for part, belongs in PARTS)
    return [(name, part, counts) for name, part, counts in rows if counts != Counts() or not part]


PARTS: tuple[tuple[str, Callable[[LabelledPair], bool]], ...] = (
    ("page–page", lambda pair: pair.kind_a == pair.kind_b == "page"),
    ("lists", lambda pair: pair.has_list),
    (f"short (under {SHORT} characters)", lambda pair: pair.min_chars is not None and pair.min_chars < SHORT),
    ("long", lambda pair: pair.min_chars is not None and pair.min_chars >= SHORT),
)


def grey_shares(judged: Iterable[Judged]) -> list[tuple[str, Share]]:
    """How many of the grey pairs are dropped, by the tenth in which their labelled resemblance lies."""
    bins = ["under .3", ".3–.4", ".4–.5", ".5–.6", ".6–.7", ".7–.8", ".8 and more", "not given"]
    grey = [one for one in judged if one.labelled.label == "grey"]
    where = [_bin(one.labelled.j_sub) for one in grey]
    shares = []
    for number, name in enumerate(bins):
        inside = [one.duplicate for one, at in zip(grey, where, strict=True) if at == number]
        shares.append((name, Share(sum(inside), len(inside))))
    return [(name, share) for name, share in shares if share.of]


def _bin(resemblance: float | None) -> int:
    if resemblance is None:
        return 7
    return sum(resemblance >= tenth / 10 for tenth in range(3, 9))


def macro_average(judged: Iterable[Judged]) -> tuple[Mean, Mean]:
    """Mean precision and mean recall over the sites: each counts the same, however many pairs it has."""
    sites: dict[str, list[Judged]] = {}
    for one in judged:
        sites.setdefault(one.source, []).append(one)
    counts = [count(one) for one in sites.values()]
    return _mean(one.precision for one in counts), _mean(one.recall for one in counts)


def _mean(shares: Iterable[Share]) -> Mean:
    values = [share.value for share in shares if share.value is not None]
    return Mean(sum(values) / len(values) if values else None, len(values))
