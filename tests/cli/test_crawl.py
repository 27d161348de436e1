"""``crawler-dedup crawl`` on sites of this machine, in directories without a project and with one."""

import json
import os
import re
import signal
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from crawler_dedup import Config, Deduplicator
from crawler_dedup.spiders.site import SiteSpider
from tests.support import processes
from tests.support.commandline import PROGRAM, command, environment
from tests.support.crawling import Answer, Page, Site, article, html
from tests.support.projects import index_of, project
from tests.support.versions import HAS_HTTPAUTH_SETTINGS

pty = pytest.importorskip("pty")

SETTINGS = {
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 1,
    "DEDUP_TOKENIZER": "bigrams",
    "DOWNLOAD_DELAY": 0,
    "RETRY_ENABLED": False,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,  # one page after the other, so that the same one of two copies is kept each time
}
QUICK = [word for name, value in SETTINGS.items() for word in ("-s", f"{name}={value}")]
CRAWL = [PROGRAM, "crawl", *QUICK]
DRY_RUN = "would be dropped: near-duplicates of kept pages"
PATHS = ["/", "/one", "/copy", "/two"]


@pytest.fixture
def site() -> Iterator[Site]:
    """Yield a front page that links to three articles, of which two are alike."""
    pages: dict[str, Page] = {
        "/": html(article("front", links=["/one", "/copy", "/two"])),
        "/one": html(article("one")),
        "/copy": html(article("one", frame="copy")),
        "/two": html(article("two")),
    }
    with Site(pages) as opened:
        yield opened


def crawl(directory: Path, *arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run ``crawler-dedup crawl``, without waiting between requests."""
    done = command(directory, "crawl", *QUICK, *arguments, COLUMNS="80")
    assert done.returncode == status, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def paths(file: Path) -> list[str]:
    """Return the paths of the pages in a file of JSON lines."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [re.sub("^http://[^/]*", "", json.loads(line)["url"]) for line in lines]


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Return the figures that a crawl prints, by what they count."""
    rows = re.findall(r"^ *([\d,]+) (.*?) *$", done.stdout.split("\n\n")[0], re.MULTILINE)
    return {label: int(number) for number, label in rows}


def proposed(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """Return the arguments of the commands that a crawl proposes at its end."""
    return [line.split("crawler-dedup ", 1)[1].split() for line in done.stdout.split("\n\n")[-1].splitlines()]


# From the first look to the next crawl


def test_a_dry_run_drops_nothing_and_the_proposed_commands_show_what_the_next_crawl_drops(
    tmp_path: Path, site: Site
) -> None:
    done = crawl(tmp_path, f"{site.url}/", "--dry-run", "-o", "pages.jsonl")
    assert sorted(paths(tmp_path / "pages.jsonl")) == sorted(PATHS)
    assert counts(done) == {"pages": 4, "kept": 3, DRY_RUN: 1}
    assert "4 pages written to pages.jsonl. Index and journal: .scrapy/dedup" in done.stdout
    assert proposed(done) == [["drops", "--last"], ["report", "--last"]]
    assert f"{site.url}/copy" in command(tmp_path, *proposed(done)[0]).stdout
    done = crawl(tmp_path, f"{site.url}/", "-O", "pages.jsonl")
    assert sorted(paths(tmp_path / "pages.jsonl")) == ["/", "/one", "/two"]
    assert counts(done) == {"pages": 4, "dropped: near-duplicates of kept pages": 1, "kept": 3}
    items = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    (item,) = (item for item in items if item["url"] == f"{site.url}/one")
    assert list(item) == ["url", "title", "text", "language", "depth", "referer"]
    assert (item["title"], item["language"], item["depth"]) == ("Article one", "en", 1)
    assert item["referer"] == f"{site.url}/"


def test_a_file_can_be_replaced_and_pages_can_be_limited(tmp_path: Path, site: Site) -> None:
    file = tmp_path / "pages[bold].jsonl"  # not a style of rich
    file.write_text("old\n")
    done = crawl(tmp_path, f"{site.url}/", "-O", file.name, "--max-pages", "2")
    assert len(paths(file)) == counts(done)["kept"] == 2
    assert "2 pages written to pages[bold].jsonl." in done.stdout
    assert not re.search(" $", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("text_format", ["text", "markdown"])
def test_items_have_own_texts_on_request(tmp_path: Path, site: Site, text_format: str) -> None:
    crawl(tmp_path, site.url, "-O", "pages.jsonl", "--own-text", text_format, "--max-pages", 1)
    (item,) = map(json.loads, (tmp_path / "pages.jsonl").read_text("utf-8").splitlines())
    heading, *_ = item["own_text"].split("\n")
    assert heading == ("# Article front" if text_format == "markdown" else "Article front")


@pytest.mark.parametrize(("given", "requests"), [({}, 2), ({"CONCURRENT_REQUESTS": 9}, 9)])
def test_few_pages_are_requested_at_a_time_so_that_a_crawl_can_end(given: dict[str, int], requests: int) -> None:
    settings = Settings({"CONCURRENT_REQUESTS_PER_DOMAIN": 1, **given})
    crawler = Crawler(SiteSpider, settings)
    SiteSpider.from_crawler(crawler, url="http://a.org/")
    assert crawler.settings.getint("CONCURRENT_REQUESTS") == requests


def test_pages_or_figures_are_written_to_stdout_on_request(tmp_path: Path, site: Site) -> None:
    done = crawl(tmp_path, f"{site.url}/", "-o", "-")
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 3
    assert "3 pages written. Index and journal" in done.stderr
    options = ("--json", "-o", "pages.jsonl", "-s", "DEDUP_FRESH=True")
    (result,) = map(json.loads, crawl(tmp_path, f"{site.url}/", *options).stdout.splitlines())
    assert [result[name] for name in ("type", "checked", "kept", "dropped", "items")] == ["crawl", 4, 3, 1, 3]
    assert (result["feeds"], result["index"]) == (["pages.jsonl"], str(tmp_path / ".scrapy" / "dedup"))
    crawl(tmp_path, f"{site.url}/", "--json", "-o", "-", status=2)


def test_several_addresses_a_list_and_other_hosts_can_be_given(tmp_path: Path, site: Site) -> None:
    (tmp_path / "urls.txt").write_text(f"{site.url}/one\n")
    site.pages["/a,b"] = html(article("a comma"))
    with Site({"/far": html(article("far"))}) as other_host:
        site.pages["/two"] = html(article("two", links=[f"{other_host.url}/far"]))
        options = ("--urls", "urls.txt", "--allow", site.host, "--allow", other_host.host, "-o", "pages.jsonl")
        crawl(tmp_path, f"{site.url}/a,b", f"{site.url}/two", *options)
    assert sorted(paths(tmp_path / "pages.jsonl")) == ["/a,b", "/far", "/one", "/two"]


def test_a_reader_of_stdout_that_ends_early_is_no_error(tmp_path: Path, site: Site) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = processes.run([*CRAWL, f"{site.url}/", "-o", "-"], cwd=tmp_path, env=environment(), stdout=writing)
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


# Where the index stands


def test_an_index_elsewhere_is_named_in_the_proposed_commands(tmp_path: Path, site: Site) -> None:
    done = crawl(tmp_path, f"{site.url}/", "--index", "elsewhere/here")
    assert proposed(done) == [["drops", "--last", "elsewhere/here"], ["report", "--last", "elsewhere/here"]]
    assert (tmp_path / "elsewhere" / "here" / "data.mdb").exists()
    assert not (tmp_path / ".scrapy").exists()
    assert f"{site.url}/copy" in command(tmp_path, *proposed(done)[0]).stdout


def test_in_a_project_its_index_and_settings_are_used_with_the_filter(tmp_path: Path, site: Site) -> None:
    project(tmp_path, site, "USER_AGENT = 'project of ours'\nDEDUP_JOURNAL = ''\nROBOTSTXT_OBEY = False\n")
    (tmp_path / "folder").mkdir()
    done = crawl(tmp_path / "folder", f"{site.url}/")
    assert counts(done)["dropped: near-duplicates of kept pages"] == 1
    assert (index_of(tmp_path) / "data.mdb").exists()
    assert not list(index_of(tmp_path).glob("journal*"))
    assert list((tmp_path / "folder").iterdir()) == []
    assert "GET /robots.txt" not in site.asked


def test_a_crawl_without_a_project_is_polite(tmp_path: Path, site: Site) -> None:
    site.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /two\n", headers=(("Content-Type", "text/plain"),))
    crawl(tmp_path, f"{site.url}/")
    assert site.asked[0] == "GET /robots.txt"
    assert "/two" not in site.paths()
    code = (
        "from crawler_dedup.spiders.running import project_settings as s\n"
        "print(s().getfloat('DOWNLOAD_DELAY'), s().getint('CONCURRENT_REQUESTS_PER_DOMAIN'))"
    )
    assert processes.run(["-c", code], cwd=tmp_path, env=environment()).stdout == "1.0 1\n"


# A site with a password


@pytest.mark.skipif(not HAS_HTTPAUTH_SETTINGS, reason="Scrapy before 2.17 has no settings for it")
@pytest.mark.parametrize("password", ["open, 'sesame'", "open sesame " * 20])
def test_a_password_is_sent_to_its_host_and_never_printed(tmp_path: Path, site: Site, password: str) -> None:
    settings = {"HTTPAUTH_USER": "user", "HTTPAUTH_PASS": password, "HTTPAUTH_DOMAIN": site.host, "LOG_LEVEL": "DEBUG"}
    done = crawl(tmp_path, f"{site.url}/", *(word for item in settings.items() for word in ("-s", "=".join(item))))
    assert counts(done)["pages"] == 4
    assert {b64decode(sent.removeprefix("Basic ")).decode() for sent in site.authorizations} == {f"user:{password}"}
    assert f"'HTTPAUTH_DOMAIN': '{site.host}'" in done.stderr
    assert "sesame" not in done.stdout + done.stderr


def test_a_password_in_a_url_is_refused_and_not_printed(tmp_path: Path, site: Site) -> None:
    urls = [f"http://{credentials}@{site.host}/one" for credentials in ("user:se/secret", "user:s?@secret", "secret")]
    (tmp_path / "urls.txt").write_text(f"{site.url}/\n{urls[0]}\n", encoding="utf-8")
    for arguments in (["--urls", "urls.txt"], *([url] for url in urls)):
        done = crawl(tmp_path, *arguments, status=2)
        sentence = " ".join(done.stderr.split())
        assert f"The URL of {site.url}/one has a user name or password." in sentence
        assert f"HTTPAUTH_DOMAIN={site.host}," in sentence
        assert "cret" not in done.stdout + done.stderr
    assert site.asked == []


def test_an_at_sign_in_a_path_or_in_a_query_is_not_a_password(tmp_path: Path, site: Site) -> None:
    site.pages["/@one?of=http://user:word@a.org/"] = html(article("at"))
    assert counts(crawl(tmp_path, f"{site.url}/@one?of=http://user:word@a.org/"))["kept"] == 1


# Errors


def test_only_a_start_address_that_fails_is_an_error(tmp_path: Path, site: Site) -> None:
    site.pages["/"] = html(article("front", links=["/one", "/missing"]))
    done = crawl(tmp_path, f"{site.url}/", "-o", "pages.jsonl")
    assert counts(done) == {"pages": 2, "kept": 2, "more answered with an error, or could not be fetched": 1}
    done = crawl(tmp_path, f"{site.url}/missing", f"{site.url}/two", "-o", "pages.jsonl", status=2)
    assert f"ERROR: {site.url}/missing could not be crawled: its server answers 404 Not Found\n" in done.stderr
    assert paths(tmp_path / "pages.jsonl")[-1] == "/two"


def test_pages_that_are_not_checked_are_reported(tmp_path: Path, site: Site) -> None:
    site.pages = {"/": html(article("front"), Content_Length="9999")}
    done = crawl(tmp_path, f"{site.url}/", "-o", "pages.jsonl", "-s", "DOWNLOAD_FAIL_ON_DATALOSS=False")
    assert done.stdout.startswith("No pages were checked. The statistics dedup/skipped/… in the log say why")
    assert "\n1 page written to pages.jsonl." in done.stdout


START = {
    "format": (["{site}/", "-o", "pages.doc"], "Unrecognized output format 'doc'"),
    "file": (["{site}/", "-o", "/proc/none/pages.jsonl"], "Error: /proc/none: No such file or directory."),
    "value": (["{site}/", "-s", "DEDUP_MAX_DISTANCE=far"], "Error: DEDUP_MAX_DISTANCE = 'far' is not allowed"),
    "value of Scrapy's": (
        ["{site}/", "-s", "DOWNLOAD_TIMEOUT=long"],
        "Error: The crawl cannot start: could not convert",
    ),
    "another index": (["{site}/", "--index", "filled"], "was made with another configuration"),
}


@pytest.mark.parametrize("case", list(START))
def test_what_prevents_the_start_of_a_crawl_is_reported_in_a_sentence(tmp_path: Path, site: Site, case: str) -> None:
    with Deduplicator.open(tmp_path / "filled", Config(tokenizer="bigrams", scheme="exact")):
        pass
    arguments, sentence = START[case]
    done = crawl(tmp_path, *(word.format(site=site.url) for word in arguments), status=2)
    assert " ".join(done.stderr.split()).count(sentence.format(site=site.url)) == 1


def test_an_address_that_cannot_be_crawled_is_named_with_the_reason(tmp_path: Path, site: Site) -> None:
    plain = (("Content-Type", "text/plain\x1b\x07"),)
    site.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /private\n", headers=plain)
    reasons = {
        "http://127.0.0.1:9/": "Connection was refused",
        f"{site.url}/private": "Forbidden by robots.txt",
        f"{site.url}/robots.txt": "it is not an HTML page (text/plain)",
    }
    printed = " ".join(crawl(tmp_path, *reasons, status=2).stderr.split())
    assert [printed.count(f"{url} could not be crawled: {reason}") for url, reason in reasons.items()] == [1, 1, 1]


def test_a_start_that_is_no_address_is_refused(tmp_path: Path) -> None:
    for arguments, sentence in [
        ([], "Say where to start"),
        (["--urls", "/dev/null"], "Say where to start"),
        (["example.com"], "Not an http(s) URL: example.com"),
        (["http:user:word@h/"], "Not an http(s) URL: http:h/"),
    ]:
        assert crawl(tmp_path, *arguments, status=2).stderr.count(sentence) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_file_that_cannot_be_written_to_ends_the_crawl(tmp_path: Path) -> None:
    text = [f"/{number}" for number in range(40)]
    pages: dict[str, Page] = {path: html(article(path, count=2000)) for path in text}
    with Site({"/": html(article("front", links=text)), **pages}) as site:
        done = command(tmp_path, "crawl", f"{site.url}/", "-o", "/dev/full:jsonlines", *QUICK)
        assert len(site.paths()) < 40
    assert done.returncode == 2
    assert "Not all feeds were stored: /dev/full: OSError: [Errno 28] No space left on device (" in done.stderr
    assert "Not all pages were written." in done.stdout


# Interrupted


class Gate:
    """A page that is asked for, and answered when the test opens the gate."""

    def __init__(self, answer: Answer) -> None:
        self.asked, self.is_open = threading.Event(), threading.Event()
        self._answer = answer

    def __call__(self) -> Answer:
        self.asked.set()
        assert self.is_open.wait(120)
        return self._answer


def interrupt(directory: Path, site: Site, gate: Gate, *, times: int, opens: bool) -> tuple[int, str]:
    """Crawl, and interrupt when the page behind *gate* was asked for; return exit status and stderr."""
    process = processes.start([*CRAWL, f"{site.url}/", "-o", "pages.jsonl"], cwd=directory, env=environment())
    try:
        assert gate.asked.wait(60)
        messages = ""
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            messages += process.stderr.readline()
        if opens:
            gate.is_open.set()
        _, rest = process.communicate(timeout=60)
    finally:
        gate.is_open.set()
        process.kill()
    assert process.returncode is not None
    return process.returncode, messages + rest


@pytest.mark.parametrize(
    ("times", "message"),
    [(1, "Ending: the pages that were requested are still handled. Press Ctrl-C again"), (2, "Stopped.\n")],
)
def test_ctrl_c_lets_requested_pages_be_handled_a_second_one_stops_and_the_next_crawl_does_the_rest(
    tmp_path: Path, times: int, message: str
) -> None:
    gate = Gate(html(article("one", links=["/two"])))
    pages: dict[str, Page] = {"/": html(article("front", links=["/one"])), "/one": gate, "/two": html(article("two"))}
    with Site(pages) as site:
        status, messages = interrupt(tmp_path, site, gate, times=times, opens=times == 1)
        assert (status, "Traceback" in messages, message in messages) == (130, False, True), messages
        assert times == 2 or paths(tmp_path / "pages.jsonl") == ["/", "/one"]
        crawl(tmp_path, f"{site.url}/", "-o", "pages.jsonl")
    assert set(paths(tmp_path / "pages.jsonl")) == {"/", "/one", "/two"}


# In a terminal


def live_line(directory: Path, *arguments: str) -> str:
    """Return what ``crawler-dedup crawl`` writes on a terminal while it crawls."""
    ours, theirs = pty.openpty()
    done = processes.run([*CRAWL, *arguments], cwd=directory, env=environment(TERM="xterm"), stderr=theirs)
    os.close(theirs)
    written = b""
    with suppress(OSError), closing(os.fdopen(ours, "rb", 0)) as terminal:  # at its end, Linux raises an error
        while part := terminal.read(1 << 16):
            written += part
    assert done.returncode == 0
    return written.decode()


def test_a_line_shows_the_progress_of_a_crawl_and_of_a_dry_run(tmp_path: Path, site: Site) -> None:
    written = live_line(tmp_path, f"{site.url}/", "--dry-run")
    assert re.search(r"4 pages  3 kept  1 marked", written)
    assert "dropped" not in written
    assert re.search(r"4 pages  3 kept  1 dropped", live_line(tmp_path, f"{site.url}/"))
