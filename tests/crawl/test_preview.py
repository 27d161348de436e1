"""``scrapy shell``, ``fetch``, ``view`` and ``parse`` show what a crawl would decide, and leave the index as it is."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator
from crawler_dedup.index.lmdb.store import Store
from tests.support import processes
from tests.support.crawling import Answer, Page, Site, article, html, run_scrapy, start_script
from tests.support.projects import ADDON, PAGES, index_of, project
from tests.support.versions import SCRAPY, without_reactor

SETTINGS = ADDON + "DEDUP_TOKENIZER = 'bigrams'\n"
DECISION = ["-c", "repr(response.meta.get('dedup'))"]
COMMANDS = {
    "shell": ["shell", "--spider", "project", *DECISION, "{url}"],
    "shell without a reactor": [
        "shell",
        "--spider",
        "project",
        "-s",
        "TWISTED_REACTOR_ENABLED=False",
        "{url}",
        *DECISION,
    ],
    "fetch": ["fetch", "--spider", "project", "{url}"],
    "view": ["view", "--spider", "project", "{url}"],
    "parse": ["parse", "--spider", "project", "--pipelines", "{url}"],
}
ALL = [pytest.param(name, marks=without_reactor if "without" in name else ()) for name in COMMANDS]
SHOWN = {"fetch": "<h1>Article page</h1>", "parse": "'title': 'Article page'"}


def files(directory: Path) -> dict[str, bytes]:
    """Return the content of the directory of an index, except for LMDB's table of readers."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name != "lock.mdb"}


def logged_lines(log: str) -> list[str]:
    """Return what the filter has logged."""
    return [
        line.partition("Near-duplicate filter: ")[2] for line in log.splitlines() if "Near-duplicate filter: " in line
    ]


def decisions(log: str, command: str) -> list[str]:
    """Return what the filter has logged of the page that *command* shows."""
    logged = logged_lines(log)
    return logged[:1] if SCRAPY < (2, 17) and "shell" in command else logged  # that requests the start URLs, too


def wait_until_settled(directory: Path) -> None:
    """Wait until a page is settled in an index that another process writes."""
    is_settled = False
    while not is_settled:
        with closing(Store.attach(directory, readonly=True)) as store:
            is_settled = any(record.settled for batch in store.records(10) for record in batch)


@pytest.fixture(autouse=True)
def _no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "true")


@pytest.mark.parametrize("command", ALL)
def test_the_decision_is_shown_the_page_passes_and_nothing_is_filed(tmp_path: Path, command: str) -> None:
    with Site(PAGES) as site:
        directory = project(tmp_path, site, SETTINGS)
        assert run_scrapy(directory, "crawl", "project").returncode == 0
        before = files(index_of(directory))
        url = f"{site.url}/copy"
        done = run_scrapy(directory, *(word.format(url=url) for word in COMMANDS[command]))
    assert decisions(done.stdout, command) == [
        f"duplicate {url} of {site.url}/page (distance 0, resemblance 1.00, coverage 1.00, rule 'alike'): a crawl would"
        " drop it. Nothing was filed; it was compared with pages of scope 'spider project'"
    ]
    assert "INFO: Near-duplicate filter" in done.stdout
    assert SHOWN.get(command, "") in done.stdout
    if "shell" in command:
        assert f"Decision(verdict=<Verdict.DUPLICATE: 'duplicate'>, url='{url}'" in done.stdout
    assert done.returncode == 0
    assert files(index_of(directory)) == before


@pytest.mark.parametrize("command", ["shell", "fetch"])
def test_without_an_index_a_page_is_new_and_no_index_is_created(tmp_path: Path, command: str) -> None:
    with Site(PAGES) as site:
        directory = project(tmp_path, site, SETTINGS)
        url = f"{site.url}/page"
        done = run_scrapy(directory, *(word.format(url=url) for word in COMMANDS[command]))
    (line,) = decisions(done.stdout, command)
    assert line.startswith(f"new {url}: a crawl would let it pass.")
    assert done.returncode == 0
    assert not index_of(directory).exists()


def test_a_command_during_a_crawl_sees_what_that_has_kept_and_does_not_disturb_it(tmp_path: Path) -> None:
    kept, looked = threading.Event(), threading.Event()

    def answer() -> Answer:
        kept.set()
        looked.wait(60)
        return html(article("last"))

    pages: dict[str, Page] = {**PAGES, "/slow": answer, "/again": html(article("page", frame="again"))}
    with Site(pages) as site:
        directory = project(tmp_path, site, SETTINGS)
        settings = {"DEDUP_DIR": str(index_of(directory)), "DEDUP_SCOPE": "global"}
        source = "from tests.support.walker import Walker\n\nclass Spider(Walker):\n    name = 'other'\n"
        crawl = start_script(tmp_path / "crawl", source, settings, site=site.url, paths=["/page", "/slow", "/again"])
        assert kept.wait(60)
        wait_until_settled(index_of(directory))  # which is written a moment later
        done = run_scrapy(directory, "shell", f"{site.url}/copy", "-s", "DEDUP_SCOPE=global", *DECISION)
        looked.set()
        result = crawl.results()["other"]
    (line,) = logged_lines(done.stdout)
    assert line.startswith(f"duplicate {site.url}/copy of {site.url}/page")
    assert (result.counts()["kept"], result.counts()["dropped"]) == (2, 1)
    with Deduplicator.open(index_of(directory), Config(tokenizer="bigrams")) as deduplicator:
        assert len(deduplicator) == 2


@pytest.fixture
def crawled(tmp_path: Path) -> Path:
    """Return a project whose index has ``http://site/page``, for every scope."""
    with Site(PAGES) as site:
        directory = project(tmp_path, site, SETTINGS + "DEDUP_SCOPE = 'global'\n")
    with Deduplicator.open(index_of(directory), Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check("http://site/page", article("page").encode(), scope="global")
    return directory


METAS = {
    "dedup_action": ({"dedup_action": "mark"}, ": a crawl would mark it."),
    "dedup_scope": ({"dedup_scope": "another"}, ": a crawl would let it pass."),
    "dedup_skip": ({"dedup_skip": True}, "a crawl would not check <200 {url}> (asked)"),
    "a wrong action": ({"dedup_action": "burn"}, "no decision about <200 {url}>: ConfigError: "),
}


@pytest.mark.parametrize("case", list(METAS))
def test_the_meta_of_a_request_is_applied_by_commands_for_single_pages_too(crawled: Path, case: str) -> None:
    meta, sentence = METAS[case]
    with Site(PAGES) as site:
        url = f"{site.url}/copy"
        done = run_scrapy(crawled, "parse", "--spider", "project", "--meta", json.dumps(meta), url)
    (line,) = logged_lines(done.stdout)
    assert sentence.format(url=url) in line
    assert "'title': 'Article page'" in done.stdout
    assert (" WARNING: Near-duplicate filter" in done.stdout) == (case == "a wrong action")


def test_a_page_that_a_crawl_would_not_check_is_reported(crawled: Path) -> None:
    with Site(PAGES) as site:
        done = run_scrapy(crawled, "fetch", "--spider", "project", f"{site.url}/missing", "-s", "ROBOTSTXT_OBEY=True")
    assert logged_lines(done.stdout) == [f"a crawl would not check <404 {site.url}/missing> (status)"]


def test_the_shell_without_a_spider_explains_how_to_choose_one(crawled: Path) -> None:
    with Site(PAGES) as site:
        done = run_scrapy(crawled, "shell", f"{site.url}/copy", "-s", "DEDUP_SCOPE=spider", *DECISION)
    (line,) = logged_lines(done.stdout)
    assert line.endswith("of scope 'spider default'. --spider NAME compares with the pages of that spider")


WRONG = {
    "a wrong value": ("DEDUP_MAX_DISTANCE=8", "DEDUP_MAX_DISTANCE = '8' is not allowed; it takes 0 to 7."),
    "an index of another configuration": ("DEDUP_MIN_FEATURES=7", "min features: index has '20' / you have '7'"),
    "another reactor": (
        "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor",
        "crawler-dedup needs the asyncio reactor",
    ),
    "a directory that is none": ("DEDUP_DIR={directory}/scrapy.cfg", "scrapy.cfg cannot be opened"),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_whatever_is_wrong_the_page_passes_with_a_warning(crawled: Path, case: str) -> None:
    setting, sentence = WRONG[case]
    with Site(PAGES) as site:
        url = f"{site.url}/page"
        done = run_scrapy(crawled, "parse", "--spider", "project", "-s", setting.format(directory=crawled), url)
    assert sentence in done.stdout
    assert "WARNING" in done.stdout
    assert "Traceback" not in done.stdout
    assert "'title': 'Article page'" in done.stdout
    assert done.returncode == 0


def test_a_disabled_filter_shows_nothing(crawled: Path) -> None:
    with Site(PAGES) as site:
        done = run_scrapy(crawled, "shell", f"{site.url}/copy", "-s", "DEDUP_ENABLED=False", *DECISION)
    assert "None\n" in done.stdout
    assert not logged_lines(done.stdout)


def test_a_page_of_the_shell_has_no_claim_to_end(crawled: Path) -> None:
    code = "[__import__('crawler_dedup').settle(response), __import__('crawler_dedup').release(response)]"
    with Site(PAGES) as site:
        done = run_scrapy(crawled, "shell", f"{site.url}/another", "-c", code)
    assert "[False, False]\n" in done.stdout


# Which command runs


def test_a_command_that_a_program_calls_is_recognised(crawled: Path) -> None:
    code = "import sys; from scrapy.cmdline import execute; execute(['crawler', *sys.argv[1:]])"
    with Site(PAGES) as site:
        for command in (["shell", *DECISION], ["fetch"]):
            done = processes.run(["-c", code, *command, f"{site.url}/copy"], cwd=crawled, fresh=True)
            (line,) = logged_lines(done.stderr)
            assert line.startswith(f"duplicate {site.url}/copy of http://site/page")


def test_a_program_that_is_only_called_scrapy_crawls(crawled: Path) -> None:
    source = """
from scrapy.crawler import CrawlerProcess
from scrapy.utils.project import get_project_settings

process = CrawlerProcess(get_project_settings())
process.crawl("project")
process.start()
"""
    (crawled / "programs").mkdir()
    (crawled / "programs" / "scrapy").write_text(source)
    with Site(PAGES) as site:
        project(crawled, site, SETTINGS + "DEDUP_SCOPE = 'global'\n")
        done = processes.run([str(crawled / "programs" / "scrapy"), "shell", site.url], cwd=crawled, fresh=True)
    assert "'dedup/dropped': 2" in done.stderr
