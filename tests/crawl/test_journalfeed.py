"""The journal where it does not stay beside the index: Scrapy's feed storages."""

from __future__ import annotations

import asyncio
import io
import logging
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import pytest
import scrapy
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from crawler_dedup import Config, ConfigError
from crawler_dedup.crawl.journalfeed import JournalFeed
from crawler_dedup.journal.reader import Journals, read
from tests.support.crawling import WALK, Crawl, Site, article, html, run_scrapy, run_script
from tests.support.storages import STORAGES, STORING
from tests.support.versions import HAS_EXIT_STATUS, REACTORS

PAGES = {
    "/first": html(article("one")),
    "/copy": html(article("one", frame="copy")),
    "/other": html(article("two")),
}


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder into which the storages of STORING write."""
    directory = tmp_path / "stored"
    directory.mkdir()
    monkeypatch.setenv("STORED", str(directory))
    return directory


def crawl(tmp_path: Path, uri: str, **options: Any) -> Crawl:
    settings = {"DEDUP_JOURNAL": uri, "FEED_STORAGES": STORAGES, "DEDUP_DIR": str(tmp_path / "index")}
    with Site(PAGES) as site:
        return run_script(
            tmp_path, STORING, {**settings, **options.pop("settings", {})}, site=site.url, paths=list(PAGES), **options
        )


def local(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "index").glob("journal-*.jsonl")
    return path


# In a crawl


@pytest.mark.parametrize("reactor", REACTORS)
def test_the_journal_is_stored_at_the_end_and_stays_beside_the_index(
    tmp_path: Path, stored: Path, reactor: bool
) -> None:
    settings = {"TWISTED_REACTOR_ENABLED": reactor}
    done = crawl(tmp_path, "keep://bucket/a%20b/%(name)s/%(time)s.jsonl", settings=settings)
    (path,) = stored.iterdir()
    time = local(tmp_path).name.removeprefix("journal-")
    assert path.name == f"walker bucket a%20b walker {time}"
    assert path.read_bytes() == local(tmp_path).read_bytes()
    assert [(entry and entry.event, entry and entry.url) for entry in read(path)] == [
        ("started", ""),
        ("drop", done.drops[0]["url"]),
    ]
    assert done.lines("INFO", "Stored the journal in keep://bucket/a%20b/walker/")
    assert "log_count/WARNING" not in done.stats


def test_commands_find_a_journal_that_is_stored_elsewhere(tmp_path: Path, stored: Path) -> None:
    crawl(tmp_path, "keep://bucket/%(time)s.jsonl")
    config = Config(journal="keep://bucket/%(time)s.jsonl")
    assert Journals.beside(tmp_path / "index", config.journal_file).files == [local(tmp_path)]


def test_a_crawl_without_drops_stores_a_journal_that_names_its_run(tmp_path: Path, stored: Path) -> None:
    settings = {"DEDUP_JOURNAL": "keep://bucket/x", "FEED_STORAGES": STORAGES}
    with Site(PAGES) as site:
        run_script(tmp_path, STORING, settings, site=site.url, paths=["/first"])
    (path,) = stored.iterdir()
    assert [entry and entry.event for entry in read(path)] == ["started"]


def test_a_failing_storage_is_reported_without_its_password_and_nothing_else_is_lost(tmp_path: Path) -> None:
    done = crawl(tmp_path, "fails://user:secret@bucket/journal.jsonl")
    (line,) = done.lines("WARNING", "The journal could not be stored in fails://bucket/journal.jsonl")
    assert line.endswith(f"OSError: the other end is closed. It is in {local(tmp_path)}")
    assert "secret" not in line
    assert [entry and entry.event for entry in read(local(tmp_path))] == ["started", "drop"]
    assert done.stats["finish_reason"] == "finished"
    assert len(done.items) == 2


def test_a_storage_that_never_ends_does_not_delay_the_end_for_ever(tmp_path: Path) -> None:
    done = crawl(tmp_path, "never://bucket/journal.jsonl", timeout=0.2)
    assert done.lines("WARNING", "could not be stored in never://bucket/journal.jsonl: TimeoutError")


def test_a_file_uri_is_a_path(tmp_path: Path) -> None:
    settings = {"DEDUP_JOURNAL": f"file://{tmp_path}/else%20where/%(name)s.jsonl"}
    with Site(PAGES) as site:
        run_script(tmp_path, WALK, settings, site=site.url, paths=list(PAGES))
    written = read(tmp_path / "else where" / "walker.jsonl")
    assert [entry and entry.event for entry in written] == ["started", "drop"]
    assert not list((tmp_path / "index").glob("*.jsonl"))


OWN = """
import scrapy
from scrapy.exceptions import NotConfigured

class Lacking:
    def __init__(self, uri, *, feed_options=None):
        raise NotConfigured("missing cloud library")

class Own(scrapy.Spider):
    name = "own"

    async def start(self):
        yield scrapy.Request(self.site)
"""


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        ("nowhere://bucket/x", "DEDUP_JOURNAL: nowhere://bucket/x cannot be stored: FEED_STORAGES has file:, ftp:,"),
        ("lacking://user:secret@b/x", "DEDUP_JOURNAL: lacking://b/x cannot be stored: missing cloud library."),
        ("ftp:///x", "DEDUP_JOURNAL: ftp:///x cannot be stored: Got a storage URI without a hostname"),
        ("keep://%(batch_id)d", "DEDUP_JOURNAL = 'keep://%(batch_id)d' is not allowed; it takes a path"),
    ],
)
def test_an_invalid_storage_stops_the_crawl_before_the_first_page(tmp_path: Path, uri: str, sentence: str) -> None:
    (tmp_path / "own.py").write_text(OWN)
    settings = [
        f"DEDUP_JOURNAL={uri}",
        f"DEDUP_DIR={tmp_path / 'index'}",
        'ADDONS={"crawler_dedup.Addon": 500}',
        'FEED_STORAGES={"lacking": "own.Lacking"}',
    ]
    words = [word for setting in settings for word in ("-s", setting)]
    with Site(PAGES) as site:
        done = run_scrapy(tmp_path, "runspider", "own.py", "-a", f"site={site.url}/first", *words)
        assert site.asked == []
    assert done.returncode == 1 or not HAS_EXIT_STATUS
    assert f"The crawl does not start: {sentence}" in done.stdout
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(("scheme", "module"), [("s3", "boto3"), ("gs", "google.cloud.storage")])
def test_a_missing_library_is_reported_at_the_start(scheme: str, module: str) -> None:
    with suppress(ModuleNotFoundError):  # of a package that is not there
        if find_spec(module) is not None:
            pytest.skip(f"{module} is there")
    with pytest.raises(ConfigError, match=f"{scheme}://bucket/x cannot be stored: missing"):
        JournalFeed(crawler(), f"{scheme}://bucket/x")


# Files and names


class Kept:
    """Keeps what it is given in memory."""

    files: dict[str, bytes] = {}  # noqa: RUF012

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self.uri = uri

    def open(self, spider: scrapy.Spider) -> IO[bytes]:
        return io.BytesIO()

    async def store(self, file: IO[bytes]) -> None:
        file.seek(0)
        self.files[self.uri] = file.read()


class FailsFirst(Kept):
    async def store(self, file: IO[bytes]) -> None:
        if ".2" not in self.uri:
            raise OSError("no")
        await super().store(file)


def crawler() -> Crawler:
    name = __name__
    crawler_of_spider = Crawler(
        scrapy.Spider, Settings({"FEED_STORAGES": {"kept": f"{name}.Kept", "failsfirst": f"{name}.FailsFirst"}})
    )
    crawler_of_spider.spider = scrapy.Spider("site")
    return crawler_of_spider


def store(tmp_path: Path, uri: str, files: int) -> dict[str, bytes]:
    """Return what the storage gets if a journal of *files* files is stored."""
    Kept.files.clear()
    for number in range(1, files + 1):
        (tmp_path / f"journal-T{'' if number == 1 else f'.{number}'}.jsonl").write_bytes(b"%d\n" % number)
    asyncio.run(JournalFeed(crawler(), uri).store(tmp_path / "journal-T.jsonl", "T"))
    return Kept.files


@pytest.mark.parametrize(
    ("uri", "names"),
    [
        (
            "kept://b.example/%(name)s.jsonl",
            ["b.example/site.jsonl", "b.example/site.2.jsonl", "b.example/site.3.jsonl"],
        ),
        ("kept://b.example/x", ["b.example/x", "b.example/x.2", "b.example/x.3"]),
        ("kept://b/50%25/%(time)s.gz", ["b/50%25/T.gz", "b/50%25/T.2.gz", "b/50%25/T.3.gz"]),
    ],
)
def test_every_file_is_stored_with_its_number_before_the_suffix(tmp_path: Path, uri: str, names: list[str]) -> None:
    assert store(tmp_path, uri, 3) == {f"kept://{name}": b"%d\n" % (n + 1) for n, name in enumerate(names)}


def test_one_file_that_fails_does_not_prevent_the_next_from_being_stored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        assert store(tmp_path, "failsfirst://b/x.jsonl", 2) == {"failsfirst://b/x.2.jsonl": b"2\n"}
    assert f"It is in {tmp_path / 'journal-T.jsonl'}" in caplog.text


# Where the lines are written


@pytest.mark.parametrize(
    ("journal", "file", "uri"),
    [
        ("journal-%(time)s.jsonl", "journal-%(time)s.jsonl", ""),
        ("", "", ""),
        ("/var/log/100%%/%(name)s", "/var/log/100%%/%(name)s", ""),
        ("file:///var/log/100%25/%(name)s", "/var/log/100%%/%(name)s", ""),
        ("file:%(time)s.jsonl", "%(time)s.jsonl", ""),
        ("s3://bucket/100%25/%(name)s", "journal-%(time)s.jsonl", "s3://bucket/100%25/%(name)s"),
        ("C:journal.jsonl", "C:journal.jsonl", ""),
    ],
)
def test_a_path_is_distinguished_from_a_uri(journal: str, file: str, uri: str) -> None:
    config = Config(journal=journal)
    assert (config.journal_file, config.journal_uri) == (file, uri)


@pytest.mark.parametrize("journal", ["s3://bucket/%(batch_id)d", "file:///%(date)s.jsonl", "http://[broken/"])
def test_a_uri_that_cannot_be_filled_in_is_reported(journal: str) -> None:
    with pytest.raises(ConfigError, match="DEDUP_JOURNAL"):
        Config(journal=journal)
