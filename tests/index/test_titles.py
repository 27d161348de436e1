"""Texts under one title are found, however far apart their signatures are, up to a maximum number."""

from collections.abc import Callable, Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Match, SignedPage, Verdict
from crawler_dedup.index.index import Index
from crawler_dedup.index.limits import MAX_UNDER_TITLE
from crawler_dedup.index.profiles import Snapshot
from tests.support.indexing import ByDistance, flipped_far, number_of, open_backend, open_store, page
from tests.support.places import Places
from tests.support.verification import verify


class Noting(ByDistance):
    """Lets all pages pass, and notes with which each was compared."""

    def __init__(self) -> None:
        super().__init__()
        self.compared: list[int] = []

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        self.compared += [number_of(kept_page) for kept_page in kept]
        return None

    def compare_with(self, store: Index, new: SignedPage) -> list[int]:
        """Offer a page, and return with which pages it was compared."""
        self.compared = []
        store.offer([new], self).result()
        return self.compared


def titled(number: int, title: str, scope: str = "", *, named: int = 1) -> SignedPage:
    """Return a text whose signature is far from that of all others."""
    return msgspec.structs.replace(page(number, flipped_far(number), scope), title=title, named=named)


def forget(store: Index, number: int) -> int:
    return store.forget(lambda record: number_of(record.page) == number, ByDistance())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), st.integers(0, 200), st.sampled_from("ab"), st.sampled_from(["", "other"])),
        st.tuples(st.just("forget"), st.integers(0, 200), st.just(""), st.just("")),
    ),
    max_size=60,
)


@given(steps=STEPS)
def test_the_oldest_texts_under_a_title_are_compared(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str, str]]
) -> None:
    store, matcher = open_store(tmp_path_factory.getbasetemp() / "index", fresh=True), Noting()
    kept_by_title: dict[tuple[str, str], list[int]] = {}
    filed: set[int] = set()
    try:
        for kind, number, title, scope in steps:
            if kind == "forget":
                assert forget(store, number) == (number in filed)
                filed.discard(number)
                for numbers in kept_by_title.values():
                    numbers[:] = [kept_number for kept_number in numbers if kept_number != number]
            elif number not in filed:
                numbers = kept_by_title.setdefault((title, scope), [])
                assert matcher.compare_with(store, titled(number, title, scope)) == numbers
                filed.add(number)
                if len(numbers) < MAX_UNDER_TITLE:
                    numbers.append(number)
        assert verify(store, matcher) == []
    finally:
        store.close()


def test_a_page_that_is_near_and_under_the_title_is_compared_once(places: Places) -> None:
    store, matcher = open_backend(places()), Noting()
    store.offer([titled(1, "a"), titled(2, "a")], matcher).result()
    near = msgspec.structs.replace(titled(3, "a"), signature=flipped_far(2) ^ 1)
    assert matcher.compare_with(store, near) == [2, 1]
    store.close()


def test_a_title_that_the_page_does_not_name_leads_to_no_other_page(places: Places) -> None:
    store, matcher = open_backend(places()), Noting()
    store.offer([titled(1, "a", named=0)], matcher).result()
    assert matcher.compare_with(store, titled(2, "a", named=0)) == []
    store.close()


def test_a_page_with_a_new_title_is_no_longer_filed_under_the_old_one(places: Places) -> None:
    store, matcher = open_backend(places()), Noting()
    store.offer([titled(1, "a")], matcher).result()
    assert store.offer([titled(1, "b")], matcher).result()[0].verdict is Verdict.CHANGED
    assert matcher.compare_with(store, titled(2, "a")) == []
    assert matcher.compare_with(store, titled(3, "b")) == [1]
    assert verify(store, matcher) == []
    store.close()
