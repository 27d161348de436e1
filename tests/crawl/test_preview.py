"""``scrapy shell``, ``fetch``, ``view`` and ``parse`` show what a crawl would decide, and leave the index as it is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator
from tests.support import processes
from tests.support.crawling import Site, article, run_scrapy
from tests.support.projects import ADDON, PAGES, index_of, project
from tests.support.versions import SCRAPY, without_reactor

SETTINGS = ADDON + "DEDUP_TOKENIZER = 'bigrams'\n"
DECISION = ["-c", "repr(response.meta.get('dedup'))"]
COMMANDS = {
    "shell": ["shell", *DECISION],
    "shell without a reactor": ["shell", "-s", "TWISTED_REACTOR_ENABLED=False", *DECISION],
    "fetch": ["fetch"],
    "parse": ["parse", "--pipelines"],
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


@pytest.fixture(scope="module")
def after_a_crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Path]]:
    """Yield a site, and a project that has crawled it."""
    with Site(PAGES) as site:
        directory = project(tmp_path_factory.mktemp("project"), site, SETTINGS)
        assert run_scrapy(directory, "crawl", "project").returncode == 0
        yield site, directory


@pytest.mark.parametrize("command", ALL)
def test_the_decision_is_shown_the_page_passes_and_nothing_is_filed(
    after_a_crawl: tuple[Site, Path], command: str
) -> None:
    site, directory = after_a_crawl
    before = files(index_of(directory))
    url = f"{site.url}/copy"
    done = run_scrapy(directory, *COMMANDS[command], "--spider", "project", url)
    assert decisions(done.stdout, command) == [
        f"duplicate {url} of {site.url}/page (distance 0, rule 'alike'): a crawl would"
        " drop it. Nothing was recorded. The page was compared with pages of scope 'spider project'"
    ]
    assert "INFO: Near-duplicate filter" in done.stdout
    assert SHOWN.get(command, "") in done.stdout
    if "shell" in command:
        assert f"Decision(verdict=<Verdict.DUPLICATE: 'duplicate'>, url='{url}'" in done.stdout
    assert done.returncode == 0
    assert files(index_of(directory)) == before


def test_without_an_index_a_page_is_new_and_no_index_is_created(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        directory = project(tmp_path, site, SETTINGS)
        done = run_scrapy(directory, "fetch", "--spider", "project", f"{site.url}/page")
    (line,) = logged_lines(done.stdout)
    assert line.startswith(f"new {site.url}/page: a crawl would let it pass.")
    assert done.returncode == 0
    assert not index_of(directory).exists()


@pytest.fixture
def crawled(tmp_path: Path) -> Path:
    """Return a project whose index has ``http://site/page``, for every scope."""
    with Site(PAGES) as site:
        directory = project(tmp_path, site, SETTINGS + "DEDUP_SCOPE = 'global'\n")
    with Deduplicator.open(index_of(directory), Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check("http://site/page", article("page").encode(), scope="global")
    return directory


CASES = {  # options of the command "parse", the path of a page, and what the filter logs
    "dedup_action": ('--meta {"dedup_action":"mark"}', "/copy", ": a crawl would mark it."),
    "dedup_scope": ('--meta {"dedup_scope":"another"}', "/copy", ": a crawl would let it pass."),
    "a missing page": ("-s ROBOTSTXT_OBEY=True", "/missing", "not check <404 {url}>: a status other than 200"),
}
WRONG = {
    "an action": ('--meta {"dedup_action":"burn"}', "/copy", "no decision about <200 {url}>: ConfigError: "),
    "a value": ("-s DEDUP_MAX_DISTANCE=8", "/copy", "DEDUP_MAX_DISTANCE = '8' is not allowed; it takes 0 to 7."),
    "a directory that is none": ("-s DEDUP_DIR=/dev/null", "/copy", "/dev/null cannot be opened: that is no directory"),
}


@pytest.mark.parametrize("case", [*CASES, *WRONG])
def test_the_page_passes_and_the_log_says_what_a_crawl_would_do_or_what_is_wrong(crawled: Path, case: str) -> None:
    options, path, sentence = {**CASES, **WRONG}[case]
    with Site(PAGES) as site:
        done = run_scrapy(crawled, "parse", "--spider", "project", *options.split(), f"{site.url}{path}")
    assert sentence.format(url=f"{site.url}{path}") in done.stdout
    warnings = [line for line in done.stdout.splitlines() if "WARNING: " in line and "crawler_dedup" in line]
    assert len(warnings) == (case in WRONG)
    assert "Traceback" not in done.stdout
    assert path == "/missing" or "'title': 'Article page'" in done.stdout
    assert done.returncode == 0


def test_without_a_spider_the_scope_is_that_of_the_default_one_and_the_log_says_how_to_name_another(
    crawled: Path,
) -> None:
    with Site(PAGES) as site:
        done = run_scrapy(crawled, "shell", "-s", "DEDUP_SCOPE=spider", *DECISION, f"{site.url}/copy")
    assert (
        "of scope 'spider default', because no spider was named. --spider NAME compares with the pages of that spider"
        in done.stdout
    )
    assert done.returncode == 0


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
            done = processes.run(["-c", code, *command, f"{site.url}/copy"], cwd=crawled, fresh=command == ["fetch"])
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
        done = processes.run([str(crawled / "programs" / "scrapy"), "shell", site.url], cwd=crawled)
    assert "'dedup/dropped': 2" in done.stderr
