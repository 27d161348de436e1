"""The results of a search: the file of the pages that are kept, and the file of those that have a representative.

Both are in the order of the inputs: the pages of one input are together.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from crawler_dedup.batch.decide import PickedPages, PlacedDecision
from crawler_dedup.batch.neighbours import Places
from crawler_dedup.batch.shard import Rows, arrow_schema, read_columns
from crawler_dedup.decision import Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.rules.table import NAMES
from crawler_dedup.system.files import open_replacement

KEPT, CLUSTERS = "kept.parquet", "clusters.parquet"

KEPT_SCHEMA = arrow_schema(
    "id string, url string, verdict string, reason string, duplicates long, input string, record long"
)
CLUSTERS_SCHEMA = arrow_schema(
    "duplicate string, representative string, verdict string, rule string, distance short, resemblance float,"
    " coverage float, input string, record long, representative_input string, representative_record long"
)

VERDICTS = tuple(Verdict)
Codes = NDArray[np.uint8]
"""For each row, the index of its verdict in :data:`VERDICTS`."""

LEFT_OUT_BYTES = 48
"""Bytes of memory that a page that is left out takes."""

_KEPT_ROWS, _GROUP_ROWS = 10_000, 50_000  # of a row group
_NOTHING = -1
"""The distance, or the place of the representative, of a page that has none."""
_RULES = pa.array(NAMES, pa.string())
_VERDICTS = pa.array([str(verdict) for verdict in VERDICTS], pa.string())
_ROW = struct.Struct("=qqqihffbb")
_NAMES = ("place", "kept", "start", "length", "distance", "resemblance", "coverage", "verdict", "rule")
_COLUMNS = np.dtype({"names": _NAMES, "formats": ["i8", "i8", "i8", "i4", "i2", "f4", "f4", "i1", "i1"]})
"""What is held of a page: its place and that of its representative, or the representative's address; and the match."""


@contextmanager
def _open_table(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Open a Parquet file for writing, which replaces *path* once it is complete."""
    with (
        open_replacement(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        yield writer


def write_kept(path: Path, rows: Rows, codes: Codes, duplicates: Places) -> None:
    """Write the pages that are kept, in the order of the inputs.

    Args:
        rows: all pages.
        codes: the verdict of each row.
        duplicates: the number of pages that each row represents.
    """
    names = np.array([str(verdict) for verdict in VERDICTS])
    passing = np.array([verdict not in (Verdict.DUPLICATE, Verdict.UNCHANGED) for verdict in VERDICTS])
    with _open_table(path, KEPT_SCHEMA) as writer:
        for shard, first in zip(rows.shards, rows.starts.tolist(), strict=False):
            start = first
            for batch in read_columns(shard.data, ("id", "url", "reason", "record"), _KEPT_ROWS):
                part = slice(start, start + len(batch))
                start = part.stop
                picked = np.flatnonzero(passing[codes[part]])
                kept = batch.take(picked)
                columns = {
                    "verdict": pa.array(names[codes[part][picked]]),
                    "duplicates": pa.array(duplicates[part][picked]),
                    "input": pa.array([shard.source.path] * len(kept), pa.string()),
                    **{name: kept.column(name) for name in kept.schema.names},
                }
                writer.write_table(pa.table([columns[name] for name in KEPT_SCHEMA.names], schema=KEPT_SCHEMA))


class Clusters:
    """Collects the pages that have a representative.

    Args:
        pages: the pages that are decided.
        file: an empty file, open to write and read, for the addresses of representatives that were kept before.
        against: path of the index or collection that has these representatives; ``""``: there is none.
    """

    def __init__(self, rows: Rows, pages: PickedPages, file: IO[bytes], against: str = "") -> None:
        self._rows = rows
        self._pages = pages
        self._file = file
        self._against = against
        self._left_out = bytearray()
        self._written = 0

    def add(self, decided: PlacedDecision) -> None:
        """Add a page, if it has a representative."""
        match = decided.match
        if match is None:
            return
        kept, distance = (_NOTHING if value is None else value for value in (decided.representative, match.distance))
        shares = (math.nan if share is None else share for share in (match.resemblance, match.coverage))
        length = self._file.write(decided.address.encode())
        codes = VERDICTS.index(decided.verdict), NAMES.index(match.rule)
        self._left_out += _ROW.pack(decided.place, kept, self._written, length, distance, *shares, *codes)
        self._written += length

    def write(self, path: Path) -> None:
        """Write the file, in the order of the inputs."""
        left_out = np.frombuffer(self._left_out, _COLUMNS)
        order = np.argsort(left_out["place"])
        with _open_table(path, CLUSTERS_SCHEMA) as writer:
            for first in range(0, len(order), _GROUP_ROWS):
                writer.write_table(self._make_table(left_out[order[first : first + _GROUP_ROWS]]))

    def _make_table(self, pages: np.ndarray[Any, Any]) -> pa.Table:
        """Return the rows about *pages*, which are in the order of the inputs."""
        columns = {name: pages[name].copy() for name in _NAMES}
        kept, records = columns["kept"], self._pages.records
        is_known = kept != _NOTHING
        representatives = zip(kept.tolist(), columns["start"].tolist(), columns["length"].tolist(), strict=True)
        values = {
            "duplicate": pa.array([self._pages.read(place).key for place in columns["place"].tolist()], pa.string()),
            "representative": pa.array(
                [
                    self._read_address(start, length) if place == _NOTHING else self._pages.read(place).key
                    for place, start, length in representatives
                ],
                pa.string(),
            ),
            "verdict": _VERDICTS.take(pa.array(columns["verdict"])),
            "rule": _RULES.take(pa.array(columns["rule"])),
            "distance": pa.array(columns["distance"], mask=columns["distance"] == _NOTHING),
            "resemblance": pa.array(columns["resemblance"], from_pandas=True),
            "coverage": pa.array(columns["coverage"], from_pandas=True),
            "input": self._inputs_of(columns["place"]),
            "record": pa.array(records[columns["place"]]),
            "representative_input": pc.if_else(pa.array(is_known), self._inputs_of(kept), self._against),
            "representative_record": pa.array(records[kept], mask=~is_known),
        }
        return pa.table([values[name] for name in CLUSTERS_SCHEMA.names], schema=CLUSTERS_SCHEMA)

    def _read_address(self, start: int, length: int) -> str:
        self._file.seek(start)
        return self._file.read(length).decode()

    def _inputs_of(self, places: Places) -> pa.Array:
        rows = self._pages.rows[places]
        shards = np.searchsorted(self._rows.starts, rows, side="right") - 1
        paths = pa.array([shard.source.path for shard in self._rows.shards], pa.string())
        return paths.take(pa.array(shards))


def read_clusters(path: Path, source: str) -> list[dict[str, Any]]:
    """Return the rows about the pages of one input. Raises :class:`DedupError` where the file is damaged."""
    try:
        rows: list[dict[str, Any]] = pq.read_table(
            path, filters=[("input", "=", source)], page_checksum_verification=True
        ).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DedupError(f"{path} is damaged: {error}. Run `crawler-dedup batch find` again.") from None
    return rows
