"""The output of ``--json`` is that of ``docs/reference/json.md``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import lmdb
import pytest

from crawler_dedup import Config, Deduplicator
from crawler_dedup.rules.table import TABLE
from tests.support.commandline import json_lines
from tests.support.crawling import article


@pytest.mark.parametrize(("seed", "status", "rule"), [("x", 0, "alike"), ("y", 1, "signatures far apart")])
def test_a_comparison_is_printed_as_json_lines(tmp_path: Path, seed: str, status: int, rule: str) -> None:
    (tmp_path / "new.html").write_text(article(seed, frame="Menu"), encoding="utf-8")
    (tmp_path / "kept.html").write_text(article("x"), encoding="utf-8")
    call = ("compare", tmp_path / "new.html", tmp_path / "kept.html", "-s", "DEDUP_TOKENIZER=bigrams", "--json")
    (line,) = json_lines(*call, status=status)
    assert (line["type"], line["duplicate"], line["rule"]) == ("comparison", not status, rule)
    assert [result["rule"] for result in line["rules"]] == [row.name for row in TABLE]
    assert [result["rule"] for result in line["rules"] if result["decides"]] == [rule]
    assert (line["signatures"]["agree"], line["signatures"]["distance"] < 8) == (not status, not status)
    assert {lack["exemption"] for lack in line["kept_lacks"]} >= {"in navigation, a footer or the like"}
    for lacks in (line["kept_lacks"], line["new_lacks"]):
        assert any(not lack["exemption"] for lack in lacks) == (seed == "y")
    (brief,) = json_lines(*call, "--brief", status=status)
    assert (brief["new"]["text"], brief["distance"]) == (None, line["distance"])


def test_pages_that_cannot_be_compared_are_printed_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "short.html").write_text("<p>short</p>", encoding="utf-8")
    (line,) = json_lines("compare", tmp_path / "short.html", tmp_path / "short.html", "--json", status=2)
    assert (line["duplicate"], line["rule"], line["distance"]) == (None, None, None)
    assert line["new"]["unsigned"] == "too little text"
    assert line["signatures"] is None


def test_an_index_and_its_damage_are_printed_as_json_lines(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check("http://a.org/1", article("x").encode(), scope="a.org")
    index, scope, run = json_lines("index", "stats", tmp_path, "--json")
    assert (index["type"], index["entries"], index["open_claims"]) == ("index", 1, 0)
    assert index["spec"]["tokenizer"] == "bigrams"
    assert (scope["scope"], scope["pages"]) == ("a.org", 1)
    assert (run["run"], run["pages"]) == (f"{deduplicator.run:08x}", 1)
    age = datetime.now(UTC) - datetime.fromisoformat(run["last_filed"].replace("Z", "+00:00"))
    assert abs(age.total_seconds()) < 600
    assert json_lines("index", "verify", tmp_path, "--json") == []
    with lmdb.open(str(tmp_path), max_dbs=8) as env, env.begin(write=True, db=env.open_db(b"tables")) as txn:
        for name, chunk in list(txn.cursor()):
            txn.put(name, chunk[:-1])
    problems = json_lines("index", "verify", tmp_path, "--json", status=1)
    assert [line["type"] for line in problems] == ["index_problem"]
