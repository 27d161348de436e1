import random
import shutil
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler_dedup import ExportUnreadable, IndexMismatch, SignedPage
from crawler_dedup.errors import DedupError
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.header import Header
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record, encode
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.transfer import FORMAT, Export, write_export
from crawler_dedup.inspection.verification import find_problems
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.lookup import lookup_of
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.system.compression import zstd
from tests.support.examples import examples
from tests.support.indexing import ByDistance, clusters, page

LENGTH = struct.Struct("<I")
SIZE = 400
KEY = 24 * "0"


def values(export: bytes) -> list[bytes]:
    """Return the values in an export: the header, records, an empty one, and sites."""
    content = zstd.decompress(export[export.index(b"\n") + 1 :])
    parts, at = [], 0
    while at < len(content):
        end = at + LENGTH.size + LENGTH.unpack_from(content, at)[0]
        parts.append(content[at + LENGTH.size : end])
        at = end
    return parts


def with_values(export: bytes, changed: list[bytes]) -> bytes:
    """Return *export* with other values, and with a sound checksum."""
    content = b"".join(LENGTH.pack(len(value)) + value for value in changed)
    options: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}
    return export[: export.index(b"\n") + 1] + zstd.compress(content, options=options)


def make(directory: Path, signatures: list[int]) -> None:
    store = DirectoryIndex.open(directory, {"scheme": SimHash().spec}, {"xxhash": "1"}, map_size=1 << 30, fresh=False)
    pages = [page(signature, signature, f"scope {signature % 3}") for signature in signatures]
    store.offer(pages, ByDistance(0), RunContext(run=7)).result()
    store.close()


def contents(directory: Path) -> dict[str, Record]:
    """Return the records of a sound index by the keys of their pages."""
    with closing(DirectoryIndex.attach(directory)) as store:
        assert find_problems(store, lookup_of(store.header.spec)) == []
        content = {record.page.key: record for record in store.records()}
        assert len(store) == len(content)
    return content


def exported(directory: Path, file: Path) -> int:
    with closing(DirectoryIndex.attach(directory)) as store:
        return transfer.export_index(store, file, lambda _: None)


def imported(file: Path, directory: Path) -> tuple[int, int]:
    return transfer.import_index(Export(file), directory, lookup_of, lambda _: None, lambda _: None)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index."""
    directory = tmp_path_factory.mktemp("source") / "index"
    make(directory, clusters(1, SIZE))
    return directory


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return another index with some of the same content."""
    directory = tmp_path_factory.mktemp("target") / "target"
    make(directory, [*clusters(1, SIZE)[::3], *clusters(2, 100)])
    return directory


@pytest.fixture(scope="module")
def export(source: Path) -> Path:
    """Return the export of the index."""
    file = source.with_name("export")
    exported(source, file)
    return file


def test_an_exported_and_imported_index_has_the_same_content(source: Path, export: Path, tmp_path: Path) -> None:
    total = len(contents(source))
    assert imported(export, tmp_path / "new") == (total, total)
    assert contents(tmp_path / "new") == contents(source)
    assert imported(export, tmp_path / "new") == (total, 0)
    assert len(Export(export)) == total
    assert exported(tmp_path / "new", tmp_path / "again") == total
    assert imported(tmp_path / "again", source) == (total, 0)


def test_an_import_keeps_the_existing_content(source: Path, target: Path, export: Path, tmp_path: Path) -> None:
    merged = shutil.copytree(target, tmp_path / "merged")
    expected = {**contents(source), **contents(target)}
    assert imported(export, merged) == (len(contents(source)), len(expected) - len(contents(target)))
    assert contents(merged) == expected


def test_an_export_replaces_a_file_only_when_it_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")

    def broken() -> object:
        yield Record(SignedPage("k", "u", ""))
        raise OSError("the index is gone")

    with pytest.raises(OSError, match="gone"):
        write_export(file, Header(2, {}, {}), broken())  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_bytes() == b"before"


# Damage


def damaged(export: bytes, data: st.DataObject) -> bytes:
    """Return an export that is damaged in one of several ways."""
    source = random.Random(data.draw(st.integers(0, 2**32), label="seed"))
    at, length = source.randrange(len(export)), source.randint(1, 300)
    ways = {
        "flip": export[:at] + bytes([export[at] ^ source.randint(1, 255)]) + export[at + 1 :],
        "end": export[:at],
        "append": export + source.randbytes(length),
        "overwrite": export[:at] + source.randbytes(length) + export[at + length :],
        "cut out": export[:at] + export[at + length :],
        "noise": source.choice([b"", export[:80]]) + source.randbytes(source.randint(0, 1000)),
    }
    return ways[data.draw(st.sampled_from(list(ways)), label="way")]


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_export_changes_nothing(
    source: Path, target: Path, export: Path, tmp_path: Path, data: st.DataObject
) -> None:
    file = tmp_path / "file"
    file.write_bytes(damaged(export.read_bytes(), data))
    before = (target / "data.mdb").read_bytes()
    shutil.rmtree(tmp_path / "none", ignore_errors=True)
    try:
        imported(file, tmp_path / "none")
    except ExportUnreadable as error:
        assert str(file) in str(error)  # noqa: PT017
    else:  # a byte that says how the content is packed, and not what it is
        assert contents(tmp_path / "none") == contents(source)
        return
    with pytest.raises(ExportUnreadable, match=str(file)):
        imported(file, target)
    assert not (tmp_path / "none").exists()
    assert (target / "data.mdb").read_bytes() == before


def test_an_export_of_another_configuration_is_not_imported(tmp_path: Path) -> None:
    make(tmp_path / "index", clusters(1, 50))
    exported(tmp_path / "index", tmp_path / "file")
    DirectoryIndex.open(tmp_path / "other", {"scheme": "another"}, {}, map_size=1 << 30, fresh=False).close()
    before = (tmp_path / "other" / "data.mdb").read_bytes()
    with pytest.raises(IndexMismatch):
        imported(tmp_path / "file", tmp_path / "other")
    assert (tmp_path / "other" / "data.mdb").read_bytes() == before


def row(*changed: tuple[int, object], **fields: object) -> bytes:
    """Return an encoded record with *changed* parts and *fields* of the page."""
    page = {**msgspec.structs.asdict(SignedPage(KEY, "u", "")), **fields}
    record: list[object] = [list(page.values()), 0, 0, 0, 0, 1, True, [], False, []]
    for at, value in changed:
        record[at] = value
    return msgspec.msgpack.encode(record)


def nested(depth: int) -> bytes:
    """Return a record with an additional part in nested lists."""
    return b"\x9b" + row()[1:] + b"\x91" * depth + b"\0"


def test_a_value_is_an_encoded_record() -> None:
    assert row() == encode(Record(SignedPage(KEY, "u", ""), settled=1))


Change = Callable[[bytes], bytes]


def with_line(number: int, total: int) -> Change:
    return lambda whole: b"crawler-dedup export %d %20d\n" % (number, total) + whole.partition(b"\n")[2]


def with_parts(change: Callable[[list[bytes]], list[bytes]]) -> Change:
    return lambda whole: with_values(whole, change(values(whole)))


def with_spec(spec: dict[str, str]) -> Change:
    return with_parts(
        lambda parts: [msgspec.msgpack.encode({**msgspec.msgpack.decode(parts[0]), "spec": spec}), *parts[1:]]
    )


def with_record(record: bytes) -> Change:
    return with_parts(lambda parts: [*parts[:20], record, *parts[21:]])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (with_line(FORMAT + 1, SIZE), f"its format is {FORMAT + 1}, this version reads {FORMAT}"),
        *((with_line(FORMAT, total), f"should have {total:,}") for total in (0, 2**63, 2**64 - 1)),
        *((with_spec(spec), "") for spec in ({}, {"tables": "4"}, {"scheme": "other"})),
        (with_parts(lambda parts: [parts[0], *parts[2:]]), ""),  # fewer records
        (with_parts(lambda parts: [*parts[:2], parts[1], *parts[2:]]), ""),  # more records
        (with_parts(lambda parts: [parts[0], b"\x93", *parts[2:]]), ""),  # no msgpack
        (with_parts(lambda parts: [parts[0].replace(b"scheme", b"schem\xff"), *parts[1:]]), ""),
        (with_parts(lambda parts: parts[:2]), ""),  # only a record
        (with_parts(lambda parts: [*parts, b""]), ""),  # one part more
        *(
            (with_record(record), "a record is damaged")
            for record in (
                row(url="####").replace(b"####", b"\xff\xfe\xc3\x28"),
                row(key=5),
                row(scope=b"bytes"),
                row(kind=3),
                row(cover=b"\2\0t"),
                row(links=b"12345"),
                row(kind=PageKind.THIN, value=b"abc"),  # a part of a key
                row(kind=PageKind.THIN, value=bytes(range(64))),  # more keys than a page has
                row(signature=-5),
                row((0, [])),
                row((3, float("nan"))),
                row((7, [b"0123456789abc"])),
                row()[:-5],
                row() + b"\0",
                nested(100_000),
            )
        ),
    ],
)
def test_an_inconsistent_export_is_refused_even_with_a_correct_checksum_and_changes_nothing(
    export: Path, target: Path, tmp_path: Path, change: Change, sentence: str
) -> None:
    file, before = tmp_path / "file", (target / "data.mdb").read_bytes()
    file.write_bytes(change(export.read_bytes()))
    for directory in (target, tmp_path / "none"):
        with pytest.raises(DedupError) as caught:
            imported(file, directory)
        assert sentence in str(caught.value)
    assert (target / "data.mdb").read_bytes() == before
    assert not (tmp_path / "none").exists()


def test_a_wrong_number_of_records_has_a_length(export: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(with_line(FORMAT, 2**64 - 1)(export.read_bytes()))
    assert len(Export(tmp_path / "file")) >= 0
