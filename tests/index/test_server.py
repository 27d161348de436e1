"""Properties of an index on a server: its address, opening, size and maintenance."""

from __future__ import annotations

import itertools
import os
import random
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler_dedup import Config, ConfigError, Decision, Deduplicator, IndexUnusable, SignedPage, Verdict, transfer
from crawler_dedup.errors import IndexGone, IndexMismatch, IndexMissing
from crawler_dedup.index import opening
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import Location, ServerAddress, find_location
from crawler_dedup.index.profiles import StoredSite
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.lookup import lookup_of
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.extras import has_extra
from crawler_dedup.transfer import Export
from tests.support.crawling import article
from tests.support.examples import examples
from tests.support.indexing import ByDistance, flipped, number_of, open_backend, page, release, settle, uniform
from tests.support.servers import Server, serving
from tests.support.verification import verify

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

from crawler_dedup.index.redis.connection import Command, ServerConnection

CONFIG = Config(tokenizer="bigrams")
NEAR = ByDistance()
CLIENTS = 3


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


def test_signatures_that_look_like_numbers_of_new_records_are_filed(store: Index) -> None:
    signatures = [number << 40 | 1 << 39 for number in (0xABCDEF, 0x123456)]
    for number, signature in enumerate(signatures):
        assert store.offer([page(number, signature)], NEAR).result()[0].verdict is Verdict.NEW
    for number, signature in enumerate(signatures):
        assert store.offer([page(10 + number, signature)], NEAR).result()[0].verdict is Verdict.DUPLICATE
    assert verify(store, NEAR) == []


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
            kept = [record.page for _, record in reading.read_representatives("", 5)]
            assert list(map(number_of, kept)) == [0, 1, 2, 4, 5]
            *_, (_, last) = reading.items()
            assert last is not None
            assert number_of(last.page) == 3


def test_an_index_that_was_removed_has_no_pages(store: Index, server: Server) -> None:
    store.offer([page(1, 5)], NEAR).result()
    assert len(store) == 1
    server.empty()
    assert len(store) == 0


# Several clients


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.integers(0, CLIENTS - 1), st.booleans()), min_size=20, max_size=60),
    seed=st.integers(0, 2**32),
)
def test_clients_that_take_turns_decide_as_a_single_one(
    server: Server, steps: list[tuple[int, bool]], seed: int
) -> None:
    server.empty()
    source, kept = random.Random(seed), dict[int, int]()
    middles = uniform(seed, 4)
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(open_backend(server.address()))) for _ in range(CLIENTS)]
        for number, (client, is_offer) in enumerate(steps):
            if is_offer or not kept:
                signature = flipped(source, source.choice(middles), source.randrange(5))
                (decision,) = stores[client].offer([page(number, signature)], NEAR).result()
                covered = any((signature ^ kept_signature).bit_count() <= 3 for kept_signature in kept.values())
                assert decision.verdict is (Verdict.DUPLICATE if covered else Verdict.NEW)
                if not covered:
                    assert settle(stores[(client + 1) % CLIENTS], number)
                    kept[number] = signature
            else:
                released_number = source.choice(list(kept))
                assert release(stores[client], released_number)
                del kept[released_number]
        assert {len(store) for store in stores} == {len(kept)}
        assert verify(stores[0], NEAR) == []


def test_an_index_of_an_earlier_version_is_refused(server: Server) -> None:
    header = b'{"format":10,"spec":{"scheme":"simhash"},"libraries":{}}'
    server.empty()
    server.run("HSET", "{index:0}", "epoch", "abcd", "header", header, "layout", "3")
    with pytest.raises(IndexMismatch, match="format: it has '10'"):
        open_backend(server.address())


# Maintenance


@pytest.fixture
def filled(address: ServerAddress) -> ServerAddress:
    """Return an index with pages, one of them not settled."""
    with closing(open_backend(address)) as store:
        store.offer([page(number, signature) for number, signature in enumerate(uniform(7, 50))], NEAR).result()
        run = store.begin_run()
        context = RunContext(run.number, 60, clock=run.now)
        claiming = replace(context, next_claim=itertools.count(1).__next__)
        (decision,) = store.offer([page(100, 1)], NEAR, claiming).result()
        assert not settle(store, 100, decision.claim + 1, context)
        store.end_run(context, finished=True)
        run.release()
    return address


def test_an_index_can_be_exported_from_a_server_into_a_directory_and_back(
    filled: ServerAddress, server: Server, tmp_path: Path
) -> None:
    def carry(source: object, target: object) -> tuple[int, int]:
        with closing(opening.open_index(source)) as pages:  # type: ignore[arg-type]
            transfer.export_index(pages, tmp_path / "file", lambda _: None)
        filing = lambda _: NEAR  # noqa: E731
        return transfer.import_index(Export(tmp_path / "file"), target, filing, lambda _: None, lambda _: None)  # type: ignore[arg-type]

    assert carry(filled, tmp_path / "directory") == (50, 50)
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


def test_an_export_leaves_out_records_that_cannot_be_read_and_counts_them(
    filled: ServerAddress, server: Server, tmp_path: Path
) -> None:
    names = [name for name in server.key_names() if name[13:14] == b"r"]
    for name in names[:2]:
        server.run("SET", name, "garbage")
    unreadable = list[int]()
    with closing(opening.open_index(filled)) as pages:
        written = transfer.export_index(
            pages, tmp_path / "file", lambda count: None, count_unreadable=unreadable.append
        )
    assert unreadable == [1, 1]
    assert written + 2 in (50, 51)  # the page that is not settled may be among them


def test_an_index_with_a_scheme_of_the_package_is_verified_and_measured(server: Server) -> None:
    server.empty()
    with Deduplicator.open(server.url(), CONFIG) as run:
        for number in range(12):
            body = article(number, links=[f"/{number}"]).encode()
            assert run.check(f"http://a.example/{number}", body).verdict is Verdict.NEW
    with closing(opening.open_index(server.address())) as pages:
        assert verify(pages, lookup_of(pages.header.spec)) == []
        assert [site.number for site in pages.sites()] == [8]
    (sites,) = (name for name in server.key_names() if name[13:] == b"s")
    for site in cast("list[bytes]", server.run("HKEYS", sites)):
        server.run("HSET", sites, site, b"damaged")
    with closing(opening.open_index(server.address())) as pages:
        assert list(pages.sites()) == []


# The same answers as a directory


_STEPS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 9), st.sampled_from(["settle", "release", "leave", "forget"])),
    min_size=1,
    max_size=25,
)


@settings(max_examples=examples(40))
@given(_STEPS)
def test_a_server_answers_as_a_directory(
    server: Server, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, str]]
) -> None:
    """Pages of few sites with few texts are offered repeatedly, and are settled, released or forgotten."""
    server.empty()
    signer = Signer(CONFIG)
    with (
        closing(_Crawl(tmp_path_factory.mktemp("index"), signer)) as directory,
        closing(_Crawl(server.address(), signer)) as on_server,
    ):
        for number, text, fate in steps:
            body = article(text, changed=number % 3, links=[f"/{text}"]).encode()
            page, _ = signer.sign(f"http://{number % 2}.example/{number}", body, encoding=None, key=None, scope="")
            assert directory.visit(page, fate) == on_server.visit(page, fate)
        assert verify(directory.pages, directory.matcher) == verify(on_server.pages, on_server.matcher) == []
        assert sorted(directory.records()) == sorted(on_server.records())
        assert [site.pages_counted for site in directory.sites()] == [site.pages_counted for site in on_server.sites()]


class _Crawl:
    """A crawl with an index of its own, whose clock stands still."""

    def __init__(self, location: Location, signer: Signer) -> None:
        self.matcher = RuleMatcher(signer)
        self.pages = opening.open_or_create_index(location, signer.spec, signer.libraries)
        self._run = self.pages.begin_run()
        self._context = RunContext(self._run.number, 60, clock=lambda: 1_000_000_000)
        self._claiming = replace(self._context, next_claim=itertools.count(1).__next__)

    def visit(self, page: SignedPage, fate: str) -> Decision:
        """Offer a page, and let it have its fate if it passes; return the decision."""
        looked = self.pages.preview(page, self.matcher, self._claiming)
        (decision,) = self.pages.offer([page], self.matcher, self._claiming).result()
        assert replace(looked, claim=decision.claim) == decision
        if fate == "forget":
            self.pages.forget(lambda record: record.page.url == page.url, self.matcher)
        elif fate != "leave" and decision.claim:
            context, settled = self._context, fate == "settle"
            self.pages.end_claim(decision, self.matcher, context, settled=settled, urgent=True).result()
        return decision

    def records(self) -> list[tuple[str, bool, bool]]:
        """Return the address of each page, whether it is settled, and whether it may represent others."""
        records = (record for record in self.pages.records())
        return [(record.page.url, bool(record.settled), record.is_representative) for record in records]

    def sites(self) -> list[StoredSite]:
        """Return the sites that the index knows."""
        return sorted(self.pages.sites(), key=lambda site: site.key)

    def close(self) -> None:
        """Let the run die."""
        self._run.release()
        self.pages.close()


def test_the_number_of_pages_is_never_negative(address: ServerAddress, server: Server) -> None:
    with closing(open_backend(address)) as store:
        store.offer([page(number, signature) for number, signature in enumerate(uniform(6, 5))], NEAR).result()
    server.run("HSET", "{index:0}", "count", "0")
    with closing(open_backend(address)) as store:
        assert store.forget(lambda record: number_of(record.page) == 1, NEAR) == 1
        assert len(store) == 0


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
