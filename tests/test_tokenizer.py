"""``DEDUP_TOKENIZER = "auto"``: the tokenizer of the index, in a new one the best that is installed."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, ConfigError, Deduplicator, IndexMismatch
from crawler_dedup.index.header import Header
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.signing.segmentation import with_tokenizer_of_index
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system import extras
from crawler_dedup.worker.preview import preview
from tests.support import processes
from tests.support.crawling import article


def tokenizer_of(directory: Path, config: Config | None = None) -> str:
    """Open the index and close it; its tokenizer."""
    with Deduplicator.open(directory, config) as opened:
        return opened.config.tokenizer


@pytest.mark.parametrize("best", ["rjieba", "jieba"])
def test_a_new_index_takes_the_best_tokenizer_that_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, best: str
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: find_spec(name) if name != "rjieba" or best == name else None)
    assert tokenizer_of(tmp_path) == best


def test_an_index_is_opened_with_the_tokenizer_that_it_was_made_with(tmp_path: Path) -> None:
    for recorded in ("jieba", "rjieba", "bigrams"):
        config = Config.from_settings({"DEDUP_TOKENIZER": recorded})
        assert tokenizer_of(tmp_path / recorded, config) == tokenizer_of(tmp_path / recorded) == recorded


def test_another_configuration_is_refused_with_what_differs(tmp_path: Path) -> None:
    assert tokenizer_of(tmp_path, Config(tokenizer="jieba")) == "jieba"
    for config, differences in [
        (Config(tokenizer="rjieba"), {"tokenizer": ("jieba", "rjieba")}),
        (Config(min_features=5), {"min features": ("20", "5")}),  # and not the tokenizer, which was not given
    ]:
        with pytest.raises(IndexMismatch) as raised:
            Deduplicator.open(tmp_path, config)
        assert raised.value.differences == differences


def test_an_index_made_with_rjieba_is_refused_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tokenizer_of(tmp_path) == "rjieba"
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(ConfigError) as raised:
        Deduplicator.open(tmp_path)
    assert str(raised.value) == (
        "The index was made with DEDUP_TOKENIZER = 'rjieba', which needs packages that are not installed (rjieba):"
        ' pip install "crawler-dedup[fast]"'
    )


def test_an_index_that_is_emptied_gets_the_tokenizer_of_a_new_one(tmp_path: Path) -> None:
    assert tokenizer_of(tmp_path, Config(tokenizer="bigrams")) == "bigrams"
    assert tokenizer_of(tmp_path, Config(fresh=True)) == "rjieba"
    assert tokenizer_of(tmp_path) == "rjieba"


def test_an_index_that_is_not_emptied_because_it_is_open_keeps_its_tokenizer(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as first:
        first.check("http://a/", article("a").encode())
        with Deduplicator.open(tmp_path, Config(fresh=True)) as second:
            assert second.config.tokenizer == "bigrams"
            assert len(second) == 1


OTHER_PROCESS = """
import sys
from crawler_dedup import Config, Deduplicator

Deduplicator.open(sys.argv[1], Config(tokenizer="jieba")).close()
"""


def test_of_two_processes_that_create_an_index_the_second_takes_the_tokenizer_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = Environment.prepare

    def prepare_second(environment: Environment, *given: Any, **options: Any) -> Header:
        """Write the header after another process has written its own."""
        monkeypatch.setattr(Environment, "prepare", prepare)
        done = processes.run(["-c", OTHER_PROCESS, str(tmp_path)])
        assert done.returncode == 0, done.stderr
        return prepare(environment, *given, **options)

    monkeypatch.setattr(Environment, "prepare", prepare_second)
    assert tokenizer_of(tmp_path) == "jieba"


def test_reading_an_index_uses_its_tokenizer(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as opened:
        opened.check("http://a/", article("a").encode())

    def preview_with(config: Config) -> str:
        signer = Signer(config)
        page, _ = signer.sign("http://b/", article("a", frame="b").encode(), encoding=None, key=None, scope="global")
        return f"{preview(tmp_path, signer, page).verdict} {config.tokenizer}"

    assert with_tokenizer_of_index(Config(), preview_with) == "duplicate bigrams"
