"""Hostile exports: small files that require much memory. Their cost is measured in a child process."""

import random
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import pytest

from crawler_dedup import SignedPage
from crawler_dedup.index.header import Header
from crawler_dedup.index.records import Record, encode
from crawler_dedup.inspection.transfer import _MAX_VALUE, FORMAT, Export, write_export
from crawler_dedup.system.compression import zstd

ROOT = Path(__file__).parents[2]
SPEC = {"scheme": "simhash"}
HEADER = msgspec.msgpack.encode(Header(5, SPEC, {}))
MEGABYTE = 1 << 20

Part = bytes | tuple[bytes, int]
"""Bytes, and how often they stand there."""


def repeated(parts: tuple[Part, ...]) -> list[tuple[bytes, int]]:
    return [part if isinstance(part, tuple) else (part, 1) for part in parts]


def length_of(*parts: Part) -> int:
    return sum(len(part) * times for part, times in repeated(parts))


def value(*parts: Part, length: int | None = None) -> list[Part]:
    """Return a value with its length; *length* is what it says it is, where that is a lie."""
    return [(length_of(*parts) if length is None else length).to_bytes(4, "little"), *parts]


def export(*values: list[Part], total: int, window: int = 0) -> bytes:
    """Return an export of *values*, of which an empty one is added.

    To unpack it takes a window of 2 to the power of *window* bytes, where that is given.
    """
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: window})
    packed = b"crawler-dedup export %d %20d\n" % (FORMAT, total)
    for part, times in repeated(tuple(part for one in [*values, value()] for part in one)):
        at_once = max(1, MEGABYTE // max(1, len(part)))
        for left in range(times, 0, -at_once):
            packed += packer.compress(part * min(left, at_once))
    return packed + packer.flush()


def array_head(count: int) -> bytes:
    return b"\xdd" + count.to_bytes(4, "big")


def _exports() -> dict[str, bytes]:
    head = value(HEADER)
    record = encode(Record(SignedPage("k", "u", "s"), settled=1))
    without_aliases = record.removesuffix(b"\x90")
    aliases = 30 * MEGABYTE
    most = _MAX_VALUE // 2
    return {
        "a record without end": export(head, value(record, (b"\0", 1 << 30)), total=1),
        "a count without values": export(head, value(array_head(2**32 - 1)), total=1),
        "nothing but values": export(head, value(array_head(most), (b"\xc4\x00", most - 8)), total=1),
        "brackets in a large window": export(
            head, value(b"\x93\xc4\x00\x90", (b"\x91", 60 * MEGABYTE)), total=0, window=26
        ),
        "brackets in a record": export(head, value((b"\x91", 60 * MEGABYTE)), total=1),
        "aliases without end": export(
            head, value(without_aliases, array_head(aliases), (b"\xc4\x00", aliases)), total=1
        ),
        "snapshots without end": export(
            head,
            value(),
            value(b"\x96\xc4\x0c", bytes(12), bytes(3), b"\xc4\0", array_head(most), (b"\x90", most)),
            total=0,
        ),
        "a value that is not there": export(head, value(b"x", length=1 << 25), total=0),
        "a header without end": export(value((b"\x91", 2 * MEGABYTE)), total=0),
        "brackets in the header": export(value((b"\x91", 500_000)), total=0),
        "a first line without end": b"crawler-dedup export " + b"9" * 60 * MEGABYTE,
        "more records than the first line says": export(head, *[value(record)] * 9, total=1),
    }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Return hostile files by what is wrong with them."""
    directory = tmp_path_factory.mktemp("hostile")
    files = {}
    for name, content in _exports().items():
        files[name] = directory / name
        files[name].write_bytes(content)
    return files


READ_THEM = """
import resource, sys
from pathlib import Path
from crawler_dedup import ExportUnreadable
from crawler_dedup.index import opening
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.transfer import Export
from crawler_dedup.signing.lookup import lookup_of

def peak():
    (line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) >> 10

resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))  # a test that fails takes no other process with it
before = peak()
for file in map(Path, sys.argv[1:]):
    try:
        transfer.import_index(Export(file), file.with_name("index"), lookup_of, lambda _: None, lambda _: None)
    except ExportUnreadable as error:
        print(f"{file.name}: {error}")
    print(f"{file.name} takes {peak() - before}")
"""


def measure(files: Iterable[Path]) -> tuple[str, dict[str, int]]:
    """Import *files* in a child process; return its output, and the megabytes that each takes, by name."""
    command = [sys.executable, "-c", READ_THEM, *map(str, files)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert child.returncode == 0, child.stderr
    takes = re.findall(r"^(.+) takes (\d+)$", child.stdout, re.MULTILINE)
    return child.stdout, {name: int(megabytes) for name, megabytes in takes}


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of the memory is read from /proc"
)


@needs_proc
def test_long_records_are_imported_with_little_memory(tmp_path: Path) -> None:
    pages = (SignedPage(f"{number:024}", "u", "s", text=bytes(MEGABYTE)) for number in range(300))
    write_export(tmp_path / "file", Header(5, SPEC, {}), (Record(page, settled=1) for page in pages))
    _, takes = measure([tmp_path / "file"])
    assert takes["file"] < 256


@needs_proc
def test_a_hostile_export_is_refused_with_little_memory(hostile: Mapping[str, Path]) -> None:
    output, takes = measure(hostile.values())
    for name in hostile:
        assert f"{name}: {hostile[name]} cannot be read as an export: " in output
    assert takes.keys() == hostile.keys()
    assert max(takes.values()) < 256, takes
    assert not (hostile["brackets in a record"].with_name("index")).exists()


def test_a_record_that_is_longer_than_a_value_of_a_small_file_is_exported_and_imported(tmp_path: Path) -> None:
    record = Record(SignedPage(24 * "0", "u", "s", text=random.Random(1).randbytes(_MAX_VALUE + 1)), settled=1)
    write_export(tmp_path / "file", Header(5, SPEC, {}), [record])
    assert list(Export(tmp_path / "file").records()) == [record]


def test_the_document_names_the_format_and_the_limits() -> None:
    document = " ".join((ROOT / "docs" / "reference" / "export.md").read_text(encoding="utf-8").split())
    assert f"Version {FORMAT}." in document
    assert f"{_MAX_VALUE:,} bytes" in document
    fields = ", ".join(SignedPage.__struct_fields__)
    assert f"[{fields}]" in document
    assert f"`[{', '.join(Record.__struct_fields__)}]`" in document
