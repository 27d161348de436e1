"""The interface of an index of pages, which each backend implements."""

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
        """Name of the index in messages: its location, without user names and passwords."""

    @property
    @abstractmethod
    def stored_bytes(self) -> int:
        """Size of the index in bytes. In a directory it is read in microseconds, on a server with round trips."""

    @abstractmethod
    def measure(self) -> FileFigures | None:
        """Measure the file of the index; return ``None`` if it is on a server."""

    @abstractmethod
    def close(self) -> None:
        """Close this opening of the index."""

    @abstractmethod
    def begin_run(self) -> Run:
        """Begin a new run of this index. Raises :class:`IndexUnusable`."""

    @abstractmethod
    def read_header(self) -> Header:
        """Read the header as it is now. Raises :class:`IndexUnusable` if the index was emptied meanwhile."""

    @abstractmethod
    def end_run(self, terms: OfferTerms, *, finished: bool) -> None:
        """End the run of *terms*: the pages that it settled are stored, except those settled after its ``stored_until``.

        Args:
            finished: whether the links of all its pages were followed.

        Raises:
            IndexUnusable: the index is still locked after a few seconds.
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
        """Decide about *pages* in their order, also against each other, and file those that pass.

        All offers that wait share one transaction. See :class:`~crawler_dedup.index.verdicts.Verdicts`.

        Args:
            aliases: page key → another key by which the page can be found from then on.
        """

    @abstractmethod
    def look(
        self, page: SignedPage, matcher: Matcher, terms: OfferTerms = OfferTerms(), *, alias: str = ""
    ) -> Decision:
        """Return the decision that an offer of *page* would get now, by what is committed; change nothing."""

    @abstractmethod
    def end_claim(
        self, decision: Decision, matcher: Matcher, terms: OfferTerms, *, settled: bool, urgent: bool = False
    ) -> Future[bool]:
        """Settle the claim of *decision*, so that its page may stand for others, or release it and forget the page.

        A page that is settled is counted for its site.

        The result is ``False`` if the page is not recorded, or holds its place by another claim. A decision without a claim
        applies to the record of the page, of whichever claim. Unless *urgent*, this waits a moment for another transaction
        with which it is written.

        Args:
            settled: whether the page was handled, so that the claim is settled; if not, it is released.
        """

    @abstractmethod
    def forget(self, select: Callable[[Record], bool], filing: Filing, advance: Advance = ignore_progress) -> int:
        """Forget every page whose record *select* picks, and return how many these are.

        This is done in transactions of a few hundred pages, so that a crawl can go on. *advance* is called with the number
        of records that were read.
        """

    @abstractmethod
    def tidy(self, filing: Filing, max_age: int, advance: Advance = ignore_progress) -> int:
        """Forget the pages that no longer count, and return how many these are.

        They are pages that were not visited for *max_age* seconds (0: no limit), and pages that a dead run may have lost.
        """

    @abstractmethod
    def records(
        self, size: int, *, handled_only: bool = False, note_unreadable: Advance = ignore_progress
    ) -> Iterator[list[Record]]:
        """Yield all records that can be read, in lists of up to *size*.

        In a directory all records are from one state of the index. On a server they include every page that is recorded
        during the whole call, as it was at some time of it; a page that is filed again meanwhile may be yielded twice.

        Args:
            handled_only: yield only the records of pages that were handled.
            note_unreadable: called with 1 for each record that cannot be read.
        """

    @abstractmethod
    def sharing(
        self, probes: Sequence[Sequence[int]], choose: Callable[[Iterable[Numbers]], Iterable[int]]
    ) -> list[Record]:
        """Return the records of handled pages with the signatures that *choose* picks from the buckets *probes*.

        Pages of every scope are returned. The buckets come in blocks, and so do the signatures that *choose* gets.
        """

    @abstractmethod
    def latest_snapshot(self, scope: str, url: str) -> Snapshot:
        """Return what the rules know now about the site of an address."""

    @abstractmethod
    def find_snapshot(self, scope: str, url: str, number: int, moment: float) -> Snapshot | None:
        """Return what the rules knew about the site of an address at a *moment*, by the number of the snapshot.

        Returns ``None`` if this snapshot is no longer kept.
        """

    @abstractmethod
    def sites(self) -> Generator[StoredSite, None, None]:
        """Yield what is stored about each site: in a directory in one state of the index, on a server as it is when read."""

    @abstractmethod
    def merge_sites(self, sites: Iterable[StoredSite]) -> None:
        """Replace what is known about each of *sites* if the new counts include more pages.

        This is done in transactions of a few hundred sites, so that a crawl can go on.
        """

    @abstractmethod
    def measure_sites(self) -> SiteFigures:
        """Count the sites, and measure what is stored about them."""

    @abstractmethod
    def merge(self, records: Sequence[Record], filing: Filing) -> int:
        """File *records* as they are, except of pages that are recorded already, and return how many are new.

        They are not compared with each other or with the kept pages.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Return how many pages are recorded."""
