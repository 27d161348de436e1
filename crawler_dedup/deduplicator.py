"""Sign, look up, decide and record a page, independently of Scrapy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from os import PathLike
from pathlib import Path
from types import TracebackType

from crawler_dedup.config import Config
from crawler_dedup.config.settings import default_scope, scope_of
from crawler_dedup.decision import Decision, Match
from crawler_dedup.errors import IndexGone, IndexUnusable
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import Location, ServerAddress, find_location
from crawler_dedup.index.opening import open_or_create_index, require_run
from crawler_dedup.index.profiles import FrozenProfiles, ProfileCheck
from crawler_dedup.index.runs import Run
from crawler_dedup.pagetext import Format, OwnText, OwnTextJob, RepeatedBlocks
from crawler_dedup.rules import table
from crawler_dedup.rules.counts import can_read
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.rules.pair import Pair
from crawler_dedup.rules.sites import decode_profile, trim
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.signing.segmentation import with_tokenizer_of_index
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.system.logs import logger_without_credentials
from crawler_dedup.urls import identifier_without_credentials

logger = logger_without_credentials(__name__)


class Deduplicator:
    """Decides for each page whether a kept page represents it, and keeps the other pages.

    The decision itself is made in :mod:`crawler_dedup.index.decider`.

    Safe to use from several threads, and from several processes on one index.

    Each opening is a run of the index, which ends with :meth:`close`. If the process is killed instead, the pages that it
    settled in its last ``Config.grace`` seconds count as not handled, and represent nothing.

    Attributes:
        signer: signs the pages.
        index: the open index.
        has_emptied_index: whether this run has emptied the index.
        lock_file: path of the file that another process keeps locked while the run lasts; ``""`` if this one keeps it alive.

    >>> body = b"<p>" + b" ".join(b"word%d" % number for number in range(40))
    >>> with Deduplicator.open("index") as deduplicator:
    ...     for url in ("https://example.com/a", "https://example.com/b"):
    ...         print(deduplicator.check(url, body).verdict)
    new
    duplicate
    """

    def __init__(
        self,
        location: Location,
        signer: Signer,
        profiles: FrozenProfiles | None = None,
        begin_run: Callable[[Index], Run] = Index.begin_run,
        claims: Iterator[int] | None = None,
    ) -> None:
        """Use :meth:`open`."""
        self.signer = signer
        self._profile_check = ProfileCheck(profiles or FrozenProfiles({}))
        self._matcher = RuleMatcher(signer.config, signer.scheme)
        self._closed = False
        self._stored_until: float | None = None
        config = signer.config
        self.index = open_or_create_index(
            location, signer.spec, signer.libraries, map_size=config.map_size, fresh=config.fresh
        )
        self.index.frozen = profiles
        try:
            # It is not empty if another crawl of this process uses it.
            self.has_emptied_index = config.fresh and not len(self.index)
            self._run = begin_run(self.index)
        except BaseException:
            self.index.close()
            raise
        self.lock_file = self._run.lock_file
        run, now = self._run.number, self._run.now
        self._context = RunContext.of(config, run=run, clock=now, stored_until=self._find_stored_until)
        self._claiming = replace(self._context, next_claim=(claims or count(1)).__next__)

    def _find_stored_until(self) -> int | None:
        moment = self._stored_until  # read once: the event loop changes it, and this is the writing thread
        return None if moment is None else self._run.time_of(moment)

    @classmethod
    def open(
        cls,
        index: str | PathLike[str] | ServerAddress,
        config: Config | None = None,
        *,
        profiles: str | PathLike[str] | None = None,
    ) -> Deduplicator:
        """Open or create an index.

        Args:
            index: its directory, or the address of a server (``redis://``, ``rediss://``, ``unix://``).
            profiles: an exported index, or the ``profiles.dedup`` of a batch job. Decisions use its profiles of sites,
                which do not change. A warning is logged if they have none for any page: for its site, in its scope.
                ``None``: decisions use the profiles of the index, and kept pages are counted in them.

        Raises:
            ConfigError: the tokenizer of the index is not installed.
            IndexMismatch: the index, or *profiles*, was made with another configuration.
            IndexUnusable: it cannot be opened.
            ExportUnreadable: *profiles* cannot be read.
        """
        location = find_location(index) if not isinstance(index, ServerAddress) else index

        def open_with(resolved: Config) -> Deduplicator:
            signer = Signer(resolved)
            if profiles is None:
                return cls(location, signer)
            from crawler_dedup.inspection.transfer import read_profiles  # noqa: PLC0415  (crawls do not need it)

            return cls(location, signer, read_profiles(Path(profiles), signer.spec, can_read))

        return with_tokenizer_of_index(config or Config(), open_with)

    @classmethod
    def join(
        cls, index: str, config: Config, run: int, offset: float, claims: Iterator[int], *, is_first: bool = True
    ) -> Deduplicator:
        """Open or create an index for a *run* that several processes share. Raises as :meth:`open`.

        Args:
            run: number of the run.
            offset: the offset of its clock (:class:`~crawler_dedup.index.runs.Run`).
            claims: numbers of the claims of this process, which no other process of the run has.
            is_first: whether it begins the run; if not, no directory is created.

        Raises:
            IndexGone: the run has not begun in the directory that is there now.
        """
        location = find_location(index)
        if not is_first:
            require_run(location, run)

        def open_with(resolved: Config) -> Deduplicator:
            return cls(location, Signer(resolved), None, lambda store: store.join_run(run, offset), claims)

        return with_tokenizer_of_index(config, open_with)

    @property
    def run(self) -> int:
        """Number of this run, which the records of the pages that it files contain."""
        return self._run.number

    @property
    def scheme_description(self) -> str:
        """The signature scheme in a few words."""
        has_distance = self.signer.scheme.name == SimHash.name
        return self.config.scheme + (f", distance {self.config.max_distance}" if has_distance else "")

    @property
    def config(self) -> Config:
        """The configuration, with the tokenizer of the index."""
        return self.signer.config

    def sign(
        self, url: str, body: bytes, *, encoding: str | None = None, key: str | None = None, scope: str | None = None
    ) -> SignedPage:
        """Sign a page. Pure: the index is not used.

        Args:
            body: HTML, as it was received.
            encoding: the charset that the transport declares; ``None``: byte-order mark, ``<meta>``, then detection.
            key: identity of the page; ``None``: its URL.
            scope: pages are compared with those of the same scope. ``None``: as ``Config.scope`` says. Without a spider,
                its default ``"spider"`` is the same as ``"global"``.

        Raises:
            ConfigError: *scope* is ``None``, and ``Config.scope`` is a callable, which only a crawl can call.
        """
        if scope is None:
            scope = scope_of(url, default_scope(self.config))
        return self.signer.sign(url, body, encoding=encoding, key=key, scope=scope)[0]

    def own_text(
        self,
        url: str,
        body: bytes,
        *,
        format: Format = "text",
        encoding: str | None = None,
        scope: str | None = None,
        with_removed: bool = False,
    ) -> OwnText:
        """Return the text of a page without what its site repeats, by what is known about the site now.

        Args:
            format: ``"text"`` or ``"markdown"``.
            with_removed: whether the blocks that are left out are returned, too.

        Other arguments and exceptions are those of :meth:`sign`.

        Raises:
            ValueError: there is no such format.
            IndexUnusable: the index cannot be read.
        """
        if scope is None:
            scope = scope_of(url, default_scope(self.config))
        if scope is None:  # it depends on the language of the page
            scope = self.sign(url, body, encoding=encoding).scope
        from crawler_dedup.owntext.text import make_own_text  # noqa: PLC0415  (few crawls ask for own texts)

        job = OwnTextJob(encoding, self.repeated_blocks(url, scope), format, with_removed)
        return make_own_text(self.signer, body, job)

    def repeated_blocks(self, url: str, scope: str) -> RepeatedBlocks:
        """Return what the site of an address repeats, as far as it is known now. Raises :class:`IndexUnusable`."""
        snapshot = self.index.latest_snapshot(identifier_without_credentials(scope), url)
        return RepeatedBlocks(snapshot.number, decode_profile(snapshot.content).packed_common)

    def check(
        self, url: str, body: bytes, *, encoding: str | None = None, key: str | None = None, scope: str | None = None
    ) -> Decision:
        """Sign a page, decide about it, and file it if it is kept, in one atomic step. Arguments as for :meth:`sign`."""
        return self.decide([self.sign(url, body, encoding=encoding, key=key, scope=scope)])[0]

    def decide(self, batch: Sequence[SignedPage]) -> list[Decision]:
        """Decide about the pages of *batch* in order, and file those that are kept. Returns once the result is stored.

        Each page is also compared with those before it. A large batch takes several transactions.
        """
        at_once = self.index.changed_at_once
        offers = [self.submit(batch[at : at + at_once]) for at in range(0, len(batch), at_once)]
        return [decision for offer in offers for decision in offer.result()]

    def submit(
        self,
        batch: Sequence[SignedPage],
        *,
        claim: bool = False,
        aliases: Mapping[str, str] | None = None,
        is_dry: bool | None = None,
    ) -> Future[list[Decision]]:
        """Decide as :meth:`decide` without waiting, in one transaction, during which no other process can change the index.

        If the future is cancelled before it begins, nothing is filed. Submit large batches in parts of some hundred pages.

        Args:
            claim: whether a page that passes represents others only once it is settled (:meth:`end_claim`), not at once.
            aliases: key of a page → another key of it: the key of an address that redirected to it.
            is_dry: whether these pages pass in any case. They then represent no page in crawls that drop duplicates.
                ``None``: as ``Config.action`` says.
        """
        self._profile_check.add(batch)
        context = self._claiming if claim else self._context
        if is_dry is not None and is_dry != context.is_dry:
            context = replace(context, is_dry=is_dry)
        clean = {key: identifier_without_credentials(alias) for key, alias in (aliases or {}).items()}
        return self.index.offer(batch, self._matcher, context, aliases=clean)

    def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
        """Return the match if *kept* covers *new* by the rules of a crawl, without site profiles; else ``None``."""
        return table.compare(Pair(new, trim(kept), self.signer.config, self.signer.scheme))

    def end_claim(self, decision: Decision, *, settled: bool, urgent: bool = False) -> Future[bool]:
        """Settle or release the claim of *decision* without waiting.

        Unless *urgent*, it is written a moment later, with other changes. The result is that of :meth:`settle`.
        """
        return self.index.end_claim(decision, self._matcher, self._context, settled=settled, urgent=urgent)

    @contextmanager
    def handling(self, decision: Decision) -> Iterator[None]:
        """Settle the claim of *decision* once the ``with`` block ends, or release it if the block raises an exception.

        The change is written a moment later. Without a claim, nothing changes.
        """
        is_handled = False
        try:
            yield
            is_handled = True
        finally:
            if decision.claim:
                self.end_claim(decision, settled=is_handled)

    def settle(self, decision: Decision) -> bool:
        """Record that the page of *decision* was handled, so that it may represent others.

        Returns ``False`` if the page is not in the index, or is there by another claim.
        """
        return self.end_claim(decision, settled=True, urgent=True).result()

    def release(self, decision: Decision) -> bool:
        """Forget the page of *decision*, which was not handled, so that it represents nothing. Returns as :meth:`settle`."""
        return self.end_claim(decision, settled=False, urgent=True).result()

    def set_stored_until(self, until: float | None) -> None:
        """Set the time until which everything that this run has settled is stored.

        It is written with the next page. Once the run is over, however it ends, pages settled after this time represent
        nothing.

        Args:
            until: a time of :func:`time.monotonic`; ``None``, as before the first call: all settled pages count as stored,
                except those of the last ``Config.grace`` seconds of a run that dies.
        """
        self._stored_until = until

    def tidy(self, advance: Advance = ignore_progress) -> int:
        """Remove pages that have expired or that dead runs may have lost, and return their number.

        Such pages represent nothing even before this call. *advance* is called with the number of pages that were read.
        """
        return self.index.tidy(self._matcher, self._context.max_age, advance)

    def __len__(self) -> int:
        """Return the number of kept pages."""
        return len(self.index)

    def __bool__(self) -> bool:
        """Return ``True``, also for an empty index."""
        return True

    def close(self, *, all_stored: bool = True, finished: bool = True) -> None:
        """Finish the waiting jobs and close the index. Idempotent.

        Args:
            all_stored: whether all settled pages are stored, except those that :meth:`set_stored_until` excludes; if not,
                the run counts as dead.
            finished: whether the run came to its end; if not, ``DEDUP_REVISIT = "drop"`` drops none of its pages.
        """
        if self._closed:
            return
        self._closed = True
        self._profile_check.finish()
        try:
            if all_stored and self._run.is_held:
                self.index.end_run(self._context, finished=finished)
        except IndexGone:
            pass  # and with it all that the run has settled
        except IndexUnusable as error:
            logger.warning(
                "The end of the run could not be recorded: the next crawl may store this run's last pages again (%s)",
                error,
            )
        finally:
            self.index.close()
            self._run.release(is_over=all_stored)

    def __enter__(self) -> Deduplicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(all_stored=error is None)
