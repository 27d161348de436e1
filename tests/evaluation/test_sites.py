from __future__ import annotations

from crawler_dedup import SignedPage
from crawler_dedup.evaluation.pairs import learn_sites
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.rules.sites import UNKNOWN_SITE, hash_part


def page(number: int, *, url: str = "http://h/{}", scope: str = "") -> SignedPage:
    address = url.format(number)
    return SignedPage(key=address, url=address, scope=scope, title=f"Story {number} | Tea House")


def test_sites_are_distinguished_except_by_www_case_scheme_or_its_port() -> None:
    sites = learn_sites(page(number) for number in range(MIN_PAGES))
    for url in ("http://h/other", "https://WWW.H/other?x", "http://www.h/", "http://h:80/", "https://h:443/"):
        assert sites.profile_of(page(1, url=url)).titles == {hash_part("teahouse")}
    for url in ("http://h:8080/", "http://i/", "http://x.h/"):
        assert sites.profile_of(page(1, url=url)) is UNKNOWN_SITE


def test_scopes_are_distinguished() -> None:
    pages = [page(number, scope="one") for number in range(MIN_PAGES)]
    sites = learn_sites([*pages, *(page(number, scope="other") for number in range(MIN_PAGES - 1))])
    assert sites.profile_of(page(1, scope="one")).is_known
    assert sites.profile_of(page(1, scope="other")) is UNKNOWN_SITE
    assert sites.profile_of(page(1)) is UNKNOWN_SITE


def test_pages_without_a_host_belong_to_no_site() -> None:
    for url in ["", "notes.html", "/path", "http://[broken", "mailto:a@b"]:
        sites = learn_sites(page(number, url=url) for number in range(MIN_PAGES))
        assert sites.profile_of(page(1, url=url)) is UNKNOWN_SITE
