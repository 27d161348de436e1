"""Each storage does what a model in plain Python does, also after it was closed and opened again, and after a kill."""

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from crawler_dedup.index.layout import (
    COUNTS,
    NUMBER_BYTES,
    NUMBERS,
    OVERRIDES,
    RECORDS,
    ROW_TABLES,
    RUN_NAME_BYTES,
    RUNS,
    SIGNATURES,
    SITE_KEY_BYTES,
    SITES,
    SNAPSHOT_NUMBER_BYTES,
    SNAPSHOTS,
    BucketTable,
    RowTable,
    limit_payloads,
)
from crawler_dedup.index.lmdb.storage import DirectoryStorage
from crawler_dedup.index.storage import Storage
from crawler_dedup.index.transaction import Transaction
from tests.support import processes
from tests.support.indexing import first_line, open_backend
from tests.support.places import Places

Operation = Callable[[Storage, "Model"], object]
LENGTHS = {
    RUNS: RUN_NAME_BYTES,
    SITES: SITE_KEY_BYTES,
    COUNTS: SITE_KEY_BYTES,
    SNAPSHOTS: SITE_KEY_BYTES + SNAPSHOT_NUMBER_BYTES,
    OVERRIDES: 16,
}


@dataclass
class Model:
    """What a storage contains."""

    rows: dict[tuple[RowTable, bytes], bytes] = field(default_factory=dict)
    buckets: dict[tuple[BucketTable, int, int], list[int]] = field(default_factory=lambda: defaultdict(list))


# Names that begin alike, and one that is all zeros
names = st.builds(lambda first, last: (first, last), st.sampled_from([0, 1, 255]), st.integers(0, 2))
contents = st.binary(min_size=1, max_size=6)
tables = st.sampled_from([*LENGTHS])
scopes = st.integers(0, 2)
each_key = st.sampled_from([0, 1, 0xFFFF, 1 << 16, 1 << 40, 1 << 40 | 1, 3 << 40 | 5 << 16, 2**64 - 1])
keys = st.lists(each_key, unique=True, max_size=3)
# What fills the chunks of a bucket, less or more by one
counts = st.sampled_from([limit_payloads(limit) + more for limit in (1, 252) for more in (-1, 0, 1)])
payloads = st.integers(0, 6).map(lambda number: number << 58 | number)


def name_in(table: RowTable, parts: tuple[int, int]) -> bytes:
    first, last = parts
    return bytes([first, *bytes(LENGTHS[table] - 2), last])


def write(table: RowTable, parts: tuple[int, int], content: bytes) -> Operation:
    def operate(storage: Storage, model: Model) -> None:
        storage.write(table, name_in(table, parts), content)
        model.rows[table, name_in(table, parts)] = content

    return operate


def delete(table: RowTable, parts: tuple[int, int]) -> Operation:
    def operate(storage: Storage, model: Model) -> None:
        storage.delete(table, name_in(table, parts))
        model.rows.pop((table, name_in(table, parts)), None)

    return operate


def add_record(content: bytes) -> Operation:
    def operate(storage: Storage, model: Model) -> None:
        recorded = [int.from_bytes(name, "big") for table, name in model.rows if table == RECORDS]
        number = storage.new_number()
        assert number > max(recorded, default=0)
        name = number.to_bytes(NUMBER_BYTES, "big")
        storage.write(RECORDS, name, content, is_new=True)
        model.rows[RECORDS, name] = content

    return operate


def change_record(at: int, content: bytes) -> Operation:
    """Replace a record, or delete it if *content* is empty."""

    def operate(storage: Storage, model: Model) -> None:
        recorded = sorted(name for table, name in model.rows if table == RECORDS)
        if not recorded:
            return
        name = recorded[at % len(recorded)]
        if content:
            storage.write(RECORDS, name, content)
            model.rows[RECORDS, name] = content
        else:
            storage.delete(RECORDS, name)
            del model.rows[RECORDS, name]

    return operate


def append(table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> Operation:
    def operate(storage: Storage, model: Model) -> None:
        free = [key for key in keys if payload not in model.buckets[table, scope, key]]
        storage.append(table, scope, free, payload)
        for key in free:
            model.buckets[table, scope, key].append(payload)

    return operate


def take(table: BucketTable, scope: int, keys: Sequence[int], payload: int) -> Operation:
    def operate(storage: Storage, model: Model) -> None:
        storage.take(table, scope, keys, payload)
        for key in keys:
            bucket = model.buckets[table, scope, key]
            if payload in bucket:
                bucket[bucket.index(payload)] = bucket[-1]
                bucket.pop()

    return operate


def append_many(scope: int, key: int, count: int) -> Operation:
    def operate(storage: Storage, model: Model) -> None:
        for payload in range(100, 100 + count):
            append(SIGNATURES, scope, [key], payload)(storage, model)

    return operate


def take_many(scope: int, key: int, count: int, at: int) -> Operation:
    def operate(storage: Storage, model: Model) -> None:
        for payload in model.buckets[SIGNATURES, scope, key][at % 300 :][:count]:
            take(SIGNATURES, scope, [key], payload)(storage, model)

    return operate


def compare(storage: Storage, model: Model) -> None:
    """Require that *storage* contains what *model* contains."""
    for table in ROW_TABLES:
        expected = {name: content for (stored_in, name), content in model.rows.items() if stored_in == table}
        if table not in (COUNTS, SNAPSHOTS):
            assert {bytes(name): bytes(content) for name, content in storage.scan(table)} == expected
        for name, content in expected.items():
            assert bytes(storage.read(table, name) or b"") == content
        assert storage.read(table, bytes(LENGTHS.get(table, NUMBER_BYTES) - 1) + b"\x77") is None
    assert [name for name, _ in storage.scan(RECORDS)] == sorted(name for table, name in model.rows if table == RECORDS)
    assert storage.count_records() == sum(table == RECORDS for table, _ in model.rows)
    for (filed_in, scope, key), bucket in list(model.buckets.items()):
        assert storage.read_buckets(filed_in, scope, [key], None).tolist() == bucket
        assert storage.read_buckets(filed_in, scope, [key, key], 1).tolist() == 2 * bucket[: limit_payloads(1)]
        assert storage.read_buckets(filed_in, scope, [key], 252).tolist() == bucket[: limit_payloads(252)]
    if isinstance(storage, DirectoryStorage):
        chunks: dict[tuple[BucketTable, int, int], list[int]] = defaultdict(list)
        for filed_in, buckets in storage._buckets.items():
            for scope, key, numbers in buckets.chunks(storage._txn):
                chunks[filed_in, scope, key] += numbers.tolist()
        assert chunks == {place: bucket for place, bucket in model.buckets.items() if bucket}


operations = st.one_of(
    st.just(compare),  # with the changes of the transaction so far
    st.builds(write, tables, names, contents),
    st.builds(delete, tables, names),
    st.builds(add_record, contents),
    st.builds(change_record, st.integers(0, 9), st.one_of(st.just(b""), contents)),
    *(st.builds(operation, st.just(SIGNATURES), scopes, keys, payloads) for operation in (append, append, take)),
    st.builds(append_many, scopes, each_key, counts),
    st.builds(take_many, scopes, each_key, counts, st.integers(0, 900)),
    *(
        st.builds(
            operation, st.just(NUMBERS), st.just(0), st.lists(st.integers(0, 3), unique=True, max_size=1), payloads
        )
        for operation in (append, append, take)
    ),
)


def work(place: Any, model: Model, transactions: Sequence[Sequence[Operation]]) -> None:
    """Open an index, make each of *transactions*, and close it."""

    def make(steps: Sequence[Operation], txn: Transaction) -> Model:
        changed = deepcopy(model)  # a server may repeat a transaction
        for operate in steps:
            operate(txn._storage, changed)
        return changed

    with closing(open_backend(place)) as backend:
        for steps in transactions:
            changed = backend._write(partial(make, steps))
            model.rows, model.buckets = changed.rows, changed.buckets


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(transactions=st.lists(st.lists(operations, max_size=12), min_size=1, max_size=5), opened_again=st.integers(0, 5))
@example(
    transactions=[
        [write(RUNS, (0, 0), b"old")],
        [write(RUNS, (0, 0), b"new"), compare],
        [delete(RUNS, (0, 0)), compare],
    ],
    opened_again=0,
)
def test_a_storage_contains_what_was_written(
    places: Places, transactions: Sequence[Sequence[Operation]], opened_again: int
) -> None:
    model, place = Model(), places()
    open_backend(place, fresh=True).close()
    work(place, model, transactions[:opened_again])
    work(place, model, transactions[opened_again:])
    with closing(open_backend(place)) as backend, backend._read() as reading:
        compare(reading._storage, model)


def assert_limits(storage: Storage, model: Model) -> None:
    compare(storage, model)
    for limit in (1, 251, 252, 900, 5000):
        read = storage.read_buckets(SIGNATURES, 1, [5], limit).tolist()
        assert read == model.buckets[SIGNATURES, 1, 5][: limit_payloads(limit)]


def test_a_long_bucket_keeps_its_order_and_is_read_up_to_a_limit(places: Places) -> None:
    model, place = Model(), places()
    steps = [append(SIGNATURES, 1, [5], number) for number in range(1200)]
    steps += [take(SIGNATURES, 1, [5], number) for number in (0, 1199, 600, 251, 250)]
    work(place, model, [steps])
    with closing(open_backend(place)) as backend, backend._read() as reading:
        assert_limits(reading._storage, model)


WRITER = """
import sys

from tests.support.indexing import open_backend
from crawler_dedup.index.layout import COUNTS, RUNS, SIGNATURES, SITES
from crawler_dedup.index.location import find_location

backend = open_backend(find_location(sys.argv[1]))

def write(number):
    def job(txn):
        storage, content = txn._storage, number.to_bytes(4, "big")
        storage.write(RUNS, bytes(4), content)
        storage.write(SITES, bytes(12), content)
        storage.write(COUNTS, bytes(12), content)
        storage.append(SIGNATURES, 0, [1], number)
    return job

for number in range(1, 10_000):
    backend._write(write(number))
    print(number, flush=True)
"""


def test_after_a_kill_all_of_a_transaction_is_stored_or_nothing(places: Places) -> None:
    place = places()
    writer = processes.start(["-c", WRITER, places.word()])
    acknowledged = 0
    while acknowledged < 50:
        acknowledged = int(first_line(writer))
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged = max([acknowledged, *map(int, writer.communicate()[0].split())])
    with closing(open_backend(place)) as backend, backend._read() as reading:
        storage = reading._storage
        number = int.from_bytes(bytes(storage.read(RUNS, bytes(4)) or b""), "big")
        assert number in (acknowledged, acknowledged + 1)
        for table in (SITES, COUNTS):
            assert int.from_bytes(bytes(storage.read(table, bytes(12)) or b""), "big") == number
        assert storage.read_buckets(SIGNATURES, 0, [1], None).tolist() == [*range(1, number + 1)]
