"""Properties of an index on a server: its address, opening, size and maintenance."""

import itertools
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, ConfigError, Deduplicator, IndexUnusable, Verdict
from crawler_dedup.errors import IndexGone, IndexMismatch, IndexMissing
from crawler_dedup.index import opening
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import ServerAddress, find_location
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.transfer import Export
from crawler_dedup.system.extras import has_extra
from tests.support.indexing import ByDistance, number_of, open_backend, page, settle, uniform
from tests.support.servers import Server, serving
from tests.support.verification import verify

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

from crawler_dedup.index.redis.connection import Command, ServerConnection

CONFIG = Config(tokenizer="bigrams")
NEAR = ByDistance()


# Addresses


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://h", "redis://h"),
        ("redis://user:secret@h:1234/2", "redis://h:1234/2"),
        ("rediss://:secret@h/0?index=blogs", "rediss://h/0?index=blogs"),
        ("unix://u:secret@/run/valkey.sock?db=3", "unix:///run/valkey.sock?db=3"),
    ],
)
def test_the_address_of_a_server_is_shown_without_the_password(text: str, shown: str) -> None:
    location = find_location(text)
    assert isinstance(location, ServerAddress)
    assert str(location) == shown
    assert "secret" not in f"{location!r} {location}"


@pytest.mark.parametrize(
    "text",
    [
        "redis://",
        "redis://:secret@/0",
        "redis://h:port",
        "redis://h/database",
        "unix://",
        "redis://h?password=secret",
        "redis://h?index=a/b",
        "redis://h?index=a&index=b",
        "redis://h?index=",
        "redis://h?db=",
        "redis://h?shards=2",
        "redis://user:12/secret@h/0",  # a password with / that is not quoted
        "redis://user:12#secret@h/0",
        "unix://user:12/secret@/run/valkey.sock",
    ],
)
def test_an_invalid_address_of_a_server_is_refused_without_the_password(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        find_location(text)
    assert "secret" not in str(caught.value)
    assert "redis://host" in str(caught.value)  # the right form is not taken for an address with a password
    assert "unix:///path" in str(caught.value)


@pytest.mark.parametrize("text", ["index", "/var/dedup", r"C:\dedup", "a://b"])
def test_anything_else_is_read_as_a_directory(text: str) -> None:
    assert find_location(text) == Path(text)


# Opening


def test_a_server_that_is_away_is_an_error_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(IndexUnusable, match="cannot be used") as caught:
        Deduplicator.open(f"unix://u:secret@{tmp_path}/nowhere", CONFIG)
    assert "secret" not in str(caught.value)


def test_a_wrong_password_is_an_error_that_does_not_contain_it(tmp_path: Path) -> None:
    with serving(tmp_path / "server", "--requirepass", "right-secret", "--save", "3600", "1") as server:
        for password in ("wrong-secret", ""):
            with pytest.raises(IndexUnusable) as caught:
                Deduplicator.open(server.url(password=password), CONFIG)
            assert "secret" not in str(caught.value)
        with Deduplicator.open(server.url(password="right-secret"), CONFIG) as opened:
            assert "secret" not in opened.index.name


def test_an_error_message_of_a_server_is_shown_without_the_user_name(server: Server) -> None:
    server.run("ACL", "SETUSER", "crawlname", "on", ">pass", "~*", "+auth", "+select", "+client")
    url = server.url().replace("unix://", "unix://crawlname:pass@")
    with pytest.raises(IndexUnusable, match="ermission") as caught:
        Deduplicator.open(url, CONFIG)
    assert "crawlname" not in str(caught.value)


def test_a_connection_may_be_lost_any_number_of_times(server: Server) -> None:
    with closing(ServerConnection(server.address())) as connection:
        for _ in range(120):
            assert connection.call(b"PING") == b"PONG"
            connection.close()


def test_a_server_that_may_evict_keys_is_refused(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "server", "--maxmemory-policy", "allkeys-lru", "--save", "3600", "1") as server,
        pytest.raises(IndexUnusable, match="noeviction"),
    ):
        Deduplicator.open(server.url(), CONFIG)


def test_a_node_of_a_cluster_is_refused(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "server", "--cluster-enabled", "yes", "--save", "3600 1") as server,
        pytest.raises(IndexUnusable, match="An index needs a single server"),
    ):
        open_backend(server.address())


def test_a_server_without_persistence_causes_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(tmp_path / "server", "--save", "", "--appendonly", "no") as server:
        Deduplicator.open(server.url(), CONFIG).close()
    assert "stores nothing on disk" in caplog.text


def test_reading_does_not_create_an_index(address: ServerAddress, server: Server) -> None:
    with pytest.raises(IndexMissing):
        opening.open_index(address)
    with pytest.raises(IndexMissing):
        opening.open_to_write(address)
    assert server.run("DBSIZE") == 0


def test_an_emptied_index_leaves_no_keys_behind(address: ServerAddress, server: Server) -> None:
    with closing(open_backend(address)) as store:
        store.offer([page(number, signature) for number, signature in enumerate(uniform(7, 20))], NEAR).result()
    with closing(open_backend(server.address("other"))) as neighbouring:
        neighbouring.offer([page(1, 5)], NEAR).result()
        before = server.run("DBSIZE")
        open_backend(address, fresh=True).close()
        assert len(neighbouring) == 1
    assert isinstance(before, int)
    assert server.run("DBSIZE") < before - 20  # type: ignore[operator]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_child_process_has_no_open_index_and_can_empty_one(store: Index, address: ServerAddress) -> None:
    store.offer([page(1, 5)], NEAR).result()
    child = os.fork()
    if not child:
        try:
            with closing(open_backend(address, fresh=True)) as emptied:
                os._exit(len(emptied))
        finally:
            os._exit(100)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_an_index_that_is_emptied_by_two_clients_at_once_loses_nothing_of_the_later_one(
    address: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, later = ServerConnection.run, list[Index]()

    def run_late(connection: ServerConnection, *commands: Command, **options: Any) -> list[object]:
        if commands[0][0] == b"SCAN" and not later:
            later.append(None)  # type: ignore[arg-type]
            later[0] = open_backend(address, fresh=True)
            later[0].offer([page(1, 5)], NEAR).result()
        return run(connection, *commands, **options)

    monkeypatch.setattr(ServerConnection, "run", run_late)
    open_backend(address, fresh=True).close()
    monkeypatch.undo()
    with closing(later[0]) as store:
        assert verify(store, NEAR) == []
        assert store.offer([page(2, 5)], NEAR).result()[0].verdict is Verdict.DUPLICATE


def test_the_latest_page_has_the_highest_number_whichever_client_files_it(address: ServerAddress) -> None:
    with closing(open_backend(address)) as first, closing(open_backend(address)) as second:
        everything_is_new = ByDistance()
        everything_is_new.max_distance = -1
        for number in range(6):
            store = (first, second)[number % 2]
            store.offer([page(number, 5)], everything_is_new).result()
            settle(store, number)
        first.offer([page(3, 1 << 40)], everything_is_new).result()  # it is filed again, with another signature
        with first._read() as reading:
            kept = [record.page for _, record in reading.read_filed("", 5)]
            assert list(map(number_of, kept)) == [0, 1, 2, 4, 5]
            *_, (_, last) = reading.items()
            assert last is not None
            assert number_of(last.page) == 3


def test_an_index_that_was_removed_has_no_pages(store: Index, server: Server) -> None:
    store.offer([page(1, 5)], NEAR).result()
    assert len(store) == 1
    server.empty()
    assert len(store) == 0


def test_an_index_of_an_earlier_version_is_refused(server: Server) -> None:
    header = b'{"format":10,"spec":{"scheme":"simhash"},"libraries":{}}'
    server.empty()
    server.run("HSET", "{index:0}", "epoch", "abcd", "header", header, "layout", "3")
    with pytest.raises(IndexMismatch, match="format: made with '10'"):
        open_backend(server.address())


# Maintenance


def test_an_index_can_be_exported_from_a_server_into_a_directory_and_back(
    address: ServerAddress, store: Index, server: Server, tmp_path: Path
) -> None:
    store.offer([page(number, signature) for number, signature in enumerate(uniform(7, 50))], NEAR).result()
    run = store.begin_run()
    store.offer([page(100, 1)], NEAR, RunContext(run.number, 60, clock=run.now, next_claim=lambda: 1)).result()
    run.release()

    def carry(source: object, target: object) -> tuple[int, int]:
        with closing(opening.open_index(source)) as pages:  # type: ignore[arg-type]
            transfer.export_index(pages, tmp_path / "file", lambda _: None)
        filing = lambda _: NEAR  # noqa: E731
        return transfer.import_index(Export(tmp_path / "file"), target, filing, lambda _: None, lambda _: None)  # type: ignore[arg-type]

    assert carry(address, tmp_path / "directory") == (50, 50)
    assert carry(tmp_path / "directory", server.address("back")) == (50, 50)
    with closing(opening.open_index(server.address("back"))) as back:
        assert verify(back, NEAR) == []
        assert len(back) == 50


@pytest.mark.parametrize("read", [100, 1200])  # it is emptied while records are read, or before sites are
def test_an_export_of_an_index_that_is_emptied_during_it_fails(
    address: ServerAddress, server: Server, tmp_path: Path, read: int
) -> None:
    with closing(open_backend(address)) as store:
        store.offer([page(number, signature) for number, signature in enumerate(uniform(1, 1200))], NEAR).result()
    progress = itertools.count(1)

    def empty(_: int) -> None:
        if next(progress) == read:
            server.empty()
            open_backend(address).close()

    with closing(opening.open_index(address)) as pages, pytest.raises(IndexGone):
        transfer.export_index(pages, tmp_path / "file", empty)
    assert not (tmp_path / "file").exists()


def test_the_number_of_pages_is_never_negative(address: ServerAddress, server: Server) -> None:
    with closing(open_backend(address)) as store:
        store.offer([page(number, signature) for number, signature in enumerate(uniform(6, 5))], NEAR).result()
    server.run("HSET", "{index:0}", "count", "0")
    with closing(open_backend(address)) as store:
        assert store.forget(lambda record: number_of(record.page) == 1, NEAR) == 1
        assert len(store) == 0
        server.run("HSET", "{index:0}", "count", "-3")
        assert len(store) == 0
        assert store.offer([page(9, 1)], NEAR).result()[0].verdict is Verdict.NEW


def test_a_user_needs_few_commands_and_the_keys_of_the_index(server: Server) -> None:
    document = (Path(__file__).parents[2] / "docs" / "how-to" / "machines.md").read_text(encoding="utf-8")
    (documented,) = (line for line in document.splitlines() if line.startswith("ACL SETUSER crawler on"))
    server.empty()
    server.run(*documented.replace("PASSWORD", "secret").split())
    address = find_location(server.url("blogs", password="secret").replace("//:", "//crawler:"))
    assert isinstance(address, ServerAddress)
    with closing(open_backend(address)) as store:
        run = store.begin_run()
        store.offer([page(number, 5) for number in range(3)], NEAR, RunContext(run.number)).result()
        run.release()
        assert store.forget(lambda _: True, NEAR) == 1
