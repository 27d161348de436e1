"""`groups` says where the content of kept pages is found besides, by the journal and the index."""

from __future__ import annotations

from pathlib import Path

import pytest

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
