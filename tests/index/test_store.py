from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_dedup import IndexMismatch, IndexUnusable, Match, SignedPage, Verdict
from crawler_dedup.index.index import Index
from crawler_dedup.index.limits import MAX_COMPARED, MAX_REPRESENTATIVES
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import shorten_key
from crawler_dedup.permutedtables import MAX_DISTANCE, distance
from tests.support.examples import examples
from tests.support.indexing import (
    SPEC,
    SPREADS,
    ByDistance,
    Signatures,
    clusters,
    first_line,
    number_of,
    open_backend,
    open_store,
    page,
    program,
    release,
    run,
    running_program,
    settle,
    uniform,
    write_line,
)
from tests.support.places import Places
from tests.support.processes import Process
from tests.support.verification import verify


class Never(ByDistance):
    def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
        return None


@pytest.fixture
def store(places: Places) -> Iterator[Index]:
    opened = open_backend(places())
    yield opened
    opened.close()


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, MAX_DISTANCE), st.sampled_from(sorted(SPREADS)), st.integers(0, 2**32), st.integers(1, 120))
def test_every_representative_within_the_distance_is_found(
    max_distance: int, spread: str, seed: int, reopen_at: int
) -> None:
    kept: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder))
        for number, signature in enumerate(SPREADS[spread](seed, 120)):
            if number == reopen_at:
                store.close()
                store = open_store(Path(folder))
            verdict = store.offer([page(number, signature)], ByDistance(max_distance)).result()[0].verdict
            covered = any(distance(signature, kept_signature) <= max_distance for kept_signature in kept)
            assert verdict is (Verdict.DUPLICATE if covered else Verdict.NEW)
            if not covered:
                kept.append(signature)
        assert len(store) == len(kept)
        store.close()


def test_the_nearest_page_is_named_first(store: Index) -> None:
    store.offer([page(1, 0), page(2, 0b11111 << 20)], ByDistance(3)).result()
    decision = store.offer([page(3, 0b1111 << 20)], ByDistance(5)).result()[0]
    assert decision.duplicate_of == "http://example.com/2"
    assert decision.match is not None
    assert decision.match.distance == 1


def test_scopes_are_separate(store: Index) -> None:
    for scope in ("a", "b", "ab"):
        assert store.offer([page(1, 5, scope)], ByDistance()).result()[0].verdict is Verdict.NEW
        assert store.offer([page(2, 5, scope)], ByDistance()).result()[0].verdict is Verdict.DUPLICATE


def test_a_page_is_never_a_duplicate_of_its_own_record(store: Index) -> None:
    for verdict in (Verdict.NEW, Verdict.UNCHANGED, Verdict.UNCHANGED):
        assert store.offer([page(1, 5)], ByDistance()).result()[0].verdict is verdict
    assert len(store) == 1


def test_a_changed_page_removes_its_old_signature_from_the_index(store: Index) -> None:
    store.offer([page(1, 0)], ByDistance()).result()
    assert store.offer([page(1, 2**64 - 1)], ByDistance()).result()[0].verdict is Verdict.CHANGED
    assert store.offer([page(2, 0)], ByDistance()).result()[0].verdict is Verdict.NEW
    assert store.offer([page(3, 2**64 - 1)], ByDistance()).result()[0].duplicate_of == "http://example.com/1"
    assert len(store) == 2


def test_a_signature_stays_as_long_as_another_page_has_it(store: Index) -> None:
    store.offer([page(1, 5), page(2, 5)], Never()).result()
    assert release(store, 1)
    assert store.offer([page(3, 5)], ByDistance()).result()[0].duplicate_of == "http://example.com/2"
    assert release(store, 2)
    assert store.offer([page(4, 5)], ByDistance()).result()[0].verdict is Verdict.NEW


def test_a_released_page_is_no_representative_and_settling_needs_a_record(store: Index) -> None:
    store.offer([page(1, 5)], ByDistance()).result()
    assert settle(store, 1)
    assert release(store, 1)
    assert not release(store, 1)
    assert not settle(store, 1)
    assert store.offer([page(2, 5)], ByDistance()).result()[0].verdict is Verdict.NEW


def test_the_number_of_representatives_of_a_spike_is_bounded(store: Index) -> None:
    many = MAX_REPRESENTATIVES + 10
    decisions = store.offer([page(number, 5) for number in range(many)], Never()).result()
    assert all(decision.verdict is Verdict.NEW for decision in decisions)
    compared: list[str] = []

    class Counting(ByDistance):
        def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
            compared.append(kept.key)
            return None

    store.offer([page(many, 5)], Counting()).result()
    assert len(compared) == MAX_REPRESENTATIVES
    assert store.offer([page(many - 1, 5)], ByDistance()).result()[0].verdict is Verdict.UNCHANGED


SPIKE = MAX_REPRESENTATIVES + 8


def forget(store: Index, numbers: Iterable[int]) -> None:
    forgotten = set(numbers)
    assert store.forget(lambda record: number_of(record.page) in forgotten, ByDistance()) == len(forgotten)


def change(store: Index, number: int) -> None:
    assert store.offer([page(number, 2**64 - 1)], Never()).result()[0].verdict is Verdict.CHANGED


def representatives(store: Index) -> dict[int, bool]:
    """Return whether each page may represent others, in the order of their filing."""
    return {number_of(record.page): record.is_representative for record in store.records()}


@pytest.mark.parametrize(
    ("happens", "removed"),
    [
        (lambda store: None, []),
        (lambda store: forget(store, [5]), [5]),
        (lambda store: forget(store, [0, SPIKE - 1]), [0, SPIKE - 1]),
        (lambda store: forget(store, range(MAX_REPRESENTATIVES)), range(MAX_REPRESENTATIVES)),
        (lambda store: release(store, 5), [5]),
        (lambda store: change(store, 5), [5]),
        (lambda store: change(store, SPIKE - 1), [SPIKE - 1]),
    ],
    ids=["nothing", "forget one", "forget first and last", "forget all", "release", "change", "change one beyond"],
)
def test_a_spike_stays_sound_after_every_change(
    store: Index, happens: Callable[[Index], object], removed: Sequence[int]
) -> None:
    store.offer([page(number, 5) for number in range(SPIKE)], Never()).result()
    expected = {number: number < MAX_REPRESENTATIVES for number in range(SPIKE)}
    assert representatives(store) == expected
    happens(store)
    remaining = {number: is_representative for number, is_representative in expected.items() if number not in removed}
    assert {
        number: is_representative for number, is_representative in representatives(store).items() if number in remaining
    } == remaining
    assert verify(store, ByDistance()) == []


def test_if_all_representatives_are_forgotten_the_next_page_becomes_one(store: Index) -> None:
    store.offer([page(number, 5) for number in range(SPIKE)], Never()).result()
    forget(store, range(MAX_REPRESENTATIVES))
    first, second = store.offer([page(100, 5), page(101, 5)], ByDistance()).result()
    assert (first.verdict, second.duplicate_of) == (Verdict.NEW, "http://example.com/100")
    assert representatives(store)[100]
    assert verify(store, ByDistance()) == []


def test_spikes_of_many_pages_are_merged_completely(store: Index, places: Places) -> None:
    for number, signature in enumerate(uniform(1, 10)):
        store.offer([page(place * 10 + number, signature) for place in range(SPIKE + 10)], Never()).result()
    forget(store, range(200))
    before = representatives(store)
    records = list(store.records())
    merged = open_backend(places("other"))
    assert merged.merge(records, ByDistance()) == len(records) == 10 * (SPIKE - 10)
    assert False in before.values()
    assert verify(merged, ByDistance()) == []
    assert representatives(merged) == dict.fromkeys(before, True)
    merged.close()


def test_after_the_maximum_number_of_compared_pages_nothing_more_is_read(
    store: DirectoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Everything(Never):
        compared = 0

        def near(self, page: SignedPage, filed: Signatures) -> list[int]:
            return list(map(int, filed))

        def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
            self.compared += 1
            return None

    matcher, many = Everything(), MAX_COMPARED + 200
    store.offer([page(number, number) for number in range(many)], Never()).result()
    queries = 0
    query = Buckets.query

    def counting(self: Buckets, txn: lmdb.Transaction, *asked: Any) -> Signatures:
        nonlocal queries
        queries += 1
        return query(self, txn, *asked)

    monkeypatch.setattr(Buckets, "query", counting)
    store.offer([page(many, many)], matcher).result()
    assert matcher.compared == MAX_COMPARED
    assert queries <= MAX_COMPARED + 4  # one for the candidates, three to find and file the page


def test_an_unfit_page_is_not_filed(store: Index) -> None:
    unfit = SignedPage("1", "u", "", unsigned="too many bytes")
    for decision in (store.preview(unfit, ByDistance()), store.offer([unfit], ByDistance()).result()[0]):
        assert (decision.verdict, decision.reason) == (Verdict.UNCHECKED, "too many bytes")
    assert len(store) == 0


def test_the_index_keeps_the_fields_of_a_page_that_the_matcher_leaves(store: Index) -> None:
    class Sparing(ByDistance):
        def trim(self, page: SignedPage) -> SignedPage:
            return msgspec.structs.replace(page, title="")

    given = [msgspec.structs.replace(page(1, signature), title="Steeping") for signature in (0, 2**64 - 1)]
    for offered_page, verdict in zip(given, ("new", "changed"), strict=True):
        assert store.offer([offered_page], Sparing()).result()[0].verdict == verdict
        (record,) = store.records()
        assert record.page == msgspec.structs.replace(offered_page, title="", key=shorten_key(offered_page.key))


def test_two_openings_in_one_process_share_the_index(tmp_path: Path) -> None:
    first, second = open_store(tmp_path), open_store(tmp_path / ".." / tmp_path.name)
    first.offer([page(1, 5)], ByDistance()).result()
    first.close()
    assert second.offer([page(2, 5)], ByDistance()).result()[0].verdict is Verdict.DUPLICATE
    second.close()


def test_an_index_of_another_configuration_can_be_emptied_too(places: Places) -> None:
    first = open_backend(places())
    first.offer([page(1, 5)], ByDistance()).result()
    first.close()
    emptied = open_backend(places(), fresh=True, spec={"scheme": "other"})
    assert len(emptied) == 0
    assert emptied.offer([page(2, 5)], ByDistance()).result()[0].verdict is Verdict.NEW
    emptied.close()
    with pytest.raises(IndexMismatch):
        open_backend(places())


def test_an_index_that_another_process_empties_for_another_configuration_is_not_mixed(places: Places) -> None:
    store = open_backend(places())
    store.offer([page(1, 5)], ByDistance()).result()
    emptying = """
        import sys
        from pathlib import Path
        from crawler_dedup.index.location import find_location
        from tests.support.indexing import open_backend
        open_backend(find_location(sys.argv[1]), fresh=True, spec={"scheme": "other"}).close()
    """
    assert run(emptying, places.word()) == (0, "", "")
    with pytest.raises(IndexUnusable, match="with other settings, has emptied"):
        store.offer([page(2, 6)], ByDistance()).result()
    store.close()


_OFFER = """
    import random, sys
    from pathlib import Path
    from crawler_dedup.index.location import find_location
    from tests.support.indexing import ByDistance, open_backend, page

    store = open_backend(find_location(sys.argv[1]))
    print("open", flush=True)
    for number in range(400):
        store.offer([page(number, random.getrandbits(64))], ByDistance()).result()
    store.close()
"""


def test_emptying_an_index_takes_only_the_pages_of_another_process_with_the_same_configuration(places: Places) -> None:
    emptied = 0
    with running_program(_OFFER, places.word()) as other_process:
        while other_process.poll() is None:
            store = open_backend(places(), fresh=True)
            # A server cannot be verified while it is written.
            assert places.server is not None or verify(store, ByDistance()) == []
            store.close()
            emptied += 1
        assert (other_process.communicate()[1], other_process.returncode) == ("", 0)
    assert emptied > 3


def test_a_full_map_fails_the_offer_and_keeps_what_was_filed(tmp_path: Path) -> None:
    store = DirectoryIndex.open(tmp_path, SPEC, {}, map_size=1 << 20, fresh=False)
    pages = [page(number, signature) for number, signature in enumerate(uniform(1, 100_000))]
    store.offer(pages[:2_000], ByDistance(0)).result()
    errors = (store.offer([one], ByDistance(0)).exception() for one in pages[2_000:])
    filed, error = next((number, error) for number, error in enumerate(errors, start=2_000) if error)
    assert isinstance(error, IndexUnusable)
    assert "is full: its map has 1048576 bytes; raise DEDUP_MAP_SIZE" in str(error)
    assert len(store) == filed > 2_000
    store.close()


# Processes

_FILER = """
    import random, sys
    from pathlib import Path
    from crawler_dedup.index.location import find_location
    from tests.support.indexing import ByDistance, clusters, open_backend, page

    process, count, size = map(int, sys.argv[2:])
    store = open_backend(find_location(sys.argv[1]))
    pages = [page(number * 10 + process, signature) for number, signature in enumerate(clusters(1, count))]
    random.Random(process).shuffle(pages)
    print("ready", flush=True)
    sys.stdin.readline()
    for at in range(0, count, size):
        batch = pages[at : at + size]
        decisions = store.offer(batch, ByDistance(0)).result()
        print(*(f"{decision.verdict} {one.signature}" for decision, one in zip(decisions, batch)), sep="\\n", flush=True)
    store.close()
"""


def filed_by(process: Process) -> list[tuple[str, int]]:
    """Return verdicts and signatures that a filer has printed, to its end."""
    output, errors = process.communicate()
    assert errors == ""
    return [(verdict, int(signature)) for verdict, signature in map(str.split, output.splitlines())]


@pytest.mark.parametrize(
    ("processes", "count", "size"),
    [
        (2, 200, 1),
        (2, 1500, 50),
        pytest.param(2, 20_000, 50, marks=pytest.mark.slow),
        pytest.param(4, 20_000, 50, marks=pytest.mark.slow),
    ],
)
def test_processes_keep_each_content_exactly_once(places: Places, processes: int, count: int, size: int) -> None:
    filers = [program(_FILER, places.word(), number, count, size) for number in range(processes)]
    for filer in filers:
        assert first_line(filer) == "ready"
    for filer in filers:
        write_line(filer, "go")
    with ThreadPoolExecutor(processes) as threads:
        answers = list(threads.map(filed_by, filers))
    assert [len(lines) for lines in answers] == [count] * processes
    kept = [signature for lines in answers for verdict, signature in lines if verdict == "new"]
    assert sorted(kept) == sorted(set(clusters(1, count)))
    store = open_backend(places())
    assert len(store) == len(kept)
    assert verify(store, ByDistance()) == []
    store.close()
