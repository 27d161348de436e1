from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_dedup.hamming import DESIGNS
from crawler_dedup.index.lmdb import permuted
from crawler_dedup.index.lmdb.committer import Committer
from crawler_dedup.index.lmdb.compaction import compact
from crawler_dedup.index.lmdb.permuted import PermutedIndex
from tests.support.indexing import SPREADS, array, brute_force, crowded, flipped

SEEDS = st.integers(0, 2**32)
every_design = pytest.mark.parametrize("tables", DESIGNS)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PermutedIndex]:
    with PermutedIndex.open(tmp_path / "index") as opened:
        yield opened


class Trial:
    """An index, and the set that it should be."""

    def __init__(self, folder: Path, tables: int, seed: int) -> None:
        self.folder = folder
        self.directory = folder / "index"
        self.source = random.Random(seed)
        self.index = PermutedIndex.open(self.directory, tables=tables)
        self.held: set[int] = set()

    def insert(self, signatures: list[int]) -> None:
        """Insert signatures singly and in arrays of all sizes, some of them twice."""
        at = 0
        for size in (1, 1, 2, 30, len(signatures)):
            part = signatures[max(0, at - size // 3) : at + size]
            at += size
            new = len({*part} - self.held)
            self.held.update(part)
            assert self.index.insert(part[0] if len(part) == 1 else array(part)) == new
            assert len(self.index) == len(self.held)
        assert self.index.insert(array(signatures)) == 0

    def remove(self, signatures: set[int]) -> None:
        held_before = signatures & self.held
        assert self.index.remove(array(signatures)) == len(held_before)
        assert self.index.remove(array(signatures)) == 0
        self.held -= signatures

    def reopen(self) -> None:
        self.index.close()
        self.index = PermutedIndex.open(self.directory)

    def draw_queries(self, number: int) -> list[int]:
        """Return signatures of the index, others near them, and random ones."""
        near = self.source.sample(sorted(self.held), min(number, len(self.held)))
        return [
            *(flipped(self.source, signature, self.source.randint(0, 9)) for signature in near),
            *(self.source.getrandbits(64) for _ in range(number // 4)),
        ]

    def check(self, number: int = 12) -> None:
        held = array(self.held)
        assert self.index.verify() == []
        assert len(self.index) == len(held)
        blocks = list(self.index.blocks(100))
        assert np.array_equal(np.concatenate([array([]), *blocks]), held)
        assert {len(block) for block in blocks[:-1]} <= {100}
        queried = self.draw_queries(number)
        for max_distance in range(DESIGNS[self.index.tables].max_distance + 1):
            expected = [brute_force(held, signature, max_distance) for signature in queried]
            assert self.index.query_many(array(queried), max_distance) == expected
            assert [self.index.query(signature, max_distance) for signature in queried] == expected


@contextmanager
def open_trial(tables: int, seed: int) -> Iterator[Trial]:
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), tables, seed)
        try:
            yield trial
        finally:
            trial.index.close()


@every_design
@pytest.mark.parametrize("spread", SPREADS)
@settings(max_examples=2, deadline=None)
@given(seed=SEEDS, size=st.integers(1, 500))
def test_a_query_finds_what_brute_force_finds(tables: int, spread: str, seed: int, size: int) -> None:
    with open_trial(tables, seed) as trial:
        trial.check()
        trial.insert(SPREADS[spread](seed, size))
        trial.check()


# After any change, an index answers as brute force does.


def closed_and_opened(trial: Trial) -> None:
    trial.reopen()


def thinned(trial: Trial) -> None:
    trial.remove({*trial.source.sample(sorted(trial.held), len(trial.held) // 2), *trial.draw_queries(10)})


def emptied(trial: Trial) -> None:
    trial.remove(set(trial.held))
    assert len(trial.index) == 0
    assert trial.index.verify() == []
    trial.insert(crowded(2, 600))


def compacted(trial: Trial) -> None:
    trial.index.close()
    compact(trial.directory)
    trial.index = PermutedIndex.open(trial.directory)


def salvaged(trial: Trial) -> None:
    with PermutedIndex.open(trial.folder / "salvaged", tables=trial.index.tables) as other_index:
        assert other_index.insert(trial.index.salvage()) == len(trial.held)
    trial.index.close()
    trial.index = PermutedIndex.open(trial.folder / "salvaged")


CHANGES: list[Callable[[Trial], None]] = [closed_and_opened, thinned, emptied, compacted, salvaged]


def mixture(seed: int, size: int) -> list[int]:
    """Return signatures of every distribution, *size* of them crowded."""
    signatures = [signature for spread in SPREADS.values() for signature in spread(seed, size // 8)]
    signatures += crowded(seed, size)
    random.Random(seed).shuffle(signatures)
    return signatures


@every_design
@pytest.mark.parametrize("change", CHANGES)
@settings(max_examples=1, deadline=None)
@given(seed=SEEDS)
def test_a_changed_index_answers_as_brute_force(tables: int, change: Callable[[Trial], None], seed: int) -> None:
    with open_trial(tables, seed) as trial:
        trial.insert(mixture(seed, 800))
        change(trial)
        trial.check(8)
        trial.insert(mixture(seed + 1, 20))


@pytest.mark.slow
@every_design
@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, size=st.integers(1, 3000), changes=st.lists(st.sampled_from(CHANGES[:5]), max_size=6))
def test_an_index_answers_as_brute_force_after_many_changes(
    tables: int, seed: int, size: int, changes: list[Callable[[Trial], None]]
) -> None:
    with open_trial(tables, seed) as trial:
        trial.insert(mixture(seed, size))
        for change in changes:
            change(trial)
            trial.check(40)


# Arguments


def test_signatures_are_accepted_in_every_form(index: PermutedIndex) -> None:
    assert index.insert(2**64 - 1) == 1
    assert index.insert([1, 2, 2, 1]) == 2
    assert index.insert(number for number in (2, 3)) == 1
    assert index.insert(np.array([4, 3], dtype=np.uint64)) == 1
    assert index.insert(np.uint64(4)) == 0  # type: ignore[arg-type]
    assert index.insert([]) == index.remove([]) == index.insert(array([])) == 0
    assert index.query_many([]) == []
    assert index.remove([4, 4, 5]) == 1
    assert [neighbour.signature for neighbour in index.query(0, 7)] == [1, 2, 3]
    assert len(index) == 4
    assert index.verify() == []


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint32])
def test_arrays_of_another_type_or_shape_are_refused(index: PermutedIndex, dtype: type[np.generic]) -> None:
    for wrong in (np.zeros(3, dtype=dtype), np.zeros((2, 2), dtype=np.uint64)):
        with pytest.raises(TypeError, match="they take uint64"):
            index.insert(wrong)
    assert len(index) == 0


@pytest.mark.parametrize("wrong", [-1, 2**64, [1.9], ["7"], "12", np.float64(7), [np.float64(7)], [[1]], None])
def test_a_value_that_is_not_a_64_bit_integer_is_refused(index: PermutedIndex, wrong: Any) -> None:
    for call in (index.insert, index.submit, index.remove, index.query, index.query_many):
        with pytest.raises((TypeError, ValueError)):
            call(wrong)
    assert len(index) == 0


@pytest.mark.parametrize("wrong", [-1, 2**64, 1.5, "x"])
def test_an_invalid_signature_among_many_is_refused_before_anything_is_submitted(
    index: PermutedIndex, monkeypatch: pytest.MonkeyPatch, wrong: Any
) -> None:
    monkeypatch.setattr(permuted, "_SLICE", 2)
    monkeypatch.setattr(index.environment, "submit", lambda job: pytest.fail("something was submitted"))
    for call in (index.insert, index.remove, index.submit):
        with pytest.raises((TypeError, ValueError)):
            call(iter([1, 2, 3, 4, 5, wrong]))


def test_changes_that_are_too_long_for_one_transaction_take_several(
    index: PermutedIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permuted, "_SLICE", 3)
    assert index.insert(iter([*range(10), 3])) == 10
    assert index.remove(iter([*range(2, 20), 2])) == 8
    assert [neighbour.signature for neighbour in index.query(0)] == [0, 1]
    assert index.verify() == []


@every_design
def test_a_distance_that_the_tables_do_not_find_is_refused(tmp_path: Path, tables: int) -> None:
    with PermutedIndex.open(tmp_path, tables=tables) as index:
        for wrong in (-1, DESIGNS[tables].max_distance + 1):
            for call in (index.query, index.query_many):
                with pytest.raises(ValueError, match=f"{tables} tables find distances to"):
                    call(1, wrong)


def test_there_are_four_designs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tables = 5 is not allowed; there are 4, 10, 16, 20\."):
        PermutedIndex.open(tmp_path / "index", tables=5)
    assert not (tmp_path / "index").exists()


def test_an_empty_index_is_true_and_may_be_closed_twice(tmp_path: Path) -> None:
    first, second = PermutedIndex.open(tmp_path), PermutedIndex.open(tmp_path)
    assert first
    first.close()
    first.close()
    assert second.insert(5) == 1
    second.close()


# Threads, processes, accidents


@contextmanager
def busy(index: PermutedIndex) -> Iterator[None]:
    """Keep the writing thread in a transaction, so that all jobs submitted meanwhile share the next one."""
    begun, ended = threading.Event(), threading.Event()

    def wait(txn: lmdb.Transaction) -> None:
        begun.set()
        assert ended.wait(10)

    waiting = index.environment.submit(wait)
    try:
        assert begun.wait(10)
        yield
    finally:
        ended.set()
        waiting.result(10)


def fail(txn: lmdb.Transaction) -> None:
    raise ValueError("bad job")


def test_failing_jobs_in_the_same_transaction_do_not_change_the_number_of_removed_signatures(
    index: PermutedIndex,
) -> None:
    index.insert([1, 2, 3])
    committer = index.environment._committer
    assert isinstance(committer, Committer)
    with ThreadPoolExecutor(1) as thread:
        with busy(index):
            before = index.environment.submit(fail)
            removed = thread.submit(index.remove, iter([3, 2, 9]))
            while len(committer._waiting) < 2 and not removed.done():
                time.sleep(0.001)
            after = index.environment.submit(fail)
        assert removed.result(10) == 2
    assert isinstance(before.exception(10), ValueError)
    assert isinstance(after.exception(10), ValueError)
    assert len(index) == 1
    assert index.verify() == []


def test_the_content_of_an_array_at_its_submission_is_filed(index: PermutedIndex) -> None:
    signatures = array([1, 2, 3])
    with busy(index):
        submitted = index.submit(signatures)
        signatures[:] = 7
    assert submitted.result(10) == 3
    assert [neighbour.signature for neighbour in index.query(0)] == [1, 2, 3]
    assert index.verify() == []
