import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler_dedup import IndexMismatch, IndexUnusable, Match, SignedPage, Verdict
from crawler_dedup.index import layout
from crawler_dedup.index.index import Index
from crawler_dedup.index.limits import MAX_COMPARED, MAX_REPRESENTATIVES
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record, shorten_key
from crawler_dedup.inspection import verification
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


REFERENCES = "reference_of_name", "reference_of_signature"


def make_coarse(reference_of: Callable[..., int]) -> Callable[..., int]:
    return lambda *asked: reference_of(*asked) & (1 << 24 | 3)


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    distances=st.integers(0, MAX_DISTANCE),
    spread=st.sampled_from(sorted(SPREADS)),
    seed=st.integers(0, 2**32),
    coarse=st.booleans(),
)
def test_pages_are_decided_as_by_a_comparison_with_all_kept_pages(
    places: Places, distances: int, spread: str, seed: int, coarse: bool
) -> None:
    """Clients take turns, and pages are visited again, changed, released and forgotten.

    In a directory a coarse reference, of 3 bits instead of 40, leads to many records, by page key or by signature.
    """
    source, matcher, kept = random.Random(seed), ByDistance(distances), dict[tuple[str, int], int]()
    with pytest.MonkeyPatch.context() as patched, ExitStack() as stack:
        for module, name in product((layout, verification), REFERENCES if coarse and places.server is None else ()):
            if hasattr(module, name):
                patched.setattr(module, name, make_coarse(getattr(module, name)))
        open_backend(places(), fresh=True).close()
        stores = [stack.enter_context(closing(open_backend(places()))) for _ in range(3)]
        for signature in SPREADS[spread](seed, 60):
            store, number, scope = source.choice(stores), source.randrange(40), source.choice(["", "other"])
            if source.random() < 0.2:
                place = f"http://example.com/{number}"
                is_it = lambda record: (record.page.scope, record.page.url) == (scope, place)  # noqa: B023, E731
                assert store.forget(is_it, matcher) == (kept.pop((scope, number), None) is not None)
            elif source.random() < 0.2:
                assert settle(store, number) == (("", number) in kept)
                assert release(store, number) == (kept.pop(("", number), None) is not None)
            seen = source.choice(stores).preview(page(number, signature, scope), matcher)
            (decision,) = store.offer([page(number, signature, scope)], matcher).result()
            assert replace(seen, also_at=()) == replace(decision, also_at=())  # addresses are stored later
            others = {name: distance(signature, other) for name, other in kept.items() if name[0] == scope}
            if (scope, number) in kept:
                is_near = others[scope, number] <= distances
                assert decision.verdict is (Verdict.UNCHANGED if is_near else Verdict.CHANGED)
                kept[scope, number] = kept[scope, number] if is_near else signature
            elif min(others.values(), default=65) <= distances:
                assert decision.match is not None
                assert decision.match.distance == min(others.values())
                assert decision.duplicate_of in [
                    f"http://example.com/{name[1]}" for name, apart in others.items() if apart == min(others.values())
                ]
            else:
                assert decision.verdict is Verdict.NEW
                kept[scope, number] = signature
        assert {len(store) for store in stores} == {len(kept)}
        assert verify(stores[0], matcher) == []


def test_a_signature_stays_as_long_as_another_page_has_it(backend: Index) -> None:
    backend.offer([page(1, 5), page(2, 5)], Never()).result()
    assert release(backend, 1)
    assert backend.offer([page(3, 5)], ByDistance()).result()[0].duplicate_of == "http://example.com/2"
    assert release(backend, 2)
    assert backend.offer([page(4, 5)], ByDistance()).result()[0].verdict is Verdict.NEW


def test_the_number_of_representatives_of_a_spike_is_bounded(backend: Index) -> None:
    many = MAX_REPRESENTATIVES + 10
    decisions = backend.offer([page(number, 5) for number in range(many)], Never()).result()
    assert all(decision.verdict is Verdict.NEW for decision in decisions)
    compared: list[str] = []

    class Counting(ByDistance):
        def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
            compared.append(kept.key)
            return None

    backend.offer([page(many, 5)], Counting()).result()
    assert len(compared) == MAX_REPRESENTATIVES
    assert backend.offer([page(many - 1, 5)], ByDistance()).result()[0].verdict is Verdict.UNCHANGED


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
    backend: Index, happens: Callable[[Index], object], removed: Sequence[int]
) -> None:
    backend.offer([page(number, 5) for number in range(SPIKE)], Never()).result()
    expected = {number: number < MAX_REPRESENTATIVES for number in range(SPIKE)}
    assert representatives(backend) == expected
    happens(backend)
    remaining = {number: is_representative for number, is_representative in expected.items() if number not in removed}
    assert {
        number: is_representative
        for number, is_representative in representatives(backend).items()
        if number in remaining
    } == remaining
    assert verify(backend, ByDistance()) == []


def test_if_all_representatives_are_forgotten_the_next_page_becomes_one(backend: Index) -> None:
    backend.offer([page(number, 5) for number in range(SPIKE)], Never()).result()
    forget(backend, range(MAX_REPRESENTATIVES))
    first, second = backend.offer([page(100, 5), page(101, 5)], ByDistance()).result()
    assert (first.verdict, second.duplicate_of) == (Verdict.NEW, "http://example.com/100")
    assert representatives(backend)[100]
    assert verify(backend, ByDistance()) == []


def test_spikes_of_many_pages_are_merged_completely(backend: Index, places: Places) -> None:
    for number, signature in enumerate(uniform(1, 10)):
        backend.offer([page(place * 10 + number, signature) for place in range(SPIKE + 10)], Never()).result()
    forget(backend, range(200))
    before = representatives(backend)
    records = list(backend.records())
    merged = open_backend(places("other"))
    assert merged.merge(records, ByDistance()) == len(records) == 10 * (SPIKE - 10)
    assert False in before.values()
    assert verify(merged, ByDistance()) == []
    assert representatives(merged) == dict.fromkeys(before, True)
    merged.close()


def test_at_most_so_many_pages_are_compared(backend: Index) -> None:
    class Everything(Never):
        compared = 0

        def near(self, page: SignedPage, filed: Signatures) -> list[int]:
            return list(map(int, filed))

        def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
            self.compared += 1
            return None

    matcher, many = Everything(), MAX_COMPARED + 10
    backend.merge([Record(page(number, number), settled=1) for number in range(many)], matcher)
    backend.offer([page(many, many)], matcher).result()
    assert matcher.compared == MAX_COMPARED


def test_an_unfit_page_is_not_filed(backend: Index) -> None:
    unfit = SignedPage("1", "u", "", unsigned="more bytes than DEDUP_MAX_BYTES")
    for decision in (backend.preview(unfit, ByDistance()), backend.offer([unfit], ByDistance()).result()[0]):
        assert (decision.verdict, decision.reason) == (Verdict.UNCHECKED, "more bytes than DEDUP_MAX_BYTES")
    assert len(backend) == 0


def test_the_index_keeps_the_fields_of_a_page_that_the_matcher_leaves(backend: Index) -> None:
    class Sparing(ByDistance):
        def trim(self, page: SignedPage) -> SignedPage:
            return msgspec.structs.replace(page, title="")

    given = [msgspec.structs.replace(page(1, signature), title="Steeping") for signature in (0, 2**64 - 1)]
    for offered_page, verdict in zip(given, ("new", "changed"), strict=True):
        assert backend.offer([offered_page], Sparing()).result()[0].verdict == verdict
        (record,) = backend.records()
        assert record.page == msgspec.structs.replace(offered_page, title="", key=shorten_key(offered_page.key))


def test_two_openings_in_one_process_share_the_index(tmp_path: Path) -> None:
    first, second = open_store(tmp_path), open_store(tmp_path / ".." / tmp_path.name)
    first.offer([page(1, 5)], ByDistance()).result()
    first.close()
    assert second.offer([page(2, 5)], ByDistance()).result()[0].verdict is Verdict.DUPLICATE
    second.close()


def test_an_index_is_not_emptied_while_this_process_has_it_open(places: Places) -> None:
    with closing(open_backend(places())) as first:
        first.offer([page(1, 5)], ByDistance()).result()
        open_backend(places(), fresh=True).close()
        with closing(open_backend(places(), fresh=True)) as second:
            assert second.offer([page(2, 5)], ByDistance()).result()[0].verdict is Verdict.DUPLICATE
    with closing(open_backend(places(), fresh=True)) as emptied:
        assert len(emptied) == 0


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
    pages = [page(number, signature) for number, signature in enumerate(uniform(1, 10_000))]
    errors = ((at, store.offer(pages[at : at + 20], ByDistance(0)).exception()) for at in range(0, 10_000, 20))
    filed, error = next((at, error) for at, error in errors if error)
    assert isinstance(error, IndexUnusable)
    assert "is full: its map has 1048576 bytes; raise DEDUP_MAP_SIZE" in str(error)
    assert len(store) == filed > 1_000
    store.close()


# Processes

_FILER = """
    import random, sys
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
