"""Indexes for the tests of these commands."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from crawler_dedup import Deduplicator
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record
from tests.support.crawling import article
from tests.support.indexcommands import CONFIG, PAGES
from tests.support.indexing import FILING


@pytest.fixture(autouse=True)
def _forked_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``index verify`` fork the process that reads the index, instead of importing everything anew."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crawler_dedup.cli.index"])
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: context)


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Return an index of a few pages."""
    directory = tmp_path / "pages"
    with Deduplicator.open(directory, CONFIG) as deduplicator:
        signed = [deduplicator.sign(url, article(url).encode()) for url in PAGES]
    records = [
        Record(page, run, filed=int(time.time()) - days * 86_400 - 60, settled=1)
        for page, (days, run) in zip(signed, PAGES.values(), strict=True)
    ]
    store = DirectoryIndex.attach(directory)
    store.merge(records, FILING)
    store.close()
    return directory
