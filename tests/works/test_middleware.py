"""A crawl with ``DEDUP_WORKS``: pages are compared with a library, and no page is lost because of it."""

import re
from pathlib import Path

from tests.support.chinese import chinese
from tests.support.commandline import invoke, json_lines
from tests.support.crawling import Answer, Crawl, crawl_pages, html, start_script
from tests.support.works import NOVEL, PAGE, make_library, write_files

SOURCE = """
import crawler_dedup
from tests.support.walker import Walker


class Spider(Walker):
    @classmethod
    def from_crawler(cls, crawler, *arguments, **options):
        spider = super().from_crawler(crawler, *arguments, **options)
        crawler.signals.connect(spider.note_match, signal=crawler_dedup.work_matched)
        return spider

    def note_match(self, match, is_new, response, spider):
        self.notes.append([match.title, match.url == response.url, is_new])
"""


def as_html(text: str) -> Answer:
    return html("<html><body>" + "".join(f"<p>{line}</p>" for line in text.split("\n")) + "</body></html>")


LONG = chinese(10, 9_000)[:199_000] + NOVEL
"""A text whose first 200,000 characters have a thousand of the novel."""
PAGES = {
    "/copy": as_html(PAGE),
    "/own": as_html(chinese(9, 60)),
    "/twin": as_html(chinese(9, 60)),
    "/whole": as_html(NOVEL),
}


def crawl(directory: Path, library: Path) -> Crawl:
    return crawl_pages(directory, PAGES, SOURCE, {"DEDUP_WORKS": str(library)})


def test_a_publisher_finds_the_copies_of_a_work_in_a_crawl(tmp_path: Path) -> None:
    library = tmp_path / "library"
    invoke("works", "add", write_files(tmp_path / "works"), "--library", library, "-j", 1)
    done = crawl(tmp_path / "first", library)
    assert done.paths() == ["/copy", "/own", "/whole"]
    assert [note for note in done.notes if isinstance(note, list)] == [["novel", True, True], ["novel", True, True]]
    assert done.counts("works/") == {"checked": 3, "matches": 2, "new_matches": 2}
    whole, copy = sorted(
        json_lines("works", "matches", "--json", "--library", library), key=lambda match: -match["share_of_work"]
    )
    assert whole["url"].endswith("/whole")
    assert whole["share_of_work"] > 0.95
    assert copy["url"].endswith("/copy")
    invoke("works", "report", "--library", library, "-o", tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text()
    assert copy["url"] in report
    assert report.count("<mark>") > 50  # homophones on both sides
    again = crawl(tmp_path / "second", library)  # another port, another address
    assert again.counts("works/")["matches"] == 2


def test_no_page_is_lost_when_the_library_cannot_be_read(tmp_path: Path) -> None:
    library = make_library(tmp_path / "library")
    with (library / "library.sqlite").open("r+b") as file:  # the first page of the file, with the tables, stays
        size = file.seek(0, 2) - 4096
        file.seek(4096)
        file.write(b"\xff" * size)
    done = crawl(tmp_path / "crawl", library)
    assert done.paths() == ["/copy", "/own", "/whole"]
    assert done.counts("works/") == {"errors": 3}
    assert len(done.lines("WARNING", "was not compared with the works")) == 1


def test_a_library_that_is_replaced_during_the_crawl_is_used(tmp_path: Path) -> None:
    library, new = make_library(tmp_path / "library"), make_library(tmp_path / "new")
    move = (
        f"        if os.path.exists({str(new)!r}):\n"
        f"            os.rename({str(library)!r}, {str(tmp_path / 'old')!r})\n"
        f"            os.rename({str(new)!r}, {str(library)!r})\n"
    )
    settings = {"DEDUP_WORKS": str(library), "CONCURRENT_REQUESTS": 1}
    done = crawl_pages(tmp_path / "crawl", PAGES, f"import os{SOURCE}{move}", settings)
    assert done.counts("works/") == {"checked": 3, "matches": 2, "new_matches": 2}
    for directory, page in ((tmp_path / "old", "/copy"), (library, "/whole")):
        (match,) = json_lines("works", "matches", "--json", "--library", directory)
        assert match["url"].endswith(page)


def test_a_crawl_without_its_library_does_not_start(tmp_path: Path) -> None:
    running = start_script(
        tmp_path / "crawl", SOURCE, {"DEDUP_WORKS": str(tmp_path / "none")}, site="http://a.org", paths=[]
    )
    assert "The crawl does not start: There is no library in" in running.log()
    library = make_library(tmp_path / "library")
    (library / "matches.sqlite").mkdir()
    running = start_script(tmp_path / "other", SOURCE, {"DEDUP_WORKS": str(library)}, site="http://a.org", paths=[])
    assert re.search(r"The crawl does not start: \S+matches.sqlite cannot be used: ", running.log())


def test_a_page_that_is_too_large_is_not_compared_and_passes(tmp_path: Path) -> None:
    library = make_library(tmp_path / "library")
    settings = {"DEDUP_WORKS": str(library), "DEDUP_MAX_BYTES": 5_000}
    done = crawl_pages(tmp_path / "crawl", {"/copy": PAGES["/copy"], "/whole": PAGES["/whole"]}, SOURCE, settings)
    assert done.paths() == ["/copy", "/whole"]
    assert done.counts("works/") == {"checked": 1, "matches": 1, "new_matches": 1, "errors": 1}


def test_of_a_long_page_the_first_characters_are_compared_and_plain_text_as_it_is_but_no_robots_txt(
    tmp_path: Path,
) -> None:
    library = make_library(tmp_path / "library")
    plain = ("<1>  \n" * 100 + NOVEL).encode("gb18030")
    text = Answer(plain, headers=(("Content-Type", "text/plain; charset=gb18030"),))
    pages = {"/robots.txt": text, "/novel.txt": text, "/long": as_html(LONG)}
    settings = {"DEDUP_WORKS": str(library), "ROBOTSTXT_OBEY": True}
    done = crawl_pages(tmp_path / "crawl", pages, SOURCE, settings, paths=["/novel.txt", "/long"])
    assert done.counts("works/") == {"checked": 2, "matches": 2, "new_matches": 2}
    matches = json_lines("works", "matches", "--json", "--library", library)
    long, novel = sorted(matches, key=lambda match: match["url"].rpartition("/")[2])
    assert 198_000 < long["start"] < 199_500 < long["end"] <= 200_000
    assert novel["url"].endswith("/novel.txt")
    assert abs(novel["start"] - 600) <= 12
