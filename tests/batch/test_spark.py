"""Rows of a DataFrame of Spark are decided as the same pages are on one machine."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed: pip install '.[spark]'")
pytest.importorskip("pandas", reason="the extra spark is not installed: pip install '.[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from crawler_dedup import Config, DedupError, Deduplicator, IndexMismatch
from crawler_dedup.batch import spark
from crawler_dedup.batch.clusters import CLUSTERS
from crawler_dedup.batch.find import PROFILES, REPORT
from crawler_dedup.batch.output import KEPT
from crawler_dedup.batch.spark.files import find_on_spark
from crawler_dedup.batch.spark.frames import FrameRows
from crawler_dedup.batch.spark.search import learn_sites
from crawler_dedup.batch.spark.session import call_on_executors
from crawler_dedup.index.export import Export
from crawler_dedup.index.maintenance import export_index, open_pages
from crawler_dedup.system.callbacks import ignore_progress
from tests.support.collections import CONFIG, Page, find, make_pages, sign, start, table, write_pages

pytestmark = pytest.mark.filterwarnings("ignore")

MASTERS = ["local[2]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.slow)]
FIELDS = ("verdict", "representative", "rule", "distance", "resemblance", "coverage")
PAGES = make_pages(7, 200)


@pytest.fixture(scope="module", params=MASTERS)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("spark")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        # To plan and compile takes longer than to run with so few rows.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    session = SparkSession.builder.master(request.param).config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def signed(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Return the pages as a job signs and writes them."""
    path = str(tmp_path_factory.mktemp("signed") / "pages.parquet")
    rows = session.createDataFrame([(page.url, page.html) for page in PAGES], "url string, html string")
    spark.signatures(rows.coalesce(2), CONFIG).write.parquet(path)
    return session.read.parquet(path)


def local_answers(folder: Path, pages: list[Page], **options: Any) -> list[dict[str, Any]]:
    """Return what is decided about *pages* on one machine, in their order."""
    sign([write_pages(folder / "pages.jsonl", pages)], folder / "signed")
    find(folder / "signed", folder / "decisions", **options)
    decided = {row["record"]: row | dict.fromkeys(FIELDS[1:]) for row in table(folder / "decisions" / KEPT)}
    decided |= {row["record"]: row for row in table(folder / "decisions" / CLUSTERS)}
    return [{name: decided[number][name] for name in FIELDS} for number in range(len(pages))]


def spark_answers(decided: DataFrame) -> list[dict[str, Any]]:
    return [{name: row[name] for name in FIELDS} for row in decided.orderBy("row").collect()]


@pytest.mark.parametrize("order", ["-size", pytest.param("", marks=pytest.mark.slow)])
def test_rows_are_decided_as_on_one_machine(tmp_path: Path, signed: DataFrame, order: str) -> None:
    expected = local_answers(tmp_path, PAGES, order=order)
    assert spark_answers(spark.duplicates(signed, CONFIG, order=order)) == expected
    assert {answer["verdict"] for answer in expected} == {"new", "duplicate", "unchanged", "changed", "unchecked"}


def test_sites_are_learned_as_on_one_machine(tmp_path: Path, signed: DataFrame) -> None:
    local_answers(tmp_path, PAGES)
    learned = sorted(learn_sites(FrameRows(signed)), key=lambda site: site.key)
    assert len(learned) > 2
    assert learned == sorted(Export(tmp_path / "decisions" / PROFILES).sites(), key=lambda site: site.key)


def read_report(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / REPORT).read_bytes())
    del report["seconds"]
    return report


def sign_inputs(session: SparkSession, folder: Path, pages: list[Page], config: Config = CONFIG) -> Path:
    """Sign pages in two inputs, on one machine and on Spark; return the directory in which Spark has signed them."""
    inputs = [write_pages(folder / "a.jsonl", pages[:90]), write_pages(folder / "b.jsonl", pages[90:])]
    local = sign(inputs, folder / "local", config)
    on_spark = sign(inputs, folder / "signed", config, call_all=partial(call_on_executors, session))
    assert on_spark == local
    shards = sorted((folder / "signed").glob("*.parquet"))
    assert len(shards) == 2
    for shard in shards:
        assert shard.read_bytes() == (folder / "local" / shard.name).read_bytes()
    return folder / "signed"


@pytest.mark.parametrize(
    ("scheme", "order"),
    [("simhash", "-size"), pytest.param("simhash", "", marks=pytest.mark.slow), ("minhash", "")],
)
def test_files_are_signed_and_decided_as_on_one_machine(
    tmp_path: Path, session: SparkSession, scheme: str, order: str
) -> None:
    config = Config(tokenizer="bigrams", scheme=scheme)
    signed = sign_inputs(session, tmp_path, PAGES, config)
    find(signed, tmp_path / "local out", config, order=order)
    find_on_spark(session, signed, tmp_path / "out", config, start, order=order, memory=1 << 30)
    for name in (KEPT, CLUSTERS):
        assert table(tmp_path / "out" / name) == table(tmp_path / "local out" / name)
    assert read_report(tmp_path / "out") == read_report(tmp_path / "local out")
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_dir()]


@pytest.mark.parametrize("kind", ["collection", pytest.param("index", marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", ["", pytest.param("-size", marks=pytest.mark.slow)])
def test_pages_are_decided_against_existing_ones_as_on_one_machine(
    tmp_path: Path, session: SparkSession, kind: str, order: str
) -> None:
    signed = sign_inputs(session, tmp_path, PAGES)
    if kind == "collection":
        kept = tmp_path / "existing"
        kept_pages = [*make_pages(8, 150), *PAGES[:20]]
        sign([write_pages(tmp_path / f"{name}.jsonl", kept_pages[first::2]) for first, name in enumerate("cd")], kept)
    else:
        kept = tmp_path / "existing.dedup"
        with Deduplicator.open(tmp_path / "index", CONFIG) as deduplicator:
            for page in [*make_pages(8, 150), *PAGES[:20]]:
                deduplicator.check(page.url, page.html.encode(), encoding="utf-8")
        with closing(open_pages(tmp_path / "index")) as index:
            export_index(index, kept, ignore_progress)
    find(signed, tmp_path / "local out", against=kept, order=order)
    out = tmp_path / "out"
    find_on_spark(session, signed, out, CONFIG, start, against=kept, order=order, memory=1 << 30)
    left_out = table(out / CLUSTERS)
    assert left_out == table(tmp_path / "local out" / CLUSTERS)
    assert {row["representative_input"] == str(kept) for row in left_out} == {True, False}
    assert table(out / KEPT) == table(tmp_path / "local out" / KEPT)
    assert read_report(out) == read_report(tmp_path / "local out")


def test_damaged_shards_and_inputs_are_reported(tmp_path: Path, session: SparkSession) -> None:
    signed = sign_inputs(session, tmp_path, PAGES)
    damaged = next(signed.glob("a*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(DedupError, match=f"damaged: {damaged}"):
        find_on_spark(session, signed, tmp_path / "out", CONFIG, start, memory=1 << 30)
    pq.write_table(pa.table({"url": ["a"]}), tmp_path / "pages.parquet")
    with pytest.raises(DedupError, match="no column 'html'"):
        sign([tmp_path / "pages.parquet"], tmp_path / "other", call_all=partial(call_on_executors, session))


def test_a_row_that_cannot_be_read_is_unsigned(session: SparkSession) -> None:
    rows = session.createDataFrame([("a", "<p>x", 1), ("b", None, 2)], "url string, html string, other int")
    first, second = spark.signatures(rows.coalesce(1), CONFIG).orderBy("row").collect()
    assert (first.id, first.kind, second.id, second.kind) == ("a", "unsigned", "b", "unsigned")
    assert (first.reason != "no html", second.reason) == (True, "no html")


def test_wrong_columns_configurations_and_orders_are_refused(session: SparkSession, signed: DataFrame) -> None:
    rows = session.createDataFrame([("a", "<p>x")], "url string, body string")
    with pytest.raises(DedupError, match="no column html; it has url, body"):
        spark.signatures(rows)
    with pytest.raises(IndexMismatch, match="min features"):
        spark.duplicates(signed, Config(tokenizer="bigrams", min_features=30))
    with pytest.raises(DedupError, match="cannot be ordered by 'age'"):
        spark.duplicates(signed, CONFIG, order="age")
