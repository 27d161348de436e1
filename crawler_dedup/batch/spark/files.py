"""Collections in files on Spark: the same files as on one machine, signed, searched and decided by executors.

Inputs, collection and output must have the same paths on all machines.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from crawler_dedup.batch.clusters import CLUSTERS, CLUSTERS_SCHEMA
from crawler_dedup.batch.collection import Collection, Receipt, Shard
from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.existing import open_existing
from crawler_dedup.batch.find import PROFILES, REPORT, Clock, Decided, Report, write_report
from crawler_dedup.batch.learning import check_profiles, export_header, merge_sites
from crawler_dedup.batch.output import KEPT, VERDICTS, open_table, write_kept
from crawler_dedup.batch.rows import require_order
from crawler_dedup.batch.shard import TEXT, THIN, UNSIGNED, read_columns
from crawler_dedup.batch.spark.exchange import Batches
from crawler_dedup.batch.spark.kept import NewPages, find_existing
from crawler_dedup.batch.spark.reading import ReadShards, pass_on
from crawler_dedup.batch.spark.search import Search, learn_sites
from crawler_dedup.batch.spark.session import call_on_executors
from crawler_dedup.config import Config
from crawler_dedup.decision import Verdict
from crawler_dedup.index.export import write_export
from crawler_dedup.index.maintenance import read_profiles
from crawler_dedup.rules.counts import can_read
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.system.callbacks import Start

_TYPES = {"id": "string", "url": "string", "kind": "string", "reason": "string", "page": "binary"}
"""Types of the columns that are not numbers."""


def find_on_spark(  # noqa: PLR0913  (what a command asks for)
    session: SparkSession,
    directory: Path,
    output: Path,
    config: Config,
    start: Start,
    *,
    order: str = "",
    profiles: Path | None = None,
    against: Path | None = None,
    memory: int,
) -> Report:
    """Find the near-duplicates of the collection in *directory* as :func:`crawler_dedup.batch.find.find_duplicates` does.

    Args:
        memory: bytes that a task may take for kept pages.

    Raises:
        DedupError: a shard is missing or damaged.
    """
    require_order(order)
    clock = Clock()
    collection = Collection.open(directory)
    with clock.step("checking"):
        advance = start("checking", len(collection.shards))
        receipts = collection.require_whole(advance, partial(call_on_executors, session))
    existing = None
    if against is not None:
        with clock.step("checking what is kept"):
            advance = start("checking what is kept", None)
            existing = open_existing(against.resolve(), collection, advance, partial(call_on_executors, session))
    signer = Signer(config_from_spec(collection.header.spec, config))
    output.mkdir(parents=True, exist_ok=True)
    rows = ShardRows.of(session, collection.shards, receipts)
    with clock.step("learning sites"):
        if profiles is None:
            profiles = output / PROFILES
            header = export_header(collection.header.spec, collection.header.libraries)
            known = () if existing is None else existing.known_sites()
            write_export(profiles, header, [], merge_sites(known, learn_sites(rows)))
        frozen = read_profiles(profiles, collection.header.spec, can_read)
        check_profiles(frozen, collection, rows.count())
    matcher = RememberingMatcher(signer)
    with TemporaryDirectory(dir=output) as temporary:
        folder = Path(temporary).absolute()
        with clock.step("finding neighbours"):
            kept = None
            if existing is not None:
                new = NewPages(directory.absolute(), profiles.absolute(), config, memory, time.time_ns())
                find_existing(session, existing, new).write.parquet((folder / "existing").as_uri())
                kept = session.read.parquet((folder / "existing").as_uri())
            search = Search(rows, matcher, frozen, kept)
            groups = search.find_groups()
        (output / REPORT).unlink(missing_ok=True)  # it is written last: where it exists, all files belong together
        with clock.step("deciding"):
            search.decide(groups, order, memory).orderBy("row").write.parquet((folder / "decisions").as_uri())
        with clock.step("writing"):
            decided = _write_clusters(
                output / CLUSTERS, folder / "decisions", rows, "" if against is None else str(against)
            )
            write_kept(output / KEPT, rows.shards, rows.starts, decided.codes, decided.duplicates)
    candidates = groups.rows[groups.rows >= 0]
    are_signed = decided.codes[candidates] != VERDICTS.index(Verdict.UNCHECKED)
    return write_report(
        output,
        collection,
        receipts,
        decided,
        candidates=int(are_signed.sum()),
        known_sites=len(frozen),
        seconds=clock.seconds,
        max_distance=signer.config.max_distance,
    )


@dataclass(frozen=True)
class ShardRows:
    """The rows of a signed collection (:class:`~crawler_dedup.batch.spark.search.SignedRows`), a task for each shard.

    Attributes:
        shards: the shards, in their order.
        starts: the first row of each shard, followed by the number of all rows.
        frame: the path and the first row of each shard.
    """

    shards: Sequence[Shard]
    starts: np.ndarray[tuple[int], np.dtype[np.int64]]
    frame: DataFrame

    @classmethod
    def of(cls, session: SparkSession, shards: Sequence[Shard], receipts: Sequence[Receipt]) -> ShardRows:
        """Return the rows of whole shards."""
        starts = np.cumsum([0, *(receipt.pages for receipt in receipts)], dtype=np.int64)
        places = [(str(shard.data.resolve()), first) for shard, first in zip(shards, starts.tolist(), strict=False)]
        parallel = session.sparkContext.parallelize(places, max(1, len(places)))
        return cls(shards, starts, session.createDataFrame(parallel, "path string, first long"))

    def count(self) -> int:
        return int(self.starts[-1])

    def select(self, columns: Sequence[str], kinds: Sequence[str] = (TEXT, THIN, UNSIGNED)) -> DataFrame:
        schema = ", ".join(f"{name} {_TYPES.get(name, 'long')}" for name in columns)
        return self.map(pass_on, schema, columns, kinds)

    def map(
        self,
        function: Callable[[Batches], Iterator[pa.RecordBatch]],
        schema: str,
        columns: Sequence[str],
        kinds: Sequence[str] = (TEXT, THIN, UNSIGNED),
    ) -> DataFrame:
        return self.frame.mapInArrow(ReadShards(tuple(columns), tuple(kinds), function).__call__, schema)


def _initial_codes(rows: ShardRows) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return the codes of verdicts as they are for rows that are compared with no other row."""
    codes = np.full(rows.count(), VERDICTS.index(Verdict.NEW), dtype=np.uint8)
    at = 0
    for shard in rows.shards:
        for batch in read_columns(shard.data, ("kind",)):
            unsigned = pc.equal(batch.column("kind"), UNSIGNED).to_numpy(zero_copy_only=False)
            codes[at : at + len(batch)][unsigned] = VERDICTS.index(Verdict.UNCHECKED)
            at += len(batch)
    return codes


def _write_clusters(path: Path, decisions: Path, rows: ShardRows, against: str) -> Decided:
    """Write the pages that have a representative, and return all decisions.

    Args:
        decisions: the folder with the decisions that executors have written, by row.
        against: path of the pages that were kept before; ``""``: there are none.
    """
    codes = _initial_codes(rows)
    duplicates = np.zeros(rows.count(), dtype=np.int64)
    rules: Counter[str] = Counter()
    verdicts = pa.array([str(verdict) for verdict in VERDICTS])
    with open_table(path, CLUSTERS_SCHEMA) as writer:
        for part in sorted(decisions.glob("*.parquet")):
            for batch in pq.ParquetFile(part).iter_batches():
                numbers = batch.column("row").to_numpy()
                codes[numbers] = pc.index_in(batch.column("verdict"), verdicts).to_numpy()
                kept = batch.column("kept_row").drop_null().to_numpy()
                np.add.at(duplicates, kept, 1)
                left_out = batch.filter(pc.is_valid(batch.column("representative")))
                for count in pc.value_counts(left_out.column("rule")).to_pylist():
                    rules[count["values"]] += count["counts"]
                writer.write_table(_make_clusters(left_out, rows, against))
    return Decided(codes, duplicates, rules)


def _make_clusters(left_out: pa.RecordBatch, rows: ShardRows, against: str) -> pa.Table:
    """Return the rows of the cluster file about pages that are left out."""
    paths = pa.array([shard.source.path for shard in rows.shards], pa.string())

    def inputs_of(numbers: pa.Array) -> pa.Array:
        places = np.searchsorted(rows.starts, pc.fill_null(numbers, 0).to_numpy(), side="right") - 1
        return pc.if_else(pc.is_valid(numbers), paths.take(pa.array(places)), against)

    columns = {
        **{name: left_out.column(name) for name in left_out.schema.names},
        "duplicate": left_out.column("id"),
        "input": inputs_of(left_out.column("row")),
        "representative_input": inputs_of(left_out.column("kept_row")),
        "representative_record": left_out.column("kept_record"),
    }
    return pa.table([columns[name] for name in CLUSTERS_SCHEMA.names], schema=CLUSTERS_SCHEMA)
