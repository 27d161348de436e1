"""The thread that changes an index on a server: jobs that wait share one transaction.

A transaction takes a lock, so that nobody else changes the index meanwhile. What its jobs need is read for all of them
together, in a few round trips, and all changes are made in one step (``MULTI`` … ``EXEC``). The lock expires, so that a
client that was killed does not stop the others for long. So the last step is refused if the lock has expired (``WATCH``),
and the transaction is repeated: it must be possible to run a job several times.

The *mark* of the client changes with the last step: if the answer to that is lost, the mark tells whether it was made. A
server that was stopped makes no change late, because the lock has expired.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from crawler_dedup.errors import ConnectionLost, IndexUnusable
from crawler_dedup.index import layout
from crawler_dedup.index.header import Header
from crawler_dedup.index.jobs import JobThread
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.profiles import site_key
from crawler_dedup.index.records import hash_scope, name_page
from crawler_dedup.index.redis.connection import Command, ServerConnection
from crawler_dedup.index.redis.keys import Keys, Meta
from crawler_dedup.index.redis.runs import held_runs
from crawler_dedup.index.redis.storage import ServerStorage, explaining_damage
from crawler_dedup.index.runs import run_name
from crawler_dedup.index.storage import Needs
from crawler_dedup.index.transaction import OVERRIDES_VERSION, Transaction, number_name

MOST_PAGES = 64
"""Maximum number of pages about which one job decides: the longer a transaction, the longer others wait."""
LOCK_SECONDS = 2.0
"""Seconds after which a lock expires. The lock of each further attempt lasts twice as long, up to :data:`_LONGEST_LOCK`."""
_LONGEST_LOCK = 16.0
_ATTEMPTS = 6
_LOCK_PAUSE = 0.002
_LOCK_PATIENCE = 30.0
_MARK_SECONDS = 60


class Writer(JobThread):
    """The thread that changes an index on a server.

    Args:
        header: the header that the index must have.
        make_transaction: returns a transaction on a storage.
    """

    _together = 16

    def __init__(
        self, address: ServerAddress, header: Header, make_transaction: Callable[[ServerStorage], Transaction]
    ) -> None:
        super().__init__("crawler-dedup-server")
        self._connection = ServerConnection(address)
        self._header = header
        self._make_transaction = make_transaction
        self._name = secrets.token_bytes(8)
        self._lock, self._mark = Keys(address).lock, Keys(address).meta + b":m" + self._name
        self._marks = count(1)
        self._opened = time.monotonic()
        self._thread.start()

    def _end(self) -> None:
        self._connection.close()

    def _attempt(self) -> list[Any]:
        """Run the jobs, and again if the lock of their transaction expires."""
        for attempt in range(_ATTEMPTS):
            meta = lock(self._connection, self._name, min(LOCK_SECONDS * 2**attempt, _LONGEST_LOCK), self._mark)
            try:
                jobs = self._jobs()  # which could be withdrawn until now
                with explaining_damage(self._connection.address):
                    storage = ServerStorage(self._connection, self._header, meta, self._opened)
                    txn = self._make_transaction(storage)
                    read_ahead(storage, txn, [job.needs for job in jobs])
                    results = [job.run(txn) for job in jobs]
            except Exception as error:  # perhaps because others have changed the index since the lock has expired
                if isinstance(error, ConnectionLost) or self.make_changes(()) or attempt == _ATTEMPTS - 1:
                    raise
            else:
                if self.make_changes(storage.changes()):
                    return results
        raise IndexUnusable(f"Changing the index took longer than its lock lasts, {_ATTEMPTS} times: try again later.")

    def make_changes(self, changes: Sequence[Command]) -> bool:
        """Make *changes* and release the lock.

        Return false, and change nothing, if the lock has expired.

        Raises:
            ConnectionLost: it is not known whether the changes were made.
        """
        value = b"%d" % next(self._marks)
        mark = (b"SET", self._mark, value, b"EX", _MARK_SECONDS)
        try:
            made = self._connection.run((b"MULTI",), mark, *changes, (b"DEL", self._lock), (b"EXEC",))[-1]
        except ConnectionLost:  # with another mark, what was sent before is refused
            return bool(self._connection.call(b"SET", self._mark, b"", b"EX", _MARK_SECONDS, b"GET") == value)
        return made is not None


def lock(connection: ServerConnection, client: bytes, seconds: float, *watched: bytes) -> Meta:
    """Take the lock of an index for *client*, and watch it and *watched*; return what describes the index.

    A lock that the client has left behind is taken, too.

    Raises:
        ConnectionLost: the server cannot be reached, or others hold the lock for too long.
    """
    keys, until = Keys(connection.address), time.monotonic() + _LOCK_PATIENCE
    while time.monotonic() < until:
        *_, holder, meta = connection.run(
            (b"UNWATCH",),
            (b"SET", keys.lock, client, b"NX", b"PX", round(1000 * seconds)),
            (b"WATCH", keys.lock, *watched),
            (b"GET", keys.lock),
            (b"HMGET", keys.meta, *Keys.FIELDS),
            begins=True,
        )
        if holder == client:
            return list(meta)
        time.sleep(_LOCK_PAUSE)
    raise ConnectionLost(f"The index in {connection.address} is locked by another process.")


def read_ahead(storage: ServerStorage, txn: Transaction, needs: Sequence[Needs]) -> None:
    """Read the cells that jobs need, as far as that is known, in two steps, the second of which follows from the first."""
    keys, cells = storage.keys, [storage.keys.row(layout.OVERRIDES, OVERRIDES_VERSION)]
    cells += [keys.row(layout.RUNS, run_name(run)) for run in held_runs(storage.connection.address)]
    references, decided, counted, numbers = set[int](), set[bytes](), set[bytes](), set[int]()
    for need in needs:
        names = [*need.names, *((page.scope, page.key) for page in need.pages)]
        references.update(layout.reference_of_name(name_page(*name)) for name in names)
        sites = {site_key(page.scope, page.url) for page in need.pages}
        decided |= sites if need.matcher else set()
        if need.with_counts:
            counted |= sites | {site_key(*name) for name in need.names}  # most keys are addresses
        numbers.update(need.numbers)
        for page in need.pages:
            scope, title = hash_scope(page.scope), need.filing.title_key(page) if need.filing else 0
            references.update(layout.reference_of_signature(scope, part) for part in (page.signature, title) if part)
            if need.matcher and not page.unsigned and need.matcher.bucket_limit(page) is None:
                cells += keys.buckets(layout.SIGNATURES, scope, need.matcher.probes(page))
    cells += keys.buckets(layout.NUMBERS, 0, [layout.reference_entry(reference, 0)[0] for reference in references])
    cells += [keys.row(layout.SITES, site) for site in decided | counted]
    cells += [keys.row(layout.COUNTS, site) for site in counted]
    storage.fetch(cells)
    numbers.update(*map(txn.numbers_at, references))
    cells = [keys.row(layout.SNAPSHOTS, name) for site in decided if (name := txn.sites.name_snapshot(site))]
    storage.fetch([*cells, *(keys.row(layout.RECORDS, number_name(number)) for number in numbers)])
