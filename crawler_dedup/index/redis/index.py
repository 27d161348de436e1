"""The pages of an index on a Valkey or Redis server."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import ClassVar, TypeVar

from crawler_dedup.errors import IndexGone, IndexMissing, IndexUnusable
from crawler_dedup.index.header import FORMAT, Header, check_header
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis.connection import ServerConnection, read_time, require_server
from crawler_dedup.index.redis.keys import Keys, encode_header, read_meta, split_header
from crawler_dedup.index.redis.runs import ServerRun
from crawler_dedup.index.redis.storage import ServerStorage, explaining_damage
from crawler_dedup.index.redis.writer import LOCK_SECONDS, MOST_PAGES, Writer, lock
from crawler_dedup.index.storage import NO_NEEDS, Needs
from crawler_dedup.index.transaction import Transaction

_T = TypeVar("_T")
_CLOSE_SECONDS = 10.0
_REMOVED = 500


class ServerIndex(Index):
    """The pages of one opening of an index on a server. Use :meth:`open` or :meth:`attach`.

    Args:
        address: the address of the index.
        header: the header of the index.
        readonly: whether the index is only read.
        stored: the stored header, with its epoch: reading fails once the index was emptied. ``None``, as in a crawl: the
            empty index is used.
    """

    changed_at_once = merged_at_once = MOST_PAGES
    _open: ClassVar[dict[ServerIndex, tuple[ServerAddress, int]]] = {}
    """The address of each open index, and the process that has opened it: a fork has none."""

    def __init__(
        self, address: ServerAddress, header: Header, *, readonly: bool = False, stored: bytes | None = None
    ) -> None:
        super().__init__(header, address)
        self._stored = stored
        self._connection = ServerConnection(address)
        self._writer = None if readonly else Writer(address, header, self._make_transaction)
        self._open[self] = address, os.getpid()

    @classmethod
    def open(
        cls, address: ServerAddress, spec: Mapping[str, str], libraries: Mapping[str, str], *, fresh: bool
    ) -> ServerIndex:
        """Open or create the index at *address*.

        Args:
            spec: what signatures depend on; must equal the header's.
            libraries: versions that a new header gets; other versions in an existing one are only warned about.
            fresh: empty it first, unless this process has it open already.

        Raises:
            IndexMismatch: the header has another *spec*.
            IndexUnusable: it cannot be opened.
        """
        ours = Header(FORMAT, dict(spec), dict(libraries))
        with closing(ServerConnection(address)) as connection, explaining_damage(address):
            require_server(connection)
            if fresh and (address, os.getpid()) not in list(cls._open.values()):
                _empty(connection, ours)
            connection.call(b"HSETNX", Keys(address).meta, b"header", encode_header(ours))
            theirs = split_header(read_meta(connection)[0] or b"")[1]
        check_header(str(address), theirs, ours)
        return cls(address, theirs)

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
        with closing(ServerConnection(address)) as connection, explaining_damage(address):
            stored = read_meta(connection)[0]
            if stored is None:
                raise IndexMissing(f"There is no index in {address}.")
            header = split_header(stored)[1]
        check_header(str(address), header, header.expected(spec))
        return cls(address, header, readonly=readonly, stored=stored)

    def close(self) -> None:
        self._open.pop(self, None)
        if self._writer is not None:
            self._writer.close(_CLOSE_SECONDS)
        self._connection.close()

    def join_run(self, number: int, offset: float | None = None) -> ServerRun:  # noqa: ARG002  (each process asks the server)
        return ServerRun(self._connection, number)

    def _now(self) -> int:
        return int(read_time(self._connection))

    def _submit(self, job: Callable[[Transaction], _T], *, urgent: bool = True, needs: Needs = NO_NEEDS) -> Future[_T]:
        if self._writer is None:
            raise IndexUnusable("The index is open for reading only.")
        return self._writer.submit(job, urgent=urgent, needs=needs)

    @contextmanager
    def _read(self) -> Iterator[Transaction]:
        with explaining_damage(self._connection.address):
            meta = read_meta(self._connection)
            if meta[0] and self._stored not in (None, meta[0]):
                raise IndexGone(f"Another process has emptied the index in {self.name} meanwhile: start again.")
            yield self._make_transaction(ServerStorage(self._connection, self.header, meta))

    def __len__(self) -> int:
        try:
            return super().__len__()
        except IndexGone:
            return 0


def _empty(connection: ServerConnection, header: Header) -> None:
    """Empty an index, or create it, and remove the keys of its earlier epochs."""
    stored, cursor = encode_header(header), b""
    keys = Keys(connection.address, split_header(stored)[0])
    lock(connection, secrets.token_bytes(8), LOCK_SECONDS)  # others repeat no transaction for it
    made = (b"DEL", keys.meta, keys.lock), (b"HSET", keys.meta, b"header", stored)
    connection.run((b"UNWATCH",), (b"MULTI",), *made, (b"EXEC",))
    while cursor != b"0":
        (cursor, names), now = connection.run(
            (b"SCAN", cursor or b"0", b"MATCH", keys.meta + b"[^:]*", b"COUNT", _REMOVED),
            (b"HGET", keys.meta, b"header"),
        )
        others = [name for name in names if not name.startswith(keys.prefix)]
        if others and now == stored:  # if it was emptied once more, they may be those of its new epoch
            connection.run((b"UNLINK", *others))
