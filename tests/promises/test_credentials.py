"""Neither user names nor passwords of addresses leave a crawl or a command, even after errors."""

import json
import logging
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from fastwarc.warc import ArchiveIterator

from crawler_dedup import Config, ConfigError, Decision, Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.index.records import encode
from crawler_dedup.inspection.transfer import Export
from crawler_dedup.journal.entry import Entry
from crawler_dedup.system.logs import logger_without_credentials
from tests.support.commandline import entries_of, invoke, printed_text
from tests.support.crawling import Crawl, Site, article, html, redirect, run_script

USER, PASSWORD = "Us3rName4711", "S3cretWord0815"
LOGIN = f"{USER}:{PASSWORD}@"
NESTED = f"http://{LOGIN}inner.example/x"

EXTRACTOR = """
import time

def extract(tree):
    text = tree.text_content()
    if "BREAKS" in text:
        try:
            raise KeyError("http://LOGINinner.example/cause")
        except KeyError as error:
            raise ValueError("cannot read http://LOGINinner.example/x and LOGINinner.example") from error
    if "SLOW" in text:
        time.sleep(3)
    return "\\n".join(paragraph.text_content() for paragraph in tree.iter("p"))
""".replace("LOGIN", LOGIN)
SPIDER = """
import re, shutil
from crawler_dedup.crawl import counting
from tests.support.walker import Walker
from crawler_dedup import release
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler

counting.MAX_DUPLICATES = 2

class Handler(HTTP11DownloadHandler):
    # Twisted refuses credentials in addresses; the handlers of other libraries (httpx, browsers) take them.
    async def download_request(self, request):
        bare = request.replace(url=re.sub("//.*@(?=127)", "//", request.url))
        return (await super().download_request(bare)).replace(url=request.url)

class Spider(Walker):
    async def start(self):
        for url, meta in self.paths:
            yield self.request(url, meta=meta)

    def parse(self, response):
        if "RAISES" in response.text:
            raise RuntimeError("the callback fails")
        if "RELEASED" in response.text:
            release(response)
        if "DELETES" in response.text:
            shutil.rmtree(self.settings["DEDUP_DIR"])
        yield {"url": response.url}
        for link in response.css("footer a::attr(href)").getall():
            yield response.follow(link, errback=self.failed)
"""


@dataclass(frozen=True)
class Crawled:
    """Two crawls of a site.

    Attributes:
        second: in the middle of it the directory of the index is deleted.
        index: as the first one has left it.
    """

    site: Site
    directory: Path
    first: Crawl
    second: Crawl
    index: Path

    def with_login(self, path: str) -> str:
        """Return the address of a page as the crawl was given it."""
        return f"http://{LOGIN}{self.site.host}{path}"


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> object:
    directory = tmp_path_factory.mktemp("credentials")
    (directory / "failing_extractor.py").write_text(EXTRACTOR)
    queries = [f"/query?next={NESTED}", f"/query?next={quote(NESTED, safe='')}&n=2"]
    queries.append(f"/query?next={quote(quote(NESTED, safe=''), safe='')}&n=3")
    copies = {path: html(article("kept", frame=path)) for path in ("/a", "/b", "/c", "/d", "/target", *queries)}
    names = "kept key scope netloc action other later last".split()
    pages = copies | {f"/{name}": html(article(name)) for name in names} | {"/short": html("<p>short</p>")}
    for name in ("BREAKS", "SLOW", "RAISES", "RELEASED", "DELETES"):
        pages[f"/{name.lower()}"] = html(article(name) + name)
    with Site(pages) as site:
        site.pages["/links"] = html(article("links", links=[f"http://{LOGIN}{site.host}/d"]))
        site.pages["/redirects"] = redirect(f"http://{LOGIN}{site.host}/target")
        site_url = f"http://{LOGIN}{site.host}"
        starts: list[tuple[str, dict[str, str]]] = [
            (f"{site_url}/kept", {}),
            (f"http:\\\\{LOGIN}{site.host}\\a", {}),
            (f"HTTP://{PASSWORD}@{site.host}/b", {}),
            (f"ht\ntp://{USER}:{PASSWORD}%40x%2F@{site.host}/c", {}),
            *((f"{site_url}{query}", {}) for query in queries),
            (f"{site_url}/redirects", {}),
            (f"{site_url}/links", {}),
            (f"{site_url}/key", {"dedup_key": f"http:/{LOGIN}key.example/"}),
            (f"{site_url}/scope", {"dedup_scope": f"http://{LOGIN}scope.example/"}),
            (f"{site_url}/netloc", {"dedup_scope": f"{LOGIN}scope.example:80"}),
            (f"{site_url}/action", {"dedup_action": f"http://{LOGIN}action.example/"}),
            *((f"{site_url}/{name}", {}) for name in ("breaks", "slow", "raises", "released", "short")),
        ]
        settings = {
            "DOWNLOAD_HANDLERS": {"http": "script.Handler"},
            "DEDUP_EXTRACTOR": "failing_extractor.extract",
            "DEDUP_JOURNAL": str(directory / "journal-%(time)s.jsonl"),
            "DEDUP_TIMEOUT": 1,
            "DEDUP_DROPPED_WARC": "10 MB",
            "LOG_LEVEL": "DEBUG",
        }
        first = run_script(directory, SPIDER, settings, site="", paths=starts)
        shutil.copytree(directory / "index", directory / "first")
        second_paths = starts[:2] + [(f"{site_url}/{name}", {}) for name in ("deletes", "other", "later", "last")]
        second = run_script(directory, SPIDER, settings, site="", paths=second_paths)
        yield Crawled(site, directory, first, second, directory / "first")


def assert_clean(content: str | bytes) -> None:
    """Check that neither user name nor password stands in *content*."""
    text = content if isinstance(content, str) else content.decode("latin-1")
    for secret in (USER, PASSWORD):
        for shown in (secret, secret.lower()):
            assert shown not in text, text[max(0, text.find(shown) - 300) :][:600]


def own_lines(log: str) -> str:
    """Return what the package's loggers have written, with tracebacks."""
    records = re.split(r"^(?=\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[)", log, flags=re.MULTILINE)
    return "".join(record for record in records if re.match(r"\S+ \S+ \[crawler_dedup\b", record))


def test_the_crawls_contain_every_event_that_the_other_tests_look_at(crawled: Crawled) -> None:
    """Otherwise the other tests would search where no secret could be."""
    counts = crawled.first.counts()
    assert {"kept", "dropped", "unchecked", "watchdog"} <= {*counts}
    assert counts["dropped"] >= 8
    assert {"ValueError", "NotSigned", "ConfigError"} <= {*crawled.first.counts("error/")}
    assert crawled.first.stats["dedup/handled/released"] >= 1
    events = {entry.event for path in crawled.directory.glob("journal-*") for entry in entries_of(path)}
    assert events == {"started", "drop", "unchanged", "unchecked", "released", "watchdog"}
    assert "IndexGone" in crawled.second.counts("error/")
    assert PASSWORD in crawled.first.log  # Scrapy's own lines
    log_of_package = own_lines(crawled.first.log)
    for text in (
        "Dropped duplicate",
        "Traceback",
        "KeyError",
        "pages of one site",
        "passes unchecked: ConfigError",
    ):
        assert text in log_of_package
    assert "passes unchecked: IndexGone" in own_lines(crawled.second.log)


def test_log_journal_and_statistics_hold_no_credentials(crawled: Crawled) -> None:
    for crawl in (crawled.first, crawled.second):
        assert_clean(own_lines(crawl.log))
        assert_clean(repr({name: value for name, value in crawl.stats.items() if name.startswith("dedup/")}))
        for drop in crawl.drops:
            assert_clean("".join(str(drop[name]) for name in ("url", "key", "scope", "duplicate_of", "reason")))
        for note in crawl.notes:
            assert_clean(json.dumps(note.get("decision")))
    for path in crawled.directory.glob("journal-*"):
        assert_clean(path.read_bytes())


def test_index_and_export_hold_no_credentials(crawled: Crawled, tmp_path: Path) -> None:
    invoke("index", "export", tmp_path / "export", crawled.index)
    records = [encode(record) for record in Export(tmp_path / "export").records()]
    for path in (*crawled.index.iterdir(), tmp_path / "export"):
        assert_clean(path.read_bytes())
    assert_clean(b"".join(records))
    assert b"scope.example" in b"".join(records)


def test_warc_files_hold_no_credentials_but_those_in_the_bodies_of_pages(crawled: Crawled) -> None:
    (path,) = crawled.index.glob("dropped-*")
    responses = 0
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            assert_clean(repr([*record.headers.items()]))
            if record.is_http:
                assert_clean(repr([*record.http_headers.items()]))
                responses += 1
            else:
                assert_clean(record.reader.read())
    assert responses == crawled.first.counts()["dropped"]


def test_the_commands_print_no_credentials(crawled: Crawled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(crawled.directory))
    index = tmp_path / "index"
    shutil.copytree(crawled.index, index)
    journals = [word for path in crawled.directory.glob("journal-*") for word in ("--journal", path)]
    wrong = f"DEDUP_JOURNAL=ftp://{LOGIN}h/%(wrong)s"
    calls = [
        (0, ("why", crawled.with_login("/kept"), index, *journals)),
        (0, ("why", crawled.with_login("/a"), index, *journals)),
        (1, ("why", crawled.with_login("/none"), index, *journals)),
        (0, ("drops", index, *journals)),
        (0, ("drops", index, *journals, "--json")),
        (0, ("drops", index, *journals, "--host", crawled.with_login(""))),
        (2, ("drops", index, *journals, "-s", wrong)),
        (2, ("drops", index, *journals, "-s", wrong.removeprefix("DEDUP_"))),
        (0, ("judge", index, *journals)),
        (0, ("judge", index, *journals, "--fetch")),
        (0, ("report", index, *journals, "-o", "report.html")),
        (0, ("index", "stats", index)),
        (0, ("compare", crawled.with_login("/kept"), crawled.with_login("/a"))),
        (2, ("compare", crawled.with_login("/none"), crawled.with_login("/kept"))),
        (2, ("compare", f"http://{LOGIN}127.0.0.1:1/", crawled.with_login("/kept"))),
        (2, ("compare", f"ftp://{LOGIN}h/", crawled.with_login("/kept"))),
        (0, ("forget", index, *journals, "--url", crawled.with_login("/kept"), "--export", "urls.txt")),
        (1, ("forget", index, "--url", f"http://{LOGIN}h/none")),
    ]
    for status, words in calls:
        result = invoke(*words, status=status, typed="y\nn\n")
        assert_clean(result.output)
        assert_clean(result.stderr)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert_clean(path.read_bytes())
    assert f"http://{crawled.site.host}/a\n" in (tmp_path / "urls.txt").read_text()


def test_an_address_is_found_with_and_without_its_credentials(crawled: Crawled) -> None:
    for url in (
        crawled.with_login("/kept"),
        f"http://{crawled.site.host}/kept",
        f"HTTP://{USER}@{crawled.site.host}/kept",
    ):
        assert f"http://{crawled.site.host}/kept is kept" in printed_text(invoke("why", url, crawled.index))


# Without a crawl


def test_an_old_journal_is_read_without_credentials() -> None:
    entry = msgspec.json.encode(
        {"version": 1, "time": "", "run": "", "event": "unchecked", "spider": "s", "scope": NESTED, "url": NESTED}
    )
    assert_clean(repr(msgspec.json.decode(entry, type=Entry)))


def test_decisions_settings_and_errors_hold_no_credentials() -> None:
    assert_clean(repr(Decision(Verdict.UNCHECKED, NESTED, "", "", NESTED, NESTED)))
    config = Config(index=f"redis://{LOGIN}h/0")
    assert PASSWORD in config.index
    assert_clean(repr(config))
    with pytest.raises(ConfigError) as raised:
        Config(journal=f"ftp://{LOGIN}h/journal.jsonl")
    assert_clean(str(raised.value))
    assert_clean(str(DedupError(f"no {NESTED}")))


def test_a_log_record_that_cannot_be_formatted_shows_nothing_of_its_arguments(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def __str__(self) -> str:
            raise ValueError(NESTED)

    logger_without_credentials("crawler_dedup.test").warning("%s of %s", Broken(), NESTED)
    assert caplog.messages == ["'%s of %s' (its arguments raise ValueError)"]


def test_a_log_record_without_credentials_does_not_change(caplog: pytest.LogCaptureFixture) -> None:
    logger = logger_without_credentials("crawler_dedup.test")
    try:
        raise ValueError("http://h/@user")
    except ValueError:
        logger.warning("%s", "http://h/@user", exc_info=True)
        with caplog.at_level(logging.WARNING):
            logger.warning("%s", NESTED)
    first, second = caplog.records
    assert (first.msg, first.args) == ("%s", ("http://h/@user",))
    assert first.exc_info is not None
    assert second.getMessage() == "http://inner.example/x"
