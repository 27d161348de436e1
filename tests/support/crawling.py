"""Real crawls for the tests: a site on the loopback interface, pages for it, and a spider in its own process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.processes import ROOT, Process, start

ADDONS = {"crawler_dedup.Addon": 500}
_DEADLINE = 120
"""Seconds after which a crawl that hangs fails its test. No test waits for it."""

# Pages

_SYLLABLES = tuple(
    first + vowel + last for first in "bdfgklmnprstvw" for vowel in "aeiou" for last in ("", "n", "r", "s", "t")
)


def words(seed: object, count: int = 160) -> list[str]:
    """Return *count* different words, which depend on *seed*; two seeds have hardly any word in common."""
    return list(_words(f"words {seed}", count))


@lru_cache(1_000)
def _words(seed: str, count: int) -> Sequence[str]:
    source = random.Random(seed)
    made_words: dict[str, None] = {}
    while len(made_words) < count:
        made_words["".join(source.choices(_SYLLABLES, k=3))] = None
    return tuple(made_words)


def paragraphs(text: Sequence[str]) -> str:
    """Return *text* as HTML paragraphs of sentences."""
    sentences = [" ".join(text[at : at + 12]).capitalize() + "." for at in range(0, len(text), 12)]
    return "".join(f"<p>{' '.join(sentences[at : at + 4])}</p>\n" for at in range(0, len(sentences), 4))


def article(
    seed: object, *, links: Sequence[str] = (), changed: int = 0, shortened: int = 0, count: int = 160, frame: str = ""
) -> str:
    """Return the HTML of an article.

    Args:
        seed: another seed makes another text.
        links: its outlinks, in a list below the text.
        changed: how many of its words are replaced.
        shortened: how many of its paragraphs, the last ones, are left out.
        count: how many different words it has.
        frame: text around the article that is not part of it; pages that differ only in it have different bytes.
    """
    text = words(seed, count)
    text[:changed] = words(f"{seed} changed", changed)
    shown = paragraphs(text).splitlines(keepends=True)
    body = "".join(shown[: len(shown) - shortened])
    below = "".join(f'<li><a href="{link}">on</a></li>' for link in links)
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Article {seed}</title></head><body>"
        f"<nav>{frame}</nav><main><article><h1>Article {seed}</h1>\n{body}</article></main>"
        f"<footer><ul>{below}</ul></footer></body></html>"
    )


# The site


@dataclass(frozen=True)
class Answer:
    """A response of the site. A ``Content-Length`` among the headers is sent unchanged; an empty one is left out."""

    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def html(text: str, status: int = 200, **headers: str) -> Answer:
    """Return *text* as an HTML page. ``_`` in the name of a header stands for ``-``."""
    given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(text.encode(), status, (("Content-Type", "text/html; charset=utf-8"), *given))


def redirect(target: str) -> Answer:
    """Return a redirection to *target*."""
    return Answer(b"", 302, (("Location", target),))


Page = Answer | Callable[[], Answer]


def acting(text: str, *acts: Callable[[], object]) -> Page:
    """Return a page that does something whenever it is requested."""

    def answer() -> Answer:
        for act in acts:
            act()
        return html(text)

    return answer


class Site:
    """Serves *pages* (path with query → answer, or a function that makes it) while the context lasts.

    It is a proxy as well: a request for an absolute URL gets the answer that *pages* has under that URL.

    Attributes:
        asked: ``GET /path`` for each request, in order.
        authorizations: the header ``Authorization`` of each request, in order; ``""`` where there was none.
    """

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self.pages = dict(pages)
        self.asked: list[str] = []
        self.authorizations: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(f"{self.command} {self.path}")
                site.authorizations.append(self.headers.get("Authorization", ""))
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

            do_HEAD = do_POST = do_GET  # noqa: N815  (the name that http.server looks for)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                """Ignore clients that disconnect."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self.url = f"http://{self.host}"

    def __enter__(self) -> Site:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def paths(self) -> list[str]:
        """Return the requested paths in order, without ``/robots.txt``."""
        asked = [line.partition(" ")[2] for line in self.asked]
        return [path for path in asked if path != "/robots.txt"]


# The crawl


@dataclass(frozen=True)
class Crawl:
    """The result of one spider.

    Attributes:
        items: the items after the pipelines.
        stats: all statistics.
        drops: one entry for each ``near_duplicate_dropped`` signal.
        handled: one entry for each ``page_handled`` signal.
        notes: the content of ``self.notes`` of the spider.
        log: the output of the process, for all its spiders.
    """

    items: list[dict[str, Any]]
    stats: dict[str, Any]
    drops: list[dict[str, Any]]
    handled: list[dict[str, Any]]
    notes: list[Any]
    log: str

    def counts(self, under: str = "") -> Counter[str]:
        """Return the filter's statistics below *under*; those of handled pages and hosts only if *under* names them."""
        prefix = f"dedup/{under}"
        counts = {name.removeprefix(prefix): value for name, value in self.stats.items() if name.startswith(prefix)}
        apart = ("handled/", "dropped_by_host/", "marked_by_host/")
        return Counter({name: value for name, value in counts.items() if under or not name.startswith(apart)})

    def paths(self) -> list[str]:
        """Return the paths of the items in order."""
        return [item["path"] for item in self.items]

    def verdicts(self) -> dict[str, str]:
        """Return the verdict about each page that has passed, by path."""
        return {item["path"]: item["verdict"] for item in self.items}

    def dropped(self) -> dict[str, str]:
        """Return the path of the representative of each page that was dropped, by path."""
        return {_path_of(drop["url"]): _path_of(drop["duplicate_of"]) for drop in self.drops}

    def item(self, path: str) -> dict[str, Any]:
        """Return the only item of *path*."""
        (item,) = (item for item in self.items if item["path"] == path)
        return item

    def lines(self, level: str, text: str) -> list[str]:
        """Return the lines of the log with this level that hold *text*."""
        return [line for line in self.log.splitlines() if f" {level}: " in line and text in line]


def _path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3] if url else ""


class Running:
    """A crawl that was started."""

    def __init__(self, directory: Path, process: Process) -> None:
        self._directory = directory
        self._process = process
        self._written = ""
        # The output is always read, so that no crawl of several simultaneous crawls blocks.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            self._written = output.read()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def kill(self) -> None:
        """End the crawl with SIGKILL."""
        self._process.kill()

    def interrupt(self) -> None:
        """Ask the crawl to end, as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def log(self) -> str:
        """Wait until the crawl has ended or was killed, and return its output."""
        self._reader.join(_DEADLINE)
        if hangs := self._reader.is_alive():
            self._process.kill()
            self._reader.join()
        self._process.wait()
        assert not hangs, f"The crawl hangs:\n{self._written}"
        return self._written

    def results(self) -> dict[str, Crawl]:
        """Wait for the end; return the results by spider name. A crawl that could not be started fails the test."""
        log = self.log()
        assert self._process.returncode == 0, log
        results = json.loads((self._directory / "result.json").read_text())
        errors = [error for result in results.values() if (error := result.pop("error"))]
        assert not errors, "\n".join([*errors, log])
        return {name: Crawl(**result, log=log) for name, result in results.items()}


def start_script(
    directory: Path,
    source: str,
    settings: Mapping[str, Any] | None = None,
    *,
    addon: bool = True,
    fresh: bool = False,
    **arguments: Any,
) -> Running:
    """Start all spiders of the module *source* at once, in one new process with *directory* as its working directory.

    Requests are sent one at a time, in their order. The index is ``index`` in *directory* and needs no dictionary. All of
    this is overridden by *settings*, in which the module has the name ``script``.

    Args:
        addon: whether the filter is installed.
        fresh: start the interpreter anew, as users do, instead of forking (see :mod:`tests.support.processes`).
        arguments: the arguments of the spiders.
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
    return Running(directory, _start(["-c", "from tests.support.walker import main; main()"], directory, fresh))


def run_scripts(
    directory: Path, source: str, settings: Mapping[str, Any] | None = None, **options: Any
) -> dict[str, Crawl]:
    """Start spiders as :func:`start_script` does, wait for the end, and return the results by spider name."""
    return start_script(directory, source, settings, **options).results()


def run_script(directory: Path, source: str, settings: Mapping[str, Any] | None = None, **options: Any) -> Crawl:
    """Run the only spider of a module as :func:`run_scripts` does, and return its result."""
    (crawl,) = run_scripts(directory, source, settings, **options).values()
    return crawl


WALK = "from tests.support.walker import Walker\n\nclass Spider(Walker):\n    pass\n"
"""The source of a spider that is nothing but a :class:`Walker`."""
SITE_SPIDER = "from crawler_dedup.spiders.site import SiteSpider\n\nclass Spider(SiteSpider):\n    pass\n"
"""The source of the spider that users get; its argument is ``url``."""


def crawl_pages(
    directory: Path,
    pages: Mapping[str, Page],
    source: str = WALK,
    settings: Mapping[str, Any] | None = None,
    *,
    paths: Sequence[str] | None = None,
    **options: Any,
) -> Crawl:
    """Serve *pages*, and visit all of them or *paths* with a spider; *options* are those of :func:`run_script`."""
    with Site(pages) as site:
        given = list(pages if paths is None else paths)
        return run_script(directory, source, settings, site=site.url, paths=given, **options)


def run_scrapy(directory: Path, *arguments: str, settings_module: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``scrapy ARGUMENTS`` in *directory*; ``stdout`` of the result has all its output.

    Args:
        settings_module: the settings, a module in *directory*, for a project without ``scrapy.cfg``.
    """
    process = _start(["-m", "scrapy", *arguments], directory, False, settings_module)
    log, _ = process.communicate(timeout=_DEADLINE)
    return subprocess.CompletedProcess(process.args, process.wait(), log)


def _start(arguments: list[str], directory: Path, fresh: bool, settings_module: str = "") -> Process:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY_", "PYTEST_"))}
    return start(
        arguments,
        cwd=directory,
        env={
            **kept,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{directory}" if settings_module else str(ROOT),
            **({"SCRAPY_SETTINGS_MODULE": settings_module} if settings_module else {}),
        },
        stderr=subprocess.STDOUT,
        fresh=fresh,
    )
