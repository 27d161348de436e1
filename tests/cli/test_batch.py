"""``crawler-dedup batch``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup.system.extras import EXTRAS
from tests.support.collections import Page, pack, table, write_lines, write_pages
from tests.support.commandline import invoke
from tests.support.crawling import article
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
