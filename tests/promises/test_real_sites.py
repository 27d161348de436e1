"""Crawls of saved real sites, which do not belong to this project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.data import contents, html_pages, served
from tests.support.sitecrawl import Crawled, run

pytestmark = pytest.mark.usefixtures("data")


def crawl(url: str, folder: Path, **settings: object) -> Crawled:
    done = run(url, items=folder / "items.jsonl", settings={"DEDUP_DIR": folder / "index", **settings}, fresh=False)
    assert done is not None
    return done


def test_a_site_with_two_addresses_for_each_page_stores_each_content_once(tmp_path: Path) -> None:
    with served("debian-faq") as origin:
        # All simultaneous pages may wait until their copies were handled.
        done = crawl(f"{origin}/_all.html", tmp_path, CONCURRENT_REQUESTS=64)
    stored = contents([tmp_path / "items.jsonl"])
    assert len(html_pages("debian-faq")) == 34
    assert set(stored.values()) == {1}
    assert len(stored) == 17 + 1  # the generated list of all pages too
    assert done.stats["dedup/dropped"] == 17


def test_session_identifiers_do_not_make_a_site_endless(tmp_path: Path) -> None:
    with served("debian-faq", "--session-links") as origin:
        done = crawl(f"{origin}/index.html", tmp_path)
    assert done.stats["finish_reason"] == "finished"
    assert done.stats["dedup/kept"] == 17


@pytest.mark.slow
@pytest.mark.parametrize("kills", [(3.0,), (3.5, 4.5), (4.0, 4.0, 5.0, 6.0)])
def test_a_crawl_that_is_killed_and_started_again_stores_everything(tmp_path: Path, kills: tuple[float, ...]) -> None:
    with served("gopl-zh-2024") as origin:
        crawl(f"{origin}/_all.html", tmp_path)
        wanted = contents([tmp_path / "items.jsonl"])
        index = {"DEDUP_DIR": tmp_path / "killed"}
        ends = [
            run(f"{origin}/_all.html", items=tmp_path / f"killed{number}", settings=index, kill_after=seconds)
            for number, seconds in enumerate(kills)
        ]
        assert None in ends  # else nothing was killed
        done = run(f"{origin}/_all.html", items=tmp_path / "last", settings=index)
    assert done is not None
    assert done.stats["finish_reason"] == "finished"
    killed = [tmp_path / f"killed{number}" for number in range(len(kills))]
    assert wanted.keys() <= contents([*killed, tmp_path / "last"]).keys()
