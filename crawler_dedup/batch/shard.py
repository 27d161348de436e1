"""A signed shard: the signed pages of one input as a Parquet file, a page a row."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawler_dedup.batch.collection import Receipt, Shard
from crawler_dedup.batch.neighbours import Flags, Places
from crawler_dedup.errors import DedupError
from crawler_dedup.hashes import Numbers, mix_bits
from crawler_dedup.index.profiles import FrozenProfiles, site_key
from crawler_dedup.index.records import hash_scope, name_page
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signedpage import PageKind, SignedPage, is_well_formed
from crawler_dedup.signing.lookup import title_key

TEXT, THIN, UNSIGNED = "text", "thin", "unsigned"
KINDS = {PageKind.TEXT: TEXT, PageKind.THIN: THIN}
_REMEDY = "Run `crawler-dedup batch sign` again, with another directory."

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
        raise DedupError(f"{path} is damaged: {error}. {_REMEDY}") from None


def decode_page(content: bytes) -> SignedPage:
    """Return the page that the column ``page`` holds; raise :class:`DedupError` for anything else."""
    try:
        page = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DedupError(f"A signed page is damaged: {error}. {_REMEDY}") from None
    if not is_well_formed(page):
        raise DedupError(f"A signed page is damaged: a part has an impossible length. {_REMEDY}")
    return page


ROW_BYTES = 42
"""Bytes of memory that a row takes."""
ORDERS = ("time", "size", "chars")
"""Columns by which rows can be ordered."""
ENTRY_BYTES = 56
"""Bytes of memory that a key of a page takes while keys are compared."""

_SPREAD = 0x9E3779B97F4A7C15
_ALL_BITS = (1 << 64) - 1


class StoredPages(NamedTuple):
    """A batch of pages as a shard contains them.

    Attributes:
        rows: their numbers in the collection, ascending.
        records: the numbers of their records in the input.
        contents: the signed pages, to be decoded.
    """

    rows: Places
    records: Places
    contents: Sequence[bytes]


@dataclass(frozen=True)
class Rows:
    """All pages of a collection, in the order of the inputs and of the records in each.

    Attributes:
        shards: the shards, in their order.
        starts: the first row of each shard, followed by the number of all rows.
        signatures: the signature of each page, as a number.
        names: 64-bit hashes of the keys of pages in their scopes.
        titles: 64-bit hashes of the titles under which texts are filed; 0: under none.
        sites: 64-bit hashes of the sites of pages; 0: none.
        texts: whether a page is compared by its main text.
        thins: whether a page is thin. Pages that are neither are not signed.
        order_keys: numbers by which rows are ordered; ``None``: they are in order.
    """

    shards: Sequence[Shard]
    starts: Places
    signatures: Numbers
    names: Numbers
    titles: Numbers
    sites: Numbers
    texts: Flags
    thins: Flags
    order_keys: Places | None

    def __len__(self) -> int:
        """Return how many rows there are."""
        return int(self.starts[-1])

    def sort(self, rows: Places) -> Places:
        """Return the indexes of *rows*, which ascend, in the order in which their pages are decided."""
        if self.order_keys is None:
            return np.arange(len(rows))
        return np.argsort(self.order_keys[rows], kind="stable")

    def read_contents(self, wanted: Flags) -> Iterator[StoredPages]:
        """Yield the *wanted* rows, ascending, in batches. Raises :class:`DedupError` where a shard is damaged."""
        for shard, first, end in zip(self.shards, self.starts.tolist(), self.starts[1:].tolist(), strict=False):
            if not wanted[first:end].any():
                continue
            start = first
            for batch in read_columns(shard.data, ("record", "page")):
                places = np.flatnonzero(wanted[start : start + len(batch)])
                if len(places):
                    picked = batch.take(places)
                    records = picked.column("record").to_numpy()
                    yield StoredPages(places + start, records, picked.column("page").to_pylist())
                start += len(batch)

    def read_pages(self, wanted: Flags) -> Iterator[tuple[int, SignedPage]]:
        """Yield the *wanted* rows with their pages, ascending. Raises :class:`DedupError` where a shard is damaged."""
        for stored in self.read_contents(wanted):
            yield from zip(stored.rows.tolist(), map(decode_page, stored.contents), strict=True)


def read_rows(shards: Sequence[Shard], receipts: Sequence[Receipt], order: str = "") -> Rows:
    """Read the rows of all shards.

    Args:
        order: a column of :data:`ORDERS`, with a minus in front of it for the largest first; ``""``: order of the inputs.

    Raises:
        DedupError: a shard is damaged, or there is no such column.
    """
    require_order(order)
    column = order.removeprefix("-")
    starts = np.concatenate([[0], np.cumsum([receipt.pages for receipt in receipts])]).astype(np.int64)
    count = int(starts[-1])
    signatures, names, titles, sites = (np.empty(count, dtype=np.uint64) for _ in range(4))
    texts, thins = (np.empty(count, dtype=bool) for _ in range(2))
    order_keys = np.empty(count, dtype=np.int64) if column else None
    columns = ["kind", "signature", "name", "title", "site", *filter(None, [column])]
    for shard, first, end in zip(shards, starts.tolist(), starts[1:].tolist(), strict=False):
        at = first
        for batch in read_columns(shard.data, columns):
            part = slice(at, at + len(batch))
            at = part.stop
            if at > end:
                break
            columns_of_numbers = (("signature", signatures), ("name", names), ("title", titles), ("site", sites))
            for name, numbers in columns_of_numbers:
                numbers[part] = batch.column(name).to_numpy()
            for kind, flags in ((TEXT, texts), (THIN, thins)):
                flags[part] = pc.equal(batch.column("kind"), kind).to_numpy(zero_copy_only=False)
            if order_keys is not None:
                keys = batch.column(column).to_numpy()
                order_keys[part] = -keys if order.startswith("-") else keys
        if at != end:
            raise DedupError(
                f"{shard.data} is damaged: it does not have the {end - first:,} pages that were written to it. {_REMEDY}"
            )
    return Rows(shards, starts, signatures, names, titles, sites, texts, thins, order_keys)


def require_order(order: str) -> None:
    """Raise :class:`DedupError` unless rows can be ordered by *order*, a column with or without a minus, or ``""``."""
    if order and order.removeprefix("-") not in ORDERS:
        column = order.removeprefix("-")
        raise DedupError(
            f"Pages cannot be ordered by {column!r}; allowed are {', '.join(f'{each}, -{each}' for each in ORDERS)}."
        )


class KeyEntries:
    """The keys of pages: a 64-bit hash of each key in its scope, and the place of its page."""

    def __init__(self) -> None:
        self._keys = array("Q")
        self._places = array("q")

    def __len__(self) -> int:
        """Return how many keys of pages there are."""
        return len(self._keys)

    def add(self, place: int, scope: str, keys: Iterable[int]) -> None:
        """Add the keys of a page."""
        spread = hash_scope(scope) * _SPREAD
        distinct = {(spread ^ key) & _ALL_BITS for key in keys}
        self._keys.extend(distinct)
        self._places.extend([place] * len(distinct))

    @property
    def keys(self) -> Numbers:
        """All keys, as 64-bit hashes of each in its scope."""
        return mix_bits(np.array(self._keys, dtype=np.uint64))

    @property
    def places(self) -> Places:
        """The place of the page of each key."""
        return np.array(self._places, dtype=np.int64)


def format_memory(size: int) -> str:
    """Return ``283M`` for a number of bytes, rounded up, as ``--memory`` reads it."""
    return f"{ceil(size / (1 << 20))}M"


def prepare_page(page: SignedPage, matcher: RuleMatcher, profiles: FrozenProfiles) -> SignedPage:
    """Return *page* with the keys under which it is filed and looked up."""
    return matcher.prepare(page, profiles.snapshot(site_key(page.scope, page.url)))
