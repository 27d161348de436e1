"""``crawler-dedup batch``."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from tests.support.collections import Page, pack, table, write_pages
from tests.support.commandline import invoke
from tests.support.crawling import article
from tests.support.labelled import write_lines

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
    assert (
        "3 pages of 1 file; 1 file had been signed before." in invoke("batch", "run", source, "-o", job, "-j", 1).output
    )


def test_each_step_has_a_command(tmp_path: Path) -> None:
    lines = [{"id": number, "body": page.html} for number, page in enumerate(PAGES)]
    source = write_lines(tmp_path / "pages.jsonl", lines)
    invoke("batch", "sign", source, "-o", tmp_path / "signed", "--html", "body", "--id", "id", "-j", 1)
    invoke(
        "batch",
        "find",
        tmp_path / "signed",
        "-o",
        tmp_path / "decided",
        "--order",
        "-size",
        "-s",
        "DEDUP_MAX_DISTANCE=3",
    )
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
    assert "Cannot be read: no html (1)." in output
    assert (
        f"no html: {source}, line 2: it has no html, only url, text; name the right one with --html or --text."
        in output
    )


def test_files_that_are_not_part_of_a_collection_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    refused = invoke("batch", "sign", folder, "-o", tmp_path / "signed", status=2)
    assert ": there is no file to read (.warc, .warc.gz, " in " ".join(refused.output.split())
    first, second = (write_pages(folder / f"{name}.jsonl", PAGES) for name in "ab")
    (folder / "pages.json").touch()
    result = invoke("batch", "sign", folder, "-o", tmp_path / "signed", "-j", 1)
    assert "the name shows no format: 1 file" in result.output
    result = invoke("batch", "sign", second, "-o", tmp_path / "signed", "-j", 1)
    assert (
        f"{first} is not among the inputs any more: its signed pages are no longer part of {tmp_path / 'signed'}."
        in result.output
    )


def test_an_invalid_option_is_reported_before_any_work(tmp_path: Path) -> None:
    for option, value, message in [
        ("--order", "age", "'age' is not one of 'time', '-time', 'size', '-size', 'chars', '-chars'"),
        ("--memory", "much", "'much' is not a size; write 500M or 8G"),
    ]:
        source = write_pages(tmp_path / "pages.jsonl", PAGES)
        result = invoke("batch", "run", source, "-o", tmp_path / "job", option, value, status=2)
        assert message in " ".join(result.output.split())
        assert not (tmp_path / "job").exists()
