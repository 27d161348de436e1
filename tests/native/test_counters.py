"""The native core counts what the pages of a site have in common as Python does, packs it so, and reads packed blocks so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler_dedup.rules.countpacking import join_counters, pack_short, split_counters, unpack_short
from crawler_dedup.rules.counts import SiteCounts
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing import native
from crawler_dedup.signing.blocks import PackedBlock, read_blocks, repack_blocks
from tests.support.examples import examples
from tests.support.native import assert_equal

# Some share their lower 16 bits, by which what was counted once is known.
HASHES = st.sampled_from([0, 1, 1 << 16, 3 << 16, 0xFFFF, 0x1FFFF, 0xFFFFFFFF, 0xFFFF0000, 0x8000_8000]) | st.integers(
    0, 40
)
pages = st.builds(
    lambda number, blocks, links, title: SignedPage(
        str(number),
        "http://a.example/",
        "",
        title,
        blocks=repack_blocks([PackedBlock(block, 0, 4) for block in blocks]),
        links=np.array(links, dtype="<u4").tobytes(),
    ),
    st.integers(),
    st.lists(HASHES, max_size=12),
    st.lists(HASHES, max_size=12),
    st.sampled_from(["", "One", "Two | One", "Three | One", "Two - Four"]),
)


@settings(max_examples=examples(500))
@given(st.lists(pages, max_size=40))
def test_core_and_python_count_the_same_on_the_pages_of_a_site(site: list[SignedPage]) -> None:
    assert_equal(count_all, site)


@pytest.mark.parametrize(("blocks", "links"), [(b"12345", b""), (b"", b"123"), (b"1234567", b"1234")])
def test_blocks_and_links_that_are_cut_off_are_refused(blocks: bytes, links: bytes) -> None:
    page = SignedPage("1", "http://a.example/", "", "Title", blocks=blocks, links=links)
    with pytest.raises(ValueError, match="size must be a multiple"):
        count_all([page])
    assert_equal(count_all, [page])


def count_all(site: list[SignedPage]) -> tuple[bytes, bytes]:
    counts = SiteCounts()
    for page in site:
        counts.add(page)
    return counts.encode(), counts.publish().encode()


def test_core_and_python_count_the_same_if_some_counters_are_discarded() -> None:
    source = np.random.default_rng(5)

    def page(number: int) -> SignedPage:
        links = source.integers(0, 20_000, 300, dtype=np.uint32) * np.uint32(0x9E3779B1)
        return SignedPage(str(number), "http://a.example/", "", f"Title {number % 40}", links=links.tobytes())

    assert_equal(count_all, [page(number) for number in range(300)])


@settings(max_examples=examples(1000))
@given(st.sets(st.integers(0, (3 << 16) - 1), max_size=300), st.integers(0, 3000))
@example(set(), 0)
@example({(3 << 16) - 1}, 0)
def test_core_and_python_pack_small_numbers_alike(members: set[int], multiples: int) -> None:
    numbers = np.array(sorted(members | set(range(0, 17 * multiples, 17))), dtype=np.uint32)
    assert_equal(pack_short, numbers)
    assert unpack_short(pack_short(numbers), len(numbers)).tolist() == numbers.tolist()


def test_a_number_of_too_many_bits_raises_the_same_error() -> None:
    with native.switched_off(), pytest.raises(IndexError):
        pack_short(np.array([1 << 20], dtype=np.uint32))
    with pytest.raises(IndexError):
        pack_short(np.array([1 << 20], dtype=np.uint32))


@given(st.lists(st.binary(min_size=6, max_size=6), max_size=40))
def test_core_and_python_read_packed_blocks_alike(rows: list[bytes]) -> None:
    packed = b"".join(rows)
    assert_equal(read_blocks.__wrapped__, packed)
    assert all(type(block) is PackedBlock for block in read_blocks(packed))
    assert repack_blocks(read_blocks(packed)) == packed


@settings(max_examples=examples(1000))
@given(st.sets(st.integers(0, (3 << 56) - 1), max_size=100))
def test_core_and_python_split_counters_alike(numbers: set[int]) -> None:
    counters = np.array(sorted(numbers), dtype=np.uint64)
    assert_equal(split_counters, counters)
    kinds = (counters >> np.uint64(56)).tolist()
    lengths = kinds.count(0), kinds.count(1), kinds.count(2)
    items = counters >> np.uint64(24)
    if len(np.unique(items)) == len(items):
        assert join_counters(b"".join(split_counters(counters)), lengths).tolist() == counters.tolist()
