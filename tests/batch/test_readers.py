"""The same pages are the same, in whatever format they come; what cannot be read is counted and listed."""

import gzip
import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable
from io import BytesIO
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZIP_DEFLATED

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_dedup import DedupError
from crawler_dedup.batch.collection import Collection
from crawler_dedup.batch.formats import format_of, module_of
from crawler_dedup.batch.formats.gzipmembers import GzipMembers
from crawler_dedup.batch.formats.records import (
    DEFAULT_COLUMNS,
    PART_IS_DAMAGED,
    REST_IS_DAMAGED,
    Columns,
    InputPage,
    PassedOver,
)
from crawler_dedup.batch.output import KEPT
from tests.support.collections import (
    Page,
    job,
    pack,
    sign,
    table,
    warc_record,
    write_pages,
    write_parquet,
    write_wacz,
    write_warc,
)
from tests.support.crawling import article, words
from tests.support.labelled import write_lines
from tests.support.oddwarcs import read_with_fastwarc

PAGES = [Page(f"http://h/{number}", article(number)) for number in range(5)]
MAX_BYTES = 1 << 20


def write_packed(path: Path, pages: list[Page]) -> Path:
    path.write_bytes(pack(path, write_pages(path.with_suffix(".plain"), pages).read_bytes()))
    return path


WRITERS = {
    "pages.jsonl": write_pages,
    "pages.jsonl.gz": write_packed,
    "pages.jsonl.zst": write_packed,
    "pages.parquet": write_parquet,
    "pages.warc": write_warc,
    "pages.warc.gz": write_warc,
    "pages.warc.zst": write_warc,
    "pages.wacz": write_wacz,
}


def read(path: Path, columns: Columns = DEFAULT_COLUMNS) -> list[InputPage | PassedOver]:
    return list(module_of(format_of(path)).read_pages(path, columns, MAX_BYTES))


def pages_of(path: Path, columns: Columns = DEFAULT_COLUMNS) -> list[InputPage]:
    return [record for record in read(path, columns) if isinstance(record, InputPage)]


def only_page(path: Path, columns: Columns = DEFAULT_COLUMNS) -> InputPage:
    assert len(read(path, columns)) == 1
    return pages_of(path, columns)[0]


@pytest.mark.parametrize("name", WRITERS)
def test_pages_are_the_same_in_every_format(tmp_path: Path, name: str) -> None:
    pages = pages_of(WRITERS[name](tmp_path / name, PAGES))
    expected = [(number, page.url, page.html.encode(), "utf-8") for number, page in enumerate(PAGES)]
    assert [(page.record, page.url, page.body, page.encoding) for page in pages] == expected


def test_a_file_name_without_a_known_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DedupError, match="name the format with --format"):
        sign([write_pages(tmp_path / "pages.txt", PAGES)], tmp_path / "signed")
    assert sign([tmp_path / "pages.txt"], tmp_path / "signed", input_format="jsonl").pages == len(PAGES)


def test_the_files_in_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    write_pages(tmp_path / "in" / "b.jsonl", PAGES[:2])
    write_pages(tmp_path / "in" / "deep" / "c.jsonl", PAGES[2:3])
    write_packed(tmp_path / "in" / "deep" / "d.ndjson.gz", PAGES[3:])
    (tmp_path / "in" / "deep" / "d.ndjson.plain").unlink()
    (tmp_path / "in" / "readme.txt").touch()
    signing = sign([tmp_path / "in"], tmp_path / "signed")
    assert (signing.pages, signing.ignored) == (5, 1)


# JSON Lines


HTML = "<p>" + " ".join(words("odd lines"))
ODD_LINES = {
    "a surrogate in the page": json.dumps({"url": "http://h/a", "html": f"{HTML} cut \ud83d here"}),
    "a surrogate in another field": json.dumps({"url": "http://h/b", "html": HTML, "other": "\udc00"}),
    "a surrogate in the address": json.dumps({"url": "http://h/c\ud800", "html": HTML}),
    "a raw surrogate": json.dumps({"url": "http://h/d", "html": HTML, "other": "\ud83d"}, ensure_ascii=False),
    "no number": json.dumps({"url": "http://h/e", "html": HTML, "other": [float("nan"), float("-inf")]}),
    "a large number": f'{{"url": "http://h/f", "other": 1e400, "html": "{HTML}"}}',
    "a long number": json.dumps({"url": "http://h/g", "html": HTML, "other": 10**30}),
    "line separators": json.dumps({"url": "http://h/h", "html": f"{HTML} \u2028 \x85 \x0b"}, ensure_ascii=False),
}


@pytest.mark.parametrize("kind", ODD_LINES)
def test_a_line_that_python_reads_is_a_record_and_is_marked_without_other_changes(tmp_path: Path, kind: str) -> None:
    line = ODD_LINES[kind].encode("utf-8", "surrogatepass")
    source = tmp_path / "pages.jsonl"
    source.write_bytes(line + b"\r\n" + line)
    expected = json.loads(line)
    assert [(page.record, page.url, page.body.decode()) for page in pages_of(source)] == [
        (number, expected["url"].replace("\ud800", "\\ud800"), expected["html"].replace("\ud83d", "?"))
        for number in range(2)
    ]
    assert job([source], tmp_path, "of").left_out == 1
    first, second = (tmp_path / "clean" / "pages.jsonl").read_bytes().split(b"\r\n")
    assert first == line[:-1] + b', "of": null}'
    assert second.startswith(line[:-1] + b', "of": "http://h/')


def test_a_field_that_a_line_has_already_is_not_replaced_by_the_mark(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [{"url": "http://h/1"}, {"url": "http://h/2", "html": article(1)}])
    with pytest.raises(DedupError, match=r"pages\.jsonl, line 2 already has a field 'html': rename it, or give --mark"):
        job([source], tmp_path, "html")
    assert not (tmp_path / "clean" / "pages.jsonl").exists()


NO_OBJECT, NO_HTML = "no JSON object", "no html"
BAD_LINES = [
    (b"[1]", NO_OBJECT, "it is not an object, but list"),
    (b'{"url": "http://h/1" "html"}', NO_OBJECT, "Expecting ',' delimiter at character 22"),
    (b'{"url": "http://h/\xff"}', NO_OBJECT, "byte 19 is not UTF-8"),
    (b"[" * 100_000, NO_OBJECT, "it is nested too deeply"),
    (b'{"url": "u", "html": 7}', "a column of another type", "html is not text, but int"),
    (b'{"html": "<p>x"}', "no address and no identifier", "it has html; name the right one with --url or --id"),
    (b'{"url": "u", "text": "x"}', NO_HTML, "it has no html, only url, text; name the right one with --html or --text"),
    (b'{"url": "u", "html": ""}', NO_HTML, "no html"),
]


def test_lines_that_are_no_records_are_named_with_what_is_wrong_counted_and_listed(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "pages.jsonl", [{"url": "http://h/1", "html": article(1)}])
    source.write_bytes(source.read_bytes() + b"\n".join(line for line, _, _ in BAD_LINES))
    passed_over = [record for record in read(source) if isinstance(record, PassedOver)]
    assert [(record.is_bad, record.reason, record.detail) for record in passed_over] == [
        (True, reason, f"line {number}: {detail}") for number, (_, reason, detail) in enumerate(BAD_LINES, 2)
    ]
    signing = sign([source], tmp_path / "signed")
    assert signing.pages == 1
    assert signing.bad == Counter(reason for _, reason, _ in BAD_LINES)
    (shard,) = Collection.open(tmp_path / "signed").shards
    listed = [json.loads(line) for line in shard.bad.read_text(encoding="utf-8").splitlines()]
    assert [(row["record"], row["reason"]) for row in listed] == [
        (number, reason) for number, (_, reason, _) in enumerate(BAD_LINES, 1)
    ]
    assert listed[-1] == {"record": 8, "reason": NO_HTML, "name": "u", "detail": "line 9: no html"}


def test_a_line_that_is_too_long_affects_no_other_line(tmp_path: Path) -> None:
    lines = [{"url": "http://h/long", "html": "x" * (7 * MAX_BYTES)}, {"url": "http://h/1", "html": "<p>x"}]
    long, page = read(write_lines(tmp_path / "pages.jsonl", lines))
    assert isinstance(long, PassedOver)
    assert (long.reason, page.record) == ("a line that is too long", 1)


def test_a_byte_order_mark_is_not_part_of_the_first_line(tmp_path: Path) -> None:
    source = write_pages(tmp_path / "pages.jsonl", PAGES[:2])
    expected = read(source)
    source.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    assert read(source) == expected
    with (tmp_path / "copy.jsonl").open("wb") as copy:
        module_of("jsonl").copy_input(source, copy, {}, {"of": lambda _: None})
    assert all("of" in json.loads(line) for line in (tmp_path / "copy.jsonl").read_text("utf-8").splitlines())


def test_a_time_is_a_number_or_a_date(tmp_path: Path) -> None:
    for time, seconds in [
        ("2020-01-01T00:00:00Z", 1_577_836_800),
        ("2020-01-01 01:00:00+01:00", 1_577_836_800),
        ("2020-01-01T00:00:00.123456", 1_577_836_800),
        ("2020-01-01", 1_577_836_800),
        ("1577836800", 1_577_836_800),
        (1_577_836_800.7, 1_577_836_800),
        ("yesterday", 0),
        ("9999-99-99", 0),
        ([2020], 0),
        (None, 0),
    ]:
        line = {"url": "http://h/", "html": "<p>x", "fetched": time}
        assert only_page(write_lines(tmp_path / "pages.jsonl", [line]), Columns(time="fetched")).time == seconds


def test_a_page_without_an_address_gets_a_unique_one(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [{"key": 7, "html": "<p>x"}, {"key": "b", "html": "<p>x"}]
    first, second = pages_of(write_lines(tmp_path / "pages.jsonl", lines), Columns(id="key"))
    assert (first.id, second.id) == ("7", "b")
    assert first.url != second.url
    assert first.url.endswith(".invalid/")


def test_plain_text_has_paragraphs_or_else_lines(tmp_path: Path) -> None:
    for text, paragraphs in [
        ("One < two.\n\nThree.", "<p>One &lt; two.</p><p>Three.</p>"),
        ("One.\nTwo.\n", "<p>One.</p><p>Two.</p>"),
        ("One.\r\nTwo.\r\n", "<p>One.</p><p>Two.</p>"),
        ("One,\ntwo.\n\nThree.", "<p>One,\ntwo.</p><p>Three.</p>"),
        ("One.\r\n \t\r\nThree.", "<p>One.</p><p>Three.</p>"),
    ]:
        source = write_lines(tmp_path / "texts.jsonl", [{"id": "a", "text": text}])
        assert f"<body>{paragraphs}</body>" in only_page(source, Columns(text="text", id="id")).body.decode()


def test_a_truncated_file_is_read_up_to_its_end(tmp_path: Path) -> None:
    source = write_packed(tmp_path / "pages.jsonl.gz", PAGES * 50)
    source.write_bytes(source.read_bytes()[:-20])
    *pages, last = read(source)
    assert len(pages) > 100
    assert isinstance(last, PassedOver)
    assert last.reason == "the rest of the file is damaged"
    assert last.is_bad


# Parquet


def test_a_missing_column_is_reported_with_the_existing_ones(tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "pages.parquet", PAGES)
    with pytest.raises(DedupError, match="has no column 'body'; it has url, html"):
        read(source, Columns(html="body"))


def test_bytes_of_a_parquet_file_have_the_encoding_that_they_declare(tmp_path: Path) -> None:
    source = tmp_path / "pages.parquet"
    body = "<meta charset=koi8-r><p>привет".encode("koi8-r")
    pq.write_table(pa.table({"url": ["http://h/"], "html": pa.array([body], pa.binary())}), source)
    page = only_page(source)
    assert (page.body, page.encoding) == (body, None)


def test_a_file_that_is_not_parquet_is_reported(tmp_path: Path) -> None:
    source = tmp_path / "pages.parquet"
    source.write_bytes(b"PAR1" * 10)
    assert read(source) == [PassedOver(0, REST_IS_DAMAGED, str(source), is_bad=True)]


def test_only_the_text_that_is_not_utf_8_is_passed_over(tmp_path: Path) -> None:
    html = pa.array([b"<p>one", b"<p>\xff", b"<p>three"], pa.binary()).view(pa.string())
    source = tmp_path / "pages.parquet"
    pq.write_table(pa.table({"url": ["http://h/1", "http://h/2", "http://h/3"], "html": html}), source)
    assert read(source)[1] == PassedOver(1, "text that is not UTF-8", is_bad=True)
    assert [page.record for page in pages_of(source)] == [0, 2]


@pytest.mark.parametrize("type_", [pa.timestamp("ns"), pa.timestamp("ms", "Europe/Berlin"), pa.date32()])
def test_a_timestamp_is_a_time(tmp_path: Path, type_: pa.DataType) -> None:
    source = tmp_path / "pages.parquet"
    times = pa.array([1_577_836_800_123_456_789, None], pa.timestamp("ns")).cast(type_, safe=False)
    pq.write_table(pa.table({"url": ["http://h/1", "http://h/2"], "html": ["<p>x", "<p>y"], "fetched": times}), source)
    assert [page.time for page in pages_of(source, Columns(time="fetched"))] == [1_577_836_800, 0]


# WARC


def test_only_responses_with_html_in_a_warc_file_are_pages(tmp_path: Path) -> None:
    source = tmp_path / "pages.warc"
    body = article("x").encode()
    source.write_bytes(
        b"".join(
            [
                warc_record("http://h/request", b"", kind="request"),
                warc_record("http://h/gone", body, status="404 Not Found"),
                warc_record("http://h/picture", body, content_type="image/png"),
                warc_record("http://h/cut", body, headers="WARC-Truncated: length"),
                warc_record("http://h/page", body, content_type="TEXT/HTML; charset=ISO-8859-2"),
                warc_record("<http://h/xhtml>", body, content_type="application/xhtml+xml"),
            ]
        )
    )
    records = read(source)
    assert [record.reason for record in records if isinstance(record, PassedOver)] == [
        "request record",
        "another status than 200",
        "no HTML",
        "incomplete",
    ]
    assert [(page.record, page.url, page.encoding, page.time) for page in pages_of(source)] == [
        (4, "http://h/page", "iso8859-2", 1795341600),
        (5, "http://h/xhtml", None, 1795341600),
    ]


def test_the_identifier_of_a_page_may_be_a_header_of_its_record(tmp_path: Path) -> None:
    source = tmp_path / "pages.warc"
    source.write_bytes(warc_record("http://h/", b"<p>x", headers="X-Key: seven"))
    assert only_page(source, Columns(id="X-Key")).id == "seven"


def test_a_long_body_is_read_only_up_to_the_limit(tmp_path: Path) -> None:
    source = tmp_path / "pages.warc"
    source.write_bytes(warc_record("http://h/", b"x" * (2 * MAX_BYTES)))
    assert len(only_page(source).body) == MAX_BYTES + 1


def members(count: int = 6) -> list[bytes]:
    return [gzip.compress(warc_record(f"http://h/{number}", article(number).encode())) for number in range(count)]


def flip(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "flipped bit": lambda member: flip(member, len(member) // 2),
    "checksum": lambda member: flip(member, len(member) - 6),
    "gzip header": lambda member: bytes(10) + member[10:],
    "WARC header": lambda member: gzip.compress(gzip.decompress(member).replace(b"WARC/1", b"CRAW/1")),
    "removed": lambda member: member[: len(member) // 2],
}


@pytest.mark.parametrize(("held", "most"), [(1 << 20, 1), (1000, 2)])  # a whole member, or pieces of it
def test_a_damaged_member_costs_no_other_member(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int, most: int
) -> None:
    monkeypatch.setattr("crawler_dedup.batch.formats.gzipmembers._HELD", held)
    for damaged, kind in product([0, 2, 5], DAMAGES):
        source, parts = tmp_path / "pages.warc.gz", members()
        parts[damaged] = DAMAGES[kind](parts[damaged])
        source.write_bytes(b"".join(parts))
        *pages, last = read(source)
        urls = [page.url for page in pages if isinstance(page, InputPage)]
        assert urls == [f"http://h/{number}" for number in range(6) if number != damaged]
        assert isinstance(last, PassedOver)
        assert (last.reason, last.is_bad) == (PART_IS_DAMAGED, True)
        with (tmp_path / "copy.warc.gz").open("wb") as copy:
            assert 1 <= module_of("warc").copy_input(source, copy, {}, {}).damaged <= most
        assert [page.url for page in pages_of(tmp_path / "copy.warc.gz")] == urls


def test_bytes_that_look_like_members_are_decompressed_a_few_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every few bytes, a member begins with a block of 64 KB that has the starts of many others.
    start = gzip.compress(b"")[:10] + b"\x00\xff\xff\x00\x00WARC/1.1\r\n"
    content, work = start * 40_000, Counter[str]()

    class Counting:
        """Counts the bytes that are decompressed."""

        def __init__(self, wbits: int) -> None:
            self._real = zlib.decompressobj(wbits)

        def decompress(self, piece: bytes, most: int) -> bytes:
            decompressed = self._real.decompress(piece, most)
            work["bytes"] += len(decompressed)
            return decompressed

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    counting = SimpleNamespace(decompressobj=Counting, error=zlib.error)
    monkeypatch.setattr("crawler_dedup.batch.formats.gzipmembers.zlib", counting)
    members = GzipMembers(BytesIO(content))
    while members.read(1 << 16) or members.resume():
        pass
    assert len(members.damaged) > 10
    assert work["bytes"] < 5 * len(content) + (2 << 20)


# WACZ


def test_a_compressed_part_of_a_wacz_file_is_read(tmp_path: Path) -> None:
    assert read(write_wacz(tmp_path / "a.wacz", PAGES, ZIP_DEFLATED)) == read(write_wacz(tmp_path / "b.wacz", PAGES))


def test_a_damaged_part_of_a_wacz_file_affects_no_other_part(tmp_path: Path) -> None:
    source = write_wacz(tmp_path / "pages.wacz", PAGES)
    content = bytearray(source.read_bytes())
    place = content.index(b"archive/data.warc.gz") + 600  # in the first WARC file
    content[place : place + 20] = bytes(20)
    source.write_bytes(content)
    records = read(source)
    assert [record.record for record in records] == list(range(len(records)))
    assert any(isinstance(record, PassedOver) and record.is_bad for record in records)
    last = [record.url for record in records if isinstance(record, InputPage)][-3:]
    assert last == [page.url for page in PAGES[2:]]


def test_wacz_files_are_not_written(tmp_path: Path) -> None:
    source = write_wacz(tmp_path / "pages.wacz", PAGES)
    with pytest.raises(DedupError, match=r"pages\.wacz: WACZ files are not written"):
        job([source], tmp_path)
    assert len(table(tmp_path / "decisions" / KEPT)) == len(PAGES)


# Damage


def damage(content: bytes, seed: int) -> bytes:
    """Change, remove or add some bytes, or cut off the rest."""
    source, damaged = random.Random(seed), bytearray(content)
    for _ in range(source.randint(1, 4)):
        place = source.randrange(len(damaged) + 1)
        match source.randrange(4):
            case 0:
                damaged[place : place + 1] = source.randbytes(1)
            case 1:
                del damaged[place : place + source.randrange(50)]
            case 2:
                damaged[place:place] = source.randbytes(source.randrange(20))
            case _:
                del damaged[place:]
    return bytes(damaged)


@pytest.mark.parametrize("name", WRITERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(seed=44)
@given(seed=st.integers(0, 1 << 32))
def test_readable_records_of_a_damaged_file_are_numbered_and_copied(tmp_path: Path, name: str, seed: int) -> None:
    whole = WRITERS[name](tmp_path / name, PAGES).read_bytes()
    source = tmp_path / f"damaged-{name}"
    source.write_bytes(damage(whole, seed))
    try:
        records = read(source)
    except DedupError:  # it is no such file any more, or lacks a column
        records = []
    numbers = [record.record for record in records]
    assert numbers == sorted(set(numbers))
    try:
        with (tmp_path / f"copy-{name}").open("wb") as copy:
            damaged = module_of(format_of(source)).copy_input(source, copy, {}, {}).damaged
    except (DedupError, OSError):
        return
    parts = [record for record in records if isinstance(record, PassedOver) and record.reason == PART_IS_DAMAGED]
    assert len(parts) <= damaged
    # FastWARC takes a line that begins with a bare CR for the end of the header, and then finds no record behind it.
    if format_of(source) == "warc" and not re.search(rb"\r\n\r[^\n]", source.read_bytes()):
        assert len(read_with_fastwarc(tmp_path / f"copy-{name}")) == len(read(tmp_path / f"copy-{name}"))
    copied = [record for record in read(tmp_path / f"copy-{name}") if isinstance(record, InputPage)]
    assert [(page.url, page.body) for page in copied] == [
        (page.url, page.body) for page in records if isinstance(page, InputPage)
    ]
