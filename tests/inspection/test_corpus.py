"""``crawler-dedup lexicon build``: which texts are counted, and that the file is the one that schemes then use."""

import gzip
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import lmdb
import numpy as np
import pytest
from click.testing import Result
from msgspec.structs import replace

from crawler_dedup import Deduplicator, Verdict
from crawler_dedup.index.records import decode, encode
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import find_initials
from crawler_dedup.signing.lexicon import Lexicon, lexicon_of
from crawler_dedup.signing.text import hash_words
from tests.support.commandline import command, invoke, printed_text
from tests.support.crawling import words
from tests.support.prose import config, prose, text_of

BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")
COMMON = "one two three four five six seven"
"""Stands in every text: three shingles."""


def text(seed: object) -> str:
    return f"{' '.join(words(seed, 60))}.\n{COMMON}."


def build(source: Path, output: Path, *options: str, status: int = 0) -> Result:
    return invoke("lexicon", "build", source, "--output", output, *BIGRAMS, *options, status=status)


def digest_in(output: str) -> str:
    match = re.search(r"checksum ([0-9a-f]{16})\.$", output.strip())
    assert match is not None, output
    return match[1]


def built(source: Path, folder: Path) -> Lexicon:
    """Return the lexicon that was written into *folder*, which is what was printed."""
    output = folder / f"lexicon {len(list(folder.iterdir()))}"  # what was read stays as it was read
    result = build(source, output)
    read = lexicon_of(str(output))
    assert printed_text(result) == (
        f"{output}: {read.documents:,} documents, {len(read.words):,} words,"
        f" {len(read.shingles):,} common word sequences; tokenizer bigrams; checksum {read.digest}."
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
    "below/FOUR.HTML.GZ": gzip.compress(page(text(4))),
    "five.txt": text(5).encode("utf-8-sig"),
    "below/six.txt.GZ": gzip.compress(text(6).encode()),
    "site.html/SEVEN.TXT": text(7).encode(),
    "gbk.html": page(CHINESE, "gbk"),
    "latin.html": page(text(8) + " déjà vu", "iso-8859-1"),
    "utf-16.html": page(text(9), "utf-16"),
    "notes.md": text(11).encode("utf-16"),
    # No text at all:
    "empty.html": b"",
    "empty.txt": b"",
    "empty.html.gz": gzip.compress(b""),
    "blank.txt": b" \n\t",
    "frame.html": b"<html><body><nav>menu</nav></body></html>",
    "deep.html": b"<div>" * 1000 + page(text(10)),
    # None of these is a page:
    "picture.png": random.Random(1).randbytes(1000),
    "binary.html": b"<p>" + bytes(9),
    "page.html.bak": page(text(12)),
    ".txt/nothing": b"",
}
TEXTS = [*map(text, range(1, 8)), CHINESE, text(8) + " déjà vu", text(9), text(11)]


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


def test_a_file_beyond_the_limit_is_left_out(tmp_path: Path) -> None:
    for name in ["page.html", "page.html.gz", "text.txt", "text.txt.gz"]:
        large = " ".join(words("large", 500)).encode()
        files = {"small.txt": text(1).encode(), name: gzip.compress(large) if name.endswith("gz") else large}
        build(write(tmp_path / "folder", files), tmp_path / "lexicon", "-s", "DEDUP_MAX_BYTES=1000")
        assert_counts(lexicon_of(str(tmp_path / "lexicon")), [text(1)])


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("broken.html.gz", gzip.compress(page(text(1)), mtime=0)[:-20], "cannot be read: "),
        ("broken.html.gz", b"no gzip", "cannot be read: "),
        ("broken.txt.gz", gzip.compress(b"x", mtime=0)[:9] + b"\xff", "cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_read_is_named_and_nothing_is_written(
    folder: Path, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    write(folder, {f"below/{name}": content})
    refused = printed_text(build(folder, tmp_path / "lexicon", status=2))
    assert refused.startswith(f"Error: {folder / 'below' / name} {sentence}")
    assert not (tmp_path / "lexicon").exists()


@pytest.mark.parametrize(
    "files", [{}, {"empty.html": b"", "blank.txt": b"\n"}, {"notes.rst": b"text"}], ids=["empty", "blank", "no pages"]
)
def test_a_folder_without_a_text_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    folder = write(tmp_path / "folder", files)
    folder.mkdir(exist_ok=True)
    refused = printed_text(build(folder, tmp_path / "lexicon", status=2))
    assert refused.startswith(f"Error: {folder} has no main texts. ")
    assert not (tmp_path / "lexicon").exists()


def test_a_path_that_is_not_a_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    assert "does not exist" in printed_text(build(tmp_path / "none", tmp_path / "lexicon", status=2))
    assert "is a file" in printed_text(build(folder / "five.txt", tmp_path / "lexicon", status=2))
    assert "is a directory" in printed_text(build(folder, folder, status=2))
    assert printed_text(build(folder, tmp_path / "none" / "lexicon", status=2)).startswith("Error: ")


# The same folder, the same lexicon


def test_the_lexicon_depends_on_the_texts_alone(folder: Path, tmp_path: Path) -> None:
    ours = built(folder, tmp_path)
    names = list(FILES)
    random.Random(1).shuffle(names)
    shuffled = write(tmp_path / "shuffled", {name: FILES[name] for name in names})
    # Sets of strings have another order in another process.
    done = command(tmp_path, "lexicon", "build", shuffled, "-o", "theirs", *BIGRAMS)
    assert (done.returncode, digest_in(done.stdout)) == (0, ours.digest)
    write(folder, {"one.html": page(text(1) + " more")})
    assert built(folder, tmp_path).digest != ours.digest


# Indexes


def test_the_texts_of_an_index_are_those_of_its_pages(folder: Path, tmp_path: Path) -> None:
    index = fill(tmp_path / "index", TEXTS)
    write(index, {"page.html": page(text(12))})  # no text of the index
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


def test_an_index_without_texts_is_refused(tmp_path: Path) -> None:
    for pages in [0, 2]:
        with Deduplicator.open(tmp_path / "index", config("simhash")) as deduplicator:
            for number in range(pages):
                deduplicator.check("http://a.org/{one}", page(text(number)))
        refused = printed_text(build(tmp_path / "index", tmp_path / "lexicon", status=2))
        assert refused.startswith(f"Error: {tmp_path / 'index'} has no main texts. ")
        assert "DEDUP_STORE_TEXT = True" in refused
        assert not (tmp_path / "lexicon").exists()


_HUGE = b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 7 + b"\x0f" + b"\x01\0\0"  # a frame that claims to contain 2^60 bytes


@pytest.mark.parametrize("damaged", [b"no zstd", b"\x28\xb5\x2f\xfd", _HUGE, None], ids=repr)
def test_a_damaged_text_or_record_is_left_out(tmp_path: Path, damaged: bytes | None) -> None:
    index = fill(tmp_path / "index", [text(1), text(2)])
    with lmdb.open(str(index), max_dbs=8) as env:
        records = env.open_db(b"records")
        with env.begin(write=True, db=records) as txn:
            name, content = next(iter(txn.cursor()))
            if damaged is None:
                txn.put(name, b"garbage")
            else:
                record = decode(content)
                txn.put(name, encode(replace(record, page=replace(record.page, text=damaged))))
    assert_counts(built(index, tmp_path), [text(2)])
