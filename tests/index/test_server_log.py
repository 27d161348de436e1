"""Clients of an index on a server learn from its log what others have changed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler_dedup import IndexUnusable, Verdict
from crawler_dedup.errors import ConnectionLost
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.records import Record
from crawler_dedup.system.extras import has_extra
from tests.support.examples import examples
from tests.support.indexing import ByDistance, flipped, open_backend, page, release, settle, uniform
from tests.support.servers import Server
from tests.support.verification import verify

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

from crawler_dedup.index.redis.changelog import LONGEST, MARK_BYTES, State
from crawler_dedup.index.redis.connection import ServerConnection
from crawler_dedup.index.redis.scripts import COMMIT

NEAR = ByDistance()
CLIENTS = 3


@pytest.fixture
def stores(address: ServerAddress) -> Iterator[list[Index]]:
    """Yield an index, opened by several clients."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(open_backend(address))) for _ in range(CLIENTS)]


def names(server: Server, kind: bytes) -> list[bytes]:
    """Return the names of the keys of a kind."""
    return [name for name in server.key_names() if name[13:14] == kind]


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


def test_a_client_that_has_missed_more_than_the_log_contains_forgets_what_it_knows(stores: list[Index]) -> None:
    idle, busy, third = stores
    signatures = uniform(5, 3000)
    assert idle.offer([page(-1, 0)], NEAR).result()[0].verdict is Verdict.NEW
    before = idle.offer(
        [page(-1 - number, signature) for number, signature in enumerate(signatures[:5])], NEAR
    ).result()
    assert release(idle, -1 - 4)
    busy.merge([Record(page(number, signature), settled=1) for number, signature in enumerate(signatures)], NEAR)
    for number, signature in enumerate(signatures[-20:]):
        assert idle.offer([page(9000 + number, signature)], NEAR).result()[0].verdict is Verdict.DUPLICATE
    assert len(before) == 5
    assert verify(third, NEAR) == []


def test_the_log_stays_short(stores: list[Index], server: Server) -> None:
    pages = [page(number, signature) for number, signature in enumerate(uniform(5, 6000))]
    stores[0].merge([Record(page, settled=1) for page in pages], NEAR)
    (log,) = names(server, b"g")
    (state,) = names(server, b"v")
    position = State.decode(server.run("GET", state)).position  # type: ignore[arg-type]
    length = server.run("STRLEN", log)
    assert isinstance(length, int)
    assert LONGEST <= length <= 2 * LONGEST < position


def test_a_client_discards_what_it_has_read_if_the_history_has_changed(stores: list[Index], server: Server) -> None:
    """A replica that was promoted before it had all changes has another state at the same position of its log."""
    store = stores[0]
    for number, signature in enumerate(uniform(7, 20)):
        store.offer([page(number, signature)], NEAR).result()
    for kind in (b"b", b"n", b"r", b"k"):
        server.run("DEL", *names(server, kind))
    (log,), (state,) = names(server, b"g"), names(server, b"v")
    before, last = server.run("GET", log), server.run("GET", state)
    assert isinstance(before, bytes)
    assert isinstance(last, bytes)
    server.run("SET", log, before[:-MARK_BYTES] + b"x" * MARK_BYTES)
    server.run("SET", state, last[:-MARK_BYTES] + b"x" * MARK_BYTES)
    for number, signature in enumerate(uniform(7, 20)):
        assert store.offer([page(100 + number, signature)], NEAR).result()[0].verdict is Verdict.NEW


@pytest.mark.parametrize("is_log_short", [False, True])
def test_whether_a_change_was_made_is_read_from_the_log_or_unknown(
    stores: list[Index], server: Server, monkeypatch: pytest.MonkeyPatch, *, is_log_short: bool
) -> None:
    store, other_client, _ = stores
    evaluate, lost = ServerConnection.evaluate, list[ServerConnection]()

    def lose(connection: ServerConnection, script: str, *arguments: object) -> object:
        answer = evaluate(connection, script, *arguments)  # type: ignore[arg-type]
        if script is COMMIT and not lost:
            lost.append(connection)
            assert other_client.offer([page(2, 2**64 - 1)], NEAR).result()[0].verdict is Verdict.NEW
            if is_log_short:
                server.run("SET", names(server, b"g")[0], "")
            connection.drop()
            raise ConnectionLost("lost")
        return answer

    monkeypatch.setattr(ServerConnection, "evaluate", lose)
    offered = store.offer([page(1, 5)], NEAR)
    if is_log_short:
        assert isinstance(offered.exception(), IndexUnusable)
    else:
        assert offered.result()[0].verdict is Verdict.NEW
    assert len(store) == 2
    assert verify(other_client, NEAR) == []


def test_an_index_with_another_layout_of_keys_is_refused(stores: list[Index], server: Server) -> None:
    server.run("HDEL", "{index:0}", "layout")
    with pytest.raises(IndexUnusable, match=r"layout 1, this one uses \d+.*Export"):
        open_backend(server.address())
