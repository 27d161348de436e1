"""Pages in memory are decided as those in an index are."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Decision, Match, SignedPage
from crawler_dedup.batch.decide import MemoryStorage
from crawler_dedup.index.decider import Decider, RunContext
from crawler_dedup.index.limits import MAX_REPRESENTATIVES, MAX_UNDER_TITLE
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.overrides import KnownOverrides
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.index.protocols import Matcher
from crawler_dedup.index.transaction import Transaction
from tests.support.indexing import SPEC, ByDistance

NOTHING_KNOWN = FrozenProfiles({})
Offers = list[tuple[SignedPage, str]]
"""Pages with another key of each."""


def page(key: int, signature: int, scope: int = 0, title: str = "") -> SignedPage:
    return SignedPage(
        f"k{key}", f"http://example.com/{key}", f"s{scope}", signature=signature, title=title, named=int(bool(title))
    )


class ByDistanceOrTitle(ByDistance):
    """What has the same title is a duplicate, too."""

    def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
        if new.title == kept.title == "drop":
            return Match("title", None, 1, 1)
        return super().compare(new, kept)


def decide_in_memory(offers: Offers, matcher: Matcher) -> list[Decision]:
    with tempfile.TemporaryFile() as file:
        pages = Transaction(MemoryStorage(file), {}, KnownOverrides(), NOTHING_KNOWN)
        decider = Decider(pages, matcher, RunContext(), now=1)
        return [decider.decide(offered, alias) for offered, alias in offers]


def decide_in_index(directory: Path, offers: Offers, matcher: Matcher) -> list[Decision]:
    store = DirectoryIndex.open(directory, SPEC, {}, map_size=1 << 30, fresh=True, frozen=NOTHING_KNOWN)
    try:
        decided = [store.offer([offered], matcher, aliases={offered.key: alias}) for offered, alias in offers]
        return [future.result()[0] for future in decided]
    finally:
        store.close()


OFFERS = st.lists(
    st.tuples(
        st.builds(
            page,
            st.integers(0, 30),
            st.sampled_from([0, 1, 0b111, 0b111111, 1 << 63, 0xFF << 8, 0xFF << 16, 0xFF << 24]),
            st.integers(0, 1),
            st.sampled_from(["", "drop", "pass"]),
        ),
        st.sampled_from(["", "", "k1", "k2", "a1", "a2", "a3", "a4", "a5", "a6"]),
    ),
    max_size=40,
)


@given(offers=OFFERS)
def test_pages_in_memory_are_decided_as_in_an_index(tmp_path_factory: pytest.TempPathFactory, offers: Offers) -> None:
    directory = tmp_path_factory.getbasetemp() / "index"
    matcher = ByDistanceOrTitle()
    assert decide_in_memory(offers, matcher) == decide_in_index(directory, offers, matcher)


class OnlyEqualKeys(ByDistance):
    """Lets all pages pass, and notes how many each is compared with."""

    def __init__(self) -> None:
        super().__init__()
        self.compared: list[int] = []

    def choose(self, new: SignedPage, kept: object, snapshot_of: object) -> None:
        self.compared.append(len(list(kept)))  # type: ignore[call-overload]


# Pages under a title or a signature. One that is visited again, and is another page now, makes room.
UNDER_A_TITLE = [page(number, 0xFF << number, title="a") for number in range(0, 3 * MAX_UNDER_TITLE, 2)]
UNDER_A_TITLE += [page(2, 0, title="b"), page(90, 1 << 60, title="a"), page(91, 1 << 62, title="a")]
UNDER_A_SIGNATURE = [page(number, 7) for number in range(MAX_REPRESENTATIVES + 5)]
UNDER_A_SIGNATURE += [page(3, 1 << 40), *(page(number, 7) for number in range(200, 203))]


@pytest.mark.parametrize(
    ("pages", "least"), [(UNDER_A_TITLE, MAX_UNDER_TITLE), (UNDER_A_SIGNATURE, MAX_REPRESENTATIVES)]
)
def test_titles_and_signatures_have_as_many_pages_as_in_an_index(
    tmp_path: Path, pages: list[SignedPage], least: int
) -> None:
    offers = [(offered, "") for offered in pages]
    in_memory, in_index = OnlyEqualKeys(), OnlyEqualKeys()
    assert decide_in_memory(offers, in_memory) == decide_in_index(tmp_path, offers, in_index)
    assert in_memory.compared == in_index.compared
    assert least <= max(in_memory.compared) <= MAX_REPRESENTATIVES
