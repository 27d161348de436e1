"""Failures of an index on a server: it is unreachable, emptied or full; clients are killed, answers are lost."""

import itertools
import signal
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator, IndexUnusable, Verdict
from crawler_dedup.decision import BEING_HANDLED
from crawler_dedup.errors import ConnectionLost, IndexDamaged
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import ServerAddress, find_location
from crawler_dedup.index.opening import open_or_create_index
from crawler_dedup.index.overrides import make_override
from crawler_dedup.index.runs import run_name
from crawler_dedup.system.extras import has_extra
from tests.support.crawling import article
from tests.support.indexing import (
    SPEC,
    ByDistance,
    first_line,
    number_of,
    open_backend,
    page,
    program,
    running_program,
    uniform,
)
from tests.support.indexing import run as run_program
from tests.support.processes import Process
from tests.support.servers import Server, serving
from tests.support.verification import verify

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

from crawler_dedup.index.redis import connection, runs, writer
from crawler_dedup.index.redis.connection import Command, ServerConnection
from crawler_dedup.index.redis.index import ServerIndex
from crawler_dedup.index.redis.keys import Keys
from crawler_dedup.index.redis.writer import Writer

CONFIG = Config(tokenizer="bigrams")
NEAR = ByDistance()
LOCK = "{index:0}:k"


# Runs


_CLAIMS = """
    import sys
    from crawler_dedup import Config, Deduplicator
    from crawler_dedup.index.redis import runs
    from tests.support.crawling import article

    runs.BEAT_SECONDS, runs.RENEWAL_SECONDS = 0.2, 0
    run = Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams"))
    page = run.sign("http://a.example/1", article("x").encode())
    (decision,) = run.submit([page], claim=True).result()
    print(decision.verdict, flush=True)
    for line in sys.stdin:
        try:
            print(run.settle(decision), flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)
"""


def settle_in(client: Process) -> str:
    """Let a client settle its page; return its answer."""
    assert client.stdin is not None
    client.stdin.write("settle\n")
    client.stdin.flush()
    return first_line(client)


def wait_for(condition: object, seconds: float = 20.0) -> None:
    """Wait until a function returns something true."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)


def check(run: Deduplicator, number: int) -> str:
    """Return what is said of a page with the text of the claimed one."""
    signed = run.sign(f"http://a.example/{number}", article("x").encode())
    decision = run.submit([signed], claim=True).result()[0]
    return decision.reason or str(decision.verdict)


@pytest.mark.parametrize("is_settled", [False, True])
def test_the_last_page_of_a_killed_client_stands_for_none_and_its_place_is_free_once_its_signs_of_life_have_ended(
    address: ServerAddress, server: Server, is_settled: bool
) -> None:
    """Whether a settled page was written to a feed is not known."""
    with running_program(_CLAIMS, server.url()) as client:
        assert not is_settled or settle_in(client) == "True"
        client.kill()
        client.wait()
    with Deduplicator.open(server.url(), CONFIG) as run:
        assert check(run, 2) == BEING_HANDLED
        server.run("DEL", *server.key_names("*:l*"))
        assert check(run, 3) == "new"


def test_pages_of_a_living_client_stand_for_others_once_it_has_shown_that_it_lives(
    address: ServerAddress, server: Server
) -> None:
    with running_program(_CLAIMS, server.url()) as client:
        assert settle_in(client) == "True"
        with Deduplicator.open(server.url(), CONFIG) as run:
            wait_for(lambda: check(run, 2) == "duplicate")
            assert check(run, 3) == "duplicate"


def test_a_client_that_was_stopped_for_too_long_cannot_settle_any_more(address: ServerAddress, server: Server) -> None:
    with Deduplicator.open(server.url(), CONFIG) as run, running_program(_CLAIMS, server.url()) as client:
        client.send_signal(signal.SIGSTOP)
        server.run("DEL", *server.key_names("*:l*"))
        assert check(run, 2) == "new"
        client.send_signal(signal.SIGCONT)
        assert settle_in(client) in ("False", "IndexGone")
        assert run.index.name == str(address)


def test_a_run_ends_regularly_on_a_slow_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(tmp_path / "server") as server:
        run = Deduplicator.open(server.url(), CONFIG)
        assert check(run, 1) == "new"
        server.signal(signal.SIGSTOP)
        timer = threading.Timer(1, server.signal, [signal.SIGCONT])
        timer.start()
        run.close()
        timer.join()
    assert "could not be recorded" not in caplog.text


def test_no_run_counts_as_dead_until_the_server_has_answered_for_a_while_after_an_outage(
    address: ServerAddress, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All signs of life expire while a server is stopped for minutes, also if no connection to it is lost."""
    passed = [0.0]
    monkeypatch.setattr(runs, "RENEWAL_SECONDS", 20)
    monkeypatch.setattr(runs, "monotonic", lambda: time.monotonic() + passed[0])
    with Deduplicator.open(server.url(), CONFIG) as run:
        opened: Any = run._run
        with running_program(_CLAIMS, server.url()) as client:
            assert check(run, 2) == BEING_HANDLED
            client.kill()
            client.wait()
        monkeypatch.setattr(ServerConnection, "info", lambda *_: {"uptime_in_seconds": "9999"})
        passed[0] += 100  # the server stops for so long
        server.run("DEL", *server.key_names("*:l*"))
        assert check(run, 3) == BEING_HANDLED
        for _ in range(2):
            opened.show_life()
            assert check(run, 4) == BEING_HANDLED
            passed[0] += 15
        opened.show_life()
        assert check(run, 4) == "new"


def test_a_client_that_begins_just_after_the_start_of_a_server_takes_no_run_without_a_sign_of_life_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All signs of life expire while a server is stopped or loading for minutes."""
    monkeypatch.setattr(runs, "RENEWAL_SECONDS", 20)
    with serving(tmp_path / "server") as server, Deduplicator.open(server.url(), CONFIG) as run:
        with running_program(_CLAIMS, server.url()) as client:
            assert check(run, 2) == BEING_HANDLED
            client.kill()
            client.wait()
        server.run("DEL", *server.key_names("*:l*"))
        with Deduplicator.open(server.url(), CONFIG) as other:
            assert check(other, 3) == BEING_HANDLED
            monkeypatch.setattr(runs, "RENEWAL_SECONDS", 0)  # so that the start was long ago
            assert check(other, 4) == "new"


_EMPTY = """
    import sys
    from crawler_dedup import Config, Deduplicator

    Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams", fresh=True)).close()
"""


_KEEPS = """
    import sys
    from crawler_dedup import Config, Deduplicator
    from crawler_dedup.index.redis import runs
    from tests.support.crawling import article

    runs.BEAT_SECONDS = 3600  # there is only the first sign of life
    run = Deduplicator.open(sys.argv[1], Config(tokenizer="bigrams"))
    print("open", flush=True)
    for line in sys.stdin:
        print(run.check("http://a.example/1", article("x").encode()).verdict, flush=True)
"""


def test_a_run_lives_on_when_the_index_is_emptied(address: ServerAddress, server: Server) -> None:
    with Deduplicator.open(server.url(), CONFIG) as run, running_program(_KEEPS, server.url()) as client:
        assert run_program(_EMPTY, server.url()) == (0, "", "")
        assert settle_in(client) == "new"
        assert check(run, 2) == "duplicate"


def test_a_process_that_leaves_a_run_does_not_end_it_for_the_others(address: ServerAddress, server: Server) -> None:
    with Deduplicator.open(server.url(), CONFIG) as other:
        first, second = (Deduplicator.join(server.url(), CONFIG, 7, 0.0, count(at)) for at in (1, 10))
        assert first.check("http://a.example/1", article("x").encode()).verdict is Verdict.NEW
        signs = server.key_names("*:l*")
        second.close(all_stored=False)
        assert server.key_names("*:l*") == signs
        first.close()
        assert len(server.key_names("*:l*")) == len(signs) - 1
        assert check(other, 2) == "duplicate"


def test_a_dead_run_does_not_live_longer_because_the_clock_of_the_server_was_set_back(
    address: ServerAddress, server: Server
) -> None:
    with closing(ServerConnection(address)) as asking:
        server.run("SET", Keys(address).life(b"run1"), "", "EX", "3600")
        run = int.from_bytes(b"run1", "big")
        assert Keys(address).life(run_name(run)) == Keys(address).life(b"run1")
        assert runs.is_run_alive(asking, run, time.monotonic()) is None


def test_a_run_with_a_damaged_entry_may_have_lost_everything_and_fails_no_transaction(
    store: Index, server: Server
) -> None:
    run = store.begin_run()
    context = RunContext(run.number, 0, clock=run.now)
    store.offer([page(1, 5)], NEAR, context).result()
    assert store.offer([page(2, 5)], NEAR).result()[0].verdict is Verdict.DUPLICATE
    (runs,) = (name for name in server.key_names() if name[13:] == b"u")
    for name in (run.number.to_bytes(4, "big"), b"no run"):
        server.run("HSET", runs, name, b"damaged")
    assert store.offer([page(3, 5)], NEAR).result()[0].verdict is Verdict.DUPLICATE  # it is alive
    assert verify(store, NEAR) == ["2 entries of runs cannot be read."]
    run.release()
    assert store.offer([page(4, 5)], NEAR).result()[0].verdict is Verdict.NEW
    store.tidy(NEAR, 0)
    assert [number_of(record.page) for record in store.records()] == [4]


# Unreachable servers


def test_a_connection_that_is_closed_while_it_is_idle_costs_no_page(store: Index, server: Server) -> None:
    run: Any = store.begin_run()
    for number in range(1, 4):
        assert store.offer([page(number, 5)], NEAR, RunContext(run.number)).exception() is None
        server.run("CLIENT", "KILL", "TYPE", "normal")
        run.show_life()
    assert len(store) == 1
    run.release()


def test_a_server_that_comes_back_with_older_data_is_read_again(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server, closing(open_backend(server.address())) as store:
        store.offer([page(1, 5)], NEAR).result()
        server.run("SAVE")
        store.offer([page(2, 2**64 - 1), page(3, 255 << 40)], NEAR).result()
        server.kill()
        server.start()
        wait_for(lambda: store.offer([page(4, 5)], NEAR).exception() is None)
        assert len(store) == 1
        assert store.offer([page(5, 2**64 - 1)], NEAR).result()[0].verdict is Verdict.NEW
        assert store.offer([page(6, 5)], NEAR).result()[0].duplicate_of == "http://example.com/1"
        assert verify(store, NEAR) == []


def test_a_full_server_fails_offers_and_keeps_what_was_filed(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "server", "--maxmemory", "2mb", "--save", "3600", "1") as server,
        closing(open_backend(server.address())) as store,
    ):
        offers = (store.offer([page(n, signature)], ByDistance(0)) for n, signature in enumerate(uniform(1, 100_000)))
        error = next(error for offer in offers if (error := offer.exception()))
        assert isinstance(error, IndexUnusable)
        assert "memory" in str(error)
        server.run("CONFIG", "SET", "maxmemory", "0")
        assert verify(store, ByDistance(0)) == []
        assert store.offer([page(-1, 5)], ByDistance(0)).result()[0].verdict is Verdict.NEW


def test_a_client_follows_its_address_from_a_demoted_server_to_the_new_one(tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server, serving(tmp_path / "promoted") as promoted:
        open_backend(promoted.address()).close()
        link = server.socket.with_name("link")  # stands for a name
        link.symlink_to(server.socket)
        with closing(open_backend(find_location(f"unix://{link}"))) as store:
            assert store.offer([page(1, 0)], NEAR).result()[0].verdict is Verdict.NEW
            server.run("REPLICAOF", "127.0.0.1", "1")
            error = store.offer([page(2, 0)], NEAR).exception()
            assert isinstance(error, ConnectionLost)
            assert not str(error).endswith("..")
            link.unlink()
            link.symlink_to(promoted.socket)
            wait_for(lambda: store.offer([page(2, 0)], NEAR).exception() is None)
            assert store.offer([page(3, 0)], NEAR).result()[0].duplicate_of == "http://example.com/2"


def losing(monkeypatch: pytest.MonkeyPatch, *, is_made: bool, with_check: bool = False) -> None:
    """Lose the connection once with a commit, before or after it is made, and perhaps also while it is checked."""
    run, lost = ServerConnection.run, list[str]()

    def lose(connection: ServerConnection, *commands: Command, **options: Any) -> list[object]:
        is_commit = commands[-1][0] == b"EXEC" and len(commands) > 3
        is_check = commands[-1][-1] == b"GET" and with_check
        if (is_commit or is_check) and len(lost) < 1 + with_check:
            lost.append("lost")
            if is_made:
                run(connection, *commands, **options)
            connection.close()
            raise ConnectionLost("lost")
        return run(connection, *commands, **options)

    monkeypatch.setattr(ServerConnection, "run", lose)


@pytest.mark.parametrize("is_made", [False, True])
def test_a_connection_that_is_lost_with_a_commit_fails_no_offer(
    store: Index, monkeypatch: pytest.MonkeyPatch, *, is_made: bool
) -> None:
    losing(monkeypatch, is_made=is_made)
    for number, signature in enumerate((5, 2**64 - 1)):
        assert store.offer([page(number, signature)], NEAR).result()[0].verdict is Verdict.NEW
    assert store.offer([page(2, 5)], NEAR).result()[0].duplicate_of == "http://example.com/0"
    assert len(store) == 2
    assert verify(store, NEAR) == []


def test_a_claim_that_may_have_been_filed_or_not_ends_with_its_run(
    address: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_backend(address)) as store, closing(open_backend(address)) as other_store:
        run = store.begin_run()
        context = RunContext(run.number, 60, clock=run.now, next_claim=itertools.count(1).__next__)
        with monkeypatch.context() as patched:
            losing(patched, is_made=True, with_check=True)
            assert isinstance(store.offer([page(1, 5)], NEAR, context).exception(), IndexUnusable)
        assert other_store.offer([page(2, 5)], NEAR).result()[0].reason == BEING_HANDLED  # it was filed
        settling = replace(context, next_claim=None)
        wait_for(lambda: store.offer([page(3, 2**64 - 1)], NEAR, settling).exception() is None)
        store.end_run(context, finished=True)
        run.release()
        assert other_store.tidy(NEAR, 0) == 1
        assert other_store.offer([page(2, 5)], NEAR).result()[0].verdict is Verdict.NEW
        assert verify(other_store, NEAR) == []


def test_a_claim_that_could_not_be_ended_is_left_to_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RENEWAL_SECONDS", 0)  # so that the start was long ago
    with (
        serving(tmp_path / "server", "--appendonly", "yes", "--appendfsync", "always") as server,
        closing(open_backend(server.address())) as store,
    ):
        run = store.begin_run()
        context = RunContext(run.number, 60, clock=run.now)
        claiming = replace(context, next_claim=itertools.count(1).__next__)
        (decision,) = store.offer([page(1, 5)], NEAR, claiming).result()
        server.kill()
        assert isinstance(
            store.end_claim(decision, NEAR, context, settled=True, urgent=True).exception(), IndexUnusable
        )
        server.start()
        wait_for(lambda: store.offer([page(2, 2**64 - 1)], NEAR).exception() is None)
        store.end_run(context, finished=True)
        run.release()
        with closing(open_backend(server.address())) as later_store:
            assert later_store.tidy(NEAR, 0) == 1
            assert len(later_store) == 1


def test_a_commit_that_a_stopped_server_receives_late_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, commits = ServerConnection.run, list[int]()

    def stop(connection: ServerConnection, *commands: Command, **options: Any) -> list[object]:
        if commands[-1][0] == b"EXEC":
            commits.append(len(commands))
            if len(commits) == 2:
                server.signal(signal.SIGSTOP)
        return run(connection, *commands, **options)

    with serving(tmp_path / "server") as server, closing(open_backend(server.address())) as store:
        assert store.offer([page(1, 5)], NEAR).result()[0].verdict is Verdict.NEW
    monkeypatch.setattr(writer, "LOCK_SECONDS", 0.25)
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.25)
    with serving(tmp_path / "server") as server, closing(open_backend(server.address())) as store:
        monkeypatch.setattr(ServerConnection, "run", stop)
        commits.append(0)
        signatures = uniform(1, 10)
        failed = store.offer([page(-number, signature) for number, signature in enumerate(signatures)], NEAR)
        assert isinstance(failed.exception(), ConnectionLost)
        server.signal(signal.SIGCONT)
        wait_for(lambda: store.offer([page(3, 5)], NEAR).exception() is None)
        assert len(store) == 1
        assert store.offer([page(4, signatures[0])], NEAR).result()[0].verdict is Verdict.NEW


def test_a_lock_whose_holder_was_killed_is_waited_for_and_expires(store: Index, server: Server) -> None:
    store.offer([page(1, 5)], NEAR).result()
    server.run("SET", LOCK, "killed", "PX", "300")
    assert store.offer([page(2, 5)], NEAR).result()[0].verdict is Verdict.DUPLICATE
    assert server.run("EXISTS", LOCK) == 0


def test_emptying_an_index_waits_for_the_transaction_of_another_client(
    address: ServerAddress, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_changes, made, emptying = Writer.make_changes, list[bool](), list[Process]()

    def count_attempts() -> int:
        stats: Any = server.info("commandstats")["cmdstat_set"]
        return int(stats["calls"])

    def make_late(client: Writer, changes: list[Command]) -> bool:
        before = count_attempts()
        if not made:
            emptying.append(program(_EMPTY, server.url()))
            wait_for(lambda: count_attempts() > before + 1)  # to take the lock
        made.append(make_changes(client, changes))
        return made[-1]

    monkeypatch.setattr(writer, "LOCK_SECONDS", 60)
    with Deduplicator.open(server.url(), CONFIG) as run:
        monkeypatch.setattr(Writer, "make_changes", make_late)
        run.decide([run.sign("http://a.example/1", article("x").encode())])
        assert emptying[0].communicate()[1] == ""
        assert (made, len(run)) == ([True], 0)


def test_while_others_keep_a_lock_for_too_long_the_index_counts_as_unavailable(
    store: Index, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_LOCK_PATIENCE", 0.05)
    server.run("SET", LOCK, "another")
    offers = [store.offer([page(number, 5)], NEAR) for number in range(20)]
    assert all(isinstance(offer.exception(), ConnectionLost) for offer in offers)
    assert server.run("DEL", LOCK) == 1
    assert store.offer([page(1, 5)], NEAR).result()[0].verdict is Verdict.NEW


def test_an_offer_that_waits_for_a_lock_can_be_withdrawn(
    store: Index, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, lock = threading.Event(), writer.lock

    def wait(*arguments: Any) -> Any:
        waits.set()
        return lock(*arguments)

    monkeypatch.setattr(writer, "lock", wait)
    server.run("SET", LOCK, "another")
    offer = store.offer([page(1, 5)], NEAR)
    assert waits.wait(10)
    assert offer.cancel()
    server.run("DEL", LOCK)
    assert store.offer([page(2, 5)], NEAR).result()[0].verdict is Verdict.NEW


def test_a_transaction_whose_lock_has_expired_changes_nothing_and_is_repeated(
    store: Index, address: ServerAddress, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another client adds an override meanwhile, for which a duplicate passes at the second attempt."""
    make_changes, taken = Writer.make_changes, list[object]()
    assert store.offer([page(1, 5)], NEAR).result()[0].verdict is Verdict.NEW
    with closing(open_backend(address)) as other:

        def lose_lock(client: Writer, changes: list[Command]) -> bool:
            if not taken:
                taken.append(server.run("SET", LOCK, "another", "PX", "200", "GET"))
                other.add_overrides([make_override("keep", [page(2, 5).url], int(time.time()))])
            return make_changes(client, changes)

        monkeypatch.setattr(Writer, "make_changes", lose_lock)
        assert store.offer([page(2, 5)], NEAR).result()[0].verdict is Verdict.NEW
    assert (taken != [None], server.run("EXISTS", LOCK)) == (True, 0)
    store._write(lambda _: None)
    assert [record.also_at for record in store.records()] == [(), ()]
    assert verify(store, NEAR) == []


def test_a_connection_that_is_lost_while_a_run_is_looked_up_changes_nothing_and_leaves_the_lock_of_another_client(
    store: Index, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.begin_run()
    store.offer([page(1, 5)], NEAR, RunContext(run.number, 60, clock=run.now)).result()
    run.release()
    send, lost = ServerConnection.run, list[object]()

    def lose(connection: ServerConnection, *commands: Command, **options: Any) -> list[object]:
        answers = send(connection, *commands, **options)
        if commands[0][0] == b"PTTL":
            lost.append(server.run("SET", LOCK, "another"))
            server.run("CLIENT", "KILL", "TYPE", "normal")
        return answers

    monkeypatch.setattr(ServerConnection, "run", lose)
    assert isinstance(store.offer([page(2, 5)], NEAR).exception(), ConnectionLost)
    assert (len(lost), server.run("GET", LOCK)) == (1, b"another")
    assert [number_of(record.page) for record in store.records()] == [1]


def test_an_index_that_was_made_anew_with_other_versions_of_libraries_is_joined(
    store: Index, address: ServerAddress, server: Server
) -> None:
    server.empty()
    with closing(open_or_create_index(address, SPEC, {"lxml": "0"}, map_size=1 << 30)):
        assert store.offer([page(1, 5)], NEAR).result()[0].verdict is Verdict.NEW


@pytest.mark.parametrize("field", ["header", "count"])
def test_a_damaged_description_of_an_index_is_an_error_with_a_remedy(
    field: str, store: Index, address: ServerAddress, server: Server
) -> None:
    remedy = r"is damaged: .* or empty it \(in a crawl with DEDUP_FRESH = True\)"
    server.run("HSET", Keys(address).meta, field, "x{")
    with pytest.raises(IndexDamaged, match=remedy):
        len(store)
    with pytest.raises(IndexDamaged, match=remedy), closing(ServerIndex.attach(address)) as attached:
        len(attached)


def test_a_transaction_changes_a_bounded_number_of_pages_and_overrides(
    store: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_changes, appended, sizes = Writer.make_changes, list[int](), list[int]()

    def note_size(client: Writer, changes: list[Command]) -> bool:
        appended.append(sum(command[0] == b"APPEND" for command in changes))
        sizes.append(sum(len(command) for command in changes))
        return make_changes(client, changes)

    monkeypatch.setattr(Writer, "make_changes", note_size)
    pages = [page(number, signature) for number, signature in enumerate(uniform(1, 400))]
    offers = [store.offer(pages[at : at + 40], NEAR) for at in range(0, 400, 40)]
    assert {decision.verdict for offer in offers for decision in offer.result()} == {Verdict.NEW}
    assert len(store) == 400
    assert 4 * 40 < max(appended) <= 6 * 16 * 40  # each page has four keys, and two numbers
    sizes.clear()
    overrides = [make_override("keep", [f"http://example.com/{number}"], number) for number in range(400)]
    assert store.add_overrides(overrides) == 400
    assert store.forget(lambda record: True, NEAR) == 400
    assert store.remove_overrides(overrides) == 400
    assert (len(store), store.list_overrides(), verify(store, NEAR)) == (0, [], [])
    assert max(sizes) < 2_000


def test_of_many_offers_those_that_are_answered_before_a_server_dies_are_kept_and_no_others(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "server", "--appendonly", "yes", "--appendfsync", "always") as server,
        closing(open_backend(server.address())) as store,
    ):
        run = store.begin_run()
        context = RunContext(run.number, 60, clock=run.now)
        claiming = replace(context, next_claim=itertools.count(1).__next__)
        pages = [page(number, signature) for number, signature in enumerate(uniform(1, 5000))]
        offers = [store.offer(pages[at : at + 64], NEAR, claiming) for at in range(0, len(pages), 64)]
        wait_for(lambda: len(store) >= 250)
        server.kill()
        decided = [decision for offer in offers if offer.exception() is None for decision in offer.result()]
        assert {decision.verdict for decision in decided} == {Verdict.NEW}
        assert 250 <= len(decided) < 5000
        server.start()
        wait_for(lambda: store.offer([page(-1, 1)], NEAR, claiming).exception() is None)
        wait_for(lambda: len(list(store.records())) <= len(decided) + 1)
        assert [number_of(record.page) for record in store.records()] == [*range(len(decided)), -1]
        assert store.end_claim(decided[-1], NEAR, context, settled=True).result()
        assert verify(store, NEAR) == []
        store.end_run(context, finished=True)
        run.release()


def test_an_export_misses_no_page_that_is_filed_again_during_it(store: Index) -> None:
    store.offer([page(number, signature) for number, signature in enumerate(uniform(1, 1200))], NEAR).result()
    records = store.records()
    read = [number_of(record.page) for record in islice(records, 100)]
    assert store.forget(lambda record: number_of(record.page) == 1100, NEAR) == 1
    assert store.offer([page(1100, 7)], NEAR).result()[0].verdict is Verdict.NEW
    read += [number_of(record.page) for record in records]
    assert sorted(read) == list(range(1200))


# Servers that take the place of others, or are busy


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
