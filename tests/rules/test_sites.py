import random
from collections import Counter
from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import SignedPage
from crawler_dedup.index.profiles import StoredSite
from crawler_dedup.rules.counts import SiteCounts, can_read
from crawler_dedup.rules.limits import MAX_COUNTERS, MIN_PAGES
from crawler_dedup.rules.sites import UNKNOWN_SITE, SiteProfile, decode_profile, hash_part
from crawler_dedup.signing.links import Links, unpack_links
from crawler_dedup.signing.outlinks import find_links
from crawler_dedup.signing.parsing import parse

NAVIGATION = ["/", "/about", "/tea"]
TEA = frozenset([hash_part("teahouse")])


def page(number: int, hrefs: list[str] | None = None, *, title: str = "", blocks: Sequence[int] = ()) -> SignedPage:
    """Return a page with navigation, a link of its own and the title of its site."""
    hrefs = [*NAVIGATION, f"/own/{number}"] if hrefs is None else hrefs
    tree = parse("".join(f'<a href="{href}">x</a>' for href in hrefs).encode())
    address = f"http://h/{number}"
    title, links = title or f"Story {number} | Tea House", find_links(tree, address).packed
    return SignedPage(key=address, url=address, scope="", title=title, links=links, blocks=pack(blocks))


def pack(numbers: Sequence[int]) -> bytes:
    return b"".join([number.to_bytes(4, "little") + bytes([0, 15]) for number in numbers])


def numbers(*hrefs: str) -> frozenset[int]:
    return frozenset(unpack_links(page(0, list(hrefs)).links))


def learned(*pages: SignedPage) -> SiteCounts:
    counts = SiteCounts()
    for page in pages:
        counts.add(page)
    return counts


# What is learned


def test_the_snapshot_has_what_all_pages_share() -> None:
    site = learned(*(page(number, blocks=[7, 1000 + number]) for number in range(MIN_PAGES))).make_snapshot()
    assert site.number == MIN_PAGES
    assert site.is_known
    assert site.furniture == {7}
    assert not site.shared
    assert site.navigation == numbers(*NAVIGATION)
    assert site.titles == TEA


def test_a_snapshot_is_due_after_8_16_and_32_pages_and_then_after_every_32() -> None:
    counts = SiteCounts()
    assert not counts.snapshot_due
    due: list[int] = []
    for number in range(200):
        counts.add(page(number))
        if counts.snapshot_due:
            due.append(counts.pages_counted)
    assert due == [8, 16, 32, 64, 96, 128, 160, 192]


def test_links_and_parts_of_titles_on_three_tenths_of_the_pages_and_at_least_three_are_shared() -> None:
    for having, pages, is_frequent in [
        (2, 8, False),
        (3, 8, True),
        (8, 30, False),
        (9, 30, True),
        (14, 50, False),
        (15, 50, True),
    ]:
        counts = SiteCounts()
        for number in range(pages):
            archived = number < having
            hrefs = [f"/own/{number}", *(["/archive"] if archived else [])]
            counts.add(page(number, hrefs, title=f"Story {number}{' | Archive' * archived}"))
        site = counts.make_snapshot()
        assert (site.navigation == numbers("/archive")) is is_frequent
        assert (site.titles == {hash_part("archive")}) is is_frequent


OF_EIGHT = [(3, 8, False, False), (4, 8, True, False)]
OF_SIXTEEN = [(3, 16, False, False), (4, 16, False, True), (7, 16, False, True), (8, 16, True, False)]
OF_FORTY = [(6, 40, False, False), (7, 40, False, True), (20, 40, True, False)]


def test_blocks_on_half_the_pages_are_furniture_and_those_on_over_15_percent_and_at_least_four_are_shared() -> None:
    for having, pages, furniture, shared in [*OF_EIGHT, *OF_SIXTEEN, *OF_FORTY]:
        site = learned(
            *(page(number, blocks=[7] if number < having else []) for number in range(pages))
        ).make_snapshot()
        assert (7 in site.furniture, 7 in site.shared) == (furniture, shared)


def test_a_block_is_shared_only_if_it_occurs_under_different_titles() -> None:
    copies = [page(number, title="One Story", blocks=[7]) for number in range(6)]
    other_pages = [page(number, blocks=[8] if number < 12 else []) for number in range(6, 24)]
    site = learned(*copies, *other_pages).make_snapshot()
    assert site.shared == {8}


def test_a_block_recurs_if_three_pages_with_different_titles_have_it() -> None:
    copies = [page(number, title="One Story", blocks=[6]) for number in range(3)]
    two_titles = [page(number, title=f"Story {number == 3}", blocks=[7]) for number in range(3, 6)]
    two_pages = [page(number, blocks=[8]) for number in range(6, 8)]
    others = [page(number, blocks=[9]) for number in range(8, 40)]
    site = learned(*copies, *two_titles, *two_pages, *others).make_snapshot()
    assert site.recurring == {7}
    assert site.furniture == {9}


def test_what_many_pages_have_is_known_even_if_the_site_has_hardly_any_titles() -> None:
    """The archives of a blog often come first in a crawl, and have one title. Their menu is not their content."""
    archives = [page(number, title="Archive", blocks=[7, 100 + number]) for number in range(31)]
    assert learned(*archives, page(31, title="Moved")).make_snapshot().furniture == {7}


def test_a_link_is_navigation_only_if_it_occurs_under_different_titles() -> None:
    copies = [page(number, ["/copied"], title="One Story") for number in range(12)]
    other_pages = [page(number, ["/menu"]) for number in range(12, 24)]
    assert learned(*copies, *other_pages).make_snapshot().navigation == numbers("/menu")


def test_parts_that_the_site_writes_into_every_title_are_not_the_pages_own() -> None:
    site = learned(*map(page, range(MIN_PAGES))).make_snapshot()
    assert site.own_parts("Steeping | Tea House") == {"steeping"}
    assert UNKNOWN_SITE.own_parts("Steeping | Tea House") == {"steeping", "teahouse"}


def test_snapshots_equal_those_of_plain_counts_that_are_halved() -> None:
    source, counts, expected, pages = random.Random(3), SiteCounts(), Counter[int](), 0
    for number in range(600):
        if pages >= 240:
            pages //= 2
            expected = Counter({item: count // 2 for item, count in expected.items() if count > 1})
        drawn = {min(int(source.expovariate(0.02)), 500) for _ in range(source.randrange(60))}
        hashes = np.array(sorted(drawn), dtype=np.uint64) << np.uint64(32)
        counts.add(SignedPage(key="", url="", scope="", title="", links=Links(hashes).packed))
        expected.update(drawn)
        pages += 1
        shared = {item for item, count in expected.items() if count >= max(3, 0.3 * pages)}
        assert counts.make_snapshot().navigation == shared, number


# Bounds


def test_what_is_stored_of_a_site_does_not_grow_with_its_pages() -> None:
    counts = SiteCounts()
    for number in range(200):
        features = np.arange(512 * number, 512 * (number + 1), dtype="<u4")
        title, links = f"Story {number}", features.tobytes()
        counts.add(SignedPage("", "", "", title, links=links, blocks=pack(features.tolist())))
        assert len(counts.encode()) < 8 * MAX_COUNTERS + 100


def test_frequent_links_and_blocks_are_counted_even_if_each_page_has_more_of_its_own_than_counters() -> None:
    source, counts = np.random.default_rng(5), SiteCounts()
    everywhere = source.integers(1 << 32, size=20, dtype=np.uint32)
    for number in range(MIN_PAGES):
        drawn_parts = source.integers(1 << 32, size=(2, 492), dtype=np.uint32)
        links, blocks = (np.concatenate([everywhere, part]).astype("<u4") for part in drawn_parts)
        title = f"Story {number}"
        counts.add(SignedPage("", "", "", title, links=links.tobytes(), blocks=pack(blocks.tolist())))
    site = counts.make_snapshot()
    assert site.navigation == site.furniture == set(everywhere.tolist())


# Stored and read

_NUMBERS = st.lists(st.integers(0, 40) | st.integers(0, 2**32 - 1), max_size=30, unique=True)
_LINKS = _NUMBERS.map(lambda numbers: np.array(numbers, dtype="<u4").tobytes())
_BLOCKS = _NUMBERS.map(pack)
_PAGES = st.builds(
    SignedPage, st.just(""), st.just(""), st.just(""), st.sampled_from("abcd"), links=_LINKS, blocks=_BLOCKS
)


@given(st.lists(_PAGES, max_size=80), st.data())
def test_counts_continue_whenever_they_are_stored_and_read(pages: list[SignedPage], data: st.DataObject) -> None:
    counts = SiteCounts()
    breaks = data.draw(st.sets(st.integers(0, 80)))
    resumed = SiteCounts.decode(b"", 0)
    for number, page_of_site in enumerate(pages):
        counts.add(page_of_site)
        if number in breaks:
            resumed = SiteCounts.decode(resumed.encode(), resumed.pages_counted)
        resumed.add(page_of_site)
        assert resumed.encode() == counts.encode()
        assert (resumed.pages_counted, resumed.make_snapshot()) == (counts.pages_counted, counts.make_snapshot())


@pytest.mark.parametrize(("blocks", "links"), [(b"12345", b""), (b"", b"123"), (b"1234567", b"1234")])
def test_blocks_and_links_that_are_cut_off_are_not_counted(blocks: bytes, links: bytes) -> None:
    with pytest.raises(ValueError, match="size must be a multiple"):
        learned(SignedPage("", "", "", links=links, blocks=blocks))


@given(st.builds(SiteProfile, st.integers(1, 2**32), *[st.frozensets(st.integers(0, 2**32 - 1))] * 4))
def test_a_snapshot_is_read_as_it_was_stored(site: SiteProfile) -> None:
    assert decode_profile(site.encode()) == site


@given(st.binary(max_size=50), st.integers(0, 10_000), st.integers(0, 255))
def test_damaged_counts_and_snapshots_are_read_or_refused(content: bytes, place: int, byte: int) -> None:
    counts = learned(*(page(number, blocks=[7, number]) for number in range(MIN_PAGES)))
    read_counts = partial(SiteCounts.decode, pages_counted=MIN_PAGES)
    for whole, read in ((counts.encode(), read_counts), (counts.make_snapshot().encode(), decode_profile)):
        at = place % len(whole)
        for damaged in (content, whole[:at] + bytes([byte]) + whole[at + 1 :], whole[:at]):
            try:
                result = read(damaged)
            except msgspec.DecodeError:
                continue
            if isinstance(result, SiteCounts):
                result.add(page(1))
                result.make_snapshot()


# Many sites


def counted(*, pages: int = 100, times: int = 1) -> bytes:
    """Return counts of a site that claim these numbers of pages, and of *times* for what stands on its pages."""
    counts = learned(*map(page, range(min(times, 2))))
    counts._pages = pages
    counts._counters = counts._counters + np.uint64((max(times, 2) - 2) << 16)
    return counts.encode()


def snapshot(number: int, hashes: int = 5) -> tuple[int, bytes]:
    return number, SiteProfile(number, furniture=frozenset(range(hashes))).encode()


def test_a_stored_site_with_impossible_values_is_refused() -> None:
    for pages_counted, number, counts, snapshots, expected in [
        (100, 96, counted(), [snapshot(64), snapshot(96)], True),
        (100, 0, counted(), [], True),
        (1 << 41, 96, counted(), [snapshot(96)], False),
        (100, 95, counted(), [snapshot(96)], False),
        (100, 1 << 41, counted(), [snapshot(96)], False),
        (100, 500, counted(), [], False),
        (100, 128, counted(), [snapshot(128)], False),
        (300, 0, counted(pages=240, times=240), [], True),
        (300, 0, counted(pages=241), [], False),
        (99, 0, counted(), [], False),
        (100, 0, counted(pages=0), [], False),
        (100, 0, counted(pages=50, times=51), [], False),
        (100, 96, counted(), [snapshot(96, MAX_COUNTERS)], True),
        (100, 96, counted(), [snapshot(96, MAX_COUNTERS + 1)], False),
    ]:
        assert can_read(StoredSite(bytes(12), pages_counted, number, 0, counts, snapshots)) is expected
