"""The pages of an index on a Valkey or Redis server."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from crawler_dedup.config import INDEX_CACHE
from crawler_dedup.errors import IndexMissing, IndexUnusable
from crawler_dedup.index.backend import KIND
from crawler_dedup.index.figures import FileFigures
from crawler_dedup.index.header import FORMAT, Header, check_header, decode_header
from crawler_dedup.index.keptpages import Filing
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.index.records import Record
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.connection import ServerConnection, read_time, require_server
from crawler_dedup.index.redis.keys import Keys, make_epoch, meta_key
from crawler_dedup.index.redis.pages import PagesOnServer
from crawler_dedup.index.redis.runs import ServerRun
from crawler_dedup.index.redis.verification import find_problems, rebuild
from crawler_dedup.index.redis.writer import Writer
from crawler_dedup.index.transactional import TransactionalBackend
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.index")

_T = TypeVar("_T")
_READING_BYTES = 16 << 20
_WRITE_SECONDS = 30.0
_CLOSE_SECONDS = 10.0
_QUICK_SECONDS = 0.2  # the event loop waits for it
_REMOVED = 500
_MERGED = 250


class ServerStore(TransactionalBackend):
    """The pages of one index on a server. Use :meth:`open`, :meth:`attach` or :meth:`open_to_read`."""

    _open: dict[ServerAddress, int] = {}  # noqa: RUF012  (how often each is open in this process)
    _counting = threading.Lock()

    def __init__(
        self,
        address: ServerAddress,
        header: Header,
        *,
        cache_bytes: int = _READING_BYTES,
        frozen: FrozenProfiles | None = None,
        readonly: bool = False,
    ) -> None:
        super().__init__(header)
        self.address = address
        self._frozen = frozen
        self._quick = ServerConnection(address, _QUICK_SECONDS)
        self._is_closed = False
        self._writer = None if readonly else Writer(Client(address, header, cache_bytes), self._begin)
        with self._counting:
            self._open[address] = self._open.get(address, 0) + 1

    @classmethod
    def open(
        cls,
        address: ServerAddress,
        spec: Mapping[str, str],
        libraries: Mapping[str, str],
        *,
        fresh: bool,
        cache_bytes: int = INDEX_CACHE,
        frozen: FrozenProfiles | None = None,
    ) -> ServerStore:
        """Open or create the index at *address*.

        Args:
            spec: what signatures depend on; must equal the header's.
            libraries: versions that are noted; others are only warned about.
            fresh: empty it first, unless this process has it open already.
            cache_bytes: how many bytes of the index this process keeps at most.
            frozen: what decisions know of sites, in the place of what the index knows; nothing is learned then.

        Raises:
            IndexMismatch: the header has another *spec*.
            IndexUnusable: it cannot be opened.
        """
        connection = ServerConnection(address)
        try:
            for warning in require_server(connection):
                logger.warning("%s", warning)
            ours = Header(FORMAT, dict(spec), dict(libraries), KIND)
            script = scripts.EMPTY if fresh and not cls._open.get(address) else scripts.BEGIN
            stored = connection.evaluate(script, [meta_key(address.index)], [make_epoch(), msgspec.json.encode(ours)])
            epoch, header = bytes(stored[0]), decode_header(stored[1])
            if script is scripts.EMPTY:
                _remove_others(connection, address.index, epoch)
        finally:
            connection.drop()
        check_header(str(address), header, ours)
        return cls(address, header, cache_bytes=cache_bytes, frozen=frozen)

    @classmethod
    def attach(cls, address: ServerAddress) -> ServerStore:
        """Open an existing index, whatever its configuration. Raises as :meth:`open_to_read`."""
        header = _read_header(address)
        check_header(str(address), header, Header(FORMAT, header.spec, header.libraries, KIND))
        return cls(address, header)

    @classmethod
    def open_to_read(cls, address: ServerAddress, spec: Mapping[str, str] | None = None) -> ServerStore:
        """Open an existing index to read it; nothing in it is changed.

        Args:
            spec: what signatures depend on; must equal the header's. ``None``: it may be anything.

        Raises:
            IndexMissing: there is no index.
            IndexMismatch: the header has another *spec*, format or kind.
            IndexUnusable: it cannot be opened.
        """
        header = _read_header(address)
        ours = Header(FORMAT, header.spec if spec is None else dict(spec), header.libraries, KIND)
        check_header(str(address), header, ours)
        return cls(address, header, readonly=True)

    @staticmethod
    def is_at(address: ServerAddress) -> bool:
        """Return whether there is an index at *address*. Raises :class:`IndexUnusable` where the server is away."""
        connection = ServerConnection(address)
        try:
            return bool(connection.call(b"HEXISTS", meta_key(address.index), b"header"))
        finally:
            connection.drop()

    @property
    def name(self) -> str:
        return str(self.address)

    @property
    def stored_bytes(self) -> int:
        return int(self._quick.info("memory").get("used_memory", 0))

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

    def merge(self, records: Sequence[Record], filing: Filing) -> int:
        # In parts: the server does nothing else while it files one.
        parts = (records[at : at + _MERGED] for at in range(0, len(records), _MERGED))
        return sum(TransactionalBackend.merge(self, part, filing) for part in parts)

    def verify(self, filing: Filing, advance: Advance = ignore_progress) -> list[str]:
        with self._read() as pages:
            return find_problems(pages, filing, advance)

    def repair(self, filing: Filing, advance: Advance = ignore_progress) -> None:
        with self._read() as pages:
            rebuild(pages, filing, advance)

    def _now(self) -> int:
        connection = ServerConnection(self.address)
        try:
            return int(read_time(connection))
        finally:
            connection.drop()

    def _submit(self, job: Callable[[PagesOnServer], _T], *, urgent: bool = True) -> Future[_T]:
        if self._writer is None:
            raise IndexUnusable("The index is open to be read only.")
        return self._writer.submit(job, urgent=urgent)

    def _write(self, job: Callable[[PagesOnServer], _T], timeout: float | None = None) -> _T:
        future = self._submit(job)
        try:
            return future.result(_WRITE_SECONDS if timeout is None else timeout)
        except FutureTimeout:
            if future.cancel():
                raise IndexUnusable(f"The index in {self.address} does not answer.") from None
            return future.result()

    @contextmanager
    def _read(self) -> Iterator[PagesOnServer]:
        client = Client(self.address, self.header, _READING_BYTES)
        try:
            client.prepare()
            yield self._begin(client)
        finally:
            client.close()

    def _begin(self, client: Client) -> PagesOnServer:
        return PagesOnServer(client, self.header, self._frozen)

    def __len__(self) -> int:
        return int(self._quick.call(b"HGET", meta_key(self.address.index), b"count") or 0)


def _forget_open() -> None:
    """Forget, in a child process, what its parent has open."""
    ServerStore._open.clear()
    ServerStore._counting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_open)


def _read_header(address: ServerAddress) -> Header:
    connection = ServerConnection(address)
    try:
        header = connection.call(b"HGET", meta_key(address.index), b"header")
    finally:
        connection.drop()
    if header is None:
        raise IndexMissing(f"There is no index in {address}.")
    return decode_header(header)


def _remove_others(connection: ServerConnection, index: str, epoch: bytes) -> None:
    """Remove what was stored in the lives of an index before *epoch*."""
    keys, cursor = Keys(index, epoch), b"0"
    while True:
        cursor, names = connection.call(b"SCAN", cursor, b"MATCH", keys.meta + b"?*", b"COUNT", _REMOVED)
        others = [name for name in names if not name.startswith(keys.prefix)]
        if others and connection.evaluate(scripts.REMOVE, [keys.meta, *others], [epoch]) == b"gone":
            return  # it was emptied once more: the others may be those of the index that there is now
        if cursor == b"0":
            return
