"""A crawl that is stopped repeatedly on one index loses nothing that an undisturbed one would have stored."""

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from crawler_dedup import Config
from tests.support.crawling import Answer, Site, article, html
from tests.support.data import served
from tests.support.killed import Job, Stored, Trial, compare, try_stops
from tests.support.places import Places

BIGRAMS = {"DEDUP_TOKENIZER": "bigrams"}
RJIEBA = {"DEDUP_TOKENIZER": "rjieba"}
ON_EACH = pytest.mark.parametrize("places", ["directory", "server"], indirect=True)


def twins(count: int, visits: int) -> dict[str, Answer]:
    """Return a list of articles, each of them at two addresses in another frame, under the address of each visit."""
    paths = {f"/{name}-{number}": (number, name) for name in ("original", "copy") for number in range(count)}
    pages = {path: article(number, links=["/"], frame=f"{name} shelf") for path, (number, name) in paths.items()}
    entries = "".join(f'<li><a href="{path}">{path}</a></li>' for path in paths)
    pages["/"] = f"<!doctype html><title>All</title><ul>{entries}</ul>"
    queries = ["", *(f"?visit={visit}" for visit in range(1, visits + 1))]
    return {f"{path}{query}": html(page) for path, page in pages.items() for query in queries}


def tree(path: str = "/", depth: int = 3) -> dict[str, Answer]:
    """Return pages that only their parents link to: what is lost of the queue is not met again."""
    below = [f"{path}{number}/" for number in range(3)] if depth else []
    pages = {path: html(article(path, links=below))}
    for url in below:
        pages |= tree(url, depth - 1)
    return pages


def stop_again_and_again(job: Job, stops: int, stop: signal.Signals = signal.SIGKILL) -> Trial:
    undisturbed = replace(job, folder=job.folder / "undisturbed")
    done = undisturbed.run()
    assert done.reason == "finished"
    stopped = replace(job, folder=job.folder / "stopped", resumes=stop == signal.SIGINT)
    return try_stops(stopped, undisturbed, stops=stops, seconds=done.seconds, seed=stops, stop=stop)


@ON_EACH
def test_three_kills_lose_nothing(tmp_path: Path, places: Places) -> None:
    # After a kill every page has another address, so that records of dead runs decide what is stored.
    settings = {**BIGRAMS, "DEDUP_GRACE": 0}
    with Site(twins(12, visits=6)) as site:
        done = stop_again_and_again(Job(f"{site.url}/", tmp_path, settings, True, server=places.server), 3)
    assert done.stops == 3
    assert done.lost == []


def test_an_interrupt_of_a_crawl_with_jobdir_loses_nothing(tmp_path: Path) -> None:
    with Site(tree()) as site:
        done = stop_again_and_again(Job(f"{site.url}/", tmp_path, BIGRAMS), 1, signal.SIGINT)
    assert done.stops == 1
    assert done.lost == []


def test_a_page_that_no_stored_page_covers_is_reported_as_lost() -> None:
    def stored(path: str, seed: str, frame: str = "") -> Stored:
        return Stored(f"http://a/{path}", f"{seed} {frame}", "utf-8", article(seed, frame=frame).encode())

    wanted = [stored("one", "one"), stored("two", "two"), stored("three", "three"), stored("three again", "three")]
    kept = [stored("one", "one"), stored("other", "two", "another frame"), stored("other", "two", "another frame")]
    comparison = compare(wanted, kept, Config(tokenizer="bigrams"))
    assert (comparison.wanted, comparison.covered, comparison.lost) == (3, ["http://a/two"], ["http://a/three"])
    assert (comparison.added, comparison.twice, comparison.equal) == (1, 1, False)
    assert compare(wanted, wanted[::-1], Config(tokenizer="bigrams")).equal


@pytest.mark.slow
@pytest.mark.usefixtures("data")
@ON_EACH
@pytest.mark.parametrize("new_addresses", [True, False], ids=["new-addresses", "same-addresses"])
@pytest.mark.parametrize("grace", [60, 1, 0])
def test_thirty_kills_lose_nothing(tmp_path: Path, places: Places, grace: int, new_addresses: bool) -> None:
    with served("gopl-zh-2024") as origin:
        settings = {**RJIEBA, "DEDUP_GRACE": grace}
        job = Job(f"{origin}/_all.html", tmp_path, settings, new_addresses, server=places.server)
        done = stop_again_and_again(job, 30)
    assert done.stops == 30
    assert done.lost == []


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_twenty_interrupts_of_a_crawl_with_jobdir_lose_nothing(tmp_path: Path) -> None:
    with served("debian-faq") as origin:
        done = stop_again_and_again(Job(f"{origin}/_all.html", tmp_path, RJIEBA), 20, signal.SIGINT)
    assert done.stops == 20
    assert done.lost == []
