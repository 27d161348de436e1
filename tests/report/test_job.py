"""The report of a batch job shows what stands in its files."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import lxml.html
import pytest
from lxml.html import HtmlElement

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup.batch.clusters import CLUSTERS
from crawler_dedup.batch.output import KEPT
from crawler_dedup.batch.readers.records import Columns
from crawler_dedup.batch.summary import MAX_EXAMPLES, MAX_ROWS, summarise_job
from crawler_dedup.report.data import PageCounts
from crawler_dedup.report.job import JobData, render_job
from crawler_dedup.urls import host_of
from tests.support.collections import CONFIG, Page, find, make_pages, sign, table, write_lines, write_pages
from tests.support.crawling import article

MADE = datetime(2026, 11, 22, tzinfo=UTC)
PAGES = make_pages(7, 200)


def parsed(content: str) -> HtmlElement:
    return lxml.html.document_fromstring(content)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job")
    inputs = [write_pages(folder / "a.jsonl", PAGES[:90]), write_pages(folder / "b.jsonl", PAGES[90:])]
    sign(inputs, folder / "signed")
    return folder


@pytest.fixture(scope="module")
def data(folder: Path) -> JobData:
    report = find(folder / "signed", folder / "decisions")
    return summarise_job(folder / "signed", folder / "decisions", report)


def test_figures_equal_those_of_a_plain_count(folder: Path, data: JobData) -> None:
    kept, left_out = table(folder / "decisions" / KEPT), table(folder / "decisions" / CLUSTERS)
    verdicts = Counter(row["verdict"] for row in kept + left_out)
    assert data.total == PageCounts(
        verdicts["new"] + verdicts["changed"], verdicts["duplicate"], 0, verdicts["unchanged"], verdicts["unchecked"]
    )
    assert data.total.all_pages == len(PAGES)
    by_host = Counter(host_of(page.url) for page in PAGES)
    out_by_host = Counter(host_of(row["duplicate"]) for row in left_out)
    assert {host: pages.all_pages for host, pages in data.hosts} == by_host
    assert {host: pages.duplicates + pages.unchanged for host, pages in data.hosts} == out_by_host
    assert (data.host_count, data.other_hosts, data.is_incomplete) == (len(by_host), PageCounts(), False)
    sizes = Counter((row["representative_input"], row["representative_record"]) for row in left_out)
    assert [group.size for group in data.groups] == [size for _, size in sizes.most_common(MAX_ROWS)]
    assert (data.group_count, data.several_count) == (len(sizes), sum(size > 1 for size in sizes.values()))
    assert dict(data.rules) == Counter(row["rule"] for row in left_out)
    assert data.distances == Counter(row["distance"] for row in left_out if row["distance"] is not None)
    assert sum(data.resemblances.values()) == sum(data.coverages.values()) == len(left_out)
    inputs = Counter(row["input"] for row in left_out)
    assert {path: out for path, _, out in data.inputs} == inputs
    assert sorted(pages for _, pages, _ in data.inputs) == [90, 110]


def test_groups_name_their_pages(folder: Path, data: JobData) -> None:
    left_out = table(folder / "decisions" / CLUSTERS)
    for group in data.groups:
        duplicates_of_group = [
            (row["duplicate"], row["rule"]) for row in left_out if group.identifier == row["representative"]
        ]
        assert set(group.examples) <= set(duplicates_of_group)
        assert len(group.examples) == min(group.size, MAX_EXAMPLES)
        assert group.url == group.identifier
    assert any(group.title.startswith("Article") for group in data.groups)


def test_pages_of_an_index_are_named(folder: Path, tmp_path: Path) -> None:
    new = write_pages(tmp_path / "new.jsonl", [Page(f"http://new/{page.url[7:]}", page.html) for page in PAGES[:30]])
    sign([new], tmp_path / "signed")
    report = find(tmp_path / "signed", tmp_path / "out", against=folder / "signed")
    data = summarise_job(tmp_path / "signed", tmp_path / "out", report)
    assert any(group.place == f"kept before, in {folder / 'signed'}" for group in data.groups)
    assert "kept before" in render_job(data, CONFIG, MADE)


def test_the_page_shows_the_figures_and_loads_nothing_else(folder: Path, data: JobData) -> None:
    content = render_job(data, CONFIG, MADE)
    root = parsed(content)
    tiles = {tile.findtext("dt"): tile.findtext("dd") for tile in root.xpath("//dl[@class='tiles']/div")}
    out = data.total.duplicates + data.total.unchanged
    assert (tiles["Pages"], tiles["Left out"], tiles["Kept"]) == ("200", str(out), str(200 - out))
    assert len(root.xpath("//figure/table")) == 3
    assert [element.text for element in root.xpath("//*[@class='big']")] == [str(group.size) for group in data.groups]
    assert not root.xpath("//script | //link | //img | //iframe | //object | //embed | //base | //form")
    assert set(re.findall(r"url\((.)", content)) <= {"#"}
    assert content == render_job(data, CONFIG, MADE)


def test_content_of_pages_is_shown_as_text(tmp_path: Path) -> None:
    hostile = ["javascript:alert(1)", "<script>alert(1)</script>", 'http://h/"onmouseover="alert(1)', "\u202egpj.exe"]
    body = article("x").replace("<title>", "<title>&lt;/title&gt;&lt;script&gt;alert(2)&lt;/script&gt;")
    lines = [{"id": f"{name}{number}", "html": body} for number in range(3) for name in hostile]
    source = write_lines(tmp_path / "<b>.jsonl", lines)
    sign([source], tmp_path / "signed", columns=Columns(id="id"))
    report = find(tmp_path / "signed", tmp_path / "out")
    content = render_job(summarise_job(tmp_path / "signed", tmp_path / "out", report), CONFIG, MADE)
    root = parsed(content)
    assert not root.xpath("//script | //main//title | //b")
    assert not root.xpath("//@*[starts-with(name(), 'on')]")
    assert {urlsplit(str(link)).scheme for link in root.xpath("//a/@href")} <= {"http"}
    assert all(letter.isprintable() or letter == "\n" for letter in content)


def test_a_job_that_leaves_nothing_out_is_shown(tmp_path: Path) -> None:
    source = write_pages(tmp_path / "pages.jsonl", [Page("http://h/", "<p>short")])
    sign([source], tmp_path / "signed")
    data = summarise_job(tmp_path / "signed", tmp_path / "out", find(tmp_path / "signed", tmp_path / "out"))
    text = parsed(render_job(data, CONFIG, MADE)).text_content()
    assert "No page is left out." in text
    assert "No page stands for another one." in text
