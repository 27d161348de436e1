"""Indexes with a journal, for the tests of the commands that read it."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler_dedup import Config, Deduplicator
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record
from crawler_dedup.journal.entry import VERSION, Entry, run_started
from tests.support.commandline import FIRST, check_pages, entries_of, invoke, write
from tests.support.crawling import Site, article, html
from tests.support.droppedpages import PAGES
from tests.support.indexcommands import CONFIG
from tests.support.indexcommands import PAGES as FILED
from tests.support.indexing import FILING
from tests.support.labelled import write_set


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work outside of every Scrapy project."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def dropped(tmp_path: Path, outside: None) -> Path:
    """Return an index after a crawl in which six copies of one page were dropped."""
    check_pages(tmp_path / "index", PAGES)
    return tmp_path / "index"


@pytest.fixture
def mixed(dropped: Path) -> Path:
    """Return the journal of an index with drops of all kinds."""
    entry = entries_of(dropped / FIRST)[0]
    now = datetime.now(UTC)
    entries = [
        replace(entry, url="http://www.b.org/1", time="2026-01-01T10:00:00.500Z", run="0000000a", rule="same bytes"),
        replace(entry, url="http://b.org:8080/2", time="2026-01-02T10:00:00.500Z", run="0000000b"),
        replace(entry, url="http://c.org/3", time=(now - timedelta(hours=3)).isoformat().replace("+00:00", "Z")),
        replace(entry, url="http://c.org/4", time=(now - timedelta(minutes=3)).isoformat().replace("+00:00", "Z")),
    ]
    (dropped / FIRST).unlink()
    write(dropped / FIRST, entries)
    return dropped


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Site]:
    """Yield a site of which the index ``index`` knows: a page, and two copies that were dropped."""
    pages = {path: article(1, count=300, frame=path) for path in ("/kept", "/copy", "/gone")}
    with Site({path: html(text) for path, text in pages.items()}) as site:
        check_pages(tmp_path / "index", {site.url + path: text for path, text in pages.items()})
        yield site


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Return an index of a few pages."""
    directory = tmp_path / "pages"
    with Deduplicator.open(directory, CONFIG) as deduplicator:
        signed = [deduplicator.sign(url, article(url).encode()) for url in FILED]
    records = [
        Record(page, run, filed=int(time.time()) - days * 86_400 - 60, settled=1)
        for page, (days, run) in zip(signed, FILED.values(), strict=True)
    ]
    with closing(DirectoryIndex.attach(directory)) as store:
        store.merge(records, FILING)
    return directory


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two indexes, the journal and an export of the first, two pages, and labelled pages."""
    folder = tmp_path_factory.mktemp("made")
    for name, scheme in (("index", "simhash"), ("traces", "pinyin")):
        with Deduplicator.open(folder / name, Config(tokenizer="bigrams", scheme=scheme)) as deduplicator:
            deduplicator.check("http://a.org/1", article("x", count=400).encode())
    drop = Entry(
        VERSION, "2026-11-22T08:00:00Z", "00000001", "drop", "s", "", "http://a.org/2", "http://a.org/1", "alike"
    )
    write(folder / "index" / FIRST, [run_started(1, "s"), drop])
    invoke("index", "export", folder / "export", folder / "index")
    for name in ("x", "y"):
        (folder / f"{name}.html").write_text(article(name, count=400), encoding="utf-8")
    pages = {str(number): article(str(number)) for number in range(1, 40)}
    write_set(folder / "labelled", pages, [{"id_a": "1", "id_b": "2", "label": 0}])
    return folder
