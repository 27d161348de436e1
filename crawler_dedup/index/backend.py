"""The pages of an index, wherever it stands: what is asked of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future

from crawler_dedup.decision import Decision
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.figures import FileFigures
from crawler_dedup.index.header import Header
from crawler_dedup.index.keptpages import Filing
from crawler_dedup.index.profiles import SiteFigures, Snapshot, StoredSite
from crawler_dedup.index.records import Record
from crawler_dedup.index.runs import Run
from crawler_dedup.index.verdicts import Matcher, OfferTerms
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.callbacks import Advance, ignore_progress

KIND = "pages"


class Backend(ABC):
    """The pages of one open index.

    Attributes:
        header: what the index is.
    """

    def __init__(self, header: Header) -> None:
        self.header = header

    @property
    @abstractmethod
    def name(self) -> str:
        """What the index is called in messages: where it is, without user names and passwords."""

    @property
    @abstractmethod
    def stored_bytes(self) -> int:
        """How many bytes the index takes where it is. In a directory that takes microseconds, on a server round trips."""

    @abstractmethod
    def measure(self) -> FileFigures | None:
        """Measure the file of the index; ``None`` where it is no file."""

    @abstractmethod
    def close(self) -> None:
        """Close this opening of the index."""

    @abstractmethod
    def begin_run(self) -> Run:
        """Begin a new run of this index. Raises :class:`IndexUnusable`."""

    @abstractmethod
    def verify(self, filing: Filing, advance: Advance = ignore_progress) -> list[str]:
        """Check every bucket against the records; return what is wrong, a sentence each."""

    @abstractmethod
    def repair(self, filing: Filing, advance: Advance = ignore_progress) -> None:
        """Build everything else anew from the records. Records that cannot be read are removed."""

    @abstractmethod
    def read_header(self) -> Header:
        """Read what the index is, as of now. Raises :class:`IndexUnusable` where it was emptied meanwhile."""

    @abstractmethod
    def end_run(self, terms: OfferTerms, *, finished: bool) -> None:
        """End the run of *terms*: what it settled is stored, but for what came later than its ``stored_until``.

        Args:
            finished: whether the links of all its pages were followed.

        Raises:
            IndexUnusable: the index is locked; after a few seconds.
        """

    @abstractmethod
    def offer(
        self,
        pages: Sequence[SignedPage],
        matcher: Matcher,
        terms: OfferTerms = OfferTerms(),
        *,
        aliases: Mapping[str, str] | None = None,
    ) -> Future[list[Decision]]:
        """Decide about *pages* and file them, in order and also against each other.

        All offers that wait share one transaction. See :class:`~crawler_dedup.index.verdicts.Verdicts`.

        Args:
            aliases: page key → another key by which that page is known from then on.
        """

    @abstractmethod
    def look(
        self, page: SignedPage, matcher: Matcher, terms: OfferTerms = OfferTerms(), *, alias: str = ""
    ) -> Decision:
        """Return the decision that an offer of *page* would get now, as far as it is committed; change nothing."""

    @abstractmethod
    def end_claim(
        self, decision: Decision, matcher: Matcher, terms: OfferTerms, *, settled: bool, urgent: bool = False
    ) -> Future[bool]:
        """Settle the claim of *decision*, so that its page may stand for others, or release it and forget the page.

        The site of a page that is settled is learned from it.

        The result is ``False`` if the page is not recorded, or holds its place by another claim. A decision without claim
        means whatever is recorded of the page. Unless *urgent*, this waits a moment for another transaction with which it
        is written.

        Args:
            settled: whether the page was handled, so that the claim is settled; if not, it is released.
        """

    @abstractmethod
    def forget(self, select: Callable[[Record], bool], filing: Filing, advance: Advance = ignore_progress) -> int:
        """Forget every page whose record *select* picks; returns how many.

        In transactions of a few hundred pages, so that a crawl can go on. *advance* is called with numbers of records
        that were looked at.
        """

    @abstractmethod
    def tidy(self, filing: Filing, max_age: int, advance: Advance = ignore_progress) -> int:
        """Forget what stands for nothing any more: pages not visited for *max_age* seconds (0: whatever their age), and
        those that runs that have died may have lost. Returns how many."""

    @abstractmethod
    def records(self, size: int, *, handled_only: bool = False) -> Iterator[list[Record]]:
        """Yield all records that can be read, in lists of up to *size*.

        In a directory this is one state of the index, while it goes on. On a server it is every page that is recorded from
        the beginning to the end, as it was at some time between; one that is filed anew meanwhile may come twice.

        Args:
            handled_only: only those of pages that were handled.
        """

    @abstractmethod
    def sharing(
        self, probes: Sequence[Sequence[int]], choose: Callable[[Iterable[Numbers]], Iterable[int]]
    ) -> list[Record]:
        """Return the records of handled pages, of every scope, under the signatures that *choose* picks of those in the
        buckets *probes*, which come in blocks."""

    @abstractmethod
    def latest_snapshot(self, scope: str, url: str) -> Snapshot:
        """Return what the rules know now of the site of an address."""

    @abstractmethod
    def find_snapshot(self, scope: str, url: str, number: int, moment: float) -> Snapshot | None:
        """Return what the rules knew of the site of an address at a *moment*, by the number of the snapshot; ``None``: it is
        not kept any more."""

    @abstractmethod
    def sites(self) -> Generator[StoredSite, None, None]:
        """Yield what is stored of each site, as it is when its turn comes; in a directory one state of the index."""

    @abstractmethod
    def merge_sites(self, sites: Iterable[StoredSite]) -> None:
        """Let each of *sites* take the place of what is known about it, if more of its pages were counted.

        In transactions of a few hundred sites, so that a crawl can go on.
        """

    @abstractmethod
    def measure_sites(self) -> SiteFigures:
        """Count the sites and what is stored of them."""

    @abstractmethod
    def merge(self, records: Sequence[Record], filing: Filing) -> int:
        """File *records* as they are, but for pages that are recorded already; returns how many are new.

        They are not compared with each other or with what is kept.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Return how many pages are recorded."""
