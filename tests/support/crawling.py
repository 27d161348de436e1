"""Real crawls for the tests: a site on the loopback interface, pages to put on it, and a spider in its own process.

Started as a program, this file is that process: it reads ``order.json`` in the working directory and writes
``result.json``.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.http import Request, Response
from twisted.python.failure import Failure

from crawler_dedup import Decision, NearDuplicate, near_duplicate_dropped, page_handled
from crawler_dedup.settling import Outcome

ADDONS = {"crawler_dedup.Addon": 500}
_DEADLINE = 120
"""Seconds after which a crawl that hangs fails its test. No test waits for it."""

# Pages

_SYLLABLES = tuple(
    first + vowel + last for first in "bdfgklmnprstvw" for vowel in "aeiou" for last in ("", "n", "r", "s", "t")
)


def words(seed: object, count: int = 160) -> list[str]:
    """*count* different words, the same ones for the same *seed*, nearly none in common with another."""
    source = random.Random(f"words {seed}")
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(source.choices(_SYLLABLES, k=3))] = None
    return list(found)


def paragraphs(text: Sequence[str]) -> str:
    """*text* as HTML paragraphs of sentences."""
    sentences = [" ".join(text[at : at + 12]).capitalize() + "." for at in range(0, len(text), 12)]
    return "".join(f"<p>{' '.join(sentences[at : at + 4])}</p>\n" for at in range(0, len(sentences), 4))


def article(seed: object, *, links: Sequence[str] = (), changed: int = 0, count: int = 160, frame: str = "") -> str:
    """The HTML of an article.

    Args:
        seed: another one, another text.
        links: its outlinks, in a list below the text.
        changed: so many of its words are others.
        count: how many different words it has.
        frame: what stands around the text and is none of it: pages that differ in it alone have other bytes.
    """
    text = words(seed, count)
    text[:changed] = words(f"{seed} changed", changed)
    below = "".join(f'<li><a href="{link}">on</a></li>' for link in links)
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Article {seed}</title></head><body>"
        f"<nav>{frame}</nav><main><article><h1>Article {seed}</h1>\n{paragraphs(text)}</article></main>"
        f"<footer><ul>{below}</ul></footer></body></html>"
    )


# The site


@dataclass(frozen=True)
class Answer:
    """What the site answers. A ``Content-Length`` among the headers is sent as it is; an empty one is left out."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def html(text: str, status: int = 200, **headers: str) -> Answer:
    """*text* as an HTML page. ``_`` in the name of a header stands for ``-``."""
    given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(text.encode(), status, (("Content-Type", "text/html; charset=utf-8"), *given))


def redirect(target: str) -> Answer:
    """A redirection to *target*."""
    return Answer(b"", 302, (("Location", target),))


Page = Answer | Callable[[], Answer]


class Site:
    """Serves *pages* (path with query → answer, or a function that makes it) while the context lasts.

    It is a proxy as well: asked for an absolute URL, it answers what it has under that.

    Attributes:
        asked: ``GET /path`` for each request, in order.
    """

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self.pages = dict(pages)
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(f"{self.command} {self.path}")
                page = site.pages.get(self.path, Answer(b"There is no such page.", 404))
                answer = page() if callable(page) else page
                self.send_response(answer.status)
                headers = {"Content-Length": str(len(answer.body)), **dict(answer.headers)}
                for name, value in headers.items():
                    if value:
                        self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

            do_HEAD = do_GET  # noqa: N815  (the name that http.server looks for)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                """A client that goes away is none of the test's business."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}"

    def __enter__(self) -> Site:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def paths(self) -> list[str]:
        """What was asked for, without the method and ``/robots.txt``."""
        asked = [one.partition(" ")[2] for one in self.asked]
        return [one for one in asked if one != "/robots.txt"]


# The crawl


class Walker(scrapy.Spider):
    """Visits *paths* in their order and follows the links of what it gets; says what it saw.

    Spider sources derive from it: ``from crawling import Walker``.
    """

    name = "walker"

    def __init__(self, site: str, paths: Sequence[str] = (), **arguments: Any) -> None:
        super().__init__(**arguments)
        self.site = site
        self.paths = paths
        self.notes: list[Any] = []

    async def start(self) -> AsyncIterator[Any]:
        for path in self.paths:
            yield self.request(path)

    def request(self, path: str, **arguments: Any) -> Request:
        return Request(self.site + path, **{"errback": self.failed, "dont_filter": True, **arguments})

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield seen(response)
        for link in response.css("a::attr(href)").getall() if hasattr(response, "text") else ():
            yield response.follow(link, errback=self.failed)

    def failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # set by Scrapy
        note: dict[str, Any] = {"path": path_of(request.url), "error": type(failure.value).__name__}
        if isinstance(failure.value, NearDuplicate):
            note["decision"] = asdict(failure.value.decision)
        self.notes.append(note)


def path_of(url: str) -> str:
    """The path of *url* with its query."""
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def seen(response: Response) -> dict[str, Any]:
    """What arrived at a callback. ``decision`` is ``None`` for a page that the filter has left alone."""
    decision = response.meta.get("dedup")
    return {
        "path": path_of(response.url),
        "url": response.url,
        "status": response.status,
        "body": response.body.decode("utf-8", "replace"),
        "verdict": decision.verdict if decision else None,
        "decision": asdict(decision) if decision else None,
    }


@dataclass(frozen=True)
class Crawl:
    """What came of one spider.

    Attributes:
        items: what came out of the pipelines.
        stats: all statistics.
        drops: one entry for each ``near_duplicate_dropped`` signal.
        handled: one entry for each ``page_handled`` signal.
        notes: what the spider put into ``self.notes``.
        log: what the process wrote, of all its spiders.
    """

    items: list[dict[str, Any]]
    stats: dict[str, Any]
    drops: list[dict[str, Any]]
    handled: list[dict[str, Any]]
    notes: list[Any]
    log: str

    def counts(self, under: str = "") -> Counter[str]:
        """The filter's statistics, without ``dedup/`` and *under*; those of handled pages and of hosts if asked for."""
        prefix = f"dedup/{under}"
        found = {name.removeprefix(prefix): value for name, value in self.stats.items() if name.startswith(prefix)}
        apart = ("handled/", "dropped_by_host/", "marked_by_host/")
        return Counter({name: value for name, value in found.items() if under or not name.startswith(apart)})

    def paths(self) -> list[str]:
        """Where the items come from, in order."""
        return [item["path"] for item in self.items]

    def item(self, path: str) -> dict[str, Any]:
        """The only item of *path*."""
        (found,) = (item for item in self.items if item["path"] == path)
        return found

    def lines(self, level: str, text: str) -> list[str]:
        """The lines of the log with this level that hold *text*."""
        return [line for line in self.log.splitlines() if f" {level}: " in line and text in line]


class Running:
    """A crawl that was started."""

    def __init__(self, directory: Path, process: subprocess.Popen[str]) -> None:
        self._directory = directory
        self._process = process
        self._written = ""
        # Of several crawls that run at once none may stand still because nobody reads what it writes.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            self._written = output.read()

    def log(self) -> str:
        """Wait for its end, also a violent one; what it wrote."""
        self._reader.join(_DEADLINE)
        if hangs := self._reader.is_alive():
            self._process.kill()
            self._reader.join()
        self._process.wait()
        assert not hangs, f"The crawl hangs:\n{self._written}"
        return self._written

    def results(self) -> dict[str, Crawl]:
        """Wait for its end; spider name → what came of it. A crawl that could not be started fails the test."""
        log = self.log()
        assert self._process.returncode == 0, log
        told = json.loads((self._directory / "result.json").read_text())
        errors = [error for one in told.values() if (error := one.pop("error"))]
        assert not errors, "\n".join([*errors, log])
        return {name: Crawl(**one, log=log) for name, one in told.items()}


def start_script(
    directory: Path, source: str, settings: Mapping[str, Any] | None = None, *, addon: bool = True, **arguments: Any
) -> Running:
    """Start all spiders of the module *source* at once, in one new process with *directory* as its working directory.

    One request at a time, first come, first served; the index is ``index`` in *directory* and takes no dictionary.
    All of that is overruled by *settings*, in which the module goes by the name ``script``.
    """
    base: dict[str, Any] = {
        "ADDONS": ADDONS if addon else {},
        "CONCURRENT_REQUESTS": 1,
        "DEDUP_DIR": str(directory / "index"),
        "DEDUP_TOKENIZER": "bigrams",
        "DOWNLOAD_DELAY": 0,
        "DOWNLOAD_TIMEOUT": 60,
        "RETRY_ENABLED": False,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "TELNETCONSOLE_ENABLED": False,
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "result.json").unlink(missing_ok=True)
    (directory / "script.py").write_text(source)
    (directory / "order.json").write_text(
        json.dumps({"settings": {**base, **(settings or {})}, "arguments": arguments})
    )
    return Running(directory, _start([sys.executable, __file__], directory))


def run_scripts(
    directory: Path, source: str, settings: Mapping[str, Any] | None = None, *, addon: bool = True, **arguments: Any
) -> dict[str, Crawl]:
    """As :func:`start_script`, and wait for the end: spider name → what came of it."""
    return start_script(directory, source, settings, addon=addon, **arguments).results()


def run_script(
    directory: Path, source: str, settings: Mapping[str, Any] | None = None, *, addon: bool = True, **arguments: Any
) -> Crawl:
    """As :func:`run_scripts`, for a module with one spider."""
    (crawl,) = run_scripts(directory, source, settings, addon=addon, **arguments).values()
    return crawl


WALK = "from crawling import Walker\n\nclass Spider(Walker):\n    pass\n"
"""The source of a spider that is nothing but a :class:`Walker`."""


def run_scrapy(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``scrapy ARGUMENTS`` in *directory*; what it writes stands in ``stdout``."""
    process = _start([sys.executable, "-m", "scrapy", *arguments], directory)
    log, _ = process.communicate(timeout=_DEADLINE)
    return subprocess.CompletedProcess(process.args, process.returncode, log)


def _start(command: list[str], directory: Path) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY_", "PYTEST_"))}
    return subprocess.Popen(
        command,
        cwd=directory,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1", "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )


# The process of the crawl


class _Recorder:
    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.items: list[Any] = []
        self.drops: list[Any] = []
        self.handled: list[Any] = []
        crawler.signals.connect(self.scraped, signal=signals.item_scraped)
        crawler.signals.connect(self.dropped, signal=near_duplicate_dropped)
        crawler.signals.connect(self.page_handled, signal=page_handled)

    def scraped(self, item: Any) -> None:
        self.items.append(item)

    def dropped(self, decision: Decision, request: Request, response: Response, spider: scrapy.Spider) -> None:
        self.drops.append({**asdict(decision), "request": request.url, "response": response.url, "spider": spider.name})

    def page_handled(self, outcome: Outcome, response: Response, spider: scrapy.Spider) -> None:
        told = {"path": path_of(response.url), "spider": spider.name, "well": outcome.well}
        self.handled.append({**asdict(outcome), **told})

    def result(self, error: BaseException | None) -> dict[str, Any]:
        return {
            "items": self.items,
            "stats": self.crawler.stats.get_stats() if self.crawler._stats else {},
            "drops": self.drops,
            "handled": self.handled,
            "notes": getattr(self.crawler.spider, "notes", []),
            "error": f"{type(error).__name__}: {error}" if error else "",
        }


def _main() -> None:
    order = json.loads(Path("order.json").read_text())
    sys.path.insert(0, os.getcwd())
    process = AsyncCrawlerProcess(order["settings"])
    module = importlib.import_module("script")
    found = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, scrapy.Spider)]
    recorders, tasks = [], []
    for spider in found:
        if spider.__module__ == "script":
            crawler = process.create_crawler(spider)
            recorders.append(_Recorder(crawler))
            tasks.append(process.crawl(crawler, **order["arguments"]))
    process.start()
    results = {
        recorder.crawler.spidercls.name: recorder.result(task.exception())
        for recorder, task in zip(recorders, tasks, strict=True)
    }
    Path("result.json").write_text(json.dumps(results, default=str))


if __name__ == "__main__":
    _main()
