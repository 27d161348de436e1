from __future__ import annotations

import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import lmdb
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from crawler_dedup import IndexDamaged
from crawler_dedup.index.lmdb.buckets import Buckets
from tests.support.examples import examples

FIRST, FULL = 251, 510
"""Payloads of a bucket's first chunk and of the others when they are full."""

SCOPES = st.sampled_from([7, 8])
KEYS = st.sampled_from([0, 1, 2, 0xFFFF, 0x10000, 1 << 40, (1 << 40) + 1, 2**64 - 1])
FULL_BUCKETS = (FIRST, FIRST + FULL, FIRST + 2 * FULL)
COUNTS = st.one_of(
    st.integers(1, 4),
    st.sampled_from([count + difference for count in FULL_BUCKETS for difference in (-1, 0, 1)] + [2000]),
)


def open_buckets(directory: str | Path) -> tuple[lmdb.Environment, Buckets]:
    env = lmdb.open(str(directory), map_size=1 << 30, max_dbs=1, sync=False)
    with env.begin(write=True) as txn:
        return env, Buckets(env, txn, b"tables")


class AgainstLists(RuleBasedStateMachine):
    """Buckets, and beside them what they should be: a dictionary of lists."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.env, self.buckets = open_buckets(self.folder.name)
        self.lists: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.filed = 0

    def teardown(self) -> None:
        self.env.close()
        self.folder.cleanup()

    def payloads(self, count: int) -> list[int]:
        """Return new payloads in no particular order."""
        self.filed += count
        return [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(self.filed - count, self.filed)]

    def insert(self, scope: int, keys: list[int], payloads: list[int]) -> None:
        with self.env.begin(write=True, buffers=True) as txn:
            for key, payload in zip(keys, payloads, strict=True):
                self.buckets.insert(txn, scope, [key], payload)
                self.lists[scope, key].append(payload)

    @rule(scope=SCOPES, key=KEYS, count=COUNTS)
    def insert_into_one_bucket(self, scope: int, key: int, count: int) -> None:
        self.insert(scope, [key] * count, self.payloads(count))

    @rule(scope=SCOPES, keys=st.lists(KEYS, max_size=3, unique=True), count=st.sampled_from([1, 2, FIRST + 1]))
    def insert_one_by_one(self, scope: int, keys: list[int], count: int) -> None:
        with self.env.begin(write=True, buffers=True) as txn:
            for payload in self.payloads(count):
                self.buckets.insert(txn, scope, keys, payload)
                for key in keys:
                    self.lists[scope, key].append(payload)

    @rule(scope=SCOPES, keys=st.lists(KEYS, max_size=40))
    def insert_into_several(self, scope: int, keys: list[int]) -> None:
        self.insert(scope, keys, self.payloads(len(keys)))

    @rule(scope=SCOPES, keys=st.lists(KEYS, unique=True))
    def query(self, scope: int, keys: list[int]) -> None:
        with self.env.begin(buffers=True) as txn:
            payloads_found = self.buckets.query(txn, scope, keys).tolist()
        assert sorted(payloads_found) == sorted(payload for key in keys for payload in self.lists[scope, key])

    @rule(scope=SCOPES, keys=st.lists(KEYS, unique=True), limit=st.integers(1, 5))
    def query_some(self, scope: int, keys: list[int], limit: int) -> None:
        with self.env.begin(buffers=True) as txn:
            payloads_found = self.buckets.query(txn, scope, keys, limit).tolist()
        filed = [self.lists[scope, key] for key in keys]
        assert len(payloads_found) == sum(min(len(payloads), FIRST + (limit - 1) * FULL) for payloads in filed)
        assert Counter(payloads_found) <= Counter(chain.from_iterable(filed))

    @rule(scope=SCOPES, keys=st.lists(KEYS, min_size=1, max_size=3, unique=True), count=COUNTS, seed=st.integers())
    def remove(self, scope: int, keys: list[int], count: int, seed: int) -> None:
        filed = self.lists[scope, keys[0]]
        with self.env.begin(write=True, buffers=True) as txn:
            for payload in random.Random(seed).sample(filed, min(count, len(filed))):
                self.buckets.remove(txn, scope, keys, payload)
                for key in keys:
                    if payload in self.lists[scope, key]:
                        self.lists[scope, key].remove(payload)

    @rule(scope=SCOPES, key=KEYS)
    def remove_what_does_not_stand_there(self, scope: int, key: int) -> None:
        (payload,) = self.payloads(1)
        with self.env.begin(write=True, buffers=True) as txn:
            self.buckets.remove(txn, scope, [key], payload)

    @invariant()
    def items_are_everything_in_ascending_order(self) -> None:
        found_payloads: dict[tuple[int, int], list[int]] = defaultdict(list)
        places = []
        with self.env.begin(buffers=True) as txn:
            for scope, key, payloads in self.buckets.chunks(txn):
                found_payloads[scope, key] += payloads.tolist()
                places.append((scope, key))
        assert places == sorted(places)
        assert {place: sorted(payloads) for place, payloads in found_payloads.items()} == {
            place: sorted(payloads) for place, payloads in self.lists.items() if payloads
        }


class AgainstListsForLong(AgainstLists):
    pass


AgainstLists.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=25, deadline=None)
AgainstListsForLong.TestCase.settings = settings(max_examples=300, stateful_step_count=50, deadline=None)
TestAgainstLists = AgainstLists.TestCase
TestAgainstListsForLong = pytest.mark.slow(AgainstListsForLong.TestCase)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[lmdb.Environment, Buckets]]:
    """Return three buckets of three chunks each, with adjacent keys."""
    env, buckets = open_buckets(tmp_path)
    with env.begin(write=True, buffers=True) as txn:
        for payload in range(2 * FULL + 10):
            buckets.insert(txn, 1, (4, 5, 6), payload)
    yield env, buckets
    env.close()


def items(env: lmdb.Environment, buckets: Buckets) -> int:
    with env.begin(buffers=True) as txn:
        return sum(len(payloads) for _, _, payloads in buckets.chunks(txn))


ONE = b"12345678"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda txn, first, second, third: txn.put(third, b"1234567"), id="odd length"),
        pytest.param(lambda txn, first, second, third: txn.put(third, b""), id="empty"),
        pytest.param(lambda txn, first, second, third: txn.put(third, ONE * (FULL + 1)), id="too long"),
        pytest.param(lambda txn, first, second, third: txn.put(first, ONE * FULL), id="first one too long"),
        pytest.param(lambda txn, first, second, third: txn.put(second, ONE), id="short one in between"),
        pytest.param(lambda txn, first, second, third: txn.delete(first), id="first one gone"),
        pytest.param(lambda txn, first, second, third: txn.put(third[:-1] + b"\x04", ONE), id="one after a gap"),
        pytest.param(lambda txn, first, second, third: txn.put(first[:-1], ONE), id="short name"),
    ],
)
def test_a_chunk_that_no_query_would_read_is_reported(
    opened: tuple[lmdb.Environment, Buckets], damage: Callable[[lmdb.Transaction, bytes, bytes, bytes], bool]
) -> None:
    env, buckets = opened
    assert items(env, buckets) == 3 * (2 * FULL + 10)
    with env.begin(write=True, db=buckets.db) as txn:
        names = [name for name, _ in txn.cursor()]
        assert len(names) == 9
        assert damage(txn, *names[3:6])
    with pytest.raises(IndexDamaged, match="chunk"):
        items(env, buckets)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_at_most_as_many_chunks_as_the_limit_are_read(opened: tuple[lmdb.Environment, Buckets], limit: int) -> None:
    env, buckets = opened
    read = []

    class Counting:
        def __init__(self, txn: lmdb.Transaction) -> None:
            self._txn = txn
            self._cursor: Any = None

        def get(self, name: bytes, *rest: Any) -> Any:
            read.append(name)
            return self._txn.get(name, *rest)

        def cursor(self, db: Any) -> Any:
            self._cursor = self._txn.cursor(db)
            return self

        def getmulti(self, names: list[bytes]) -> Any:
            read.extend(names)
            return self._cursor.getmulti(names)

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            self._cursor.close()

    with env.begin(buffers=True) as txn:
        counting: Any = Counting(txn)
        buckets.query(counting, 1, [4, 5, 6], limit)
    assert len(read) == len(set(read)) == 3 * limit


def test_damage_beyond_the_limit_is_not_read(opened: tuple[lmdb.Environment, Buckets]) -> None:
    env, buckets = opened
    with env.begin(write=True, db=buckets.db) as txn:
        names = [name for name, _ in txn.cursor()]
        assert txn.put(names[5], b"1234567")
    with env.begin(buffers=True) as txn:
        assert len(buckets.query(txn, 1, [4, 5, 6], 2)) == 3 * (FIRST + FULL)
        for limit in (3, None):
            with pytest.raises(IndexDamaged, match="7 bytes"):
                buckets.query(txn, 1, [4, 5, 6], limit)
