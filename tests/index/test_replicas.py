"""Servers that replace others, and releases of pages, which must not be lost with a server."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from crawler_dedup import IndexUnusable, Verdict
from crawler_dedup.errors import ConnectionLost
from crawler_dedup.index.location import ServerAddress, find_location
from crawler_dedup.index.verdicts import OfferTerms
from crawler_dedup.system.extras import has_extra
from tests.support.indexing import ByDistance, open_backend, page, release, uniform
from tests.support.servers import Server, serving

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

from crawler_dedup.index.redis import copies
from crawler_dedup.index.redis.connection import ServerConnection
from crawler_dedup.index.redis.scripts import COMMIT

NEAR = ByDistance()


class Replicated(NamedTuple):
    """A server and its replica."""

    primary: Server
    replica: Server

    @property
    def address(self) -> ServerAddress:
        return self.primary.address()


@pytest.fixture
def replicated(tmp_path: Path) -> Iterator[Replicated]:
    """Yield a server with a replica, which has all that the server has."""
    options = ("--bind", "127.0.0.1", "--save", "3600 1", "--repl-diskless-sync-delay", "0")
    port, replica_port = map(str, find_ports(2))
    with (
        serving(tmp_path / "primary", "--port", port, *options) as primary,
        serving(tmp_path / "replica", "--port", replica_port, *options, "--replicaof", "127.0.0.1", port) as replica,
    ):
        wait_for(lambda: replica.info("replication").get("master_link_status") == "up")
        wait_for(lambda: primary.info("replication").get("slave0", {}).get("state") == "online")  # type: ignore[attr-defined]
        yield Replicated(primary, replica)


def find_ports(count: int) -> list[int]:
    """Return ports that are free."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [opened.getsockname()[1] for opened in sockets]


def wait_for(condition: object) -> None:
    """Wait until a function returns something true."""
    end = time.monotonic() + 20
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


class Clock:
    """The clock by which replicas count."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a clock that can be set ahead; replicas are waited for only a moment."""
    clock = Clock()
    monkeypatch.setattr(copies, "monotonic", clock)
    monkeypatch.setattr(copies, "_WAIT_SECONDS", 0.2)
    return clock


# Releases


def test_a_replica_that_has_just_left_is_waited_for_however_long_no_page_was_released(
    replicated: Replicated, clock: Clock
) -> None:
    with closing(open_backend(replicated.address)) as store:
        store.offer([page(1, 5), page(2, 2**64 - 1)], NEAR).result()
        clock.ahead = 3600
        replicated.replica.run("REPLICAOF", "NO", "ONE")
        wait_for(lambda: replicated.primary.info("replication")["connected_slaves"] == 0)
        with pytest.raises(IndexUnusable, match="0 of 1 replicas"):
            release(store, 1)
        clock.ahead += 590
        with pytest.raises(IndexUnusable, match="0 of 1 replicas"):
            release(store, 2)
        clock.ahead += 60
        release(store, 2)  # it could have been promoted for ten minutes


def test_a_replica_that_came_and_left_while_pages_were_offered_is_waited_for(
    replicated: Replicated, clock: Clock
) -> None:
    host_and_port = ("127.0.0.1", str(replicated.primary.info("server")["tcp_port"]))
    replicated.replica.run("REPLICAOF", "NO", "ONE")
    wait_for(lambda: replicated.primary.info("replication")["connected_slaves"] == 0)
    with closing(open_backend(replicated.address)) as store:
        store.offer([page(1, 5)], NEAR).result()
        replicated.replica.run("REPLICAOF", *host_and_port)
        wait_for(lambda: replicated.replica.info("replication").get("master_link_status") == "up")
        clock.ahead = 61
        store.offer([page(2, 2**64 - 1)], NEAR).result()
        replicated.replica.run("REPLICAOF", "NO", "ONE")
        wait_for(lambda: replicated.primary.info("replication")["connected_slaves"] == 0)
        with pytest.raises(IndexUnusable, match="0 of 1 replicas"):
            release(store, 1)


@pytest.mark.usefixtures("clock")
def test_a_release_that_no_replica_has_does_not_delay_other_offers_of_its_transaction(replicated: Replicated) -> None:
    with closing(open_backend(replicated.address)) as store:
        (decision,) = store.offer([page(1, 5)], NEAR).result()
        replicated.replica.signal(signal.SIGSTOP)
        released = store.end_claim(decision, NEAR, OfferTerms(), settled=False)  # waits a moment for further changes
        offer = store.offer([page(2, 2**64 - 1)], NEAR)
        assert offer.result()[0].verdict is Verdict.NEW
        assert "0 of 1 replicas" in str(released.exception())
        replicated.replica.signal(signal.SIGCONT)


@pytest.mark.usefixtures("clock")
def test_a_run_with_unstored_pages_does_not_end_without_its_replicas(replicated: Replicated) -> None:
    with closing(open_backend(replicated.address)) as store:
        store.offer([page(1, 5)], NEAR).result()
        replicated.replica.signal(signal.SIGSTOP)
        run = store.begin_run()
        store.end_run(OfferTerms(run.number, 0, clock=run.now), finished=True)  # releases nothing
        run.release()
        run = store.begin_run()
        with pytest.raises(IndexUnusable, match="0 of 1 replicas"):
            store.end_run(OfferTerms(run.number, 0, clock=run.now, stored_until=run.now), finished=True)
        run.release()
        replicated.replica.signal(signal.SIGCONT)


def test_a_release_whose_connection_is_lost_before_its_copies_are_confirmed_fails(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.empty()
    confirm, evaluate = copies.Copies.confirm, ServerConnection.evaluate

    def confirm_anew(self: copies.Copies) -> None:
        self._connection.drop()  # what waits for copies knows only what was written through the same connection
        confirm(self)

    def lose(connection: ServerConnection, script: str, *arguments: object) -> object:
        answer = evaluate(connection, script, *arguments)  # type: ignore[arg-type]
        if script is COMMIT:
            raise ConnectionLost("lost")
        return answer

    with closing(open_backend(server.address())) as store:
        store.offer([page(1, 5), page(2, 2**64 - 1)], NEAR).result()
        with monkeypatch.context() as patched:
            patched.setattr(copies.Copies, "confirm", confirm_anew)
            with pytest.raises(ConnectionLost):
                release(store, 1)
        with monkeypatch.context() as patched:
            patched.setattr(ServerConnection, "evaluate", lose)
            with pytest.raises(ConnectionLost):
                release(store, 2)


@contextmanager
def counting_waits(server: Server) -> Iterator[None]:
    """Check that what is done in the block waits for the disk of the server."""

    def count() -> int:
        return server.info("commandstats").get("cmdstat_waitaof", {}).get("calls", 0)  # type: ignore[attr-defined, no-any-return]

    before = count()
    yield
    assert count() > before


def require_waits(server: Server) -> None:
    """Skip the test where the server cannot tell what is on its disk."""
    version = str(server.info("server")["redis_version"])
    if tuple(map(int, version.split(".")[:2])) < (7, 2):
        pytest.skip("the server cannot tell what is on its disk")


def test_a_release_waits_for_a_disk_that_the_server_has_not_written_to_before(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server, closing(open_backend(server.address())) as store:
        require_waits(server)
        store.offer([page(n, signature) for n, signature in enumerate(uniform(1, 3))], NEAR).result()
        assert release(store, 0)
        server.run("CONFIG", "SET", "appendonly", "yes")
        for number in (1, 2):
            with counting_waits(server):
                assert release(store, number)


def test_a_release_waits_for_the_disk_even_if_the_user_may_not_read_the_configuration(tmp_path: Path) -> None:
    with serving(tmp_path / "server", "--appendonly", "yes", "--appendfsync", "everysec") as server:
        require_waits(server)
        server.run("ACL", "SETUSER", "user", "on", ">password", "~*", "&*", "+@all", "-config")
        address = find_location(f"unix://user:password@{server.socket}")
        with closing(open_backend(address)) as store:
            store.offer([page(n, signature) for n, signature in enumerate(uniform(1, 2))], NEAR).result()
            for number in (0, 1):
                with counting_waits(server):
                    assert release(store, number)


# Servers that take the place of others


def test_a_crawl_follows_its_address_from_a_server_that_was_demoted_to_the_new_one(
    replicated: Replicated, tmp_path: Path
) -> None:
    primary, replica = replicated
    link = primary.socket.with_name("link")  # stands for a name
    link.symlink_to(primary.socket)
    with closing(open_backend(find_location(f"unix://{link}"))) as store:
        store.offer([page(1, 5)], NEAR).result()
        wait_for(lambda: replica.run("DBSIZE") == primary.run("DBSIZE"))
        port = str(replica.info("server")["tcp_port"])
        replica.run("REPLICAOF", "NO", "ONE")
        primary.run("REPLICAOF", "127.0.0.1", port)
        error = store.offer([page(2, 2**64 - 1)], NEAR).exception()
        assert isinstance(error, ConnectionLost)
        assert not str(error).endswith("..")
        link.unlink()
        link.symlink_to(replica.socket)
        wait_for(lambda: store.offer([page(2, 2**64 - 1)], NEAR).exception() is None)
        assert store.offer([page(3, 5)], NEAR).result()[0].duplicate_of == "http://example.com/1"


def test_while_a_script_of_another_client_runs_for_long_pages_pass_unchecked(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "server", "--lua-time-limit", "10", "--save", "3600 1") as server,
        closing(open_backend(server.address())) as store,
    ):
        from redis.exceptions import ResponseError

        def run_for_long() -> None:
            with suppress(ResponseError):
                server.run("EVAL", "while true do end", "0")

        def is_busy() -> bool:
            try:
                server.run("PING")
            except ResponseError:
                return True
            return False

        thread = threading.Thread(target=run_for_long)
        thread.start()
        wait_for(is_busy)
        offers = [store.offer([page(n, signature)], NEAR) for n, signature in enumerate(uniform(1, 3))]
        assert all(isinstance(offer.exception(), ConnectionLost) for offer in offers)
        server.run("SCRIPT", "KILL")
        thread.join()
        wait_for(lambda: store.offer([page(1, 5)], NEAR).exception() is None)
