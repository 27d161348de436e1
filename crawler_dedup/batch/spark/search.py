"""Search for near-duplicates on Spark: find the rows that have to be decided together, and decide about them.

The driver holds the groups in memory, 16 bytes for each row that is near another row, but no pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  (as everybody imports it)
from pyspark.sql.window import Window

from crawler_dedup.batch.candidates import looks_up_by_keys
from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.learning import COPIES, LEARNED_PAGES
from crawler_dedup.batch.neighbours import tables_for
from crawler_dedup.batch.shard import TEXT, THIN, UNSIGNED
from crawler_dedup.batch.spark.deciding import DECIDED_COLUMNS, GROUPED, Deciding
from crawler_dedup.batch.spark.exchange import (
    LINKS,
    PACKED_COLUMNS,
    Batches,
    LinkEqual,
    LinkNear,
    SpreadKeys,
    SpreadNumbers,
    SpreadRecords,
    read_links,
)
from crawler_dedup.batch.spark.executors import SITE_COLUMNS, learn_site
from crawler_dedup.batch.spark.linking import Groups, Links, find_groups
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.rules.thresholds import MIN_PAGES
from crawler_dedup.signing.schemes import SimHash

_COLLECTING = 8  # tasks that send rows to the driver
_BROADCAST_ROWS = 10_000_000  # groups of at most so many rows are sent to every executor


class SignedRows(Protocol):
    """Signed rows that executors can read."""

    def count(self) -> int:
        """Return how many rows there are."""

    def select(self, columns: Sequence[str], kinds: Sequence[str] = (TEXT, THIN, UNSIGNED)) -> DataFrame:
        """Return *columns* of the rows of some *kinds*."""

    def map(
        self,
        function: Callable[[Batches], Iterator[pa.RecordBatch]],
        schema: str,
        columns: Sequence[str],
        kinds: Sequence[str] = (TEXT, THIN, UNSIGNED),
    ) -> DataFrame:
        """Call *function* with the batches of :meth:`select` in each partition; return its results, rows of *schema*."""


@dataclass(frozen=True)
class Search:
    """The parameters of a search for near-duplicates on Spark.

    Attributes:
        rows: the signed rows.
        matcher: the matcher, which has the scheme and the rules.
        profiles: what is known about sites.
        existing: pages that are kept already and that a look-up of a row can return, as rows below 0 with the columns of
            :data:`~crawler_dedup.batch.spark.deciding.GROUPED`, of which ``page`` holds a record; ``None``: there are none.
    """

    rows: SignedRows
    matcher: RememberingMatcher
    profiles: FrozenProfiles
    existing: DataFrame | None = None

    def find_groups(self) -> Groups:
        """Find the rows that a look-up can return, or whose look-up can return a page, and group them.

        They include all rows that :func:`~crawler_dedup.batch.candidates.find_candidates` finds.
        """
        scheme = self.matcher.scheme
        by_distance = scheme if isinstance(scheme, SimHash) else None
        tables = tables_for(by_distance.max_distance, max(1, self.rows.count())) if by_distance else ()
        if by_distance and not by_distance.max_distance:
            tables = ()
        columns = ("row", "kind", "signature", "name", "title")
        numbers = self.rows.map(SpreadNumbers(by_distance is not None).__call__, PACKED_COLUMNS, columns)
        by_key = (TEXT, THIN) if looks_up_by_keys(scheme) else (THIN,)
        spread_keys = SpreadKeys(self.matcher, self.profiles)
        keys = self.rows.map(spread_keys.__call__, PACKED_COLUMNS, ("row", "page"), by_key)
        spread = numbers.union(keys)
        if self.existing is not None:
            known = SpreadNumbers(by_distance is not None)
            spread = spread.union(self.existing.select(*columns).mapInArrow(known.__call__, PACKED_COLUMNS))
            records = SpreadRecords(self.matcher, by_distance is None)
            spread = spread.union(self.existing.select("row", "page").mapInArrow(records.__call__, PACKED_COLUMNS))
        linked = spread.repartition("part").mapInArrow(LinkEqual(tables).__call__, PACKED_COLUMNS)
        if by_distance and tables:
            near = LinkNear(tables, by_distance.max_distance)
            linked = linked.repartition("part").mapInArrow(near.__call__, PACKED_COLUMNS)
        return find_groups(_collect_links(linked))

    def decide(self, groups: Groups, order: str, memory: int) -> DataFrame:
        """Decide about the rows of *groups*; the result has :data:`~crawler_dedup.batch.spark.deciding.DECIDED_COLUMNS`.

        A signed row that is not in *groups* is new.

        Args:
            order: in which order pages are decided.
            memory: bytes that kept pages may take, in each task.
        """
        columns = (*GROUPED, *filter(None, [order.removeprefix("-")]))
        wanted = self.rows.select(columns, (TEXT, THIN))
        if self.existing is not None:
            orders = [F.lit(0).cast("long").alias(name) for name in columns[len(GROUPED) :]]
            wanted = wanted.union(self.existing.select(*GROUPED, *orders))
        grouped = wanted.sparkSession.createDataFrame(pa.table({"row": groups.rows, "group": groups.numbers}))
        if len(groups.rows) <= _BROADCAST_ROWS:
            grouped = F.broadcast(grouped)
        together = wanted.join(grouped, "row").repartition("group").sortWithinPartitions("row").select(*columns)
        return together.mapInArrow(Deciding(self.matcher, self.profiles, order, memory).__call__, DECIDED_COLUMNS)


def _collect_links(linked: DataFrame) -> Iterator[Links]:
    """Yield the links of all partitions."""
    schema = pa.schema([("numbers", pa.binary()), ("rows", pa.binary())])
    for row in _collect(linked.where(F.col("kind") == LINKS).select("numbers", "rows")):
        yield read_links(pa.RecordBatch.from_pylist([row.asDict()], schema))


def _collect(frame: DataFrame) -> Iterator[Row]:
    """Yield all rows. All tasks compute them at the same time, and they are stored on disks until they are read."""
    yield from frame.repartition(_COLLECTING).toLocalIterator(prefetchPartitions=True)


def learn_sites(rows: SignedRows) -> Iterator[StoredSite]:
    """Yield what signed rows say about their sites: see :func:`~crawler_dedup.batch.learning.learn_profiles`."""
    by_site, same = Window.partitionBy("site"), Window.partitionBy("site", "signature")
    place, count = F.row_number().over(by_site.orderBy("row")) - 1, F.count("*").over(by_site)
    share = f"{LEARNED_PAGES} div greatest(count, {LEARNED_PAGES})"
    chosen = (
        rows.select(("row", "site", "signature"), (TEXT, THIN))
        .where(F.col("site") != 0)
        .select("site", "row", F.row_number().over(same.orderBy("row")).alias("copy"))
        .where(F.col("copy") <= COPIES)
        .select("site", "row", place.alias("place"), count.alias("count"))
        .where((F.col("count") >= MIN_PAGES) & F.expr(f"(place + 1) * {share} > place * {share}"))
    )
    pages = rows.select(("row", "page"), (TEXT, THIN)).join(chosen.select("site", "row"), "row")
    for site in _collect(pages.groupBy("site").applyInArrow(learn_site, SITE_COLUMNS)):
        snapshot = [(site.number, bytes(site.snapshot))]
        yield StoredSite(bytes(site.key), site.number, site.number, 0, bytes(site.counts), snapshot)
