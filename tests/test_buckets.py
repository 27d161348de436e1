from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import lmdb
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from crawler_dedup.buckets import Buckets
from tests.indexing import array

FULL = 510
"""Payloads of a full chunk."""

SCOPES = st.sampled_from([7, 8])
KEYS = st.sampled_from([0, 1, 2, 0xFFFF, 0x10000, 1 << 40, (1 << 40) + 1, 2**64 - 1])
COUNTS = st.one_of(st.integers(1, 4), st.sampled_from([FULL - 1, FULL, FULL + 1, 2 * FULL, 2 * FULL + 1, 1500]))


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
        """New ones, in no order."""
        self.filed += count
        return [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(self.filed - count, self.filed)]

    def insert(self, scope: int, keys: list[int], payloads: list[int]) -> None:
        with self.env.begin(write=True, buffers=True) as txn:
            self.buckets.insert_many(txn, scope, array(keys), array(payloads))
        for key, payload in zip(keys, payloads, strict=True):
            self.lists[scope, key].append(payload)

    @rule(scope=SCOPES, key=KEYS, count=COUNTS)
    def insert_into_one_bucket(self, scope: int, key: int, count: int) -> None:
        self.insert(scope, [key] * count, self.payloads(count))

    @rule(scope=SCOPES, keys=st.lists(KEYS, max_size=3, unique=True), count=st.sampled_from([1, 2, FULL + 1]))
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
            found = self.buckets.query(txn, scope, keys).tolist()
        assert sorted(found) == sorted(payload for key in keys for payload in self.lists[scope, key])

    @rule(scope=SCOPES, keys=st.lists(KEYS, min_size=1, max_size=3, unique=True), count=COUNTS, seed=st.integers())
    def remove(self, scope: int, keys: list[int], count: int, seed: int) -> None:
        filed = self.lists[scope, keys[0]]
        with self.env.begin(write=True, buffers=True) as txn:
            for payload in random.Random(seed).sample(filed, min(count, len(filed))):
                self.buckets.remove(txn, scope, keys, payload)
                filed.remove(payload)

    @rule(scope=SCOPES, key=KEYS)
    def remove_what_does_not_stand_there(self, scope: int, key: int) -> None:
        (payload,) = self.payloads(1)
        with self.env.begin(write=True, buffers=True) as txn:
            self.buckets.remove(txn, scope, [key], payload)

    @invariant()
    def items_are_everything_in_ascending_order(self) -> None:
        found: dict[tuple[int, int], list[int]] = defaultdict(list)
        places = []
        with self.env.begin(buffers=True) as txn:
            for scope, key, payloads in self.buckets.items(txn):
                found[scope, key] += payloads.tolist()
                places.append((scope, key))
        assert places == sorted(places)
        assert {place: sorted(payloads) for place, payloads in found.items()} == {
            place: sorted(payloads) for place, payloads in self.lists.items() if payloads
        }


AgainstLists.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestBucketsAgainstLists = AgainstLists.TestCase


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[tuple[lmdb.Environment, Buckets]]:
    """A bucket of three chunks under key 5, and a neighbour on each side."""
    env, buckets = open_buckets(tmp_path)
    with env.begin(write=True, buffers=True) as txn:
        many = np.arange(2 * FULL + 10, dtype=np.uint64)
        for key in (4, 5, 6):
            buckets.insert_many(txn, 1, np.full(len(many), key, dtype=np.uint64), many)
    yield env, buckets
    env.close()


def name(key: int, number: int = 0) -> bytes:
    return (1 << 64 | key).to_bytes(16, "big") + (number.to_bytes(4, "big") if number else b"")


def items(env: lmdb.Environment, buckets: Buckets) -> int:
    with env.begin(buffers=True) as txn:
        return sum(len(payloads) for _, _, payloads in buckets.items(txn))


@pytest.mark.parametrize(
    ("place", "content"),
    [
        (name(5, 2), b"1234567"),
        (name(5, 2), b""),
        (name(5), b"\0" * (8 * FULL + 8)),
        (name(5), None),
        (name(5, 1), None),
        (name(5, 1), b"12345678"),
        (name(5, 4), b"12345678"),
        (name(5) + b"\1", b"12345678"),
        (name(5)[:15], b"12345678"),
        (b"\xff", b"12345678"),
    ],
    ids=["odd", "empty", "too long", "no first", "gap", "short before the last", "beyond", "name", "short name", "other"],
)
def test_a_chunk_that_no_query_would_read_is_noticed(
    opened: tuple[lmdb.Environment, Buckets], place: bytes, content: bytes | None
) -> None:
    env, buckets = opened
    assert items(env, buckets) == 3 * (2 * FULL + 10)
    with env.begin(write=True, db=buckets.db) as txn:
        if content is None:
            assert txn.delete(place)
        else:
            txn.put(place, content)
    with pytest.raises(ValueError, match="chunk"):
        items(env, buckets)


def test_a_full_chunk_may_be_the_last(tmp_path: Path) -> None:
    env, buckets = open_buckets(tmp_path)
    with env:
        with env.begin(write=True, buffers=True) as txn:
            buckets.insert_many(txn, 1, np.full(2 * FULL, 5, dtype=np.uint64), np.arange(2 * FULL, dtype=np.uint64))
        assert items(env, buckets) == 2 * FULL
        with env.begin(buffers=True) as txn:
            assert len(buckets.query(txn, 1, [5])) == 2 * FULL
