"""The pages of an index on a Valkey or Redis server."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from crawler_dedup.decision import NO_ANSWER, Decision, Verdict
from crawler_dedup.errors import IndexMissing, IndexUnusable
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.header import FORMAT, FileFigures, Header, check_header
from crawler_dedup.index.index import Index
from crawler_dedup.index.jobs import WRITE_SECONDS, wait_for
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.packing import RecentRows
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.index.protocols import Filing, Matcher
from crawler_dedup.index.records import Record
from crawler_dedup.index.redis import creation, scripts
from crawler_dedup.index.redis.changelog import State
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.connection import ServerConnection, read_time
from crawler_dedup.index.redis.keys import Keys, meta_key
from crawler_dedup.index.redis.readahead import Offers
from crawler_dedup.index.redis.runs import ServerRun, show_life_soon
from crawler_dedup.index.redis.storage import UNDIVIDED, ServerStorage
from crawler_dedup.index.redis.writer import MOST_JOBS, MOST_PAGES, Writer
from crawler_dedup.index.runs import Alive
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.index")

_T = TypeVar("_T")
READING_BYTES = 16 << 20
"""Bytes of an index that a command keeps in memory at most, by default."""
_CLOSE_SECONDS = 10.0
_QUICK_SECONDS = 0.2  # short, because the event loop waits for it


class ServerIndex(Index):
    """The pages of one opening of an index on a server. Use :meth:`open` or :meth:`attach`.

    Args:
        address: the address of the index.
        header: the header of the index.
        cache_bytes: how many bytes of the index this process keeps in memory at most.
        frozen: what decisions know about sites, instead of what the index knows; nothing is learned then.
        readonly: whether the index is only read.
        fails_if_emptied: whether reading fails once the index was emptied. If not, as in a crawl, the empty index is used.
    """

    _open: dict[ServerAddress, int] = {}  # noqa: RUF012  (how often each index is open in this process)
    _counting = threading.Lock()

    def __init__(
        self,
        address: ServerAddress,
        header: Header,
        *,
        cache_bytes: int = READING_BYTES,
        frozen: FrozenProfiles | None = None,
        readonly: bool = False,
        fails_if_emptied: bool = False,
    ) -> None:
        super().__init__(header)
        self.address = address
        self._frozen = frozen
        self._fails_if_emptied = fails_if_emptied
        self._epoch = b""
        self._quick = ServerConnection(address, _QUICK_SECONDS)
        self._is_closed = False
        self._offers: Offers = deque(maxlen=MOST_JOBS)
        self._recent = RecentRows()
        self._writer = None if readonly else Writer(self._make_client(cache_bytes), self._begin, self._make_transaction)
        with self._counting:
            self._open[address] = self._open.get(address, 0) + 1

    def _make_client(self, cache_bytes: int) -> Client:
        client = Client(self.address, self.header, cache_bytes, may_assume=True)
        client.runs_changed = show_life_soon
        return client

    @classmethod
    def open(
        cls,
        address: ServerAddress,
        spec: Mapping[str, str],
        libraries: Mapping[str, str],
        *,
        fresh: bool,
        cache_bytes: int,
        frozen: FrozenProfiles | None = None,
    ) -> ServerIndex:
        """Open or create the index at *address*.

        Args:
            spec: what signatures depend on; must equal the header's.
            libraries: versions that a new header gets; other versions in an existing one are only warned about.
            fresh: empty it first, unless this process has it open already.
            cache_bytes: how many bytes of the index this process keeps in memory at most.
            frozen: what decisions know about sites, instead of what the index knows; nothing is learned then.

        Raises:
            IndexMismatch: the header has another *spec*.
            IndexUnusable: it cannot be opened.
        """
        ours = Header(FORMAT, dict(spec), dict(libraries))
        if fresh and not cls.is_open(address):
            creation.empty(address, ours)
        theirs = creation.begin(address, ours)
        check_header(str(address), theirs, ours)
        return cls(address, theirs, cache_bytes=cache_bytes, frozen=frozen)

    @classmethod
    def attach(
        cls, address: ServerAddress, spec: Mapping[str, str] | None = None, *, readonly: bool = False
    ) -> ServerIndex:
        """Open an existing index.

        Args:
            spec: what signatures depend on; must equal the header's. ``None`` accepts any.
            readonly: nothing in it is changed.

        Raises:
            IndexMissing: there is no index.
            IndexMismatch: the header has another *spec*, format or kind.
            IndexUnusable: it cannot be opened.
        """
        header = creation.read_header(address)
        check_header(str(address), header, header.expected(spec))
        return cls(address, header, readonly=readonly, fails_if_emptied=True)

    @classmethod
    def is_open(cls, address: ServerAddress) -> bool:
        """Return whether this process has the index at *address* open."""
        return bool(cls._open.get(address))

    @staticmethod
    def is_at(address: ServerAddress) -> bool:
        """Return whether there is an index at *address*. Raises :class:`IndexUnusable` without the server."""
        return creation.is_at(address)

    @property
    def name(self) -> str:
        return str(self.address)

    @property
    def stored_bytes(self) -> int:
        return measure_bytes(self._quick)

    def measure(self) -> FileFigures | None:
        return None

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with self._counting:
            self._open[self.address] = self._open.get(self.address, 1) - 1
        if self._writer is not None:
            self._writer.close(_CLOSE_SECONDS)
        self._quick.drop()

    def begin_run(self) -> ServerRun:
        return ServerRun(ServerConnection(self.address), self.header)

    def join_run(self, number: int, offset: float) -> ServerRun:  # noqa: ARG002  (each process asks the server)
        return ServerRun(ServerConnection(self.address), self.header, number)

    def offer(
        self,
        pages: Sequence[SignedPage],
        matcher: Matcher,
        context: RunContext = RunContext(),
        *,
        aliases: Mapping[str, str] | None = None,
    ) -> Future[list[Decision]]:
        def offer(pages: Sequence[SignedPage]) -> Future[list[Decision]]:
            self._offers.append((pages, matcher))
            return Index.offer(self, pages, matcher, context, aliases=aliases)

        return offer(pages) if len(pages) <= UNDIVIDED else offer_in_pieces(offer, pages, MOST_PAGES)

    def merge(self, records: Sequence[Record], filing: Filing) -> int:
        parts = (records[at : at + MOST_PAGES] for at in range(0, len(records), MOST_PAGES))
        return sum(Index.merge(self, part, filing) for part in parts)

    def _now(self) -> int:
        with ServerConnection(self.address) as connection:
            return int(read_time(connection))

    def _submit(self, job: Callable[[Transaction], _T], *, urgent: bool = True, size: int = 1) -> Future[_T]:
        if self._writer is None:
            raise IndexUnusable("The index is open for reading only.")
        return self._writer.submit(job, urgent=urgent, size=size)

    def _write(self, job: Callable[[Transaction], _T], timeout: float = WRITE_SECONDS) -> _T:
        return wait_for(self._submit(job), timeout, f"The index in {self.address} does not answer.")

    @contextmanager
    def _read(self) -> Iterator[Transaction]:
        client = Client(self.address, self.header, READING_BYTES)
        try:
            client.prepare()
            if self._fails_if_emptied:
                self._epoch = self._epoch or client.epoch
                client.require_epoch(self._epoch)
            yield self._make_transaction(ServerStorage(client, self.header, deque(), is_reading=True), {})
        except msgspec.DecodeError as error:
            raise client.damaged_error(error) from error
        finally:
            client.close()

    def _begin(self, client: Client) -> ServerStorage:
        return ServerStorage(client, self.header, self._offers)

    def _make_transaction(self, storage: ServerStorage, alive: Alive) -> Transaction:
        return Transaction(storage, alive, self._recent, self._frozen)

    def __len__(self) -> int:
        epoch = self._quick.call(b"HGET", meta_key(self.address), b"epoch")
        state = epoch and self._quick.call(b"GET", Keys(self.address, epoch).state)
        return State.decode(state).records if state else 0


def _forget_open() -> None:
    """Forget, in a child process, which indexes its parent has open."""
    ServerIndex._open.clear()
    ServerIndex._counting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_open)


def offer_in_pieces(
    offer: Callable[[Sequence[SignedPage]], Future[list[Decision]]], pages: Sequence[SignedPage], size: int
) -> Future[list[Decision]]:
    """Offer *pages* in pieces of *size*, each after the piece before it was decided; return a future of all decisions.

    It fails if the first piece fails. If only the first pages of a piece are decided, the next piece begins after these.
    """
    combined: Future[list[Decision]] = Future()
    combined.set_running_or_notify_cancel()
    decided: list[Decision] = []

    def offer_next() -> None:
        try:
            piece = offer(pages[len(decided) : len(decided) + size])
        except IndexUnusable as error:
            fail(error)
        else:
            piece.add_done_callback(note)

    def note(piece: Future[list[Decision]]) -> None:
        error = piece.exception()
        if error is not None:
            fail(error)
            return
        decided.extend(piece.result())
        if len(decided) < len(pages):
            offer_next()
        else:
            combined.set_result(decided)

    def fail(error: BaseException) -> None:
        if decided:
            combined.set_result(decided + leave_unchecked(pages[len(decided) :], error))
        else:
            combined.set_exception(error)

    offer_next()
    return combined


def leave_unchecked(pages: Sequence[SignedPage], error: BaseException) -> list[Decision]:
    """Return decisions about *pages* that could not be judged because of *error*, which is logged."""
    logger.warning("%d pages pass unchecked: %s", len(pages), error)
    return [Decision(Verdict.UNCHECKED, page.url, page.key, page.scope, NO_ANSWER) for page in pages]


_LOOKED_AT = 1000


def measure_bytes(connection: ServerConnection) -> int:
    """Estimate the bytes that an index takes from a sample of its keys, or measure all keys if they are few."""
    address = connection.address
    epoch = connection.call(b"HGET", meta_key(address), b"epoch")
    if epoch is None:
        raise IndexMissing(f"There is no index in {address}.")
    keys = Keys(address, epoch)
    fixed, looked, size, total = connection.evaluate(scripts.MEASURE, keys.singles, [keys.prefix, _LOOKED_AT])
    return int(fixed) + int(size) * max(int(total), 1) // max(int(looked), 1)
