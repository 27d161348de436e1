"""`groups` says where the content of kept pages is found besides, by the journal and the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_dedup.inspection.droptable import Mirror, find_redundant_hosts
from tests.support.commandline import FIRST, check_pages, entries_of, invoke, json_lines, lines_in
from tests.support.crawling import article
from tests.support.droppedpages import COPIES, KEPT

pytestmark = pytest.mark.usefixtures("outside")


def test_a_group_has_the_addresses_of_its_duplicates_with_rule_and_time(dropped: Path) -> None:
    (group,) = lines_in(invoke("groups", dropped, "--jsonl"))
    times = {entry.url: entry.time for entry in entries_of(dropped / FIRST)}
    assert (group["url"], group["scope"], group["is_kept"]) == (KEPT, "site", True)
    assert group["duplicates"] == [
        {"url": url, "rule": "alike", "time": times[url], "event": "drop"} for url in sorted(COPIES)
    ]
    assert invoke("groups", dropped).stdout.splitlines() == [KEPT, *(f"  ← {url}  (alike)" for url in sorted(COPIES))]


def test_a_page_that_was_kept_after_its_drop_is_in_no_group(dropped: Path) -> None:
    invoke("keep", COPIES[0], "--index", dropped)
    check_pages(dropped, {COPIES[0]: article(1, frame="again")}, journal="")
    (group,) = json_lines("groups", dropped, "--json")
    assert [member["url"] for member in group["duplicates"]] == sorted(COPIES[1:])


def test_a_representative_that_was_forgotten_is_not_called_kept(dropped: Path) -> None:
    invoke("forget", dropped, "--url", KEPT)
    assert [group["is_kept"] for group in json_lines("groups", dropped, "--json")] == [False]


@pytest.fixture
def mirrored(tmp_path: Path) -> Path:
    """Return an index after a crawl of a host, of a mirror with a page of its own, and of a host with one copy."""
    pages = {f"http://main.org/{number}": article(number) for number in range(12)}
    pages |= {f"http://copy.org/{number}": article(number, frame="copy") for number in range(11)}
    pages |= {"http://copy.org/own": article(50), "http://other.org/0": article(0, frame="other")}
    check_pages(tmp_path / "index", pages | {f"http://other.org/{number}": article(number) for number in range(60, 70)})
    return tmp_path / "index"


def test_mirrors_are_listed_with_their_share(mirrored: Path) -> None:
    expected = {"host": "copy.org", "mirrors": "main.org", "duplicates": 11, "pages": 12, "share": 11 / 12}
    (mirror,) = json_lines("groups", mirrored, "--hosts", "--json")
    assert mirror == {"type": "mirror", **expected, "deny": True}
    assert "copy.org │ main.org" in invoke("groups", mirrored, "--hosts").stdout


def test_hosts_of_few_pages_or_with_few_copies_are_no_mirrors(tmp_path: Path) -> None:
    pages = {f"http://main.org/{number}": article(number) for number in range(9)}
    pages |= {f"http://copy.org/{number}": article(number, frame="copy") for number in range(9)}
    check_pages(tmp_path / "index", pages)
    assert invoke("groups", tmp_path / "index", "--hosts").stdout.startswith("No host mostly has copies")
    own = {f"http://copy.org/own/{number}": article(number + 50) for number in range(10)}
    check_pages(tmp_path / "index", own | {"http://copy.org/9": article(1, frame="9")})
    (mirror,) = json_lines("groups", tmp_path / "index", "--hosts", "--json")
    assert (mirror["duplicates"], mirror["pages"]) == (10, 20)
    check_pages(tmp_path / "index", {"http://copy.org/own/10": article(60)})
    assert json_lines("groups", tmp_path / "index", "--hosts", "--json") == []


def test_of_hosts_that_mirror_each_other_one_is_allowed(tmp_path: Path) -> None:
    pages = {f"http://a.org/{number}": article(number) for number in range(6)}
    pages |= {f"http://b.org/{number}": article(number, frame="b") for number in range(12)}
    check_pages(
        tmp_path / "index", pages | {f"http://a.org/{number}": article(number, frame="a") for number in range(6, 12)}
    )
    assert [line["deny"] for line in json_lines("groups", tmp_path / "index", "--hosts", "--json")] == [True, False]


def test_a_host_that_represents_a_mirror_is_allowed() -> None:
    assert find_redundant_hosts([Mirror("a", "b", 10, 10), Mirror("b", "c", 9, 10)]) == ["a"]
