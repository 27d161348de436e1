"""``crawler-dedup lexicon build``: which texts are counted, and that the file is the one that schemes then use."""

from __future__ import annotations

import gzip
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from crawler_dedup import Deduplicator, IndexMismatch, Verdict
from crawler_dedup.cli import app
from crawler_dedup.index.packing import pack, unpack
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import find_initials
from crawler_dedup.signing.lexicon import Lexicon, lexicon_of
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.text import hash_words
from tests.support.crawling import words
from tests.support.prose import config, prose, text_of

BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")
COMMON = "one two three four five six seven"
"""Stands in every text: three shingles."""


def text(seed: object) -> str:
    return f"{' '.join(words(seed, 60))}.\n{COMMON}."


def build(source: Path, output: Path, *options: str, status: int = 0) -> Result:
    runner = CliRunner(env={"COLUMNS": "200"})
    result = runner.invoke(app, ["lexicon", "build", str(source), "--output", str(output), *BIGRAMS, *options])
    assert isinstance(result.exception, (SystemExit, type(None))), repr(result.exception)
    assert result.exit_code == status, result.output
    return result


def printed_text(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


def digest_in(output: str) -> str:
    match = re.search(r"digest ([0-9a-f]{16})\.$", output.strip())
    assert match is not None, output
    return match[1]


def built(source: Path, folder: Path) -> Lexicon:
    """Return the lexicon that was written into *folder*, which is what was printed."""
    output = folder / f"lexicon {len(list(folder.iterdir()))}"  # what was read stays as it was read
    result = build(source, output)
    read = lexicon_of(str(output))
    assert printed_text(result) == (
        f"{output}: {read.documents:,} documents, {len(read.words):,} words,"
        f" {len(read.shingles):,} common shingles; tokenizer bigrams; digest {read.digest}."
    )
    return read


def write(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def page(text: str, charset: str = "utf-8") -> bytes:
    """Return a page with *one* text, and around it what is none of it."""
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    head = f"<head><meta charset='{charset}'><title>title</title></head>"
    return f"<html>{head}<body><nav>menu</nav><main>{paragraphs}</main></body></html>".encode(charset)


def counts_by_hand(texts: Iterable[str]) -> Counter[int]:
    """Count the *texts* in which each token occurs."""
    counts: Counter[int] = Counter()
    for text in texts:
        counts.update(set(hash_words(sorted(set(text_of(text).tokens))).tolist()))
    return counts


def assert_counts(lexicon: Lexicon, texts: list[str]) -> None:
    assert lexicon.documents == len(texts)
    assert dict(zip(lexicon.words.tolist(), lexicon.counts.tolist(), strict=True)) == counts_by_hand(texts)


CHINESE = prose(1, 8, chinese=True)
FILES = {
    "one.html": page(text(1)),
    "below/two.htm": page(text(2)),
    "below/deeper/THREE.HTML": page(text(3)),
    "below/four.html.gz": gzip.compress(page(text(4))),
    "five.txt": text(5).encode(),
    "below/six.txt.gz": gzip.compress(text(6).encode()),
    "SEVEN.TXT": text(7).encode(),
    "gbk.html": page(CHINESE, "gbk"),
    "latin.html": page(text(8) + " déjà vu", "iso-8859-1"),
    "utf-16.html": page(text(9), "utf-16"),
    # No text at all:
    "empty.html": b"",
    "empty.txt": b"",
    "empty.html.gz": gzip.compress(b""),
    "blank.txt": b" \n\t",
    "frame.html": b"<html><body><nav>menu</nav></body></html>",
    "deep.html": b"<div>" * 1000 + page(text(10)),
    # None of these is a page:
    "picture.png": random.Random(1).randbytes(1000),
    "notes.md": text(11).encode(),
    "page.html.bak": page(text(12)),
    ".txt/nothing": b"",
}
TEXTS = [*map(text, range(1, 8)), CHINESE, text(8) + " déjà vu", text(9)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "folder", FILES)


def fill(directory: Path, texts: Iterable[str], **settings: Any) -> Path:
    """Return an index of pages with *texts*."""
    with Deduplicator.open(directory, config("simhash", store_text=True, **settings)) as deduplicator:
        pages = [
            deduplicator.sign(f"http://a.org/{at}", page(text), encoding="utf-8", scope=str(at % 2))
            for at, text in enumerate(texts)
        ]
        assert {decision.verdict for decision in deduplicator.decide(pages)} == {Verdict.NEW}
    return directory


# Folders


def test_every_page_and_text_below_a_folder_is_counted_once(folder: Path, tmp_path: Path) -> None:
    lexicon = built(folder, tmp_path)
    assert_counts(lexicon, TEXTS)
    letters = [np.bincount(find_initials(normalise(text)), minlength=26) for text in TEXTS]
    assert lexicon.initial_counts.tolist() == np.sum(letters, axis=0).tolist()


def test_runs_of_words_that_occur_in_many_texts_are_common(folder: Path, tmp_path: Path) -> None:
    shingles = set(built(folder, tmp_path).shingles.tolist())
    assert shingles == set(text_of(COMMON).shingles(5).tolist())
    few = write(tmp_path / "few", {name: FILES[name] for name in ("one.html", "five.txt")})
    assert len(built(few, tmp_path).shingles) == 0
    write(few, {"three.txt": text(3).encode()})
    assert set(built(few, tmp_path).shingles.tolist()) == shingles


@pytest.mark.parametrize("name", ["page.HTML.GZ", "text.TXT.GZ", "text.txt.GZ"])
def test_a_gzipped_file_is_decompressed_whatever_the_case_of_its_name(tmp_path: Path, name: str) -> None:
    content = page(text(1)) if "HTML" in name else text(1).encode()
    write(tmp_path / "folder", {name: gzip.compress(content)})
    assert_counts(built(tmp_path / "folder", tmp_path), [text(1)])


@pytest.mark.parametrize("name", ["page.html", "page.html.gz", "text.txt", "text.txt.gz"])
def test_a_file_beyond_the_limit_is_left_out(tmp_path: Path, name: str) -> None:
    large = " ".join(words("large", 500)).encode()
    files = {"small.txt": text(1).encode(), name: gzip.compress(large) if name.endswith("gz") else large}
    build(write(tmp_path / "folder", files), tmp_path / "lexicon", "-s", "DEDUP_MAX_BYTES=1000")
    assert_counts(lexicon_of(str(tmp_path / "lexicon")), [text(1)])


def test_a_folder_is_not_read_as_a_page_whatever_its_name(tmp_path: Path) -> None:
    folder = write(tmp_path / "folder", {"site.html/page.html": page(text(1)), "notes.txt/sub.txt": text(2).encode()})
    assert_counts(built(folder, tmp_path), [text(1), text(2)])


@pytest.mark.parametrize(
    "content",
    [gzip.compress(page(text(1)))[:-20], b"no gzip", gzip.compress(b"x")[:9] + b"\xff"],
    ids=["cut off", "no gzip", "damaged"],
)
def test_a_gzipped_file_that_cannot_be_read_is_named_and_nothing_is_written(
    folder: Path, tmp_path: Path, content: bytes
) -> None:
    write(folder, {"below/broken.html.gz": content})
    refused = printed_text(build(folder, tmp_path / "lexicon", status=2))
    assert refused.startswith(f"Error: {folder / 'below/broken.html.gz'} cannot be read: ")
    assert not (tmp_path / "lexicon").exists()


@pytest.mark.parametrize("encoding", ["gbk", "utf-16"])
def test_a_text_file_in_another_encoding_is_refused_or_counted_correctly(tmp_path: Path, encoding: str) -> None:
    folder = write(tmp_path / "folder", {"good.txt": CHINESE.encode(), "other.txt": CHINESE.encode(encoding)})
    result = CliRunner().invoke(app, ["lexicon", "build", str(folder), "-o", str(tmp_path / "lexicon"), *BIGRAMS])
    if result.exit_code == 0:  # it was read all the same
        assert_counts(lexicon_of(str(tmp_path / "lexicon")), [CHINESE, CHINESE])
    else:
        assert result.exit_code == 2
        assert f"{folder / 'other.txt'}" in printed_text(result)


@pytest.mark.parametrize(
    "files", [{}, {"empty.html": b"", "blank.txt": b"\n"}, {"notes.md": b"text"}], ids=["empty", "blank", "no pages"]
)
def test_a_folder_without_a_text_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    folder = write(tmp_path / "folder", files)
    folder.mkdir(exist_ok=True)
    refused = printed_text(build(folder, tmp_path / "lexicon", status=2))
    assert refused.startswith(f"Error: {folder} holds no main text: ")
    assert not (tmp_path / "lexicon").exists()


def test_a_path_that_is_not_a_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    assert "does not exist" in printed_text(build(tmp_path / "none", tmp_path / "lexicon", status=2))
    assert "is a file" in printed_text(build(folder / "five.txt", tmp_path / "lexicon", status=2))
    assert "is a directory" in printed_text(build(folder, folder, status=2))


def test_a_lexicon_that_cannot_be_written_is_reported_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    assert printed_text(build(folder, tmp_path / "none" / "lexicon", status=2)).startswith("Error: ")


def test_an_invalid_setting_is_reported_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    assert "'TOKENIZER=x' is no setting" in printed_text(build(folder, tmp_path / "x", "-s", "TOKENIZER=x", status=2))
    assert "DEDUP_EXTRACTOR = 'x' is not allowed" in printed_text(
        build(folder, tmp_path / "x", "-s", "DEDUP_EXTRACTOR=x", status=2)
    )


# The same folder, the same lexicon


def test_the_order_in_which_files_were_written_does_not_matter(tmp_path: Path) -> None:
    names = list(FILES)
    digests = set()
    for turn in range(3):
        random.Random(turn).shuffle(names)
        folder = write(tmp_path / f"{turn}", {name: FILES[name] for name in names})
        digests.add(built(folder, tmp_path).digest)
        digests.add(built(folder, tmp_path).digest)
    assert len(digests) == 1


def test_the_process_does_not_change_the_lexicon(folder: Path, tmp_path: Path) -> None:
    """Sets of strings have another order in another process."""
    program = Path(sys.executable).with_name("crawler-dedup")
    theirs = subprocess.run(
        [program, "lexicon", "build", folder, "-o", tmp_path / "theirs", *BIGRAMS],
        capture_output=True,
        text=True,
        check=True,
    )
    assert digest_in(theirs.stdout) == digest_in(build(folder, tmp_path / "ours").output)
    assert (tmp_path / "theirs").read_bytes() == (tmp_path / "ours").read_bytes()


def test_another_text_makes_another_lexicon(folder: Path, tmp_path: Path) -> None:
    before = built(folder, tmp_path).digest
    write(folder, {"one.html": page(text(1) + " more")})
    assert built(folder, tmp_path).digest != before


# Indexes


def test_the_texts_of_an_index_are_those_of_its_pages(folder: Path, tmp_path: Path) -> None:
    index = fill(tmp_path / "index", TEXTS)
    lexicon = built(index, tmp_path)
    assert_counts(lexicon, TEXTS)
    assert lexicon.digest == built(folder, tmp_path).digest


def test_pages_of_an_index_that_were_not_handled_are_not_counted(tmp_path: Path) -> None:
    fill(tmp_path / "index", [text(1)])
    with Deduplicator.open(tmp_path / "index", config("simhash", store_text=True)) as crawl:
        pages = [crawl.sign(f"http://b.org/{number}", page(text(number)), encoding="utf-8") for number in (2, 3, 4)]
        _, settled, released = crawl.submit(pages, claim=True).result()
        assert crawl.settle(settled)
        assert crawl.release(released)
        assert_counts(built(tmp_path / "index", tmp_path), [text(1), text(3)])


def test_files_beside_an_index_are_not_counted(tmp_path: Path) -> None:
    index = fill(tmp_path / "index", [text(1)])
    write(index, {"page.html": page(text(2))})
    assert_counts(built(index, tmp_path), [text(1)])


@pytest.mark.parametrize("pages", [0, 2])
def test_an_index_without_texts_is_refused(tmp_path: Path, pages: int) -> None:
    with Deduplicator.open(tmp_path / "index", config("simhash")) as deduplicator:
        for number in range(pages):
            deduplicator.check("http://a.org/{one}", page(text(number)))
    refused = printed_text(build(tmp_path / "index", tmp_path / "lexicon", status=2))
    assert refused.startswith(f"Error: {tmp_path / 'index'} holds no main text: ")
    assert "DEDUP_STORE_TEXT = True" in refused
    assert not (tmp_path / "lexicon").exists()


def rewrite(directory: Path, text: bytes) -> None:
    """Let *text* stand in the place of the first record's text."""
    with lmdb.open(str(directory), max_dbs=8) as env:
        records = env.open_db(b"records")
        with env.begin(write=True, db=records) as txn:
            name, content = next(iter(txn.cursor()))
            record = unpack(content)
            txn.put(name, pack(replace(record, page=replace(record.page, text=text))))


_HUGE = b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 7 + b"\x0f" + b"\x01\0\0"  # a frame that claims to contain 2^60 bytes


@pytest.mark.parametrize("damaged", [b"no zstd", b"\x28\xb5\x2f\xfd", _HUGE], ids=["other bytes", "cut off", "huge"])
def test_a_damaged_stored_text_is_left_out_or_reported_in_a_sentence(tmp_path: Path, damaged: bytes) -> None:
    index = fill(tmp_path / "index", [text(1), text(2)])
    rewrite(index, damaged)
    result = CliRunner().invoke(app, ["lexicon", "build", str(index), "-o", str(tmp_path / "lexicon"), *BIGRAMS])
    assert isinstance(result.exception, (SystemExit, type(None))), repr(result.exception)
    if result.exit_code == 0:
        assert_counts(lexicon_of(str(tmp_path / "lexicon")), [text(2)])
    else:
        assert result.exit_code == 2
        assert "damaged" in printed_text(result)


def test_records_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    index = fill(tmp_path / "index", [text(1), text(2)])
    with lmdb.open(str(index), max_dbs=8) as env:
        records = env.open_db(b"records")
        with env.begin(write=True, db=records) as txn:
            txn.put(next(iter(txn.cursor()))[0], b"garbage")
    assert_counts(built(index, tmp_path), [text(2)])


# What it is for


def test_schemes_use_the_lexicon_that_was_written(folder: Path, tmp_path: Path) -> None:
    digest = digest_in(build(folder, tmp_path / "lexicon").output)
    ours = config(f"imatch lexicon={tmp_path / 'lexicon'}")
    assert Signer(ours).spec["lexicon"] == digest
    with Deduplicator.open(tmp_path / "index", ours) as deduplicator:
        assert deduplicator.check("http://a.org/1", page(TEXTS[0])).verdict is Verdict.NEW
    with pytest.raises(IndexMismatch, match=f"lexicon: index has '{digest}'"):
        Deduplicator.open(tmp_path / "index", config("imatch"))
