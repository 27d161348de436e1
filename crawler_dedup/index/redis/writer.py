"""The thread that changes an index on a server: jobs that wait share one transaction.

Before the jobs run, what they need is read for all of them together, in a few round trips. A transaction that
others have overtaken is repeated, so it must be possible to run a job several times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from crawler_dedup.errors import ConnectionLost, IndexUnusable
from crawler_dedup.index import layout
from crawler_dedup.index.jobs import Job, JobThread
from crawler_dedup.index.profiles import site_key
from crawler_dedup.index.records import hash_scope, name_page
from crawler_dedup.index.redis.runs import held_runs
from crawler_dedup.index.redis.storage import Client, ServerStorage
from crawler_dedup.index.runs import Alive, run_name
from crawler_dedup.index.storage import Needs
from crawler_dedup.index.transaction import OVERRIDES_VERSION, Transaction, number_name

MOST_PAGES = 64
"""Maximum number of pages about which one job decides: the longer a transaction, the likelier it is overtaken."""
_MOST_JOBS = 16
_ATTEMPTS = 6


class Writer(JobThread):
    """The thread that changes an index on a server.

    Args:
        client: the client, which only this thread uses from now on.
        make_transaction: returns a transaction on a storage.
    """

    def __init__(self, client: Client, make_transaction: Callable[[ServerStorage, Alive], Transaction]) -> None:
        super().__init__("crawler-dedup-server")
        self._client = client
        self._make_transaction = make_transaction
        self._start()

    def _end(self) -> None:
        self._client.connection.close()

    def _write(self) -> None:
        self._commit(self._take(lambda waiting: min(len(waiting), _MOST_JOBS)))

    def _commit(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        try:
            results = self._attempt(jobs)
        except ConnectionLost as error:
            for job in jobs:
                job.future.set_exception(error)
        except msgspec.DecodeError as error:
            self._fail(jobs, self._client.damaged_error(error))
        except Exception as error:
            self._fail(jobs, error)
        else:
            for job, result in zip(jobs, results, strict=True):
                job.future.set_result(result)

    def _attempt(self, jobs: Sequence[Job]) -> list[Any]:
        """Run *jobs* in one transaction, and again if others were faster; return their results."""
        for attempt in range(_ATTEMPTS):
            storage = self._client.begin(attempt)
            txn = self._make_transaction(storage, {})
            try:
                read_ahead(storage, txn, [job.needs for job in jobs])
                results = [job.run(txn) for job in jobs]
            except ConnectionLost:
                raise
            except Exception:  # perhaps because others have changed the index meanwhile
                if self._client.commit(storage, ()) or attempt == _ATTEMPTS - 1:  # which releases the lock
                    raise
                continue
            if self._client.commit(storage, storage.changes()):
                return results
        raise IndexUnusable("Others have changed the index again and again while pages were being decided.")


def read_ahead(storage: ServerStorage, txn: Transaction, needs: Sequence[Needs]) -> None:
    """Read the cells that jobs need, as far as that is known, in two steps, the second of which follows from the first."""
    keys = storage.keys
    cells = [
        keys.row(layout.OVERRIDES, OVERRIDES_VERSION),
        *(keys.row(layout.RUNS, run_name(run)) for run in held_runs(keys.address)),
    ]
    names, places = [name for need in needs for name in need.names], list[int]()
    for need in needs:
        for page in need.pages:
            scope, title = hash_scope(page.scope), need.filing.title_key(page) if need.filing else 0
            names.append((page.scope, page.key))
            places += [layout.place_of_signature(scope, part) for part in (page.signature, title) if part]
            if need.matcher and not page.unsigned and need.matcher.bucket_limit(page) is None:
                cells += keys.buckets(layout.SIGNATURES, scope, need.matcher.probes(page))
    places += [layout.place_of_name(name_page(*name)) for name in names]
    sites, counted = set[bytes](), set[bytes]()
    for need in needs:
        own = {site_key(page.scope, page.url) for page in need.pages}
        sites |= own if need.matcher else set()
        if need.with_counts:
            counted |= own | {site_key(*name) for name in need.names}  # most keys are addresses
    numbers = {number for need in needs for number in need.numbers}
    cells += keys.buckets(layout.NUMBERS, 0, [layout.place_entry(place, 0)[0] for place in places])
    cells += [keys.row(layout.SITES, site) for site in sites | counted] + [
        keys.row(layout.COUNTS, site) for site in counted
    ]
    storage.fetch(cells)
    numbers.update(*map(txn.numbers_at, places))
    cells = [keys.row(layout.SNAPSHOTS, name) for site in sites if (name := txn.sites.name_snapshot(site))]
    storage.fetch([*cells, *(keys.row(layout.RECORDS, number_name(number)) for number in numbers)])
