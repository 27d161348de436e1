"""A signed shard: the signed pages of one input as a Parquet file, a page a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from crawler_dedup.errors import DedupError
from crawler_dedup.index.profiles import site_key
from crawler_dedup.index.records import name_page
from crawler_dedup.signedpage import PageKind, SignedPage, is_well_formed
from crawler_dedup.signing.lookup import title_key

TEXT, THIN, UNSIGNED = "text", "thin", "unsigned"
KINDS = {PageKind.TEXT: TEXT, PageKind.THIN: THIN}

_TYPES = {
    "binary": pa.binary(),
    "float": pa.float32(),
    "int": pa.int32(),
    "long": pa.int64(),
    "short": pa.int16(),
    "string": pa.string(),
    "ulong": pa.uint64(),
}

COLUMNS = (
    "record long, id string, url string, kind string, reason string, signature ulong, name ulong, title ulong, site ulong,"
    " time long, size long, chars long, page binary"
)
"""The columns of a shard.

Record: number of the page in the input. Id: its key. Reason: why it is unsigned. Name, title, site: 64-bit hashes of its
key in its scope, of the title under which it is filed (0: under none), and of its site in its scope (0: it has none).
Page: the signed page, as msgpack.
"""


def arrow_schema(columns: str) -> pa.Schema:
    """Return the schema of *columns*, which are written as Spark reads them: ``"row long, id string"``."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in map(str.split, columns.split(","))])


SCHEMA = pa.schema([field.with_nullable(False) for field in arrow_schema(COLUMNS)])

_COMPRESSION = {name: "lz4" if name == "page" else "zstd" for name in SCHEMA.names}
"""Pages are mostly hashes: with Zstandard they take a tenth less, and twice as long to read."""

_GROUP_ROWS = 2_000
_READ_ROWS = 2_000

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SignedPage).decode


def columns_of(record: int, time: int, page: SignedPage) -> tuple[Any, ...]:
    """Return the values of a row, in the order of :data:`SCHEMA`.

    Args:
        record: the number of the page's record in the input.
        time: in seconds since 1970; 0: not known.
    """
    return (
        record,
        page.key,
        page.url,
        UNSIGNED if page.unsigned else KINDS[page.kind],
        page.unsigned,
        page.signature,
        int.from_bytes(name_page(page.scope, page.key)[:8], "big"),
        title_key(page),
        int.from_bytes(site_key(page.scope, page.url)[:8], "big"),
        time,
        page.size,
        page.chars,
        _encode(page),
    )


def write_shard(file: IO[bytes], rows: Iterable[Sequence[Any]]) -> None:
    """Write *rows*, which are made meanwhile, as a signed shard into an open file."""
    with pq.ParquetWriter(
        file,
        SCHEMA,
        compression=_COMPRESSION,
        compression_level={name: 1 for name, codec in _COMPRESSION.items() if codec == "zstd"},
        write_page_checksum=True,
        use_dictionary=["kind", "reason"],
    ) as writer:
        for batch in make_batches(rows, SCHEMA, _GROUP_ROWS):
            writer.write_batch(batch)


def make_batches(rows: Iterable[Sequence[Any]], schema: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """Yield *rows* as batches of *schema*, of at most *size* rows each."""
    waiting = iter(rows)
    while batch := list(islice(waiting, size)):
        columns = zip(zip(*batch, strict=True), schema, strict=True)
        yield pa.RecordBatch.from_arrays([pa.array(column, field.type) for column, field in columns], schema=schema)


def read_columns(path: Path, columns: Sequence[str], rows: int = _READ_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield columns of a shard, in batches of *rows*. Raises :class:`DedupError` where it is damaged."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield from file.iter_batches(rows, columns=list(columns), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise DedupError(f"{path} is damaged: {error}") from None


def decode_page(content: bytes) -> SignedPage:
    """Return the page that the column ``page`` holds; raise :class:`DedupError` for anything else."""
    try:
        page = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DedupError(f"A signed page is damaged: {error}. Sign the inputs again, into another directory.") from None
    if not is_well_formed(page):
        raise DedupError(
            "A signed page is damaged: a part has a length that it cannot have. Sign the inputs again, into another"
            " directory."
        )
    return page
