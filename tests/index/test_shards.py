"""An index on a server that consists of several shards: each scope is in one of them."""

from __future__ import annotations

import itertools
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, ConfigError, Decision, Deduplicator, IndexMismatch, IndexUnusable, Verdict
from crawler_dedup.decision import BEING_HANDLED, NO_ANSWER
from crawler_dedup.errors import IndexGone
from crawler_dedup.index import export, maintenance
from crawler_dedup.index.backend import Backend
from crawler_dedup.index.export import Export
from crawler_dedup.index.location import Location, ServerAddress, find_location
from crawler_dedup.index.records import hash_scope
from crawler_dedup.index.verdicts import OfferTerms
from crawler_dedup.system.extras import has_extra
from tests.support.crawling import article
from tests.support.indexing import ByDistance, clusters, number_of, open_backend, page, settle, uniform
from tests.support.servers import Server

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

from crawler_dedup.index.redis.runs import ServerRun
from crawler_dedup.index.redis.store import ServerStore

CONFIG = Config(tokenizer="bigrams")
NEAR = ByDistance()
SHARDS = 4


@pytest.fixture
def address(server: Server) -> ServerAddress:
    """Return an empty index that shall have shards."""
    server.empty()
    return at(server, "0", SHARDS)


def at(server: Server, name: str, shards: int | None) -> ServerAddress:
    location = find_location(f"{server.url(name)}{f'&shards={shards}' if shards else ''}")
    assert isinstance(location, ServerAddress)
    return location


# How many there are


@pytest.mark.parametrize("shards", ["", "0", "65", "-1", "x", "1e1", "²", "0000000008"])
def test_another_number_of_shards_than_1_to_64_is_refused(shards: str) -> None:
    with pytest.raises(ConfigError, match="shards=N"):
        find_location(f"redis://h?shards={shards}")


@pytest.mark.parametrize("options", ["shards=2&shards=8", "index=a&index=b", "shards=2&shards=", "db=", "index="])
def test_repeated_or_empty_options_are_refused(options: str) -> None:
    with pytest.raises(ConfigError, match="shards=N"):
        find_location(f"redis://h?{options}")


@pytest.mark.parametrize("fresh", [False, True])
def test_an_index_that_has_lost_its_first_shard_keeps_the_others(server: Server, fresh: bool) -> None:
    server.empty()
    pages = [page(number, signature, f"scope {number}") for number, signature in enumerate(uniform(1, 40))]
    is_lost = [hash_scope(page.scope) % SHARDS == 0 for page in pages]
    with closing(open_backend(at(server, "0", SHARDS))) as store:
        store.offer(pages, NEAR).result()
    for name in server.key_names("{index:0}*"):
        server.run("DEL", name)
    with closing(open_backend(at(server, "0", None), fresh=fresh)) as store:
        assert len(store) == (0 if fresh else is_lost.count(False))
        copies = [page(100 + number, lost_page.signature, lost_page.scope) for number, lost_page in enumerate(pages)]
        decisions = store.offer(copies, NEAR).result()
        assert [decision.verdict is Verdict.NEW for decision in decisions] == ([True] * 40 if fresh else is_lost)
        assert store.verify(NEAR) == []
    open_backend(at(server, "0", SHARDS)).close()


def test_an_index_keeps_its_number_of_shards(address: ServerAddress, server: Server) -> None:
    open_backend(address).close()
    with closing(open_backend(at(server, "0", None))) as store:
        for number in range(20):
            assert store.offer([page(number, 5, f"scope {number}")], NEAR).result()[0].verdict is Verdict.NEW
    with closing(open_backend(address)) as store:
        for number in range(20):
            decisions = store.offer([page(100 + number, 5, f"scope {number}")], NEAR).result()
            assert decisions[0].verdict is Verdict.DUPLICATE
        assert len(store) == 20
    tags = {bytes(name).partition(b"}")[0] for name in server.key_names()}
    assert len(tags) == SHARDS


@pytest.mark.parametrize("other_shards", [1, 2, 8])
def test_another_number_of_shards_than_the_index_has_is_refused(
    address: ServerAddress, server: Server, other_shards: int
) -> None:
    with closing(open_backend(address)) as store:
        store.offer([page(1, 5)], NEAR).result()
    for open_one in (open_backend, maintenance.open_pages, maintenance.open_index):
        with pytest.raises(IndexMismatch, match=f"shards: index has {SHARDS} / you have {other_shards}"):
            open_one(at(server, "0", other_shards))
    with closing(maintenance.open_pages(at(server, "0", None))) as pages:
        assert len(pages) == 1


@pytest.mark.parametrize(("before", "after"), [(4, 2), (2, 4), (1, 4), (4, 1)])
def test_an_emptied_index_may_get_another_number_of_shards(server: Server, before: int, after: int) -> None:
    server.empty()
    with closing(open_backend(at(server, "0", before))) as old:
        pages = [page(number, signature, f"scope {number}") for number, signature in enumerate(uniform(1, 40))]
        old.offer(pages, NEAR).result()
    with closing(open_backend(at(server, "0", after), fresh=True)) as new:
        assert len(new) == 0
        tags = {bytes(name).partition(b"}")[0] for name in server.key_names()}
        assert len(tags) == after
        assert {decision.verdict for decision in new.offer(pages, NEAR).result()} == {Verdict.NEW}
        assert new.verify(NEAR) == []


def test_a_crawl_detects_that_the_index_has_another_number_of_shards(address: ServerAddress, server: Server) -> None:
    with closing(open_backend(address)) as store:
        pages = [page(number, 5, f"scope {number}") for number in range(20)]
        store.offer(pages, NEAR).result()
        server.empty()
        with closing(open_backend(at(server, "0", 2))) as emptied:
            emptied.offer(pages, NEAR).result()
            for old_page in pages:
                assert isinstance(store.offer([old_page], NEAR).exception(), IndexUnusable)
            assert emptied.verify(NEAR) == []
            assert len(emptied) == 20


# The same answers as one shard, and as a directory


_STEPS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(0, 8),
        st.integers(0, 4),
        st.sampled_from(["settle", "release", "leave", "forget"]),
    ),
    min_size=1,
    max_size=30,
)


@given(_STEPS)
def test_shards_answer_as_a_directory(
    server: Server, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, int, str]]
) -> None:
    server.empty()
    signatures = clusters(3, 5)
    with (
        closing(_Crawl(tmp_path_factory.mktemp("index"))) as directory,
        closing(_Crawl(at(server, "0", SHARDS))) as sharded,
    ):
        for scope, number, signature, fate in steps:
            step = (f"scope {scope}", number, signatures[signature], fate)
            assert directory.visit(*step) == sharded.visit(*step)
        assert directory.pages.verify(NEAR) == sharded.pages.verify(NEAR) == []
        assert sorted(directory.kept()) == sorted(sharded.kept())
        assert len(directory.pages) == len(sharded.pages)


class _Crawl:
    """A crawl with an index of its own, whose clock stands still."""

    def __init__(self, location: Location) -> None:
        self.pages: Backend = open_backend(location)
        self._run = self.pages.begin_run()
        self._terms = OfferTerms(self._run.number, 60, clock=lambda: 1_000_000_000)
        self._claiming = replace(self._terms, next_claim=itertools.count(1).__next__)

    def visit(self, scope: str, number: int, signature: int, fate: str) -> Decision:
        """Offer a page, and let it have its fate if it passes; return the decision."""
        offered = page(number, signature, scope)
        looked = self.pages.look(offered, NEAR, self._claiming)
        (decision,) = self.pages.offer([offered], NEAR, self._claiming).result()
        assert replace(looked, claim=decision.claim) == decision
        if fate == "forget":
            self.pages.forget(lambda record: record.page.url == offered.url and record.page.scope == scope, NEAR)
        elif fate != "leave" and decision.claim:
            self.pages.end_claim(decision, NEAR, self._terms, settled=fate == "settle", urgent=True).result()
        return decision

    def kept(self) -> list[tuple[str, str, bool]]:
        records = (record for block in self.pages.records(100) for record in block)
        return [(record.page.scope, record.page.key, bool(record.settled)) for record in records]

    def close(self) -> None:
        self._run.release()
        self.pages.close()


def test_a_batch_over_several_shards_is_answered_in_its_order(address: ServerAddress) -> None:
    pages = [page(number, 5 + number % 3 * 0xFF00FF, f"scope {number % 7}") for number in range(60)]
    with closing(open_backend(address)) as store:
        decisions = store.offer(pages, NEAR).result()
        assert [decision.key for decision in decisions] == [page.key for page in pages]
        assert [decision.verdict for decision in decisions[:21]] == [Verdict.NEW] * 21
        assert [decision.verdict for decision in decisions[21:]] == [Verdict.DUPLICATE] * 39


# Runs


def test_a_run_ends_in_all_shards(address: ServerAddress) -> None:
    with closing(open_backend(address)) as store:
        run = store.begin_run()
        terms = OfferTerms(run.number, 60, clock=run.now)
        claiming = replace(terms, next_claim=itertools.count(1).__next__)
        pages = [page(number, 5, f"scope {number}") for number in range(20)]
        decisions = store.offer(pages, NEAR, claiming).result()
        copies = [page(100 + number, 5, f"scope {number}") for number in range(20)]
        assert {decision.reason for decision in store.offer(copies, NEAR).result()} == {BEING_HANDLED}
        for decision in decisions:
            assert store.end_claim(decision, NEAR, terms, settled=True, urgent=True).result()
        store.end_run(terms, finished=True)
        run.release()
    with closing(open_backend(address)) as store:
        assert {decision.verdict for decision in store.offer(copies, NEAR).result()} == {Verdict.DUPLICATE}
        assert store.tidy(NEAR, 0) == 0


def test_open_pages_of_a_run_are_removed_from_all_shards(address: ServerAddress) -> None:
    with closing(open_backend(address)) as store:
        run = store.begin_run()
        claiming = OfferTerms(run.number, 60, clock=run.now, next_claim=itertools.count(1).__next__)
        pages = [page(number, 5, f"scope {number}") for number in range(20)]
        store.offer(pages, NEAR, claiming).result()
        run.release()
        assert store.tidy(NEAR, 0) == 20
        assert len(store) == 0


def test_a_run_ends_in_all_shards_simultaneously(address: ServerAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a server does not answer, this takes as long as with one shard."""
    store = open_backend(address)
    run = store.begin_run()
    terms = OfferTerms(run.number, 60, clock=run.now)
    for owner, name in ((ServerStore, "end_run"), (ServerRun, "release"), (ServerStore, "close")):
        all_shards, original = threading.Barrier(SHARDS), getattr(owner, name)

        def wait_for_others(
            *arguments: object, barrier: threading.Barrier = all_shards, call: Any = original, **options: object
        ) -> None:
            barrier.wait(timeout=10)
            call(*arguments, **options)

        monkeypatch.setattr(owner, name, wait_for_others)
    store.end_run(terms, finished=True)
    run.release()
    store.close()


def test_a_run_that_cannot_end_in_a_shard_ends_in_the_others(address: ServerAddress, server: Server) -> None:
    with closing(open_backend(address)) as store:
        run = store.begin_run()
        claiming = OfferTerms(run.number, 60, clock=run.now, next_claim=itertools.count(1).__next__)
        store.offer([page(number, 5, f"scope {number}") for number in range(20)], NEAR, claiming).result()
        for name in server.key_names("{index:0:1}*"):
            server.run("DEL", name)
        with pytest.raises(IndexUnusable):
            store.end_run(claiming, finished=True)
        copies = [page(100 + number, 5, f"scope {number}") for number in range(20)]
        for filed_again in copies:
            if hash_scope(filed_again.scope) % SHARDS != 1:
                assert store.offer([filed_again], NEAR).result()[0].verdict is Verdict.NEW
        run.release()


def test_if_a_batch_fails_in_a_shard_the_others_answer(
    address: ServerAddress, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_backend(address)) as store:
        run = store.begin_run()
        terms = OfferTerms(run.number, 60, clock=run.now)
        claiming = replace(terms, next_claim=itertools.count(1).__next__)
        for name in server.key_names("{index:0:1}*"):
            server.run("DEL", name)
        pages = [page(number, 5, f"scope {number}") for number in range(20)]
        decisions = store.offer(pages, NEAR, claiming).result()
        assert [decision.key for decision in decisions] == [page.key for page in pages]
        for offered_page, decision in zip(pages, decisions, strict=True):
            if hash_scope(offered_page.scope) % SHARDS == 1:
                assert (decision.verdict, decision.reason) == (Verdict.UNCHECKED, NO_ANSWER)
            else:
                assert decision.verdict is Verdict.NEW
                assert store.end_claim(decision, NEAR, terms, settled=True).result()
                copy = page(100 + number_of(offered_page), 5, offered_page.scope)
                assert store.offer([copy], NEAR, terms).result()[0].verdict is Verdict.DUPLICATE
        assert "are unchecked" in caplog.text
        away = [page for page in pages if hash_scope(page.scope) % SHARDS == 1]
        assert isinstance(store.offer(away, NEAR, claiming).exception(), IndexUnusable)
        run.release()


# Commands


def test_an_index_can_be_exported_from_shards_into_others_and_into_a_directory(
    address: ServerAddress, server: Server, tmp_path: Path
) -> None:
    with Deduplicator.open(f"{server.url()}&shards={SHARDS}", CONFIG) as run:
        for number in range(24):
            run.check(f"http://{number % 5}.example/{number}", article(number).encode(), scope=f"{number % 5}")
        sites = [run._opened.store.latest_snapshot(f"{n}", f"http://{n}.example/") for n in range(5)]
    places: list[Location] = [address, at(server, "other", 3), tmp_path / "directory", at(server, "back", 8)]
    for source, target in itertools.pairwise(places):
        with closing(maintenance.open_pages(source)) as pages:
            maintenance.export_index(pages, tmp_path / "file", lambda _: None)
        filing = lambda _: NEAR  # noqa: E731
        export = Export(tmp_path / "file")
        assert maintenance.import_index(export, target, filing, lambda _: None, lambda _: None) == (24, 24)
        with closing(maintenance.open_pages(target)) as copy:
            assert copy.verify(NEAR) == []
            assert copy.measure_sites().sites == 5
            assert [copy.latest_snapshot(f"{n}", f"http://{n}.example/").content for n in range(5)] == [
                site.content for site in sites
            ]


@pytest.mark.parametrize("rows", [100, 10_000])  # it is emptied while records are read, or before sites are
def test_an_export_of_an_index_that_is_emptied_during_it_fails(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    server.empty()
    address = server.address()
    with closing(open_backend(address)) as store:
        store.offer([page(number, signature) for number, signature in enumerate(uniform(1, 1200))], NEAR).result()
    monkeypatch.setattr(export, "MAX_BLOCK_ROWS", rows)

    def empty(_: int) -> None:
        server.empty()
        open_backend(address).close()

    with closing(maintenance.open_pages(address)) as pages, pytest.raises(IndexGone):
        maintenance.export_index(pages, tmp_path / "file", empty)
    assert not (tmp_path / "file").exists()


def test_damage_of_a_shard_is_found_and_repaired(address: ServerAddress, server: Server) -> None:
    pages = [page(number, signature, f"scope {number}") for number, signature in enumerate(uniform(7, 50))]
    with closing(open_backend(address)) as store:
        store.offer(pages, NEAR).result()
        damaged = hash_scope("scope 7") % SHARDS
        tag = b"{index:0%s}" % (b":%d" % damaged if damaged else b"")
        names = [name for name in server.key_names() if name.startswith(tag) and name[len(tag) + 4 :][:1] == b"b"]
        server.run("DEL", names[0])
        assert all(problem.startswith(f"Shard {damaged}: ") for problem in store.verify(NEAR))
        assert store.verify(NEAR)
        store.repair(NEAR)
        assert store.verify(NEAR) == []
        assert len(store) == 50


def test_pages_of_all_shards_are_found_and_forgotten(address: ServerAddress) -> None:
    with closing(open_backend(address)) as store:
        store.offer([page(number, 5, f"scope {number}") for number in range(40)], NEAR).result()
        probes = [list(NEAR.probes(page(0, 5)))]
        assert len(store.sharing(probes, lambda blocks: NEAR.near(page(0, 5), next(iter(blocks))))) == 40
        assert store.forget(lambda record: number_of(record.page) % 2 == 0, NEAR) == 20
        assert sum(len(block) for block in store.records(7)) == len(store) == 20
        assert store.verify(NEAR) == []
        assert settle(store, 1) is False  # it has another scope
