"""``crawler-dedup batch``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup.system.extras import EXTRAS
from tests.support.collections import Page, pack, table, write_lines, write_pages
from tests.support.commandline import invoke
from tests.support.crawling import article, words
from tests.support.packages import needs_program

PAGES = [
    Page("http://h/1", article("x")),
    Page("http://h/2", article("x", frame="another frame")),
    Page("http://h/3", article("y")),
]


def test_a_file_is_signed_searched_and_copied_by_one_command(tmp_path: Path) -> None:
    source, job = write_pages(tmp_path / "pages.jsonl", PAGES), tmp_path / "job"
    result = invoke("batch", "run", source, "-o", job, "-j", 1)
    assert "signed: 3 pages of 1 file." in result.output
    assert "3 pages, 2 kept, 1 left out." in result.output
    assert "1 file, 1 page left out." in result.output
    (copy,) = job.glob("*/pages.jsonl")
    assert [json.loads(line)["url"] for line in copy.read_text("utf-8").splitlines()] == ["http://h/1", "http://h/3"]
    assert "1 file had been written before." in invoke("batch", "run", source, "-o", job, "-j", 1).output


def test_each_step_has_a_command(tmp_path: Path) -> None:
    lines = [{"id": number, "body": page.html} for number, page in enumerate(PAGES)]
    source = write_lines(tmp_path / "pages.jsonl", lines)
    invoke("batch", "sign", source, "-o", tmp_path / "signed", "--html", "body", "--id", "id", "-j", 1)
    invoke("batch", "find", tmp_path / "signed", "-o", tmp_path / "decided", "--order", "-size", "--max-distance", 3)
    assert [row["id"] for row in table(tmp_path / "decided" / "kept.parquet")] == ["1", "2"]
    options = ["--decisions", tmp_path / "decided", "-o", tmp_path / "copies", "--mark", "of", "-j", 1]
    assert "1 page marked." in invoke("batch", "apply", source, *options).output
    copied = (tmp_path / "copies" / "pages.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["of"] for line in copied] == ["1", None, None]


def test_damaged_inputs_are_named_and_all_others_copied(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(pack(cut, write_pages(tmp_path / "plain", PAGES).read_bytes() * 200)[:-20])
    whole, job = write_pages(tmp_path / "whole.jsonl", PAGES), tmp_path / "job"
    result = invoke("batch", "run", cut, whole, "-o", job, "-j", 1, status=2)
    assert "cut.jsonl.gz" in result.output
    assert not list(job.glob("*/cut.jsonl.gz"))
    assert list(job.glob("*/whole.jsonl"))


def test_the_first_line_that_cannot_be_read_is_printed(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [PAGES[0]._asdict(), {"url": "http://h/2", "text": "x"}])
    output = invoke("batch", "sign", source, "-o", tmp_path / "signed", "-j", 1).output
    assert "Cannot be read: no html 1." in output
    assert (
        f"no html: {source}, line 2: there is no html; it has url, text; --html or --text says which to read." in output
    )


def test_texts_without_empty_lines_have_the_duplicates_of_those_with_empty_lines(tmp_path: Path) -> None:
    left_out = []
    for name, end in (("lines", "\n"), ("paragraphs", "\n\n")):
        texts = [end.join(" ".join(words(f"{text // 2} {line}", 20)) for line in range(6)) for text in range(40)]
        lines = [
            {"url": f"http://h/{number}", "text": text if number % 2 else f"{text}{end}Page {number}."}
            for number, text in enumerate(texts)
        ]
        invoke("batch", "run", write_lines(tmp_path / f"{name}.jsonl", lines), "-o", tmp_path / name, "--text", "text")
        left_out.append(len(table(tmp_path / name / "decisions" / "clusters.parquet")))
    assert left_out[0] == left_out[1] > 10


def test_files_that_are_not_part_of_a_collection_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    first, second = (write_pages(folder / f"{name}.jsonl", PAGES) for name in "ab")
    (folder / "pages.json").touch()
    result = invoke("batch", "sign", folder, "-o", tmp_path / "signed", "-j", 1)
    assert "Names that say no format: 1 file." in result.output
    result = invoke("batch", "sign", second, "-o", tmp_path / "signed", "-j", 1)
    assert f"{first} was signed by an earlier call, and is no part of {tmp_path / 'signed'} any more." in result.output


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--order", "age", "'age' is none of time, size, chars"),
        ("--memory", "much", "'much' is no size; write 500M or 8G"),
    ],
)
def test_an_invalid_option_is_reported_before_any_work(tmp_path: Path, option: str, value: str, message: str) -> None:
    source = write_pages(tmp_path / "pages.jsonl", PAGES)
    result = invoke("batch", "run", source, "-o", tmp_path / "job", option, value, status=2)
    assert message in " ".join(result.output.split())
    assert not (tmp_path / "job").exists()


def run_on_spark(*arguments: object, master: str, status: int = 0, **environment: str) -> str:
    """Call ``crawler-dedup batch`` with ``--spark`` in a process of its own; return all that it prints."""
    program = [sys.executable, "-m", "crawler_dedup", "batch", *map(str, arguments), "--spark", master]
    options = f"--conf spark.driver.host=127.0.0.1 --conf spark.executorEnv.PYTHONPATH={os.pathsep.join(sys.path)}"
    # To plan and compile takes longer than to run with so few rows.
    for setting in ("shuffle.partitions=2", "codegen.wholeStage=false"):
        options += f" --conf spark.sql.{setting}"
    options += " --executor-memory 512m" if master.startswith("spark:") else ""
    environment = {**os.environ, "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell", **environment}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
@needs_program("java")
@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_spark_writes_the_same_files_as_a_single_machine(tmp_path: Path, master: str) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed: pip install '.[spark]'")
    source = write_pages(tmp_path / "pages.jsonl", PAGES)
    local, on_spark = tmp_path / "local", tmp_path / "spark"
    invoke("batch", "run", source, "-o", local, "-j", 1)
    printed = run_on_spark("run", source, "-o", on_spark, master=master)
    assert f"{on_spark / 'decisions'}: 3 pages, 2 kept, 1 left out." in printed
    written = {
        path.relative_to(local) for path in local.glob("*/*") if path.name not in ("report.json", "profiles.dedup")
    }
    assert len(written) > 5
    for path in written:
        if "receipt" not in path.name:
            assert (on_spark / path).read_bytes() == (local / path).read_bytes(), path


@contextmanager
def spark_daemon(name: str, *arguments: object, awaited: str) -> Iterator[str]:
    """Run a class of PySpark as a process; yield what the group of the pattern *awaited* matches in its log."""
    import pyspark

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


@pytest.mark.slow
@needs_program("java")
def test_relative_paths_are_those_of_the_driver_on_every_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed: pip install '.[spark]'")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    for number in range(3):
        bodies = [article(f"{seed}", frame=f"frame {number}") for seed in range(number, number + 4)]
        write_pages(
            Path(f"in/{number}.jsonl"), [Page(f"http://h/{number}/{at}", body) for at, body in enumerate(bodies)]
        )
    Path("texts").mkdir()
    for seed in range(6):
        Path(f"texts/{seed}.html").write_text(article(f"{seed}"))
    invoke("lexicon", "build", "texts", "--output", "words")
    settings = "-s", "DEDUP_TOKENIZER=bigrams", "-s", "DEDUP_SCHEME=imatch", "-s", "DEDUP_LEXICON=words"
    arguments = "in", *settings, "-j", 1
    invoke("batch", "run", *arguments, "-o", "local")
    with ExitStack() as stack:
        master = stack.enter_context(
            spark_daemon("master.Master", "--port", "0", awaited=r"Starting Spark master at (\S+)")
        )
        workers = [tmp_path / "worker 1", tmp_path / "worker 2"]
        for folder in workers:
            options = "--cores", 1, "--memory", "512m", "--work-dir", folder, master
            stack.enter_context(spark_daemon("worker.Worker", *options, awaited="(Successfully registered)"))
        run_on_spark("run", *arguments, "-o", "spark", master=master)
    assert all([*folder.glob("app-*")] for folder in workers)  # both have worked
    written = {path.relative_to("local") for path in Path("local").rglob("*") if path.is_file()}
    assert written == {path.relative_to("spark") for path in Path("spark").rglob("*") if path.is_file()}
    for path in written:
        if "report" not in path.name:  # they have the times that the steps took
            assert ("spark" / path).read_bytes() == ("local" / path).read_bytes(), path


@pytest.mark.slow
@needs_program("java")
def test_executors_without_the_package_are_reported(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra spark is not installed: pip install '.[spark]'")
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    invoke("batch", "sign", write_pages(tmp_path / "pages.jsonl", PAGES), "-o", tmp_path / "signed", "-j", 1)
    arguments = ("find", tmp_path / "signed", "-o", tmp_path / "out")
    options = {
        "PYSPARK_PYTHON": str(bare),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": "pyspark-shell",
    }
    printed = run_on_spark(*arguments, master="local[1]", status=2, **options)
    assert "executors of Spark cannot load crawler-dedup" in printed


def test_missing_requirements_of_spark_are_reported_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_pages(tmp_path / "pages.jsonl", PAGES)
    arguments = ("batch", "run", source, "-o", tmp_path / "job", "--spark", "local[1]")
    with monkeypatch.context() as without_spark:
        without_spark.setitem(EXTRAS, "spark", ("no_such_package",))
        assert "install crawler-dedup with the extra spark" in invoke(*arguments, status=2).output
    pytest.importorskip("pyspark", reason="the extra spark is not installed: pip install '.[spark]'")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "Spark needs Java 17" in invoke(*arguments, status=2).output
    assert not (tmp_path / "job").exists()
