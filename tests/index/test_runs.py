"""Runs of an index: which live, which have died, which were closed, and what becomes of their pages."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from crawler_dedup import Config, Decision, Deduplicator
from crawler_dedup.decision import BEING_HANDLED
from crawler_dedup.index import runs
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.limits import MAX_ALIASES
from crawler_dedup.index.lmdb.compaction import compact
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.lmdb.storage import DirectoryStorage
from crawler_dedup.index.location import Location
from crawler_dedup.index.opening import open_to_write
from crawler_dedup.index.records import Record
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.transfer import Export
from crawler_dedup.signing.lookup import lookup_of
from crawler_dedup.system.extras import has_extra
from tests.support.crawling import article
from tests.support.indexing import (
    FILING,
    ByDistance,
    ask,
    first_line,
    open_store,
    page,
    program,
    running_program,
    settle,
)
from tests.support.places import Places
from tests.support.verification import verify

CONFIG = Config(tokenizer="bigrams")


class Clock:
    """The time as the index sees it: it passes, and the system's clock is set."""

    def __init__(self) -> None:
        self._passed = 1000.0
        self._set = 1_700_000_000.0

    def passes(self, seconds: float) -> None:
        self._passed += seconds

    def is_set(self, seconds: float) -> None:
        self._set += seconds

    def time(self) -> float:
        return self._set + self._passed

    def monotonic(self) -> float:
        return self._passed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    manual_clock = Clock()
    monkeypatch.setattr(runs, "time", manual_clock.time)
    monkeypatch.setattr(runs, "monotonic", manual_clock.monotonic)
    if has_extra("redis"):
        for module in ("runs", "index"):
            name = f"crawler_dedup.index.redis.{module}.read_time"
            monkeypatch.setattr(name, lambda connection: manual_clock.time())
    return manual_clock


Open = Callable[..., Deduplicator]


@pytest.fixture
def opening_here(tmp_path: Path) -> Iterator[Open]:
    """Return the same as :func:`opening`, for an index in the directory of the test."""
    yield from open_again(str(tmp_path))


@pytest.fixture
def opening(places: Places) -> Iterator[Open]:
    """Yield a function that opens the index as a further run, on every backend in turn; all are closed at the end."""
    yield from open_again(places.word())


def open_again(place: str) -> Iterator[Open]:
    opened: list[Deduplicator] = []

    def open_once_more(**settings: object) -> Deduplicator:
        opened.append(Deduplicator.open(place, Config(tokenizer="bigrams", **settings)))  # type: ignore[arg-type]
        return opened[-1]

    yield open_once_more
    for opened_store in opened:
        opened_store.close()


def offer(run: Deduplicator, url: str, text: object, *, alias: str = "", claim: bool = True) -> Decision:
    signed = run.sign(f"http://a.example/{url}", article(text).encode())
    return run.submit([signed], claim=claim, aliases={signed.key: alias} if alias else None).result()[0]


def answer(run: Deduplicator, url: str, text: object, *, alias: str = "") -> str:
    """Return the verdict about a page, which is settled at once if it passes."""
    decision = offer(run, url, text, alias=alias)
    if decision.claim:
        assert run.settle(decision)
    return decision.reason or str(decision.verdict)


def die(run: Deduplicator) -> None:
    run.close(all_stored=False)


def kept(place: Location) -> list[Record]:
    with closing(open_to_write(place)) as opened:
        assert verify(opened, FILING) == []
        return list(opened.records())


def lock_files(directory: Path) -> list[Path]:
    return list(directory.glob("run-*.lock"))


# Life and death

_ELSEWHERE = """
    import sys
    from pathlib import Path
    from crawler_dedup import Config, Deduplicator
    from tests.support.crawling import article

    run = Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams"))
    page = run.sign("http://a.example/1", article("x").encode())
    (decision,) = run.submit([page], claim=True).result()
    print(decision.verdict, flush=True)
    for line in sys.stdin:
        print(run.settle(decision), flush=True)
"""


def test_a_run_that_lives_in_another_process_holds_its_claim_until_it_is_killed(
    tmp_path: Path, opening_here: Open
) -> None:
    with running_program(_ELSEWHERE, tmp_path) as holder:
        run = opening_here()
        assert answer(run, "2", "x") == BEING_HANDLED
        assert len(lock_files(tmp_path)) == 2
        assert run.tidy() == 0
        holder.kill()
        holder.wait()
        assert answer(run, "2", "x") == "new"
        assert [record.run for record in kept(tmp_path)] == [run.run]
        assert len(lock_files(tmp_path)) == 1  # that of the killed run was removed when the decision asked for it


def test_the_lock_file_of_a_killed_run_is_removed_at_the_next_opening(tmp_path: Path) -> None:
    with running_program(_ELSEWHERE, tmp_path) as holder:
        holder.kill()
        holder.wait()
        (left_behind,) = lock_files(tmp_path)
    with Deduplicator.open(tmp_path, CONFIG):
        assert left_behind not in lock_files(tmp_path)


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let this process open no file while the context lasts."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_pages_just_settled_by_a_run_that_may_be_dead_are_no_representatives(
    tmp_path: Path, opening_here: Open
) -> None:
    dead = opening_here()
    assert answer(dead, "1", "x") == "new"
    die(dead)
    run = opening_here()
    with no_more_files():
        assert answer(run, "2", "x") == BEING_HANDLED
        assert offer(run, "1", "x").verdict == "unchanged"  # and this run is responsible for it from now on
        assert run.tidy() == 0
    assert answer(run, "2", "x") == BEING_HANDLED
    assert [record.run for record in kept(tmp_path)] == [run.run]


@pytest.mark.parametrize(("seconds", "expected"), [(0, "new"), (60, "new"), (61, "duplicate")])
def test_pages_that_a_dead_run_settled_before_the_grace_stand(
    opening: Open, clock: Clock, seconds: int, expected: str
) -> None:
    dead = opening(grace=60)
    assert answer(dead, "1", "x") == "new"
    clock.passes(seconds)
    assert answer(dead, "other", "y") == "new"
    die(dead)
    clock.passes(1000)  # the time since its death does not matter
    run = opening()
    assert answer(run, "2", "x") == expected
    assert answer(run, "3", "y") == "new"


def test_the_last_page_of_a_dead_run_is_new_at_its_next_visit(opening: Open) -> None:
    dead = opening(grace=60)
    assert answer(dead, "1", "x") == "new"
    die(dead)
    assert answer(opening(), "1", "x") == "new"


def test_pages_without_a_claim_stand_at_once_and_have_the_same_grace(opening: Open) -> None:
    dead, run = opening(), opening()
    offer(dead, "1", "x", claim=False)
    assert answer(run, "2", "x") == "duplicate"
    die(dead)
    assert answer(run, "2", "x") == "new"


@pytest.mark.parametrize("seconds", [-100, 100])
def test_setting_the_clock_changes_the_age_of_no_page(opening: Open, clock: Clock, seconds: int) -> None:
    dead = opening(grace=5)
    assert answer(dead, "1", "x") == "new"
    clock.passes(6)
    assert answer(dead, "2", "y") == "new"
    clock.is_set(seconds)
    assert answer(dead, "3", "z") == "new"
    die(dead)
    run = opening()
    assert [answer(run, f"again {text}", text) for text in "xyz"] == ["duplicate", "new", "new"]


def test_the_time_of_a_run_never_goes_back(backend: Index) -> None:
    """Its processes may read the clock in another order than that of their transactions."""
    for number, now in ((1, 2_000), (2, 1_000)):
        context = RunContext(7, clock=partial(int, now))
        backend.offer([page(number, number)], ByDistance(0), context).result()
    assert [(record.filed, record.seen) for record in backend.records()] == 2 * [(2_000, 2_000)]


# Pages that are not stored


@pytest.mark.parametrize("grace", [0, 5])
@pytest.mark.parametrize("all_stored", [True, False])
def test_pages_settled_after_the_last_stored_one_stand_until_the_run_is_over(
    places: Places, opening: Open, clock: Clock, all_stored: bool, grace: int
) -> None:
    first, run = opening(grace=grace), opening()
    first.set_stored_until(clock.monotonic())
    clock.passes(10)
    assert answer(first, "1", "x") == "new"
    clock.passes(10)
    first.set_stored_until(clock.monotonic())
    assert answer(first, "2", "y") == "new"
    clock.passes(100)
    assert answer(first, "3", "z") == "new"
    assert [answer(run, f"again {text}", text) for text in "xyz"] == ["duplicate"] * 3
    first.close(all_stored=all_stored)
    assert [answer(run, f"later {text}", text) for text in "xyz"] == ["duplicate", "new", "new"]
    assert run.tidy() == 0
    assert len(kept(places())) == 3


@pytest.mark.parametrize("all_stored", [False, True])
def test_tidying_forgets_pages_that_are_not_stored_and_then_the_run(
    places: Places, opening: Open, clock: Clock, all_stored: bool
) -> None:
    first = opening()
    first.set_stored_until(clock.monotonic())
    assert answer(first, "1", "x") == "new"
    if all_stored:
        first.set_stored_until(None)
    first.close()
    run = opening()
    assert run.tidy() == (not all_stored)
    assert len(kept(places())) == all_stored
    assert run.tidy() == 0
    assert answer(run, "2", "x") == ("duplicate" if all_stored else "new")


def test_pages_that_an_interrupted_run_has_stored_stay_stored_when_they_are_visited_again(
    opening: Open, clock: Clock
) -> None:
    first = opening()
    assert answer(first, "1", "x") == "new"
    first.close(finished=False)
    clock.passes(100)
    second = opening()
    second.set_stored_until(clock.monotonic())
    assert answer(second, "1", "x") == "unchanged"
    die(second)
    assert answer(opening(), "2", "x") == "duplicate"


# Closed


def test_claims_that_are_open_when_a_run_is_closed_are_removed_by_the_next_tidying(
    places: Places, opening: Open
) -> None:
    first = opening()
    assert answer(first, "1", "x") == "new"
    offer(first, "2", "y")
    offer(first, "3", "z")
    first.close()
    run = opening()
    assert answer(run, "4", "y") == "new"  # the claim of the other page stands for none, and is removed
    assert run.tidy() == 1
    assert run.tidy() == 0
    kept_urls = [record.page.url.rpartition("/")[2] for record in kept(places())]
    assert kept_urls == ["1", "4"]
    assert (answer(run, "5", "x"), answer(run, "6", "z")) == ("duplicate", "new")


@pytest.mark.parametrize("is_tidied", [False, True])
def test_what_a_run_still_writes_when_others_know_that_it_is_dead_counts_as_lost(
    opening_here: Open, is_tidied: bool
) -> None:
    """Its deciding process may write for a moment after the crawl was killed."""
    dead = opening_here()
    claimed = offer(dead, "1", "one")
    dead._run.release()
    other = opening_here()
    if is_tidied:
        assert other.tidy() == 1
    assert dead.settle(claimed) is not is_tidied
    assert dead.settle(offer(dead, "2", "two"))
    assert offer(dead, "3", "three").claim
    assert [answer(other, f"copy of {text}", text) for text in ("one", "two", "three")] == ["new"] * 3
    other.tidy()
    assert len(other) == 3


def test_an_exception_does_not_end_a_run_regularly(tmp_path: Path) -> None:
    def crawl(error: BaseException | None) -> None:
        with Deduplicator.open(tmp_path, CONFIG) as run:
            answer(run, "1", "x")
            if error is not None:
                raise error

    with pytest.raises(KeyboardInterrupt):
        crawl(KeyboardInterrupt())
    with Deduplicator.open(tmp_path, CONFIG) as run:
        assert run.tidy() == 1
    crawl(None)
    with Deduplicator.open(tmp_path, CONFIG) as run:
        assert run.tidy() == 0
        assert answer(run, "2", "x") == "duplicate"


# Claims


def test_ending_a_claim_of_a_run_does_not_end_one_of_another_run_with_the_same_number(tmp_path: Path) -> None:
    kept_store = open_store(tmp_path)
    (decision,) = kept_store.offer([page(1, 5)], ByDistance(), RunContext(run=7, next_claim=count(1).__next__)).result()
    assert not settle(kept_store, 1, decision.claim, RunContext(run=8))
    assert not settle(kept_store, 1, decision.claim + 1, RunContext(run=7))
    assert settle(kept_store, 1, decision.claim, RunContext(run=7))
    kept_store.close()


def test_a_claim_that_is_settled_twice_keeps_its_first_time(places: Places, opening: Open, clock: Clock) -> None:
    run = opening()
    decision = offer(run, "1", "x")
    assert run.settle(decision)
    before = kept(places())
    clock.passes(100)
    assert run.settle(decision)
    assert kept(places()) == before


def test_an_unchanged_decision_records_whether_an_earlier_run_has_handled_the_page(opening: Open) -> None:
    first = opening()
    answer(first, "1", "x")
    assert not offer(first, "1", "x").from_earlier_run
    first.close()
    assert offer(opening(), "1", "x").from_earlier_run


# Files that are held


_FORK = """
    import os, sys
    from crawler_dedup import Config, Deduplicator
    from tests.support.crawling import article

    run = Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams"))
    run.submit([run.sign("http://a.example/1", article("x").encode())], claim=True).result()
    child = os.fork()
    if not child:
        print(os.getpid(), flush=True)
        sys.stdin.readline()
        run.close()
        print("closed", flush=True)
        sys.stdin.readline()  # lives on until the test ends
        os._exit(0)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize(("ends", "expected"), [("child", BEING_HANDLED), ("parent", "new")])
def test_a_run_ends_with_its_process_and_not_with_a_forked_child(
    tmp_path: Path, opening_here: Open, ends: str, expected: str
) -> None:
    parent = program(_FORK, tmp_path, fresh=True)
    child = int(first_line(parent))
    try:
        run = opening_here()
        assert answer(run, "2", "x") == BEING_HANDLED
        if ends == "child":
            assert ask(parent, "close") == "closed"
        else:
            parent.kill()
            parent.wait()
            os.kill(child, 0)  # it is there still
        assert answer(run, "2", "x") == expected
        if ends == "parent":
            run.close()
            compact(tmp_path)  # nor does the child keep the index open
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate()


# Further addresses of a page


def test_the_first_address_of_a_redirection_leads_to_the_same_page(places: Places, opening: Open) -> None:
    run = opening()
    assert answer(run, "final", "x", alias="http://a.example/first") == "new"
    assert answer(run, "final", "x", alias="http://a.example/first") == "unchanged"
    assert answer(run, "first", "x") == "unchanged"
    assert answer(run, "elsewhere", "x", alias="http://a.example/first") == "unchanged"
    assert answer(run, "elsewhere", "x") == "unchanged"
    assert answer(run, "copy", "x") == "duplicate"
    (record,) = kept(places())
    assert len(record.aliases) == 2


def test_a_site_that_redirects_each_visit_to_another_address_is_one_page(places: Places, opening: Open) -> None:
    run = opening()
    answers = [answer(run, f"?session={number}", "x", alias="http://a.example/") for number in range(3 * MAX_ALIASES)]
    assert answers == ["new"] + ["unchanged"] * (3 * MAX_ALIASES - 1)
    (record,) = kept(places())
    assert len(record.aliases) == MAX_ALIASES


def test_a_different_page_at_a_further_address_is_judged_separately(places: Places, opening: Open) -> None:
    run = opening()
    assert answer(run, "final", "x", alias="http://a.example/first") == "new"
    assert answer(run, "first", "y") == "new"
    assert answer(run, "final", "x") == "unchanged"
    assert answer(run, "copy", "x") == "duplicate"
    assert answer(run, "first", "y") == "unchanged"
    assert [record.aliases for record in kept(places())] == [(), ()]


def test_a_changed_or_released_page_loses_its_further_addresses(places: Places, opening: Open) -> None:
    run = opening()
    first = offer(run, "final", "x", alias="http://a.example/first")
    assert run.release(first)
    assert answer(run, "first", "x") == "new"
    assert answer(run, "first", "y", alias="http://a.example/before") == "changed"
    assert answer(run, "before", "y") == "unchanged"
    assert len(kept(places())) == 1


def test_an_import_keeps_further_addresses_except_those_that_lead_elsewhere(tmp_path: Path) -> None:
    directory, target, file = tmp_path / "index", tmp_path / "other", tmp_path / "export"
    with Deduplicator.open(directory, CONFIG) as run:
        answer(run, "final", "x", alias="http://a.example/first")
        answer(run, "final z", "z", alias="http://a.example/first z")
    with Deduplicator.open(target, CONFIG) as run:
        answer(run, "first", "y")
    opened = DirectoryIndex.attach(directory)
    transfer.export_index(opened, file, lambda _: None)
    opened.close()
    assert transfer.import_index(Export(file), target, lookup_of, lambda _: None, lambda _: None) == (2, 2)
    with Deduplicator.open(target, CONFIG) as run:
        assert answer(run, "first", "y") == "unchanged"
        assert answer(run, "final", "x") == answer(run, "first z", "z") == "unchanged"
    assert sorted(len(record.aliases) for record in kept(target)) == [0, 0, 1]


# Age


def test_a_page_that_was_not_visited_for_long_neither_matches_nor_stays(
    places: Places, opening: Open, clock: Clock
) -> None:
    run = opening(expire_days=2)
    assert [answer(run, text, text) for text in ("old", "visited")] == ["new", "new"]
    clock.passes(86_400 * 1.5)
    assert answer(run, "visited", "visited") == "unchanged"
    clock.passes(86_400)
    assert answer(run, "copy", "visited") == "duplicate"
    assert answer(run, "another copy", "old") == "new"
    assert {record.page.url.rpartition("/")[2] for record in kept(places())} == {"visited", "another copy"}
    assert answer(run, "old", "another old") == "new"  # at the address of a page that has expired
    clock.passes(86_400 * 3)
    assert opening().tidy() == 0  # without expiry no page is too old
    assert run.tidy() == 3
    assert kept(places()) == []


# What leaves the index, and what never enters it


def test_an_export_leaves_out_pages_that_were_not_handled(tmp_path: Path) -> None:
    directory, file = tmp_path / "index", tmp_path / "export"
    dead = Deduplicator.open(directory, CONFIG)
    answer(dead, "lost", "x")
    die(dead)
    with Deduplicator.open(directory, CONFIG) as run:
        answer(run, "handled", "y")
        offer(run, "under way", "z")
        opened = DirectoryIndex.attach(directory)
        assert transfer.export_index(opened, file, lambda _: None) == 1
        opened.close()
    transfer.import_index(Export(file), tmp_path / "copy", lookup_of, lambda _: None, lambda _: None)
    assert [record.page.url for record in kept(tmp_path / "copy")] == ["http://a.example/handled"]


def test_a_run_that_dies_while_it_is_read_keeps_its_pages(opening_here: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it were alive at one check and dead at the next, its page would become one of the reading run."""
    dying, living = opening_here(grace=60), opening_here(grace=60)
    first = offer(dying, "page", "x")
    assert dying.settle(first)
    lives = DirectoryStorage.is_alive

    def dies_then(self: DirectoryStorage, number: int) -> bool | None:
        it_lives = lives(self, number)
        dying.close(all_stored=False)
        return it_lives

    monkeypatch.setattr(DirectoryStorage, "is_alive", dies_then)
    assert answer(living, "page", "x") == "unchanged"
    monkeypatch.setattr(DirectoryStorage, "is_alive", lives)
    assert answer(living, "copy", "x") == "new"
