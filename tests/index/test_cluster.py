"""An index in a cluster: nodes are killed, slots move, replicas are promoted, while clients offer pages."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator, IndexUnusable, SignedPage, Verdict
from crawler_dedup.errors import ConnectionLost
from crawler_dedup.index import maintenance
from crawler_dedup.index.backend import Backend
from crawler_dedup.index.records import hash_scope
from crawler_dedup.index.verdicts import OfferTerms
from crawler_dedup.system.extras import has_extra
from tests.support.clusters import Cluster, clustering
from tests.support.crawling import article
from tests.support.indexing import ByDistance, first_line, number_of, open_backend, page, program, release, uniform

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

from crawler_dedup.index.redis.changes import Changes
from crawler_dedup.index.redis.client import Client
from crawler_dedup.index.redis.connection import ServerConnection

NEAR = ByDistance()
SHARDS = 8
_ALWAYS = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")

_OFFERS = """
    import random, sys, time
    from contextlib import closing
    from crawler_dedup import IndexUnusable
    from crawler_dedup.index.location import find_location
    from tests.support.indexing import ByDistance, open_backend, page, uniform

    address, name, count, settled = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), set()
    order = list(range(count))
    random.Random(name).shuffle(order)
    signatures, near, unchecked = uniform(1, count), ByDistance(), 0
    with closing(open_backend(find_location(address))) as store:
        print("open", flush=True)
        while order:
            number = order.pop()
            offered = page(name * count + number, signatures[number], f"scope {number % 40}")
            try:
                store.offer([offered], near).result()
            except IndexUnusable:
                unchecked += 1
                order.insert(0, number)
                time.sleep(0.02)
    print(unchecked, flush=True)
"""


@contextmanager
def offering(url: str, processes: int, count: int) -> Iterator[Callable[[], list[int]]]:
    """Start processes that offer the same contents in other orders; yield what waits for them and counts their failures."""
    with ExitStack() as stack:
        started = [program(_OFFERS, url, number, count) for number in range(processes)]
        for process in started:
            stack.callback(process.communicate)
            stack.callback(process.kill)
            first_line(process)
        yield lambda: [int(first_line(process)) for process in started]


def wait_until_used(store: Backend, scopes: int = 1) -> None:
    """Wait until pages of all scopes are checked again."""
    end = time.monotonic() + 20
    for scope in range(scopes):
        unsigned = SignedPage(
            key="", url="", scope=f"scope {scope}" if scopes > 1 else "", signature=0, unsigned="blank"
        )
        while store.offer([unsigned], NEAR).exception() is not None:
            assert time.monotonic() < end
            time.sleep(0.05)


def check_each_once(cluster: Cluster, count: int, node: int = 0) -> None:
    with closing(maintenance.open_pages(cluster.address(node=node))) as pages:
        assert pages.verify(NEAR) == []
        kept = [(record.page.scope, record.page.signature) for block in pages.records(1000) for record in block]
        assert len(set(kept)) == count
        assert len(kept) == count


def test_clients_of_a_cluster_keep_each_content_once(tmp_path: Path) -> None:
    with clustering(tmp_path) as cluster:
        open_backend(cluster.address(shards=SHARDS)).close()
        with offering(cluster.url(node=1), 2, 1500) as wait:
            assert wait() == [0, 0]
        assert all(node.run("DBSIZE") for node in cluster.nodes)
        check_each_once(cluster, 1500, node=2)


def test_while_a_node_is_away_pages_of_other_nodes_are_checked(tmp_path: Path) -> None:
    with (
        clustering(tmp_path, 3, 0, *_ALWAYS) as cluster,
        closing(open_backend(cluster.address(shards=SHARDS))) as store,
    ):
        owners = [cluster.owner(shard.tag) for shard in cluster.address().all_shards(SHARDS)]
        assert set(owners) == {0, 1, 2}
        pages = [page(number, signature, f"scope {number}") for number, signature in enumerate(uniform(1, 40))]
        of_killed = [scoped_page for scoped_page in pages if owners[hash_scope(scoped_page.scope) % SHARDS] == 0]
        of_living = [scoped_page for scoped_page in pages if scoped_page not in of_killed]
        cluster.nodes[0].kill()
        for scoped_page in of_living:
            assert store.offer([scoped_page], NEAR).result()[0].verdict is Verdict.NEW
        for scoped_page in of_killed:
            assert isinstance(store.offer([scoped_page], NEAR).exception(), IndexUnusable)
        with pytest.raises(IndexUnusable):
            open_backend(cluster.address(node=1))
        cluster.nodes[0].start()
        cluster.wait_until_ok()
        time.sleep(0.6)  # for half a second after it was found to be away, no server is asked
        for scoped_page in of_killed:
            assert store.offer([scoped_page], NEAR).result()[0].verdict is Verdict.NEW
        assert store.verify(NEAR) == []
        assert len(store) == 40


def test_a_stopped_node_is_waited_for_only_once(tmp_path: Path) -> None:
    with clustering(tmp_path, 3, 0, "--save", "", "--cluster-node-timeout", "60000") as cluster:
        place = next(shard for shard in cluster.address().all_shards(SHARDS) if cluster.owner(shard.tag) != 0)
        with ServerConnection(place, 1.0) as connection:
            connection.ensure()
            stopped = cluster.nodes[cluster.owner(place.tag)]
            stopped.signal(signal.SIGSTOP)
            connection.drop()
            for _ in range(2):
                began = time.monotonic()
                with pytest.raises(ConnectionLost):
                    connection.ensure()
                assert time.monotonic() - began < 1.9
            stopped.signal(signal.SIGCONT)
            connection.ensure()


def test_an_index_that_has_lost_the_node_of_its_first_shard_keeps_the_others(tmp_path: Path) -> None:
    with clustering(tmp_path) as cluster:
        pages = [page(number, 5, f"scope {number}") for number in range(40)]
        with closing(open_backend(cluster.address(shards=SHARDS))) as store:
            store.offer(pages, NEAR).result()
        owners = [cluster.owner(shard.tag) for shard in cluster.address().all_shards(SHARDS)]
        cluster.nodes[owners[0]].empty()
        kept = [page for page in pages if owners[hash_scope(page.scope) % SHARDS] != owners[0]]
        with closing(open_backend(cluster.address())) as store:
            assert len(store) == len(kept) > 0
            assert store.verify(NEAR) == []


def test_nodes_that_write_at_once_and_are_killed_in_turn_lose_nothing(tmp_path: Path) -> None:
    with clustering(tmp_path, 3, 0, *_ALWAYS) as cluster:
        open_backend(cluster.address(shards=SHARDS)).close()
        with offering(cluster.url(), 2, 3000) as wait:
            for node in (1, 0, 2):
                time.sleep(0.3)
                cluster.nodes[node].kill()
                time.sleep(0.2)
                cluster.nodes[node].start()
                cluster.wait_until_ok()
            assert sum(wait()) > 0
        check_each_once(cluster, 3000)


def test_a_slot_that_is_moved_key_by_key_is_used_again_at_its_new_node(tmp_path: Path) -> None:
    with clustering(tmp_path) as cluster:
        with closing(open_backend(cluster.address(shards=SHARDS))) as store:
            store.offer([page(-1 - number, 5, f"scope {number}") for number in range(40)], NEAR).result()
        moved = [shard.tag for shard in cluster.address().all_shards(SHARDS)][:3]
        with offering(cluster.url(), 2, 3000) as wait:
            for tag in moved:
                time.sleep(0.2)
                cluster.move(tag, (cluster.owner(tag) + 1) % 3)
            wait()
        with closing(maintenance.open_pages(cluster.address())) as pages:
            assert pages.verify(NEAR) == []
            assert len(pages) == 3000 + 40


def test_a_run_that_ends_after_its_slot_was_moved_is_over_at_once(tmp_path: Path) -> None:
    with clustering(tmp_path) as cluster, closing(open_backend(cluster.address())) as store:
        run = store.begin_run()
        tag = cluster.address().tag
        cluster.move(tag, (cluster.owner(tag) + 1) % 3)
        run.release()
        store.repair(NEAR)  # refused while a run shows that it lives


def test_clients_continue_while_a_slot_is_moved_at_once(tmp_path: Path) -> None:
    with clustering(tmp_path) as cluster:
        with closing(open_backend(cluster.address(shards=SHARDS))) as store:
            store.offer([page(-1 - number, 5, f"scope {number}") for number in range(40)], NEAR).result()
        with offering(cluster.url(), 2, 3000) as wait:
            for shard in cluster.address().all_shards(SHARDS)[:3]:
                time.sleep(0.2)
                cluster.move_at_once(shard.tag, (cluster.owner(shard.tag) + 1) % 3)
            assert wait() == [0, 0]
        with closing(maintenance.open_pages(cluster.address())) as pages:
            assert pages.verify(NEAR) == []
            assert len(pages) == 3000 + 40


def test_while_a_slot_is_moved_key_by_key_its_pages_fail_and_change_nothing(tmp_path: Path) -> None:
    with clustering(tmp_path) as cluster, closing(open_backend(cluster.address())) as store:
        tag = cluster.address().tag
        store.offer([page(number, signature) for number, signature in enumerate(uniform(1, 30))], NEAR).result()
        before = cluster.nodes[cluster.owner(tag)].run("DBSIZE")
        target = (cluster.owner(tag) + 1) % 3
        with cluster.moving(tag, target) as move_keys:
            assert isinstance(store.offer([page(100, 1)], NEAR).exception(), IndexUnusable)
            assert sum(node.run("DBSIZE") for node in cluster.nodes) == before  # type: ignore[misc]
            move_keys(10)
            for number, signature in enumerate(uniform(1, 30)):
                assert isinstance(store.offer([page(200 + number, signature)], NEAR).exception(), IndexUnusable)
            with pytest.raises(IndexUnusable):
                store.verify(NEAR)
            move_keys(1000)
        wait_until_used(store)
        for number, signature in enumerate(uniform(1, 30)):
            assert store.offer([page(300 + number, signature)], NEAR).result()[0].verdict is Verdict.DUPLICATE
        assert store.verify(NEAR) == []
        assert len(store) == 30


def test_while_a_slot_is_moved_key_by_key_a_script_that_creates_a_key_changes_no_other(tmp_path: Path) -> None:
    with clustering(tmp_path) as cluster, closing(open_backend(cluster.address())) as store:
        address = cluster.address().all_shards(1)[0]
        owner = cluster.owner(address.tag)
        client = Client(address, store.header, 1 << 20)
        client.prepare()
        old, new = client.keys.snapshot(b"site", 1), client.keys.snapshot(b"site", 2)
        assert client.commit(Changes(commands=[(b"SET", old, b"before")])) == []
        with cluster.moving(address.tag, (owner + 1) % 3):
            with pytest.raises(IndexUnusable):
                client.commit(Changes(commands=[(b"SET", old, b"after"), (b"SET", new, b"after")]))
            assert client.call(b"GET", old) == b"before"
        client.close()


def test_clients_continue_with_a_replica_that_was_promoted(tmp_path: Path) -> None:
    with clustering(tmp_path, 3, 3) as cluster:
        open_backend(cluster.address(shards=SHARDS)).close()
        with offering(cluster.url(), 2, 4000) as wait:
            time.sleep(0.3)
            cluster.nodes[0].kill()
            cluster.wait_until_ok((cluster.nodes[0],))
            wait()
        with closing(maintenance.open_pages(cluster.address(node=1))) as pages:
            assert pages.verify(NEAR) == []
            kept = {record.page.signature for block in pages.records(1000) for record in block}
            assert len(kept) == 4000


def test_crawls_continue_if_a_primary_is_demoted(tmp_path: Path) -> None:
    config = Config(tokenizer="bigrams")
    with clustering(tmp_path, 3, 3) as cluster, Deduplicator.open(cluster.url(), config) as run:
        stop, unchecked, passed = threading.Event(), list[int](), list[int]()

        def crawl() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                try:
                    decision = run.check(f"http://a.example/{number}", article(number).encode())
                    assert decision.verdict is Verdict.NEW
                    passed.append(number)
                except IndexUnusable:
                    unchecked.append(number)
                    time.sleep(0.05)

        thread = threading.Thread(target=crawl)
        thread.start()
        owner = cluster.owner(cluster.address().tag)
        for replica in (owner + 3, owner):
            time.sleep(0.5)
            before = len(passed)
            cluster.promote(replica)
            end = time.monotonic() + 20
            while len(passed) < before + 20:
                assert time.monotonic() < end
                time.sleep(0.05)
        stop.set()
        thread.join()
        for number in passed:
            decision = run.check(f"http://a.example/{-number}", article(number).encode())
            assert decision.verdict is Verdict.DUPLICATE
        assert len(unchecked) < len(passed)


# Releases


def test_released_pages_stay_released_if_a_lagging_replica_is_promoted(tmp_path: Path) -> None:
    with (
        clustering(tmp_path, 3, 3) as cluster,
        closing(open_backend(cluster.address())) as store,
    ):
        tag = cluster.address().tag
        owner = cluster.owner(tag)
        primary, replica = cluster.nodes[owner], cluster.nodes[owner + 3]
        pages = [page(number, signature) for number, signature in enumerate(uniform(1, 20))]
        store.offer(pages, NEAR).result()
        for number in range(10):
            assert release(store, number)
        replica.signal(signal.SIGSTOP)
        with pytest.raises(IndexUnusable, match="0 of 1 replicas"):
            release(store, 10)
        began = time.monotonic()
        for number in range(11, 15):
            with pytest.raises(IndexUnusable, match="may be lost"):
                release(store, number)
        assert time.monotonic() - began < 2  # it is not waited for again
        with pytest.raises(IndexUnusable, match="may be lost"):
            store.forget(lambda record: number_of(record.page) == 15, NEAR)
        assert store.offer([page(100, 7)], NEAR).result()[0].verdict is Verdict.NEW  # nothing is released
        primary.kill()
        replica.signal(signal.SIGCONT)
        cluster.wait_until_ok((primary,))
        wait_until_used(store)
        verdicts = [
            store.offer([page(200 + n, kept_page.signature)], NEAR).result()[0].verdict
            for n, kept_page in enumerate(pages)
        ]
        assert verdicts[:10] == [Verdict.NEW] * 10
        assert verdicts[16:] == [Verdict.DUPLICATE] * 4
        assert store.verify(NEAR) == []


def test_no_release_is_lost_if_a_replica_is_promoted_while_pages_are_offered(tmp_path: Path) -> None:
    with clustering(tmp_path, 3, 3) as cluster, closing(open_backend(cluster.address(shards=SHARDS))) as store:
        signatures, released, failed = uniform(1, 5000), list[int](), list[int]()
        numbers = iter(range(5000))
        timer = threading.Timer(0.5, cluster.nodes[0].kill)
        timer.start()
        after = 0
        while after < 100:
            number = next(numbers)
            offered = page(number, signatures[number], f"scope {number % 40}")
            try:
                (decision,) = store.offer([offered], NEAR).result()
                assert decision.verdict is Verdict.NEW
                assert store.end_claim(decision, NEAR, OfferTerms(), settled=False, urgent=True).result()
                released.append(number)
                after += bool(failed)
            except IndexUnusable:
                failed.append(number)
                time.sleep(0.02)
        timer.join()
        cluster.wait_until_ok((cluster.nodes[0],))
        wait_until_used(store, 40)
        for number in released:
            released_copy = page(-number - 1, signatures[number], f"scope {number % 40}")
            assert store.offer([released_copy], NEAR).result()[0].verdict is Verdict.NEW
        assert store.verify(NEAR) == []


def test_an_emptied_index_stays_empty_if_a_lagging_replica_is_promoted(tmp_path: Path) -> None:
    with clustering(tmp_path, 3, 3) as cluster:
        with closing(open_backend(cluster.address())) as store:
            store.offer([page(1, 5)], NEAR).result()
        replica = cluster.nodes[cluster.owner(cluster.address().tag) + 3]
        replica.signal(signal.SIGSTOP)
        with pytest.raises(IndexUnusable, match="0 of 1 replicas"):
            open_backend(cluster.address(), fresh=True)
        replica.signal(signal.SIGCONT)
        open_backend(cluster.address(), fresh=True).close()
