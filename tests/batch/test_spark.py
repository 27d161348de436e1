"""Rows of a DataFrame of Spark are decided as the same pages are on one machine."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed: pip install '.[spark]'")
pytest.importorskip("pandas", reason="the extra spark is not installed: pip install '.[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame, SparkSession

from crawler_dedup import Config, DedupError, IndexMismatch
from crawler_dedup.batch import spark
from crawler_dedup.batch.find import PROFILES
from crawler_dedup.batch.output import CLUSTERS, KEPT
from crawler_dedup.batch.spark import learn_sites
from crawler_dedup.inspection.transfer import Export
from tests.support.collections import CONFIG, Page, find, make_pages, sign, table, warc_record, write_pages

pytestmark = pytest.mark.filterwarnings("ignore")

MASTERS = ["local[2]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.slow)]
FIELDS = ("verdict", "representative", "rule", "distance", "resemblance", "coverage")
KEPT_VERDICTS = ("new", "changed", "unchecked")
PAGES = make_pages(7, 200)
ROOT = Path(__file__).parents[2]


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
    spark.sign(rows.coalesce(2), CONFIG).write.parquet(path)
    return session.read.parquet(path)


def local_answers(folder: Path, pages: list[Page], **options: Any) -> list[dict[str, Any]]:
    """Return what is decided about *pages* on one machine, in their order."""
    sign([write_pages(folder / "pages.jsonl", pages)], folder / "signed")
    find(folder / "signed", folder / "decisions", **options)
    return answers_in_order(folder / "decisions")


def answers_in_order(decisions: Path) -> list[dict[str, Any]]:
    decided = {(row["input"], row["record"]): row | dict.fromkeys(FIELDS[1:]) for row in table(decisions / KEPT)}
    decided |= {(row["input"], row["record"]): row for row in table(decisions / CLUSTERS)}
    return [{name: decided[place][name] for name in FIELDS} for place in sorted(decided)]


def spark_answers(decided: DataFrame) -> list[dict[str, Any]]:
    return [{name: row[name] for name in FIELDS} for row in decided.orderBy("row").collect()]


@pytest.mark.parametrize("order", ["-size", pytest.param("", marks=pytest.mark.slow)])
def test_rows_are_decided_as_on_one_machine(tmp_path: Path, signed: DataFrame, order: str) -> None:
    expected = local_answers(tmp_path, PAGES, order=order)
    assert spark_answers(spark.find_duplicates(signed, CONFIG, order=order)) == expected
    assert {answer["verdict"] for answer in expected} == {"new", "duplicate", "unchanged", "changed", "unchecked"}


def test_rows_of_near_duplicates_are_dropped(tmp_path: Path, signed: DataFrame) -> None:
    kept = spark.drop_duplicates(signed, CONFIG)
    assert kept.columns == ["url", "html"]
    expected = local_answers(tmp_path, PAGES)
    pairs = zip(PAGES, expected, strict=True)
    pages = [(page.url, page.html) for page, answer in pairs if answer["verdict"] in KEPT_VERDICTS]
    assert sorted((row.url, row.html) for row in kept.collect()) == sorted(pages)


def test_sites_are_learned_as_on_one_machine(tmp_path: Path, signed: DataFrame) -> None:
    local_answers(tmp_path, PAGES)
    learned = sorted(learn_sites(signed.select("row", "signed.*")), key=lambda site: site.key)
    assert len(learned) > 2
    assert learned == sorted(Export(tmp_path / "decisions" / PROFILES).sites(), key=lambda site: site.key)


def test_a_row_that_cannot_be_read_is_unsigned(session: SparkSession) -> None:
    rows = session.createDataFrame([("a", "<p>x", 1), ("b", None, 2)], "url string, html string, other int")
    signed = spark.sign(rows.coalesce(1), CONFIG)
    assert signed.columns == ["url", "html", "other", "signed", "row"]
    first, second = (row.signed for row in signed.orderBy("row").collect())
    assert (first.id, first.kind, second.id, second.kind) == ("a", "unsigned", "b", "unsigned")
    assert (first.reason != "no html", second.reason) == (True, "no html")


def test_wrong_columns_configurations_and_orders_are_refused(session: SparkSession, signed: DataFrame) -> None:
    rows = session.createDataFrame([("a", "<p>x")], "url string, body string")
    with pytest.raises(DedupError, match="no column html; it has url, body"):
        spark.sign(rows)
    with pytest.raises(DedupError, match="has a column row, signed already"):
        spark.sign(signed.select("url", "html", "row", "signed"))
    with pytest.raises(IndexMismatch, match="min features"):
        spark.find_duplicates(signed, Config(tokenizer="bigrams", min_features=30))
    with pytest.raises(DedupError, match="cannot be ordered by 'age'"):
        spark.find_duplicates(signed, CONFIG, order="age")


# The job of the documents


@contextmanager
def daemon(name: str, *arguments: object, awaited: str) -> Iterator[str]:
    """Run a class of Spark as a process; yield what the group of the pattern *awaited* matches in its log."""
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    options = {"SPARK_DAEMON_JAVA_OPTS": "-Dspark.master.rest.enabled=false", "SPARK_DAEMON_MEMORY": "256m"}
    command = [program, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--webui-port", "0", *arguments]
    with subprocess.Popen(
        [*map(str, command)],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **options},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            log = []
            for line in process.stderr:
                log.append(line)
                if match := re.search(awaited, line):
                    yield match[1]
                    break
            else:
                pytest.fail("".join(log))
        finally:
            process.kill()


def submit(master: str, source: Path, output: Path) -> None:
    """Run the job with spark-submit."""
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    settings = [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    command = [program, "--master", master, *settings, ROOT / "docs" / "spark_job.py", source, output]
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_documented_job_decides_on_a_cluster_as_one_machine_does(tmp_path: Path) -> None:
    parts = {"a.warc": PAGES[:90], "b.warc": PAGES[90:]}
    (tmp_path / "warc").mkdir()
    for name, pages in parts.items():
        records = [warc_record(page.url, page.html.encode()) for page in pages]
        (tmp_path / "warc" / name).write_bytes(b"".join(records))
    columns = {"url": [page.url for page in PAGES], "html": [page.html for page in PAGES]}
    pq.write_table(pa.table(columns), tmp_path / "pages.parquet")
    sources = {"warc": tmp_path / "warc", "parquet": tmp_path / "pages.parquet"}
    with ExitStack() as stack:
        awaited = r"Starting Spark master at (\S+)"
        master = stack.enter_context(daemon("master.Master", "--port", "0", awaited=awaited))
        workers = [tmp_path / "worker 1", tmp_path / "worker 2"]
        for folder in workers:
            options = "--cores", 1, "--memory", "512m", "--work-dir", folder, master
            stack.enter_context(daemon("worker.Worker", *options, awaited="(Successfully registered)"))
        for name, source in sources.items():
            submit(master, source, tmp_path / f"out of {name}")
    assert all([*folder.glob("app-*")] for folder in workers)  # both have worked
    for name, source in sources.items():
        sign([source], tmp_path / name / "signed", Config())
        find(tmp_path / name / "signed", tmp_path / name / "decisions", Config())
        expected = answers_in_order(tmp_path / name / "decisions")
        decided = pq.read_table(tmp_path / f"out of {name}" / "decisions").sort_by("row").to_pylist()
        assert [{field: row[field] for field in FIELDS} for row in decided] == expected
        kept = pq.read_table(tmp_path / f"out of {name}" / "kept")
        assert len(kept) == sum(answer["verdict"] in KEPT_VERDICTS for answer in expected) < len(PAGES)
