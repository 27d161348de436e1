from collections.abc import Callable, Iterator
from pathlib import Path

import lmdb
import msgspec
import pytest

from crawler_dedup.index.lmdb.buckets import Buckets

FIRST, FULL = 251, 510
"""Payloads of a bucket's first chunk and of the others when they are full."""


def open_buckets(directory: str | Path) -> tuple[lmdb.Environment, Buckets]:
    env = lmdb.open(str(directory), map_size=1 << 30, max_dbs=1, sync=False)
    with env.begin(write=True) as txn:
        return env, Buckets(env, txn, b"tables")


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
    with pytest.raises(msgspec.DecodeError, match="chunk"):
        items(env, buckets)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda txn, first, third: txn.put(third, b"1234567"), id="odd length"),
        pytest.param(lambda txn, first, third: txn.put(third, ONE * (FULL + 1)), id="too long"),
        pytest.param(lambda txn, first, third: txn.put(first, ONE * FULL), id="first one too long"),
        pytest.param(lambda txn, first, third: txn.put(third[:-4] + b"\x80\0\0\0", ONE), id="number too large"),
        pytest.param(lambda txn, first, third: txn.put(third + b"\0", ONE), id="long name"),
    ],
)
def test_nothing_is_appended_to_a_damaged_bucket(
    opened: tuple[lmdb.Environment, Buckets], damage: Callable[[lmdb.Transaction, bytes, bytes], bool]
) -> None:
    env, buckets = opened
    with env.begin(write=True, db=buckets.db) as txn:
        names = [name for name, _ in txn.cursor()]
        assert damage(txn, names[3], names[5])
    with env.begin(write=True, buffers=True) as txn, pytest.raises(msgspec.DecodeError, match="chunk"):
        buckets.insert(txn, 1, (5,), 0)


def test_damage_beyond_the_limit_is_not_read(opened: tuple[lmdb.Environment, Buckets]) -> None:
    env, buckets = opened
    with env.begin(write=True, db=buckets.db) as txn:
        names = [name for name, _ in txn.cursor()]
        assert txn.put(names[5], b"1234567")
    with env.begin(buffers=True) as txn:
        assert len(buckets.query(txn, 1, [4, 5, 6], 2)) == 3 * (FIRST + FULL)
        for limit in (3, None):
            with pytest.raises(msgspec.DecodeError, match="7 bytes"):
                buckets.query(txn, 1, [4, 5, 6], limit)
