"""A dry run, and then crawls that begin with ``DEDUP_FRESH``: commands count the crawls, and show the dry run apart."""

import re
from pathlib import Path

import pytest

from tests.support.commandline import entries_of, invoke, lines_by_type, printed_text
from tests.support.crawling import Site, run_scrapy
from tests.support.projects import ADDON, PAGES, index_of, project

pytestmark = pytest.mark.usefixtures("outside")
_DRY, _FRESH, _AGAIN = ("DEDUP_ACTION=mark",), ("DEDUP_FRESH=True",), ()


@pytest.fixture(scope="module")
def emptied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index after a dry run, a crawl that has emptied it, and another crawl."""
    with Site(PAGES) as site:
        directory = project(tmp_path_factory.mktemp("project"), site, f"{ADDON}DEDUP_TOKENIZER = 'bigrams'\n")
        for number, settings in enumerate((_DRY, _FRESH, _AGAIN)):
            journal = f"DEDUP_JOURNAL=journal-{number}.jsonl"
            options = [word for setting in (journal, *settings) for word in ("-s", setting)]
            done = run_scrapy(directory, "crawl", "project", *options)
            assert done.returncode == 0, done.stdout
    return index_of(directory)


def run_of(index: Path, number: int) -> str:
    return entries_of(index / f"journal-{number}.jsonl")[0].run


def test_the_report_counts_the_runs_since_the_index_was_emptied(emptied: Path, tmp_path: Path) -> None:
    text = printed_text(invoke("report", emptied, "-o", tmp_path / "report.html"))
    assert "2 runs, " in text
    assert "The index was emptied after 1 earlier run, reported separately." in text
    html = " ".join(re.sub("<[^>]*>", " ", (tmp_path / "report.html").read_text(encoding="utf-8")).split())
    for figure in ("Checked 4 pages", "Kept 1 ", "Duplicates 2 ", "Unchanged 1 "):
        assert figure in html
    earlier = html.partition("Before the index was emptied")[2].partition("not known any more")[0]
    assert re.match(rf" {run_of(emptied, 0)} project .* duplicates 1 · unchanged 0 · unchecked 0 ", earlier)
    assert "kept 0 ·" not in html.partition(run_of(emptied, 1))[2][:200]


def test_the_report_of_an_earlier_run_does_not_claim_that_it_kept_nothing(emptied: Path, tmp_path: Path) -> None:
    run = run_of(emptied, 0)
    result = invoke("report", emptied, "--run", run, "-o", tmp_path / "report.html")
    assert "The index was emptied after this run, so the pages that it kept are not counted." in printed_text(result)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "It holds none of the pages that this run had kept" in html
    assert not re.search("kept 0|<dt>Kept|<dt>Checked", html)


def test_drops_since_the_index_was_emptied_are_listed_and_judged_and_an_earlier_run_can_be_selected(
    emptied: Path, tmp_path: Path
) -> None:
    dry, fresh, again = (run_of(emptied, number) for number in range(3))
    listed = invoke("drops", emptied, "--explain")
    assert [re.search(r"run (\w+)", line)[1] for line in listed.stdout.splitlines()[2::3]] == [fresh, again]  # type: ignore[index]
    judged = invoke("judge", emptied, "-o", tmp_path / "judged", typed="q\n")
    for printed in (listed.stderr, judged.stderr):
        assert printed.startswith("2 drops in 2 runs, ")
        assert f" Run {dry}, " in printed
        assert "not counted, because the index was emptied after it; --run selects a run." in printed
    assert invoke("drops", emptied, "--run", dry).stderr.startswith(f"1 marked page in run {dry}")
    assert "emptied" not in invoke("drops", emptied, "--last").stderr


def test_a_summary_says_which_runs_were_before_the_index_was_emptied(emptied: Path) -> None:
    lines = lines_by_type(invoke("drops", emptied, "--summary", "--json"))
    runs = [(line["run"], line["drops"], line["is_before_emptying"]) for line in lines["run"]]
    assert runs == [(run_of(emptied, number), 1, number == 0) for number in range(3)]
    assert {line["drops"] for line in lines["drop_count"]} == {2}
    printed = invoke("drops", emptied, "--summary").stdout
    rows = [line for line in printed.splitlines() if line.startswith("│") and "before the index was emptied" in line]
    assert [run_of(emptied, 0) in row for row in rows] == [True]
