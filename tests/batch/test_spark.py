"""Rows of a DataFrame of Spark are decided as the same pages are on one machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed: pip install '.[spark]'")
pytest.importorskip("pandas", reason="the extra spark is not installed: pip install '.[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

from pyspark.sql import DataFrame, SparkSession

from crawler_dedup import Config, DedupError, IndexMismatch
from crawler_dedup.batch import spark
from crawler_dedup.batch.clusters import CLUSTERS
from crawler_dedup.batch.find import PROFILES
from crawler_dedup.batch.output import KEPT
from crawler_dedup.index.export import Export
from tests.support.collections import CONFIG, Page, find, make_pages, sign, table, write_pages

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
    """The pages, signed and written, as a job would do it."""
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


def test_the_same_is_learned_of_sites(tmp_path: Path, signed: DataFrame) -> None:
    local_answers(tmp_path, PAGES)
    learned = sorted(spark.learn_sites(signed), key=lambda site: site.key)
    assert len(learned) > 2
    assert learned == sorted(Export(tmp_path / "decisions" / PROFILES).sites(), key=lambda site: site.key)


def test_a_row_that_cannot_be_read_is_unsigned(session: SparkSession) -> None:
    rows = session.createDataFrame([("a", "<p>x", 1), ("b", None, 2)], "url string, html string, other int")
    first, second = spark.signatures(rows.coalesce(1), CONFIG).orderBy("row").collect()
    assert (first.id, first.kind, second.id, second.kind) == ("a", "unsigned", "b", "unsigned")
    assert (first.reason != "no html", second.reason) == (True, "no html")


def test_what_does_not_fit_is_refused(session: SparkSession, signed: DataFrame) -> None:
    rows = session.createDataFrame([("a", "<p>x")], "url string, body string")
    with pytest.raises(DedupError, match="no column html; it has url, body"):
        spark.signatures(rows)
    with pytest.raises(IndexMismatch, match="min features"):
        spark.duplicates(signed, Config(tokenizer="bigrams", min_features=30))
    with pytest.raises(DedupError, match="cannot be ordered by 'age'"):
        spark.duplicates(signed, CONFIG, order="age")
