"""Commands that read dropped pages from WARC files: the site is gone when they run."""

import gzip
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.commandline import invoke, printed_text
from tests.support.crawling import article, crawl_pages, html

SENTENCE = (
    "<p>The assembly has approved the plan for a new library beside the station after a debate of four hours.</p>"
)
ORIGIN = "Printed from /kept"
PAGES = {
    "/kept": html(article("one").replace("</article>", f"{SENTENCE}</article>")),
    "/printed": html(article("one").replace("</article>", f"<p>{ORIGIN}</p></article>")),
    "/same": html(article("one", frame="x").replace("</article>", f"{SENTENCE}</article>")),
}
LACK = f"not compared (says where the page is): {ORIGIN}"


@dataclass(frozen=True)
class Crawled:
    index: Path
    site: str

    def url(self, path: str) -> str:
        return self.site + path


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    directory = tmp_path_factory.mktemp("dropped")
    crawl = crawl_pages(directory, PAGES, settings={"DEDUP_DROPPED_WARC": "10 MB"})
    assert [drop["url"].rpartition("/")[2] for drop in crawl.drops] == ["printed", "same"]
    return Crawled(directory / "index", crawl.drops[0]["url"].removesuffix("/printed"))


def test_why_shows_what_the_representative_lacks_of_a_stored_page(crawled: Crawled) -> None:
    printed, same = (printed_text(invoke("why", crawled.url(path), crawled.index)) for path in ("/printed", "/same"))
    assert LACK in printed
    assert (
        "may lack, as no more than its main text is stored: not compared (in navigation, a footer or the like): x"
        in same
    )


def test_why_goes_on_without_files_that_cannot_be_read(crawled: Crawled, tmp_path: Path) -> None:
    index = shutil.copytree(crawled.index, tmp_path / "index")
    (path,) = index.glob("dropped-*")
    path.write_bytes(path.read_bytes()[:-100])
    result = invoke("why", crawled.url("/same"), index)
    assert f"{path} was not read to its end" in result.stderr
    assert "Their texts are not stored" in result.stdout
    assert ORIGIN in invoke("why", crawled.url("/printed"), index).stdout
    path.unlink()
    assert "Their texts are not stored" in invoke("why", crawled.url("/printed"), index).stdout


def test_judge_shows_stored_pages(crawled: Crawled, tmp_path: Path) -> None:
    result = invoke("judge", crawled.index, "-o", tmp_path / "judged", typed="n\ny\n")
    assert LACK in printed_text(result)
    assert "it needs what a crawl has stored" not in printed_text(result)


def test_judge_saves_stored_pages_beside_the_stored_texts_of_kept_ones(tmp_path: Path) -> None:
    settings = {"DEDUP_DROPPED_WARC": "10 MB", "DEDUP_STORE_TEXT": True}
    crawl_pages(tmp_path, {path: PAGES[path] for path in ("/kept", "/printed")}, settings=settings)
    result = invoke("judge", tmp_path / "index", typed="n\n")
    assert "1 answer in" in result.output
    assert "1 with both pages" in result.output
    assert ORIGIN in result.output
    saved = "".join(gzip.decompress(path.read_bytes()).decode() for path in (tmp_path / "index/judged").rglob("*.gz"))
    assert ORIGIN in saved
