"""A dry run, and then a crawl on the same index that drops pages: nothing that the dry run has kept is missing."""

import re
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator, Verdict
from tests.support.commandline import invoke, printed_text
from tests.support.crawling import WALK, Crawl, Site, article, html, run_script
from tests.support.places import Places

MARK = {"DEDUP_ACTION": "mark"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Crawl]]:
    """Return an index and three crawls on it: a dry run, one that drops pages and does not visit all, and a dry run."""
    directory = tmp_path_factory.mktemp("runs")
    pages = {path: html(article(path)) for path in ("/a", "/b", "/only-dry")} | {
        "/a-copy": html(article("/a", frame="2"))
    }
    visits: list[tuple[list[str], dict[str, str]]] = [
        (["/a", "/a-copy", "/b", "/only-dry"], MARK),
        (["/a-copy", "/a", "/b"], {"DEDUP_REVISIT": "drop"}),
        (["/a", "/b", "/only-dry"], MARK),
    ]
    with Site(pages) as site:
        crawls = [
            run_script(
                directory, WALK, {"DEDUP_JOURNAL": f"journal-{number}.jsonl", **changed}, site=site.url, paths=paths
            )
            for number, (paths, changed) in enumerate(visits)
        ]
    return directory / "index", crawls


def test_a_dry_run_recognises_pages_of_dry_runs_and_a_crawl_that_drops_pages_does_not(
    runs: tuple[Path, list[Crawl]],
) -> None:
    dry, dropping, again = runs[1]
    assert dry.verdicts() == {"/a": "new", "/a-copy": "duplicate", "/b": "new", "/only-dry": "new"}
    assert dry.counts().items() >= {"checked": 4, "kept": 3, "marked": 1}.items()
    assert "dropped" not in dry.counts()
    assert dropping.verdicts() == {"/a-copy": "new", "/b": "new"}
    assert dropping.dropped() == {"/a": "/a-copy"}
    assert again.verdicts() == {"/a": "duplicate", "/b": "unchanged", "/only-dry": "unchanged"}


def test_the_report_counts_dry_runs_apart(runs: tuple[Path, list[Crawl]], tmp_path: Path) -> None:
    printed = printed_text(invoke("report", runs[0], "-o", tmp_path / "report.html"))
    assert "1 run, " in printed
    assert "2 dry runs reported separately" in printed
    html = " ".join(re.sub("<[^>]*>", " ", (tmp_path / "report.html").read_text("utf-8")).split())
    for figure in ("Kept 2 ", "Duplicates 1 ", "Unchanged 0 "):
        assert figure in html


def test_a_dry_run_represents_nothing_on_any_backend(places: Places) -> None:
    marking, dropping = (Config(tokenizer="bigrams", action=action) for action in ("mark", "drop"))
    first, copy = article("first"), article("first", frame="copy")
    place = places()
    with Deduplicator.open(place, marking) as dry:
        assert dry.check("http://a/first", first.encode()).verdict is Verdict.NEW
        assert dry.check("http://a/copy", copy.encode()).verdict is Verdict.DUPLICATE
    with Deduplicator.open(place, dropping) as deduplicator:
        assert deduplicator.check("http://a/copy", copy.encode()).verdict is Verdict.NEW
        assert len(deduplicator) == 1, "the copy replaces the page of the dry run"
        assert deduplicator.check("http://a/first", first.encode()).verdict is Verdict.DUPLICATE
    with Deduplicator.open(place, marking) as dry:
        assert dry.check("http://a/copy", copy.encode()).verdict is Verdict.UNCHANGED
    with Deduplicator.open(place, dropping) as deduplicator:
        assert deduplicator.check("http://a/copy", copy.encode()).verdict is Verdict.UNCHANGED


def test_a_request_that_drops_in_a_dry_run_is_not_dropped_because_of_an_earlier_dry_run(tmp_path: Path) -> None:
    pages = {path: html(article("a", frame=path)) for path in ("/a", "/copy-1", "/copy-2")}
    meta = {key: {"dedup_action": "drop"} for key in ["/copy-1", "/copy-2"]}
    with Site(pages) as site:
        _, second, third = (
            run_script(tmp_path, WALK, MARK, site=site.url, paths=paths, meta=meta)
            for paths in (["/a"], ["/copy-1", "/copy-2"], ["/a", "/copy-2"])
        )
    assert (second.paths(), third.paths()) == (["/copy-1"], ["/a"])
