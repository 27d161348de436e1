from __future__ import annotations

import pickle
import random
from collections import Counter

import numpy as np
import pytest

from crawler_dedup import SignedPage
from crawler_dedup.rules.sites import MAX_BYTES, MIN_PAGES, UNKNOWN_SITE, SiteProfile, SiteProfiles
from crawler_dedup.signing.links import MAX_PACKED, Links, unpack_links
from crawler_dedup.signing.outlinks import find_links
from crawler_dedup.signing.parsing import parse
from crawler_dedup.urls import host_of

NAVIGATION = ["/", "/about", "/tea"]


def page(
    number: int, hrefs: list[str] | None = None, *, title: str = "", url: str = "http://h/{}", scope: str = ""
) -> SignedPage:
    """A page with navigation, a link of its own and the title of its site."""
    hrefs = [*NAVIGATION, f"/own/{number}"] if hrefs is None else hrefs
    tree = parse("".join(f'<a href="{href}">x</a>' for href in hrefs).encode())
    address = url.format(number)
    packed = find_links(tree, address).packed
    return SignedPage(key=address, url=address, scope=scope, title=title or f"Story {number} | Tea House", links=packed)


def numbers(*hrefs: str) -> frozenset[int]:
    return frozenset(unpack_links(page(0, list(hrefs)).links))


def learned(count: int) -> SiteProfile:
    site = SiteProfile()
    for number in range(count):
        site.add(page(number))
    return site


def test_what_all_pages_share_is_learned_once_the_site_is_known() -> None:
    site = learned(MIN_PAGES - 1)
    assert (site.is_known, site.navigation, site.titles) == (False, frozenset(), frozenset())
    site.add(page(MIN_PAGES - 1))
    assert site.is_known
    assert site.navigation == numbers(*NAVIGATION)
    assert site.titles == {"teahouse"}


def test_it_stays_known_and_its_pages_own_links_never_become_navigation() -> None:
    site = SiteProfile()
    for number in range(500):
        site.add(page(number))
        assert site.is_known is (number >= MIN_PAGES - 1)
        if site.is_known:
            assert site.navigation == numbers(*NAVIGATION)
            assert site.titles == {"teahouse"}


@pytest.mark.parametrize(
    ("having", "pages", "navigation", "titles"),
    [
        (2, 8, False, False),
        (3, 8, True, True),
        (5, 26, False, False),
        (6, 30, True, False),
        (9, 30, True, True),
        (10, 50, True, False),
        (15, 50, True, True),
    ],
)
def test_links_of_a_fifth_and_parts_of_titles_of_three_tenths_but_at_least_of_three_pages_are_shared(
    having: int, pages: int, navigation: bool, titles: bool
) -> None:
    site = SiteProfile()
    for number in range(pages):
        with_it = number < having
        own = [f"/own/{number}", *(["/archive"] if with_it else [])]
        site.add(page(number, own, title="Archive" if with_it else f"Story {number}"))
    assert (site.navigation == numbers("/archive")) is navigation
    assert (site.titles == {"archive"}) is titles


def test_what_was_shared_is_forgotten_when_the_site_changes() -> None:
    site = learned(200)
    for number in range(200, 400):
        site.add(page(number, ["/new", "/menu", f"/own/{number}"], title=f"Story {number} - River"))
    assert site.navigation == numbers("/new", "/menu")
    assert site.titles == {"river"}


def test_the_navigation_of_a_page_with_too_many_links_is_not_learned_but_the_page_counts() -> None:
    site = SiteProfile()
    for number in range(MIN_PAGES):
        site.add(page(number, [f"/many/{link}" for link in range(MAX_PACKED + 1)]))
    assert site.is_known
    assert site.navigation == frozenset()
    assert site.titles == {"teahouse"}


def test_memory_of_a_site_does_not_grow_with_its_pages() -> None:
    hashes = np.arange(1, MAX_PACKED + 1, dtype=np.uint64) << np.uint64(32)

    def size_after(pages: int) -> int:
        site = SiteProfile()
        for number in range(pages):
            own = Links(hashes + (np.uint64(number * MAX_PACKED) << np.uint64(32)))
            site.add(SignedPage(key="", url="", scope="", title=f"Story {number}", links=own.packed))
        return len(pickle.dumps(site))

    assert size_after(640) < 2 * size_after(64)  # what is counted once is forgotten from time to time


def test_a_link_takes_a_few_bytes_however_many_pages_have_it() -> None:
    site = SiteProfile()
    for number in range(31):  # before anything is halved
        own = Links((np.arange(1, 201, dtype=np.uint64) + np.uint64(200 * number)) << np.uint64(32))
        site.add(SignedPage(key="", url="", scope="", title=f"Story {number}", links=own.packed))
    assert len(pickle.dumps(site)) < 10 * 31 * 200
    assert site.size < 10 * 31 * 200


def test_counts_are_those_of_a_plain_count_that_is_halved() -> None:
    source, site, expected, pages = random.Random(3), SiteProfile(), Counter[int](), 0
    for number in range(300):
        drawn = sorted(min(int(source.expovariate(0.02)), 500) for _ in range(source.randrange(60)))
        hashes = np.array(drawn, dtype=np.uint64) << np.uint64(32)
        site.add(SignedPage(key="", url="", scope="", title="", links=Links(hashes).packed))
        expected.update(drawn)
        pages += 1
        if pages >= 64:
            pages //= 2
            expected = Counter({item: count // 2 for item, count in expected.items() if count > 1})
        shared = {item for item, count in expected.items() if count >= max(3, 0.2 * pages)}
        assert site.navigation == (shared if pages >= MIN_PAGES else set()), number


# Many sites


def learn(sites: SiteProfiles, count: int = MIN_PAGES, *, url: str = "http://h/{}", scope: str = "") -> None:
    for number in range(count):
        sites.add(page(number, url=url, scope=scope))


def test_a_site_of_which_nothing_was_seen_shares_nothing() -> None:
    site = SiteProfiles().profile_of(page(1))
    assert site is UNKNOWN_SITE
    assert (site.is_known, site.navigation, site.titles) == (False, frozenset(), frozenset())


def test_looking_a_site_up_teaches_nothing() -> None:
    sites = SiteProfiles()
    for number in range(2 * MIN_PAGES):
        sites.profile_of(page(number))
    assert sites.profile_of(page(1)) is UNKNOWN_SITE


def test_hosts_are_told_apart_but_not_by_www_case_or_scheme() -> None:
    sites = SiteProfiles()
    learn(sites)
    for url in ("http://h/other", "https://WWW.H/other?x", "http://www.h/"):
        assert sites.profile_of(page(1, url=url)).titles == {"teahouse"}
    for url in ("http://h:8080/", "http://i/", "http://x.h/"):
        assert not sites.profile_of(page(1, url=url)).is_known


def test_scopes_are_told_apart() -> None:
    sites = SiteProfiles()
    learn(sites, scope="one")
    learn(sites, MIN_PAGES - 1, scope="other")
    assert sites.profile_of(page(1, scope="one")).is_known
    assert not sites.profile_of(page(1, scope="other")).is_known
    assert sites.profile_of(page(1)) is UNKNOWN_SITE


@pytest.mark.parametrize("url", ["", "notes.html", "/path", "http://[broken", "mailto:a@b"])
def test_pages_without_a_host_are_no_site(url: str) -> None:
    sites = SiteProfiles()
    assert host_of(url) == ""
    learn(sites, url=url)
    assert sites.profile_of(page(1, url=url)) is UNKNOWN_SITE


def test_sites_are_forgotten_before_all_of_them_together_take_too_much_memory() -> None:
    sites, source = SiteProfiles(), np.random.default_rng(5)
    for host in range(250):
        for number in range(MIN_PAGES):
            own = Links(np.sort(source.integers(1 << 63, size=MAX_PACKED, dtype=np.uint64)))
            title = "|".join(map(chr, range(0x4E00 + 100 * number, 0x4E00 + 100 * number + 100)))
            url = f"http://h{host}/{number}"
            sites.add(SignedPage(key=url, url=url, scope="", title=title, links=own.packed))
    assert len(pickle.dumps(sites)) < MAX_BYTES
    assert sites.size <= MAX_BYTES
    assert sites.profile_of(page(1, url="http://h0/{}")) is UNKNOWN_SITE
    assert sites.profile_of(page(1, url="http://h249/{}")).is_known


def test_of_many_sites_those_that_were_seen_last_are_kept() -> None:
    sites = SiteProfiles()
    learn(sites, url="http://early/{}")
    learn(sites, url="http://visited/{}")
    for number in range(10_000):
        sites.add(page(number, [], url="http://host{}/"))
        if number % 100 == 0:
            sites.add(page(number, url="http://visited/{}"))
    assert sites.profile_of(page(1, url="http://early/{}")) is UNKNOWN_SITE
    assert sites.profile_of(page(1, url="http://visited/{}")).is_known
    kept = [
        number
        for number in range(10_000)
        if sites.profile_of(page(number, [], url="http://host{}/")) is not UNKNOWN_SITE
    ]
    assert 0 < len(kept) <= 512
    assert kept == list(range(10_000 - len(kept), 10_000))
