"""The runs of an index, within one transaction of an index on a server."""

from __future__ import annotations

from collections.abc import Container

from crawler_dedup.errors import IndexGone
from crawler_dedup.index.redis.changes import Changes
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.runs import is_held_here
from crawler_dedup.index.runs import RUN_NAME_BYTES, RunEntry, RunStates, encode_run


class RunsInTransaction:
    """The operations of a transaction (:class:`~crawler_dedup.index.transaction.Transaction`) on runs.

    Args:
        client: the client by which it reads.
        changes: the changes of the transaction, to which it adds.
    """

    def __init__(self, client: Client, changes: Changes) -> None:
        self.client = client
        self._keys = client.keys
        self._changes = changes

    def touch_run(self, number: int, grace: int, now: int, *, stored_until: int | None) -> int:
        if number in self.client.runs.dead:
            raise IndexGone("This run was silent for too long, so that it counts as dead: open the index anew.")
        run = self.find_run(number)
        touched = RunEntry(now if run is None else max(now, run.last), grace, stored_until=stored_until)
        if touched != run:
            self._put_run(number, touched, is_new=run is None)
        return touched.last

    def end_run(
        self, number: int, last: int, *, has_finished: bool, is_tidy: bool, stored_until: int | None = None
    ) -> None:
        ended = RunEntry(last, 0, has_finished, is_tidy and stored_until is None, stored_until)
        name = number.to_bytes(RUN_NAME_BYTES, "big")
        if ended.has_finished and ended.is_tidy:
            self._changes.commands += [(b"HDEL", self._keys.runs, name), (b"SREM", self._keys.dead, name)]
        else:
            self._put_run(number, ended, is_new=False)
            self._changes.commands.append((b"SADD", self._keys.dead, name))
        self._changes.with_runs = True

    def _put_run(self, number: int, entry: RunEntry, *, is_new: bool) -> None:
        name = number.to_bytes(RUN_NAME_BYTES, "big")
        self._changes.entries[number] = entry
        self._changes.commands.append((b"HSET", self._keys.runs, name, encode_run(entry)))
        self._changes.with_runs = self._changes.with_runs or is_new

    def find_run(self, number: int) -> RunEntry | None:
        return self._changes.entries.get(number) or self.client.runs.entries.get(number)

    def find_dead_runs(self) -> dict[int, RunEntry]:
        runs = self.client.runs
        return {number: run for number, run in runs.entries.items() if number in runs.dead}

    def run_states(self) -> RunStates:
        return RunStates(self.find_run, self._lives)

    def _lives(self, number: int) -> bool | None:
        if number in self.client.runs.dead:
            return False
        return True if is_held_here(number) or self.client.has_shown_life(number) else None

    def run_states_in_reading(self, dead: Container[int]) -> RunStates:  # noqa: ARG002  (all runs were read together)
        # A command that only reads ends before a run may have given a sign of life.
        return RunStates(self.find_run, lambda number: number not in self.client.runs.dead)
