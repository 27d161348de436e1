"""Copies of the inputs: without near-duplicates, or with a mark on them; whole, or not there."""

import gzip
import json
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

import pyarrow as pa
import pyarrow.parquet as pq
from fastwarc.warc import ArchiveIterator, WarcRecordType

from crawler_dedup import DedupError, Deduplicator
from crawler_dedup.batch.apply import apply_decisions
from crawler_dedup.batch.formats.jsonl import open_lines
from crawler_dedup.batch.output import CLUSTERS, read_clusters
from tests.support.collections import (
    CONFIG,
    Page,
    find,
    job,
    pack,
    sign,
    start,
    table,
    warc_record,
    write_pages,
    write_parquet,
    write_warc,
)
from tests.support.crawling import article
from tests.support.prose import sentences

PAGES = [
    Page("http://h/1", article("x")),
    Page("http://h/2", article("x", frame="another frame")),
    Page("http://h/3", article("y")),
]


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.jsonl.gz", "pages.jsonl.zst"])
def test_lines_of_pages_that_are_left_out_are_missing_and_all_others_unchanged(tmp_path: Path, name: str) -> None:
    source = write_pages(tmp_path / "plain.jsonl", PAGES)
    lines = source.read_bytes().splitlines(keepends=True)
    content = b"".join([lines[0], b"no JSON\n", lines[1], b"\n", lines[2]])
    source = tmp_path / name
    source.write_bytes(pack(source, content))
    assert job([source], tmp_path).left_out == 1
    with open_lines(tmp_path / "clean" / name) as copy:
        assert copy.read() == b"".join([lines[0], b"no JSON\n", b"\n", lines[2]])


def test_rows_of_a_parquet_file_keep_their_columns(tmp_path: Path) -> None:
    source = tmp_path / "pages.parquet"
    columns: dict[str, Any] = {
        "url": [page.url for page in PAGES],
        "html": [page.html for page in PAGES],
        "tags": pa.array([["a"], [], None], pa.list_(pa.string())),
    }
    written = pa.table(columns).replace_schema_metadata({"made": "by hand"})
    pq.write_table(written, source, row_group_size=2, compression="none")
    rows = table(source)
    job([source], tmp_path)
    copy = pq.ParquetFile(tmp_path / "clean" / "pages.parquet").metadata
    assert copy.row_group(0).column(0).compression == "UNCOMPRESSED"
    assert table(tmp_path / "clean" / "pages.parquet") == [rows[0], rows[2]]
    assert pq.read_schema(tmp_path / "clean" / "pages.parquet") == pq.read_schema(source)
    apply_decisions([source], tmp_path / "decisions", tmp_path / "marked", start, mark="kept")
    marked = table(tmp_path / "marked" / "pages.parquet")
    assert [row.pop("kept") for row in marked] == [None, "http://h/1", None]
    assert marked == rows
    with pytest.raises(DedupError, match="already has a column 'url'"):
        apply_decisions([source], tmp_path / "decisions", tmp_path / "other", start, mark="url")
    with pytest.raises(DedupError, match="two columns 'own_text'"):
        apply_decisions([source], tmp_path / "decisions", tmp_path / "other", start, mark="own_text", own_text="text")


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_in_a_warc_file_a_record_names_the_representative_of_a_left_out_page(tmp_path: Path, suffix: str) -> None:
    body = PAGES[0].html.encode()
    records = [
        warc_record("http://h/", b"", kind="request"),
        warc_record("http://h/1", body, number=1),
        warc_record("http://mirror/1", body, number=3),
        warc_record("http://h/2", PAGES[1].html.encode(), number=2),
        warc_record("http://h/gone", body, status="404 Not Found"),
    ]
    source = tmp_path / f"pages.warc{suffix}"
    source.write_bytes(b"".join(pack(source, record) for record in records))
    assert job([source], tmp_path).left_out == 2
    copied, originals = (
        [
            (record.record_type, dict(record.headers.items()), record.reader.read())
            for record in ArchiveIterator(BytesIO(path.read_bytes()), parse_http=False)
        ]
        for path in (tmp_path / "clean" / source.name, source)
    )
    assert [copied[number] for number in (0, 1, 4)] == [originals[number] for number in (0, 1, 4)]
    for place, url, identifier in ((2, "http://mirror/1", "<urn:uuid:3>"), (3, "http://h/2", "<urn:uuid:2>")):
        kind, headers, content = copied[place]
        assert kind == WarcRecordType.metadata
        assert (headers["WARC-Target-URI"], headers["WARC-Refers-To"]) == (url, identifier)
        assert b"near-duplicate-of: http://h/1\r\n" in content
    # What is left can be read as before, and has nothing to leave out.
    assert sign([tmp_path / "clean" / source.name], tmp_path / "again").pages == 1


def test_the_decisions_of_an_input_may_be_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler_dedup.batch.output._GROUP_ROWS", 2)
    bodies = [article(str(number % 3), frame="." * (number * 7 % 20)) for number in range(20)]
    pages = [Page(f"http://h/{number}", body) for number, body in enumerate(bodies)]
    inputs = [write_pages(tmp_path / f"{number}.jsonl", pages[5 * number : 5 * number + 5]) for number in range(4)]
    sign(inputs, tmp_path / "signed")
    find(tmp_path / "signed", tmp_path / "decisions", order="-size")
    rows = table(tmp_path / "decisions" / CLUSTERS)
    places = [(row["input"], row["record"]) for row in rows]
    assert (len(places), places) == (17, sorted(places))
    clusters = tmp_path / "decisions" / CLUSTERS
    assert pq.ParquetFile(clusters).num_row_groups == 9
    assert [row for path in inputs for row in read_clusters(clusters, str(path))] == rows
    assert read_clusters(clusters, "another") == []


def test_a_warc_file_cannot_be_marked(tmp_path: Path) -> None:
    with pytest.raises(DedupError, match="cannot be marked"):
        job([write_warc(tmp_path / "pages.warc", PAGES)], tmp_path, "kept")
    assert not list((tmp_path / "clean").rglob("*.warc*"))


def test_copies_have_the_same_relative_paths_as_the_inputs(tmp_path: Path) -> None:
    (tmp_path / "in" / "a").mkdir(parents=True)
    (tmp_path / "in" / "b").mkdir()
    inputs = [write_pages(tmp_path / "in" / "a" / "pages.jsonl", PAGES[:1])]
    inputs += [write_parquet(tmp_path / "in" / "b" / "pages.parquet", PAGES[1:])]
    job(inputs, tmp_path)
    assert table(tmp_path / "clean" / "b" / "pages.parquet") == [{"url": "http://h/3", "html": PAGES[2].html}]
    assert (tmp_path / "clean" / "a" / "pages.jsonl").read_bytes() == inputs[0].read_bytes()
    with pytest.raises(DedupError, match="would replace the inputs"):
        apply_decisions(inputs, tmp_path / "decisions", tmp_path / "in", start)


@pytest.mark.usefixtures("forked_workers")
def test_several_processes_write_the_copies_which_replace_earlier_ones(tmp_path: Path) -> None:
    inputs = [write_pages(tmp_path / f"{number}.jsonl", PAGES[number : number + 1]) for number in range(3)]
    applied = job(inputs, tmp_path)
    assert (applied.files, applied.left_out) == (3, 1)
    (tmp_path / "clean" / "0.jsonl").unlink()
    (tmp_path / "clean" / "2.jsonl").write_bytes(b"x")
    assert apply_decisions(inputs, tmp_path / "decisions", tmp_path / "clean", start, jobs=2) == applied
    assert [(tmp_path / "clean" / path.name).read_bytes() for path in inputs] == [
        path.read_bytes() if path != inputs[1] else b"" for path in inputs
    ]


def test_inputs_without_decisions_and_changed_ones_are_refused(tmp_path: Path) -> None:
    source = write_pages(tmp_path / "pages.jsonl", PAGES)
    job([source], tmp_path)
    other_source = write_pages(tmp_path / "other.jsonl", PAGES)
    with pytest.raises(DedupError, match=r"other\.jsonl: `crawler-dedup batch find` has not decided about it"):
        apply_decisions([source, other_source], tmp_path / "decisions", tmp_path / "clean", start)
    write_pages(source, PAGES[:2])
    with pytest.raises(DedupError, match=r"pages\.jsonl: it has changed since it was signed"):
        apply_decisions([source], tmp_path / "decisions", tmp_path / "clean", start)
    with pytest.raises(DedupError, match="holds no decisions"):
        apply_decisions([source], tmp_path, tmp_path / "clean", start)


def test_a_warc_file_is_copied_without_its_damaged_members_unless_that_is_forbidden(tmp_path: Path) -> None:
    source = tmp_path / "pages.warc.gz"
    records = [pack(source, warc_record(page.url, page.html.encode())) for page in PAGES]
    middle = len(records[1]) // 2
    records[1] = records[1][:middle] + bytes([records[1][middle] ^ 1]) + records[1][middle + 1 :]
    source.write_bytes(b"".join(records)[:-20])
    applied = job([source], tmp_path)
    assert applied.damaged == {str(source): 2}
    whole = tmp_path / "whole.warc.gz"
    whole.write_bytes(b"".join([records[0], *records[2:-1]]))
    job([whole], tmp_path / "other")
    (copy,), (expected,) = (tmp_path.glob("clean/*.gz"), tmp_path.glob("other/clean/*.gz"))
    assert gzip.decompress(copy.read_bytes()) == gzip.decompress(expected.read_bytes())
    with pytest.raises(DedupError, match=r"pages\.warc\.gz is damaged in 2 places"):
        apply_decisions([source], tmp_path / "decisions", tmp_path / "clean", start, strict=True)


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.warc.gz", "pages.parquet"])
def test_a_copy_with_a_wrong_number_of_records_is_removed(tmp_path: Path, name: str) -> None:
    write = {"jsonl": write_pages, "parquet": write_parquet}.get(name.partition(".")[2], write_warc)
    source = write(tmp_path / name, PAGES)
    job([source], tmp_path)
    clusters = tmp_path / "decisions" / CLUSTERS
    rows, field = pq.read_table(clusters), pq.read_schema(clusters).field("record")
    no_such_record = pa.array([7], field.type)
    pq.write_table(rows.set_column(rows.schema.get_field_index("record"), field, no_such_record), clusters)
    refused = r"the copy had 3 records instead of \d and was removed: .* The input has 3, of which 0 are cut off"
    with pytest.raises(DedupError, match=refused):
        apply_decisions([source], tmp_path / "decisions", tmp_path / "clean", start)
    assert not list((tmp_path / "clean").iterdir())


def test_a_record_that_is_cut_off_is_named(tmp_path: Path) -> None:
    source = write_warc(tmp_path / "pages.warc", PAGES)
    source.write_bytes(source.read_bytes()[:-20])
    applied = job([source], tmp_path)
    assert (applied.damaged, applied.cut_off) == ({str(source): 1}, {str(source): ["http://h/3"]})


def test_a_copy_replaces_no_input_of_the_collection(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    inputs = [write_pages(tmp_path / name / "pages.jsonl", PAGES) for name in "ab"]
    job(inputs, tmp_path)
    with pytest.raises(DedupError, match="would replace the inputs"):
        apply_decisions(inputs[:1], tmp_path / "decisions", tmp_path / "b", start)


def test_a_refused_search_leaves_the_earlier_decisions(tmp_path: Path) -> None:
    source = write_pages(tmp_path / "pages.jsonl", PAGES)
    job([source], tmp_path)
    with pytest.raises(DedupError, match="cannot be ordered"):
        find(tmp_path / "signed", tmp_path / "decisions", order="age")
    with pytest.raises(DedupError, match="cannot be read as an export"):
        find(tmp_path / "signed", tmp_path / "decisions", profiles=source)
    assert apply_decisions([source], tmp_path / "decisions", tmp_path / "clean", start).files == 1


def test_incomplete_decisions_are_not_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_pages(tmp_path / "pages.jsonl", PAGES)
    job([source], tmp_path)

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("crawler_dedup.batch.find.write_kept", fail)
    with pytest.raises(OSError, match="the disk is full"):
        find(tmp_path / "signed", tmp_path / "decisions", order="-size")
    with pytest.raises(DedupError, match="holds no decisions"):
        apply_decisions([source], tmp_path / "decisions", tmp_path / "clean", start)


def test_a_copy_of_a_parquet_file_has_no_more_row_groups(tmp_path: Path) -> None:
    source = tmp_path / "pages.parquet"
    rows = 200
    urls = pa.array([f"http://h/{number}" for number in range(rows)], pa.string())
    pq.write_table(pa.table({"url": urls, "html": ["<p>x"] * rows}), source)
    job([source], tmp_path)
    assert pq.ParquetFile(tmp_path / "clean" / "pages.parquet").metadata.num_row_groups == 1


def test_columns_whose_rows_cannot_be_selected_are_copied(tmp_path: Path) -> None:
    source = tmp_path / "pages.parquet"
    view = pa.string_view()
    columns = {
        "url": pa.array([page.url for page in PAGES], view),
        "html": pa.array([page.html for page in PAGES], view),
    }
    try:
        pq.write_table(pa.table(columns), source)
    except pa.ArrowNotImplementedError:
        pytest.skip("this version of pyarrow does not write views")
    job([source], tmp_path)
    assert [row["url"] for row in table(tmp_path / "clean" / "pages.parquet")] == ["http://h/1", "http://h/3"]


def test_damaged_decisions_leave_no_page_out(tmp_path: Path) -> None:
    source = write_pages(tmp_path / "pages.jsonl", [Page(f"http://h/{n}", article(str(n // 2))) for n in range(40)])
    job([source], tmp_path)
    copy = (tmp_path / "clean" / "pages.jsonl").read_bytes()
    clusters = tmp_path / "decisions" / "clusters.parquet"
    whole = clusters.read_bytes()
    column = pq.ParquetFile(clusters).metadata.row_group(0).column(8)
    assert column.path_in_schema == "record"
    end = column.data_page_offset + column.total_compressed_size
    for place in range(column.dictionary_page_offset or column.data_page_offset, end):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        clusters.write_bytes(damaged)
        with suppress(DedupError):
            apply_decisions([source], tmp_path / "decisions", tmp_path / "clean", start)
            assert (tmp_path / "clean" / "pages.jsonl").read_bytes() == copy


# Own texts

NOTICE = sentences(37, 1)[0].strip()


def reed(number: int) -> Page:
    own = "".join(f"<p>{sentence}</p>" for sentence in sentences(number, 6))
    html = f"<title>Reed {number}</title><div><h2>Reed {number}</h2><p>{NOTICE}</p>{own}</div>"
    return Page(f"http://reeds.example/{number}", html)


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.parquet"])
@pytest.mark.parametrize("mark", ["", "of"])
def test_a_copy_can_have_the_texts_without_what_sites_repeat(tmp_path: Path, name: str, mark: str) -> None:
    pages = [reed(number) for number in range(10)]
    pages.insert(3, Page("http://other.example/", pages[2].html))
    source = (write_parquet if name.endswith("parquet") else write_pages)(tmp_path / name, pages)
    if name == "pages.jsonl":
        source.write_bytes(b"\n" + source.read_bytes())  # an empty line is no record
    job([source], tmp_path, mark, own_text="markdown")
    copy = tmp_path / "clean" / name
    rows = (
        table(copy) if name == "pages.parquet" else [json.loads(line) for line in copy.read_text().splitlines() if line]
    )
    kept = pages if mark else [page for page in pages if "other" not in page.url]
    assert [row["url"] for row in rows] == [page.url for page in kept]
    with Deduplicator.open(tmp_path / "index", CONFIG, profiles=tmp_path / "decisions" / "profiles.dedup") as index:
        texts = [index.own_text(page.url, page.html.encode(), format="markdown") for page in kept]
    assert [row["own_text"] for row in rows] == [own.text for own in texts]
    assert texts[0].site_known
    assert NOTICE not in texts[0].text
