"""The file of pages that have a representative, in the order of the inputs: the pages of one input stand together."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawler_dedup.batch.decide import PickedPages, PlacedDecision
from crawler_dedup.batch.output import VERDICTS, open_table
from crawler_dedup.batch.rows import Rows
from crawler_dedup.errors import DedupError
from crawler_dedup.rules.table import NAMES

CLUSTERS = "clusters.parquet"

CLUSTERS_SCHEMA = pa.schema(
    [
        pa.field("duplicate", pa.string()),
        pa.field("representative", pa.string()),
        pa.field("verdict", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("distance", pa.int16()),
        pa.field("resemblance", pa.float32()),
        pa.field("coverage", pa.float32()),
        pa.field("input", pa.string()),
        pa.field("record", pa.int64()),
        pa.field("representative_input", pa.string()),
        pa.field("representative_record", pa.int64()),
    ]
)

LEFT_OUT_BYTES = 48
"""Bytes of memory that a page that is left out takes."""

_GROUP_ROWS = 50_000
_NO_DISTANCE = -1
_NO_PLACE = -1
_RULES = pa.array(NAMES, pa.string())
_VERDICTS = pa.array([str(verdict) for verdict in VERDICTS], pa.string())


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
        self._places, self._representatives = array("q"), array("q")
        self._verdicts, self._rules, self._distances = array("b"), array("b"), array("h")
        self._resemblances, self._coverages = array("f"), array("f")
        self._address_ends = array("Q", [0])

    def add(self, decided: PlacedDecision) -> None:
        """Add a page, if it has a representative."""
        match = decided.match
        if match is None:
            return
        self._places.append(decided.place)
        self._verdicts.append(VERDICTS.index(decided.verdict))
        self._rules.append(NAMES.index(match.rule))
        self._distances.append(_NO_DISTANCE if match.distance is None else match.distance)
        self._resemblances.append(match.resemblance)
        self._coverages.append(match.coverage)
        self._representatives.append(_NO_PLACE if decided.representative is None else decided.representative)
        self._address_ends.append(self._address_ends[-1] + self._file.write(decided.address.encode()))

    def write(self, path: Path) -> None:
        """Write the file, in the order of the inputs."""
        order = np.argsort(np.frombuffer(self._places, np.int64)) if self._places else np.empty(0, np.int64)
        with open_table(path, CLUSTERS_SCHEMA) as writer:
            for first in range(0, len(order), _GROUP_ROWS):
                writer.write_table(self._make_table(order[first : first + _GROUP_ROWS]))

    def _make_table(self, chosen: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
        """Return the rows about the pages that were added with the numbers *chosen*."""

        def take(values: array[Any]) -> np.ndarray[Any, Any]:
            taken: np.ndarray[Any, Any] = np.array(values)[chosen]
            return taken

        places, kept = take(self._places), take(self._representatives)
        is_known = kept != _NO_PLACE
        distances = take(self._distances)
        records = self._pages.records
        columns = {
            "duplicate": pa.array([self._pages.read_id(place) for place in places.tolist()], pa.string()),
            "representative": pa.array(
                [
                    self._read_address(number) if place == _NO_PLACE else self._pages.read_id(place)
                    for number, place in zip(chosen.tolist(), kept.tolist(), strict=True)
                ],
                pa.string(),
            ),
            "verdict": _VERDICTS.take(pa.array(take(self._verdicts))),
            "rule": _RULES.take(pa.array(take(self._rules))),
            "distance": pa.array(distances, mask=distances == _NO_DISTANCE),
            "resemblance": pa.array(take(self._resemblances)),
            "coverage": pa.array(take(self._coverages)),
            "input": self._inputs_of(places),
            "record": pa.array(records[places]),
            "representative_input": pc.if_else(pa.array(is_known), self._inputs_of(kept), self._against),
            "representative_record": pa.array(records[kept], mask=~is_known),
        }
        return pa.table([columns[name] for name in CLUSTERS_SCHEMA.names], schema=CLUSTERS_SCHEMA)

    def _read_address(self, number: int) -> str:
        start = self._address_ends[number]
        self._file.seek(start)
        return self._file.read(self._address_ends[number + 1] - start).decode()

    def _inputs_of(self, places: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
        rows = self._pages.rows[places]
        shards = np.searchsorted(self._rows.starts, rows, side="right") - 1
        paths = pa.array([shard.source.path for shard in self._rows.shards], pa.string())
        return paths.take(pa.array(shards))


@dataclass(frozen=True)
class ClusterFile:
    """A file of the pages that have a representative.

    Attributes:
        path: path of the file.
        groups: the row groups that have pages of each input.
    """

    path: Path
    groups: Mapping[str, range]

    @classmethod
    def open(cls, path: Path) -> ClusterFile:
        """Open a file. Raises :class:`DedupError` where it is damaged."""
        groups: dict[str, range] = {}
        for number, inputs in enumerate(_read_inputs(path)):
            for name in inputs:
                groups[name] = range(groups[name].start if name in groups else number, number + 1)
        return cls(path, groups)

    def read(self, source: str) -> list[dict[str, Any]]:
        """Return the rows about the pages of one input. Raises :class:`DedupError` where they are damaged."""
        try:
            with pq.ParquetFile(self.path, page_checksum_verification=True) as file:
                tables = [file.read_row_group(number) for number in self.groups.get(source, range(0))]
                own = [table.filter(pc.equal(table["input"], source)).to_pylist() for table in tables]
        except (pa.ArrowException, OSError) as error:
            raise DedupError(f"{self.path} is damaged: {error}") from None
        return [row for rows in own for row in rows]


def _read_inputs(path: Path) -> Iterator[list[str]]:
    """Yield the distinct inputs in each row group."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for number in range(file.metadata.num_row_groups):
                yield file.read_row_group(number, columns=["input"])["input"].unique().to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DedupError(f"{path} is damaged: {error}") from None
