"""Restored pages that are in WARC files are crawled again without a request."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec

from crawler_dedup.warc.droppedpage import find_files, read_pages
from crawler_dedup.warc.writer import WarcWriter
from tests.support.commandline import invoke, restorations_left
from tests.support.crawling import Crawl, Site, article, html, run_script

ON = {"DEDUP_DROPPED_WARC": "10 MB"}
SPIDER = """
from tests.support.walker import Walker, seen

class Spider(Walker):
    async def start(self):
        for path in self.paths:
            yield self.request(path, callback=self.parse_page, method="POST" if "post" in path else "GET")

    def parse_page(self, response):
        plain = [value.decode("latin-1") for value in response.headers.getlist("X-Plain")]
        yield {**seen(response), "flags": response.flags, "encoding": response.encoding, "plain": plain}
"""
PAGES = {
    "/kept": html(article("one"), X_Plain="kept"),
    "/get": html(article("one", frame="get"), X_Plain="gét"),
    "/post": html(article("one", frame="post 第三"), X_Plain="post", x_plain="twice"),
}


def drop_and_restore(directory: Path, site: Site) -> None:
    first = run_script(directory, SPIDER, ON, site=site.url, paths=["/kept", "/get", "/post"])
    assert first.paths() == ["/kept"]
    done = invoke("restore", f"{site.url}/get", f"{site.url}/post", "--index", directory / "index")
    assert "2 pages will be restored by the next crawl of the same spider" in done.stdout
    site.asked.clear()


def crawl(directory: Path, site: Site, **settings: Any) -> Crawl:
    return run_script(directory, SPIDER, settings, site=site.url)


def test_restored_pages_come_from_the_files_whatever_their_method_and_are_kept(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        drop_and_restore(tmp_path, site)
        again = crawl(tmp_path, site)  # the setting need not be on
        assert site.paths() == []
    for path, plain in (("/get", ["gét"]), ("/post", ["post", "twice"])):
        item = again.item(path)
        assert item["body"].encode() == PAGES[path].body
        assert (item["flags"], item["encoding"], item["plain"]) == (["dedup-restored"], "utf-8", plain)
        assert item["verdict"] == "new"
    assert again.stats["dedup/restored"] == 2
    assert restorations_left(tmp_path) == []
    assert "/post is kept" in invoke("why", f"{site.url}/post", tmp_path / "index").stdout


def test_a_stored_page_with_which_the_spider_starts_is_requested_as_well(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        drop_and_restore(tmp_path, site)
        run_script(tmp_path, SPIDER, {}, site=site.url, paths=["/get"])
        assert site.paths() == ["/get"]


def test_a_page_whose_file_is_gone_is_requested_if_that_is_possible(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        drop_and_restore(tmp_path, site)
        for path in (tmp_path / "index").glob("dropped-*"):
            path.unlink()
        again = crawl(tmp_path, site)
        assert site.paths() == ["/get"]
        other = SPIDER.replace("method=", "dont_filter=False, method=")  # it is as a link of another page
        run_script(tmp_path, other, {}, site=site.url, paths=["/post"])
        assert site.paths() == ["/get", "/post"]
    assert again.item("/get")["flags"] == []
    assert again.lines("WARNING", "/post is not requested again: it is the response to a POST, and no WARC file has it")
    assert restorations_left(tmp_path) == [("post", 2)]


def test_a_response_to_a_post_is_not_that_to_a_get(tmp_path: Path) -> None:
    other = SPIDER.replace('method="POST" if "post" in path else "GET"', "dont_filter=False")
    with Site(PAGES) as site:
        drop_and_restore(tmp_path, site)
        stored = [page for path in find_files(tmp_path / "index") for page, _ in read_pages(path, [])]
        next((tmp_path / "index").glob("dropped-*")).unlink()
        writer = WarcWriter(tmp_path / "index", 10**9, 1, "walker", lambda _: None)
        for page in stored:
            writer.write(dataclasses.replace(page, drop=msgspec.structs.replace(page.drop, method="POST")))
        writer.close()
        run_script(tmp_path, other, {}, site=site.url, paths=["/post"])
        assert sorted(site.paths()) == ["/get", "/post"]
    assert restorations_left(tmp_path) == []
