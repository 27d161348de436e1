"""A page that was dropped wrongly is crawled again as if it had never been dropped, once ``restore`` has said so."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scrapy import Request, Spider
from scrapy.http import Response

from crawler_dedup.crawl.requests import describe_request
from crawler_dedup.decision import DroppedRequest
from crawler_dedup.index import opening
from crawler_dedup.index.overrides import Override, Restoration
from tests.support.commandline import command, invoke, restorations_left
from tests.support.council import NEWS, PAGES
from tests.support.crawling import Answer, Crawl, Running, Site, article, html, redirect, run_scrapy, start_script
from tests.support.projects import ADDON

KEPT = [("/approved", "page", 1), ("/public", "page", 2)]
RESTORED = [("/private/1", "private", 3), ("/private/2", "private", 3), ("/rejected", "page", 2)]


def start_project(directory: Path, site: Site, settings: str = "") -> None:
    """Make a project as ``scrapy startproject`` does, with the filter and a spider for the council."""
    assert run_scrapy(directory, "startproject", "myproject", ".").returncode == 0
    (directory / "myproject/spiders/news.py").write_text(NEWS.format(site=site.url), encoding="utf-8")
    add_settings(directory, f"{ADDON}DOWNLOAD_DELAY = 0\nCONCURRENT_REQUESTS = 1\n{settings}")


def add_settings(directory: Path, settings: str) -> None:
    with (directory / "myproject/settings.py").open("a", encoding="utf-8") as file:
        file.write(settings)


def crawl(directory: Path) -> tuple[list[tuple[str, str, int]], str]:
    """Return the items and the log."""
    done = run_scrapy(directory, "crawl", "news", "-O", "pages.jsonl")
    assert done.returncode == 0, done.stdout
    return items_of(directory / "pages.jsonl"), done.stdout


def items_of(feed: Path) -> list[tuple[str, str, int]]:
    """Return (path, kind, depth) of the items in order of the paths."""
    items = map(json.loads, feed.read_text(encoding="utf-8").splitlines())
    return sorted((re.sub("http://[^/]*", "", item["url"]), item["kind"], item["depth"]) for item in items)


@pytest.mark.parametrize("now", [False, True])
def test_a_restored_page_is_crawled_with_its_links_and_kept_from_then_on(tmp_path: Path, now: bool) -> None:
    with Site({path: html(text) for path, text in PAGES.items()}) as site:
        start_project(tmp_path, site, f"TWISTED_REACTOR_ENABLED = {not now}\n")
        assert crawl(tmp_path)[0] == KEPT
        url = f"{site.url}/rejected"
        assert f"`crawler-dedup restore {url}`" in command(tmp_path, "forget", "--url", url).stderr
        done = command(tmp_path, "restore", "--of", f"{site.url}/approved", "--rule", "alike")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [
            f"{url}  ← {site.url}/approved  spider news",
            "1 page will be restored by the next crawl of the same spider.",
        ]
        assert "It was restored: the next crawl with the spider news requests it first." in why(tmp_path, url)
        site.asked.clear()
        if now:
            words = ["-a", "watch=evening", "-o", "now.jsonl", "--follow"]
            done = command(tmp_path, "restore", "--now", "news", *words)
            assert (done.returncode, done.stdout) == (0, "1 page restored.\n"), done.stderr
            assert sorted(site.paths()) == [path for path, _, _ in RESTORED]
            assert items_of(tmp_path / "now.jsonl") == [*RESTORED[:2], ("/rejected", "evening", 2)]
        else:
            items, log = crawl(tmp_path)
            assert items == sorted([*KEPT, *RESTORED])
            assert site.paths()[0] == "/rejected"
            assert "'dedup/restored': 1" in log
        assert "It was restored" not in why(tmp_path, url)
        site.asked.clear()
        assert crawl(tmp_path)[0] == sorted([*KEPT, *RESTORED])
        assert site.paths()[0] == "/"
        assert f"whatever was decided before: keep {url}.\n{url} is kept" in why(tmp_path, url)
        assert "a later crawl has kept it" in command(tmp_path, "restore", url).stderr


@pytest.mark.parametrize("way", ["separate", "setting"])
def test_a_page_that_was_dropped_wrongly_passes_in_the_next_crawl(tmp_path: Path, way: str) -> None:
    with Site({path: html(text) for path, text in PAGES.items()}) as site:
        start_project(tmp_path, site)
        assert crawl(tmp_path)[0] == KEPT
        urls = [f"{site.url}/approved", f"{site.url}/rejected"]
        if way == "setting":
            add_settings(tmp_path, f"DEDUP_NEVER_DROP = ['{site.url}/']\n")
        else:
            done = command(tmp_path, "separate", *urls)
            assert (done.returncode, done.stdout) == (0, "1 override added.\n"), done.stderr
        items, log = crawl(tmp_path)
        assert items == sorted([*KEPT, *RESTORED])
        assert re.findall(r"'dedup/overrides': (\d+)", log) == (["3"] if way == "setting" else [])
        override = "DEDUP_NEVER_DROP" if way == "setting" else f"separate {' '.join(urls)}"
        explained = why(tmp_path, urls[1])
        assert f"An override applies to this page now, whatever was decided before: {override}" in explained
        assert f"{urls[1]} is kept" in explained


def why(directory: Path, url: str) -> str:
    return command(directory, "why", url).stdout


class Odd:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


class Text(str):
    """As the texts of links are."""


@dataclass  # so that it has no hash
class Decorated:
    function: Callable[..., Any]

    def __get__(self, spider: Spider, kind: type) -> Callable[..., Any]:
        return partial(self.function, spider)


class Recorded(Spider):
    name = "recorded"
    decorated = Decorated(print)

    def __page(self, response: Response) -> None:
        """Have a name that Python changes."""

    def request(self) -> Request:
        values = {
            "text": Text("ü"),
            "deep": [1, {"x": None}],
            "tuple": (1,),
            "nan": nan,
            "odd": Odd(),
            "half": "\ud800",
        }
        values |= {"big": 10**30, "long": "x" * 20_000, "address": "http://user:secret@a.org/", "\udead": 1}
        meta = {"rule": 0, "link_text": Text("Next"), "depth": 3, "other": 1, "named": [2], "no": b"", "cookiejar": 5}
        meta["dedup_restore_meta"] = ["named", "no", "absent", 7]
        return Request("http://a.org/", self.__page, errback=print, cb_kwargs=values, meta=meta)


def test_only_what_can_be_repeated_is_recorded_of_a_request() -> None:
    spider = Recorded()
    recorded = describe_request(spider.request(), spider)
    assert msgspec.json.decode(msgspec.json.encode(recorded), type=DroppedRequest) == recorded
    assert (recorded.method, recorded.callback, recorded.errback) == ("GET", "_Recorded__page", "")
    assert recorded.cb_kwargs == {"text": "ü", "deep": [1, {"x": None}]}
    assert recorded.meta.pop("dedup_restore_meta") == ["named", "no", "absent", 7]
    assert recorded.meta == {"rule": 0, "link_text": "Next", "depth": 3, "named": [2]}
    assert recorded.left_out == ("?", "address", "big", "half", "long", "nan", "no", "odd", "tuple")
    assert describe_request(Request("http://a.org/", meta={"dedup_restore_meta": 5}), None).callback is None


def test_no_credentials_of_a_request_are_recorded() -> None:
    innocent = {"words": "in a value: token", "page": 2}
    values = {"api_key": "S3cret", "form": {"userPassword": "S3cret"}, "https://user:S3cret@a.org/": 1, **innocent}
    values["text"] = "proxy\nuser:S3cret@a.org"
    recorded = describe_request(Request("http://a.org/", cb_kwargs=values), None)
    assert recorded.cb_kwargs == innocent
    assert "S3cret" not in repr(recorded)


def test_no_long_values_are_read_to_their_end() -> None:
    read = []

    class Numbers(list[int]):
        def __iter__(self) -> Iterator[int]:
            for number in super().__iter__():
                read.append(number)
                yield number

    values = {f"part {number}": "x" * 1000 for number in range(20)} | {"numbers": Numbers(range(10**6))}
    recorded = describe_request(Request("http://a.org/", cb_kwargs=values), None)
    assert len(json.dumps(recorded.cb_kwargs)) < 10_000
    assert len(read) < 10_000


# Crawls that fail, of a spider of this project's tests

SPIDER = """
from tests.support.walker import Walker, seen

class Spider(Walker):
    def request(self, path, **arguments):
        return super().request(path, callback=self.parse_page, cb_kwargs={"number": 1, "pair": (1, 2)})

    def parse_page(self, response, number, pair=None):
        if number != 1 or b"fails" in response.body:
            raise ValueError
        yield {**seen(response), "by": "parse_page", "pair": pair}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, callback=self.parse_page, cb_kwargs=response.cb_kwargs, meta=response.meta)
"""


def twin(*links: str, text: str = "") -> Answer:
    """Return a page that is dropped if another one is kept."""
    return html(article("twin", frame=f"{text} {links}", links=links))


def start(directory: Path, site: Site, *paths: str, source: str = SPIDER, **settings: Any) -> Running:
    return start_script(directory, source, settings, site=site.url, paths=paths)


def run(directory: Path, site: Site, *paths: str, **options: Any) -> Crawl:
    (result,) = start(directory, site, *paths, **options).results().values()
    return result


def drop(directory: Path, site: Site, *paths: str, **options: Any) -> None:
    """Crawl "/kept" and *paths*, which are dropped, and restore these."""
    site.pages.update({"/kept": twin(text="kept"), **{path: twin(text=path) for path in paths}})
    dropped = run(directory, site, "/kept", *paths, **options)
    assert dropped.paths() == ["/kept"]
    invoke("restore", *[site.url + path for path in paths], "--index", directory / "index")
    site.asked.clear()


@pytest.fixture
def site() -> Iterator[Site]:
    with Site({}) as opened:
        yield opened


def test_a_crawl_that_is_killed_in_the_middle_loses_no_restored_page(tmp_path: Path, site: Site) -> None:
    drop(tmp_path, site, "/a", "/b")
    site.pages["/b"] = twin("/next", text="b")

    def kill() -> Answer:
        running.kill()
        return html(article("next"))

    site.pages["/next"] = kill
    running = start(tmp_path, site)
    running.log()
    assert site.paths() == ["/a", "/b", "/next"]
    assert restorations_left(tmp_path) == [("a", 0), ("b", 0)]
    site.pages["/next"] = html(article("next"))
    again = run(tmp_path, site)
    assert sorted(again.paths()) == ["/a", "/b", "/next"]
    assert again.counts()["restored"] == 2
    assert restorations_left(tmp_path) == []


def test_pages_that_fail_in_three_crawls_are_not_requested_again_and_a_dry_run_requests_none(
    tmp_path: Path, site: Site
) -> None:
    drop(tmp_path, site, "/a", "/b", "/c")
    assert run(tmp_path, site, DEDUP_ACTION="mark").items == []
    site.pages |= {"/a": html("busy", 503), "/b": html(f"fails {article('other')}")}
    for failures in (1, 2):
        assert run(tmp_path, site).lines("WARNING", "not requested again") == []
        assert restorations_left(tmp_path) == [("a", failures), ("b", failures)]
    (line,) = run(tmp_path, site).lines("WARNING", "not requested again")
    assert f"{site.url}/a is not requested again" in line
    assert restorations_left(tmp_path) == []
    assert run(tmp_path, site).items == []
    assert site.paths() == ["/a", "/b", "/c", *2 * ["/a", "/b"]]


def test_a_page_that_is_gone_is_not_requested_again_one_that_redirects_is_kept_there_and_a_dead_link_ends_nothing(
    tmp_path: Path, site: Site
) -> None:
    drop(tmp_path, site, "/a", "/b", "/c")
    del site.pages["/a"]
    site.pages |= {"/b": twin("/dead", text="b"), "/c": redirect("/new"), "/new": twin(text="new")}
    crawl = run(tmp_path, site)
    (line,) = crawl.lines("WARNING", "not requested again")
    assert f"{site.url}/a is not requested again: it is gone" in line
    assert (crawl.paths(), crawl.counts()["restored"]) == (["/b", "/new"], 2)
    assert sorted(site.paths()) == ["/a", "/b", "/c", "/dead", "/new"]
    assert restorations_left(tmp_path) == []
    assert run(tmp_path, site, "/kept", "/new").paths() == ["/kept", "/new"]
    with closing(opening.open_index(tmp_path / "index")) as pages:
        assert all(override.since for override in pages.list_overrides())


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "callback=self.parse_page",
            "callback=lambda response, **_: None",
            "used a function as its callback",
        ),
        ("parse_page", "parse_old", "has no method 'parse_old'"),
    ],
)
def test_parse_gets_a_page_whose_callback_is_not_there(
    tmp_path: Path, old: str, new: str, reason: str, site: Site
) -> None:
    source = SPIDER.replace(old, new)
    if "lambda" in new:
        source = source.replace("lambda response, **_: None", "lambda response, **_: self.parse_page(response, 1)")
    drop(tmp_path, site, "/a", source=source)
    crawl = run(tmp_path, site)
    (line,) = crawl.lines("WARNING", "is requested again with the callback `parse`")
    assert reason in line
    assert [item.get("by") for item in crawl.items] == [None]
    assert restorations_left(tmp_path) == []


def test_a_job_on_disk_requests_a_restored_page_once(tmp_path: Path, site: Site) -> None:
    drop(tmp_path, site, "/a", "/b")

    def interrupt() -> Answer:
        running.interrupt()
        return twin(text="/a")

    site.pages["/a"] = interrupt
    running = start(tmp_path, site, JOBDIR=str(tmp_path / "job"))
    running.log()
    assert site.paths() == ["/a"]
    assert restorations_left(tmp_path) == [("b", 0)]
    site.asked.clear()
    crawl = run(tmp_path, site, JOBDIR=str(tmp_path / "job"))
    assert (crawl.paths(), site.paths()) == (["/b"], ["/b"])
    assert crawl.notes == []  # the errback of the repeated request was not called
    assert restorations_left(tmp_path) == []


def test_pages_that_cannot_be_requested_are_reported_in_one_line_and_keep_no_other_from_being_requested(
    tmp_path: Path, site: Site
) -> None:
    drop(tmp_path, site, "/a")
    restoration = Restoration("walker", DroppedRequest())
    with closing(opening.open_to_write(tmp_path / "index")) as pages:
        urls = "http://[no-host/x", "http://[no-host/y"
        pages.add_overrides([Override("keep", (url,), restorations=(restoration,)) for url in urls])
    crawl = run(tmp_path, site)
    assert crawl.paths() == ["/a"]
    (line,) = crawl.lines("WARNING", "cannot be requested again")
    assert "http://[no-host/x cannot be requested again in this crawl: Invalid" in line
    assert restorations_left(tmp_path) == [("x", 1), ("y", 1)]


def test_a_link_that_leads_to_a_restored_page_is_not_requested_however_it_is_written(
    tmp_path: Path, site: Site
) -> None:
    drop(tmp_path, site, "/a?x=1&y=2", "/b")
    site.pages["/b"] = twin("/a?y=2&x=1#end", text="b")
    assert sorted(run(tmp_path, site).paths()) == ["/a?x=1&y=2", "/b"]
    assert site.paths() == ["/a?x=1&y=2", "/b"]


def test_a_restored_page_with_which_the_spider_starts_is_requested_again_only_if_that_request_says_more(
    tmp_path: Path,
) -> None:
    more = SPIDER.replace("callback=", 'headers={"X-Plain": "more"} if path == "/b" else {}, callback=')
    more = more.replace("(1, 2)}", "(1, 2) if path == '/c' else 1}")
    with Site({}) as site:
        drop(tmp_path, site, "/a", "/b", "/c", source=more)
        crawl = run(tmp_path, site, "/kept", "/a", "/b", "/c", source=more)
        assert site.paths() == ["/a", "/b", "/c", "/kept", "/b", "/c"]
        assert crawl.notes == []
        assert restorations_left(tmp_path) == []


def test_a_page_that_another_crawl_fails_to_restore_at_the_same_time_is_restored(tmp_path: Path, site: Site) -> None:
    drop(tmp_path, site, "/a")

    def fail_in_another_crawl() -> Answer:
        site.pages["/a"] = html("busy", 503)
        run(tmp_path / "other", site, DEDUP_DIR=str(tmp_path / "index"))
        assert restorations_left(tmp_path) == [("a", 1)]
        return twin(text="a")

    site.pages["/a"] = fail_in_another_crawl
    assert run(tmp_path, site).paths() == ["/a"]
    assert restorations_left(tmp_path) == []


def test_what_cannot_be_restored_is_said(tmp_path: Path) -> None:
    source = SPIDER.replace("callback=", "method='POST' if path == '/post' else 'GET', callback=")
    with Site({"/kept": twin(text="kept"), "/a": twin(text="a"), "/post": twin(text="post")}) as site:
        run(tmp_path, site, "/kept", "/a", "/post", source=source)
        index = ("--index", tmp_path / "index")
        preview = invoke("restore", "--rule", "alike", "--dry-run", *index, status=1)
        assert preview.stdout.splitlines()[-1] == "1 page would be restored by the next crawl of the same spider."
        assert restorations_left(tmp_path) == []
        done = invoke("restore", f"{site.url}/a", f"{site.url}/post", f"{site.url}/kept", *index, status=1)
        assert "  The new request will not have pair: of meta and cb_kwargs, only short JSON" in done.stdout
        assert done.stderr.splitlines()[-2:] == [
            f"{site.url}/post cannot be restored: it is the response to a POST, and no WARC file has it.",
            f"{site.url}/kept cannot be restored: no journal has a drop of it (see `why`).",
        ]
        assert restorations_left(tmp_path) == [("a", 0)]
    assert "Name the addresses" in invoke("restore", *index, status=2).stderr
    assert "--now cannot be combined with --index" in invoke("restore", "--now", "news", *index, status=2).stderr
    assert "'JOBDIR' is no setting with a value" in invoke("restore", "--now", "news", "-s", "JOBDIR", status=2).stderr
    assert "'x' is no spider argument with a value" in invoke("restore", "--now", "news", "-a", "x", status=2).stderr
    refused = invoke("restore", f"{site.url}/a", "-s", "LOG_LEVEL=INFO", *index, status=2).stderr
    assert "LOG_LEVEL is not a setting" in refused


def test_a_page_that_was_dropped_as_unchanged_is_stored_and_can_be_stored_again(tmp_path: Path) -> None:
    index = ("--index", tmp_path / "index")
    with Site({path: html(article(path)) for path in ("/a", "/b")}) as site:
        for paths in (["/a", "/b"], []):
            assert run(tmp_path, site, "/a", "/b", DEDUP_REVISIT="drop").paths() == paths
        refused = invoke("restore", f"{site.url}/a", *index, status=1).stderr
        assert f"{site.url}/a cannot be restored: it was dropped as unchanged since an earlier visit" in refused
        assert "`crawler-dedup forget --url URL`" in refused
        assert "cannot be restored" not in invoke("restore", "--since", "1d", *index).stderr
        invoke("forget", tmp_path / "index", "--url", f"{site.url}/a")
        assert run(tmp_path, site, "/a", "/b", DEDUP_REVISIT="drop").paths() == ["/a"]
