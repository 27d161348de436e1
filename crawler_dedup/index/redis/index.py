"""The pages of an index on a Valkey or Redis server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import TypeVar

import msgspec

from crawler_dedup.decision import NO_ANSWER, Decision, Verdict
from crawler_dedup.errors import IndexGone, IndexMissing, IndexUnusable
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.header import FORMAT, FileFigures, Header, check_header
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.overrides import KnownOverrides
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.index.protocols import Filing, Matcher
from crawler_dedup.index.records import Record
from crawler_dedup.index.redis.connection import ServerConnection, read_time, require_server
from crawler_dedup.index.redis.keys import LAYOUT, Keys, make_epoch, meta_key, read_header, read_meta
from crawler_dedup.index.redis.runs import ServerRun
from crawler_dedup.index.redis.storage import Client, ServerStorage
from crawler_dedup.index.redis.writer import MOST_PAGES, Writer
from crawler_dedup.index.runs import Alive
from crawler_dedup.index.storage import NO_NEEDS, Needs
from crawler_dedup.index.transaction import Transaction
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.index")

_T = TypeVar("_T")
_CLOSE_SECONDS = 10.0
_QUICK_SECONDS = 0.2  # a crawl that begins waits for it
_REMOVED = 500
_MEASURED = 1_000


class ServerIndex(Index):
    """The pages of one opening of an index on a server. Use :meth:`open` or :meth:`attach`.

    Args:
        address: the address of the index.
        header: the header of the index.
        frozen: what decisions know about sites, instead of what the index knows; nothing is learned then.
        readonly: whether the index is only read.
        fails_if_emptied: whether reading fails once the index was emptied. If not, as in a crawl, the empty index is used.
    """

    changed_at_once = MOST_PAGES
    _late = "does not answer"
    _open: list[tuple[int, ServerAddress]] = []  # noqa: RUF012  (process and address of each open index)

    def __init__(
        self,
        address: ServerAddress,
        header: Header,
        *,
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
        self._known = KnownOverrides()
        self._writer = None if readonly else Writer(Client(address, header), self._make_transaction)
        self._opening = os.getpid(), address
        self._open.append(self._opening)

    @classmethod
    def open(
        cls,
        address: ServerAddress,
        spec: Mapping[str, str],
        libraries: Mapping[str, str],
        *,
        fresh: bool,
        frozen: FrozenProfiles | None = None,
    ) -> ServerIndex:
        """Open or create the index at *address*.

        Args:
            spec: what signatures depend on; must equal the header's.
            libraries: versions that a new header gets; other versions in an existing one are only warned about.
            fresh: empty it first, unless this process has it open already.
            frozen: what decisions know about sites, instead of what the index knows; nothing is learned then.

        Raises:
            IndexMismatch: the header has another *spec*.
            IndexUnusable: it cannot be opened.
        """
        ours = Header(FORMAT, dict(spec), dict(libraries))
        with closing(ServerConnection(address)) as connection:
            if warning := require_server(connection):
                logger.warning("%s", warning)
            if fresh and (os.getpid(), address) not in cls._open:
                _empty(connection, ours)
            theirs = _begin(connection, ours)
        check_header(str(address), theirs, ours)
        return cls(address, theirs, frozen=frozen)

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
        with closing(ServerConnection(address)) as connection:
            header = read_header(connection.address, read_meta(connection))
        if header is None:
            raise IndexMissing(f"There is no index in {address}.")
        check_header(str(address), header, header.expected(spec))
        return cls(address, header, readonly=readonly, fails_if_emptied=True)

    @staticmethod
    def is_at(address: ServerAddress) -> bool:
        """Return whether there is an index at *address*. Raises :class:`IndexUnusable` without the server."""
        with closing(ServerConnection(address)) as connection:
            return read_meta(connection)[1] is not None

    @property
    def name(self) -> str:
        return str(self.address)

    @property
    def stored_bytes(self) -> int:
        """Estimate the size from a sample of the keys, or measure all keys if they are few."""
        prefix, connection = self._keys().prefix, self._quick
        cursor, names = b"", list[bytes]()
        while cursor != b"0" and len(names) < _MEASURED:
            cursor, some = connection.call(b"SCAN", cursor or b"0", b"COUNT", _MEASURED)
            names += some
        own = [(b"MEMORY", b"USAGE", name) for name in names if name.startswith(prefix)]
        *sizes, total = connection.run(*own, (b"DBSIZE",))
        return sum(size or 0 for size in sizes) * max(int(total), 1) // max(len(names), 1)

    def _keys(self) -> Keys:
        self._quick.ensure()
        epoch = read_meta(self._quick)[0]
        if epoch is None:
            raise IndexMissing(f"There is no index in {self.address}.")
        return Keys(self.address, epoch)

    def measure(self) -> FileFigures | None:
        return None

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._open.remove(self._opening)
        if self._writer is not None:
            self._writer.close(_CLOSE_SECONDS)
        self._quick.close()

    def join_run(self, number: int, offset: float | None = None) -> ServerRun:  # noqa: ARG002  (each process asks the server)
        return ServerRun(ServerConnection(self.address), number)

    def offer(
        self,
        pages: Sequence[SignedPage],
        matcher: Matcher,
        context: RunContext = RunContext(),
        *,
        aliases: Mapping[str, str] | None = None,
    ) -> Future[list[Decision]]:
        """Decide as :meth:`Index.offer`, in a transaction for every few pages. If some fail, their pages stay unchecked."""
        pieces = [pages[at : at + MOST_PAGES] for at in range(0, len(pages), MOST_PAGES)] or [pages]
        offers = [Index.offer(self, piece, matcher, context, aliases=aliases) for piece in pieces]
        return offers[0] if len(offers) == 1 else _combine(offers, pieces)

    def merge(self, records: Sequence[Record], filing: Filing) -> int:
        parts = (records[at : at + MOST_PAGES] for at in range(0, len(records), MOST_PAGES))
        return sum(Index.merge(self, part, filing) for part in parts)

    def _now(self) -> int:
        with closing(ServerConnection(self.address)) as connection:
            return int(read_time(connection))

    def _submit(self, job: Callable[[Transaction], _T], *, urgent: bool = True, needs: Needs = NO_NEEDS) -> Future[_T]:
        if self._writer is None:
            raise IndexUnusable("The index is open for reading only.")
        return self._writer.submit(job, urgent=urgent, needs=needs)

    @contextmanager
    def _read(self) -> Iterator[Transaction]:
        client = Client(self.address, self.header)
        try:
            storage = client.read()
            if self._fails_if_emptied:
                self._epoch = self._epoch or client.keys.epoch
                if self._epoch != client.keys.epoch:
                    raise IndexGone(f"The index in {self.address} was emptied meanwhile.")
            yield self._make_transaction(storage, {})
        except msgspec.DecodeError as error:
            raise client.damaged_error(error) from error
        finally:
            client.connection.close()

    def _make_transaction(self, storage: ServerStorage, alive: Alive) -> Transaction:
        return Transaction(storage, alive, self._known, self._frozen)

    def __len__(self) -> int:
        try:
            return max(0, int(self._quick.call(b"GET", self._keys().count) or 0))
        except IndexMissing:  # it was removed
            return 0


def _combine(
    offers: Sequence[Future[list[Decision]]], pieces: Sequence[Sequence[SignedPage]]
) -> Future[list[Decision]]:
    """Return a future of the decisions of *offers*, one for each of *pieces*, which end in their order.

    It fails if all of them fail. If some do, their pages stay unchecked.
    """
    combined: Future[list[Decision]] = Future()
    combined.set_running_or_notify_cancel()

    def finish(_: object) -> None:
        errors = [error for offer in offers if (error := offer.exception())]
        if len(errors) == len(offers):
            combined.set_exception(errors[0])
            return
        decided: list[Decision] = []
        for offer, pages in zip(offers, pieces, strict=True):
            unchecked = (Decision(Verdict.UNCHECKED, page.url, page.key, page.scope, NO_ANSWER) for page in pages)
            decided += unchecked if offer.exception() else offer.result()
        for error in errors[:1]:
            logger.warning("Pages pass unchecked: %s", error)
        combined.set_result(decided)

    offers[-1].add_done_callback(finish)
    return combined


def _begin(connection: ServerConnection, header: Header) -> Header:
    """Create an index if there is none; return the header that is stored in it."""
    key = meta_key(connection.address)
    connection.call(b"WATCH", key)
    stored = read_header(connection.address, read_meta(connection))
    if stored is None:  # if another client is faster, its header is read
        connection.run((b"MULTI",), (b"HSET", key, *_make_meta(header)), (b"EXEC",))
        stored = read_header(connection.address, read_meta(connection))
    return stored or header


def _make_meta(header: Header) -> list[bytes | str | int]:
    return [b"epoch", make_epoch(), b"header", msgspec.json.encode(header), b"layout", LAYOUT]


def _empty(connection: ServerConnection, header: Header) -> None:
    """Empty an index, or create it, and remove the keys of its earlier epochs."""
    meta = _make_meta(header)
    keys, cursor = Keys(connection.address, meta[1]), b""  # type: ignore[arg-type]
    connection.run((b"MULTI",), (b"DEL", keys.meta), (b"HSET", keys.meta, *meta), (b"EXEC",))
    while cursor != b"0":
        _, epoch, (cursor, names) = connection.run(
            (b"WATCH", keys.meta),
            (b"HGET", keys.meta, b"epoch"),
            (b"SCAN", cursor or b"0", b"MATCH", keys.meta + b"[^:]*", b"COUNT", _REMOVED),
        )
        if epoch != meta[1]:
            return  # it was emptied once more: the other keys may be those of its new epoch
        if others := [name for name in names if not name.startswith(keys.prefix)]:
            connection.run((b"MULTI",), (b"UNLINK", *others), (b"EXEC",))
