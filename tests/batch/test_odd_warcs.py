"""A record that is damaged, or written in another way, costs no other record, and copies can be read by all readers."""

import gzip
import itertools
import struct
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup import DedupError
from crawler_dedup.batch.formats import warc
from crawler_dedup.batch.formats.records import DEFAULT_COLUMNS, PART_IS_DAMAGED, InputPage, PassedOver
from crawler_dedup.batch.output import CLUSTERS
from crawler_dedup.system.compression import zstd
from tests.support.collections import Page, job, sign, table, warc_record, write_record, write_warc
from tests.support.crawling import article
from tests.support.oddwarcs import ODD, SUFFIXES, html, read_with_fastwarc, read_with_warcio, write_with_neighbours

PAGES = [Page(f"http://h/{number}", article(number)) for number in range(4)]


def read(path: Path) -> list[InputPage | PassedOver]:
    return list(warc.read_pages(path, DEFAULT_COLUMNS, 1 << 20))


def test_an_odd_record_is_read_where_it_can_be_and_costs_no_other_record(tmp_path: Path) -> None:
    for kind in ODD:
        for suffix, at in itertools.product(SUFFIXES, (0, 2, 4)):
            records = read(write_with_neighbours(tmp_path / f"pages.warc{suffix}", ODD[kind].content, PAGES, at))
            assert [record.record for record in records] == list(range(len(records)))
            pages = [record for record in records if isinstance(record, InputPage)]
            odd = [page for page in pages if page.url not in {page.url for page in PAGES}]
            assert [(page.url, page.body.decode()) for page in pages if page not in odd] == [
                (page.url, page.html) for page in PAGES
            ]
            assert [b"<p>" in page.body and page.body.endswith(b">") for page in odd] == [True] * ODD[kind].is_page
            damaged = [
                record for record in records if isinstance(record, PassedOver) and record.reason == PART_IS_DAMAGED
            ]
            assert len(damaged) == ODD[kind].damaged


def test_copies_of_odd_files_have_all_their_pages_and_are_read_by_other_readers(tmp_path: Path) -> None:
    """Damaged files are copied in every compression, the others in one of them."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number, (kind, odd) in enumerate(ODD.items()):
        pages = [Page(f"http://h/{number}/{at}", article(f"{kind} {at}")) for at in range(2)]
        for suffix in SUFFIXES if odd.damaged else [SUFFIXES[number % 3]]:
            write_with_neighbours(folder / f"{number}.warc{suffix}", odd.content, pages, number % 3)
    job([folder], tmp_path)
    left_out = {(row["input"], row["record"]) for row in table(tmp_path / "decisions" / CLUSTERS)}
    assert len(left_out) > 20  # many odd records have the same page
    for source in folder.iterdir():
        copy = tmp_path / "clean" / source.name
        copied = [record for record in read(copy) if isinstance(record, InputPage)]
        assert [(page.url, page.body) for page in copied] == [
            (page.url, page.body)
            for page in read(source)
            if isinstance(page, InputPage) and (str(source), page.record) not in left_out
        ]
        others = read_with_fastwarc(copy)
        assert len(read(copy)) == len(others)
        if copy.suffix != ".zst":  # warcio does not read it
            assert read_with_warcio(copy) == others


@pytest.mark.parametrize("length", [10**15, 5_000])
def test_a_wrong_length_of_a_record_that_is_too_long_to_be_held_costs_no_other_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr("crawler_dedup.batch.formats.warcrecords._HELD", 500)
    odd = write_record("http://h/odd", html("odd"), length=length)
    records = read(write_with_neighbours(tmp_path / "pages.warc", odd, PAGES, 2))
    pages = [(page.url, page.body.decode()) for page in records if isinstance(page, InputPage)]
    assert pages == [(page.url, page.html) for page in PAGES]
    assert read(write_with_neighbours(tmp_path / "sound.warc", b"", PAGES, 2)) == read(
        write_with_neighbours(tmp_path / "sound.warc.gz", b"", PAGES, 2)
    )


def test_members_may_end_within_records(tmp_path: Path) -> None:
    content = write_warc(tmp_path / "pages.warc", PAGES).read_bytes()
    parts = [content[start : start + 1000] for start in range(0, len(content), 1000)]
    source = tmp_path / "pages.warc.gz"
    source.write_bytes(b"".join(map(gzip.compress, parts)))
    assert read(source) == read(tmp_path / "pages.warc")


@pytest.mark.parametrize("is_compressed", [False, True])
def test_frames_of_zstandard_may_need_the_dictionary_at_the_start(tmp_path: Path, is_compressed: bool) -> None:
    records = [warc_record(page.url, page.html.encode()) for page in PAGES]
    dictionary = zstd.train_dict([record[start:] for record in records for start in range(0, 1000, 10)], 2_000)
    content = zstd.compress(dictionary.dict_content) if is_compressed else dictionary.dict_content
    frame = struct.pack("<II", 0x184D2A5D, len(content)) + content
    source = tmp_path / "pages.warc.zst"
    source.write_bytes(b"".join([frame, *(zstd.compress(record, zstd_dict=dictionary) for record in records)]))
    assert read(source) == read(write_warc(tmp_path / "pages.warc", PAGES))


def test_records_that_are_no_pages_are_counted_by_kind(tmp_path: Path) -> None:
    source = tmp_path / "pages.warc"
    kinds = "warcinfo", "request", "metadata", "metadata", "revisit", "strange"
    source.write_bytes(b"".join(write_record("http://h/", b"x", kind=kind) for kind in kinds))
    with pytest.raises(DedupError, match="no page that can be read") as refused:
        sign([source], tmp_path / "signed")
    assert {line.strip() for line in str(refused.value).splitlines()[1:]} == {
        "warcinfo record: 1",
        "request record: 1",
        "metadata record: 2",
        "revisit record: 1",
        "record of another type: 1",
    }


def test_sound_records_are_copied_byte_for_byte(tmp_path: Path) -> None:
    source = write_warc(tmp_path / "pages.warc", PAGES)
    job([source], tmp_path)
    assert (tmp_path / "clean" / "pages.warc").read_bytes() == source.read_bytes()
