"""Cells that a client of an index on a server believes to be empty, which the server checks."""

from __future__ import annotations

import random
import signal
from contextlib import closing
from pathlib import Path

import pytest

from crawler_dedup import SignedPage, Verdict
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.system.extras import has_extra
from tests.support.indexing import ByDistance, clusters, open_backend, page, uniform
from tests.support.servers import Server
from tests.support.verification import verify

if not has_extra("redis"):
    pytest.skip("needs the extra redis", allow_module_level=True)

NEAR = ByDistance(7)
_ENOUGH = 60  # pages after which a client takes cells for empty


def count_calls(server: Server, command: str) -> int:
    """Return how many times clients have called a command."""
    stats = server.info("commandstats").get(f"cmdstat_{command}", {})
    return int(stats.get("calls", 0))  # type: ignore[attr-defined]


def offer_each(store: Index, pages: list[SignedPage], matcher: ByDistance = NEAR) -> list[Verdict]:
    """Offer pages one after the other."""
    return [store.offer([offered], matcher).result()[0].verdict for offered in pages]


def test_a_page_of_a_small_index_takes_a_single_call(address: ServerAddress, server: Server) -> None:
    pages = [page(number, signature) for number, signature in enumerate(uniform(1, _ENOUGH + 50))]
    with closing(open_backend(address)) as store:
        offer_each(store, pages[:_ENOUGH])
        calls, read = count_calls(server, "evalsha"), count_calls(server, "mget")
        assert set(offer_each(store, pages[_ENOUGH:])) == {Verdict.NEW}
        assert count_calls(server, "evalsha") - calls <= 52
        assert count_calls(server, "mget") == read
        assert verify(store, NEAR) == []


def test_cells_for_all_waiting_pages_are_read_at_once(address: ServerAddress, server: Server) -> None:
    pages = [page(number, signature) for number, signature in enumerate(uniform(6, 21))]
    with closing(open_backend(address)) as store:
        offer_each(store, pages[:1])
        read = count_calls(server, "mget")
        server.signal(signal.SIGSTOP)
        try:
            offers = [store.offer([offered], NEAR) for offered in pages[1:]]
        finally:
            server.signal(signal.SIGCONT)
        assert [offer.result()[0].verdict for offer in offers] == [Verdict.NEW] * 20
        assert count_calls(server, "mget") - read <= 5


def test_a_conflict_with_another_client_costs_one_more_read(address: ServerAddress, server: Server) -> None:
    """Each page changes the profile of their common site."""
    pages = [page(number, signature) for number, signature in enumerate(uniform(7, 3 * _ENOUGH))]
    with closing(open_backend(address)) as store, closing(open_backend(address)) as second:

        def offer_in_turn(offered: list[SignedPage]) -> int:
            """Return how often cells were read; each script reads the state, too."""
            before = [count_calls(server, command) for command in ("get", "mget", "evalsha")]
            for number, offered_page in enumerate(offered):
                assert offer_each(second if number % 2 else store, [offered_page]) == [Verdict.NEW]
            get, mget, scripts = (
                count_calls(server, command) - count
                for command, count in zip(("get", "mget", "evalsha"), before, strict=True)
            )
            return get + mget - scripts

        offer_in_turn(pages[: 2 * _ENOUGH])
        assert offer_in_turn(pages[2 * _ENOUGH :]) <= 1.6 * _ENOUGH
        assert verify(store, NEAR) == []


def test_clients_that_remember_empty_cells_answer_as_a_directory(address: ServerAddress, tmp_path: Path) -> None:
    source, matcher = random.Random(5), ByDistance(7)
    numbers = iter(range(10_000))
    start = [page(next(numbers), signature) for signature in uniform(5, 2 * _ENOUGH)]
    further = [page(next(numbers), signature, f"{source.randrange(3)}") for signature in clusters(5, 300)]
    with (
        closing(open_backend(tmp_path)) as directory,
        closing(open_backend(address)) as first,
        closing(open_backend(address)) as second,
    ):
        verdicts = offer_each(first, start[:_ENOUGH], matcher) + offer_each(second, start[_ENOUGH:], matcher)
        verdicts += [offer_each(source.choice((first, second)), [offered], matcher)[0] for offered in further]
        assert offer_each(directory, start + further, matcher) == verdicts
        assert first.forget(lambda record: record.page.signature % 3 == 0, matcher) > 20
        assert verify(second, matcher) == []
