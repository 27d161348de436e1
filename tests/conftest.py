"""Fixtures for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator

_DATA = Path(os.environ.get("CRAWLER_DEDUP_DATA", Path(__file__).parents[2] / "shared/data/dev"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of labelled real pages, which do not belong to this project."""
    if not (_DATA / "sites").is_dir():
        pytest.skip(f"no labelled pages in {_DATA}; CRAWLER_DEDUP_DATA names their folder")
    return _DATA


@pytest.fixture
def deduplicator(tmp_path: Path) -> Iterator[Deduplicator]:
    """An empty index; `bigrams`, because loading jieba takes a second."""
    with Deduplicator.open(tmp_path / "index", Config(tokenizer="bigrams")) as opened:
        yield opened
