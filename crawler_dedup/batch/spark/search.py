"""Search for near-duplicates on Spark: find the rows that have to be decided together, and decide about them.

The driver holds the groups in memory, 16 bytes for each row that is near another row, but no pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  (as everybody imports it)
from pyspark.sql.window import Window

from crawler_dedup.batch.candidates import looks_up_by_keys
from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.learning import COPIES, LEARNED_PAGES
from crawler_dedup.batch.neighbours import tables_for
from crawler_dedup.batch.shard import TEXT, THIN
from crawler_dedup.batch.spark.executors import DECIDED_COLUMNS, GROUPED, SITE_COLUMNS, decide_groups, learn_site
from crawler_dedup.batch.spark.linking import (
    LINKS,
    SENT_COLUMNS,
    Groups,
    Links,
    find_groups,
    link_rows_with_equal_numbers,
    link_rows_with_near_signatures,
    spread_keys,
    spread_numbers,
)
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signing.schemes import SimHash

_COLLECTING = 8  # tasks that send rows to the driver
_BROADCAST_ROWS = 10_000_000  # groups of at most so many rows are sent to every executor


@dataclass(frozen=True)
class Search:
    """The parameters of a search for near-duplicates on Spark.

    Attributes:
        rows: the signed rows: the columns of :data:`~crawler_dedup.batch.spark.executors.SIGNED_COLUMNS`, and ``row``.
        matcher: the matcher, which has the scheme and the rules.
        profiles: what is known about sites.
    """

    rows: DataFrame
    matcher: RememberingMatcher
    profiles: FrozenProfiles

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
        send_numbers = partial(spread_numbers, by_distance=by_distance is not None)
        numbers = self.rows.select(*columns).mapInArrow(send_numbers, SENT_COLUMNS)
        send_keys = partial(spread_keys, matcher=self.matcher, profiles=self.profiles)
        by_key = (TEXT, THIN) if looks_up_by_keys(scheme) else (THIN,)
        keys = of_kinds(self.rows, *by_key).select("row", "page").mapInArrow(send_keys, SENT_COLUMNS)
        link_equal = partial(link_rows_with_equal_numbers, tables=tables)
        linked = numbers.union(keys).repartition("part").mapInArrow(link_equal, SENT_COLUMNS)
        if by_distance and tables:
            link_near = partial(link_rows_with_near_signatures, tables=tables, max_distance=by_distance.max_distance)
            linked = linked.repartition("part").mapInArrow(link_near, SENT_COLUMNS)
        return find_groups(_collect_links(linked))

    def decide(self, groups: Groups, order: str, memory: int) -> DataFrame:
        """Decide about the rows of *groups*; the result has :data:`~crawler_dedup.batch.spark.executors.DECIDED_COLUMNS`.

        A signed row that is not in *groups* is new.

        Args:
            order: in which order pages are decided.
            memory: bytes that kept pages may take, in each task.
        """
        columns = (*GROUPED, *filter(None, [order.removeprefix("-")]))
        wanted = of_kinds(self.rows, TEXT, THIN).select(*columns)
        grouped = wanted.sparkSession.createDataFrame(pa.table({"row": groups.rows, "group": groups.numbers}))
        if len(groups.rows) <= _BROADCAST_ROWS:
            grouped = F.broadcast(grouped)
        together = wanted.join(grouped, "row").repartition("group").sortWithinPartitions("row").select(*columns)
        decide = partial(decide_groups, matcher=self.matcher, profiles=self.profiles, order=order, memory=memory)
        return together.mapInArrow(decide, DECIDED_COLUMNS)


def of_kinds(rows: DataFrame, *kinds: str) -> DataFrame:
    """Return the rows of some *kinds*."""
    return rows.where(F.col("kind").isin(*kinds))


def _collect_links(linked: DataFrame) -> Iterator[Links]:
    """Yield the links of all partitions."""
    lists = [F.collect_list(name).alias(name) for name in ("number", "row")]
    for part in _collect(linked.where(F.col("kind") == LINKS).groupBy("part").agg(*lists)):
        yield Links(np.array(part.number, dtype=np.int64), np.array(part.row, dtype=np.int64))


def _collect(frame: DataFrame) -> Iterator[Row]:
    """Yield all rows. All tasks compute them at the same time, and they are stored on disks until they are read."""
    yield from frame.repartition(_COLLECTING).toLocalIterator(prefetchPartitions=True)


def learn_sites(rows: DataFrame) -> Iterator[StoredSite]:
    """Yield what signed rows say about their sites: see :func:`~crawler_dedup.batch.learning.learn_profiles`."""
    by_site, same = Window.partitionBy("site"), Window.partitionBy("site", "signature")
    place, count = F.row_number().over(by_site.orderBy("row")) - 1, F.count("*").over(by_site)
    share = f"{LEARNED_PAGES} div greatest(count, {LEARNED_PAGES})"
    chosen = (
        of_kinds(rows, TEXT, THIN)
        .where(F.col("site") != 0)
        .select("site", "row", F.row_number().over(same.orderBy("row")).alias("copy"))
        .where(F.col("copy") <= COPIES)
        .select("site", "row", place.alias("place"), count.alias("count"))
        .where((F.col("count") >= MIN_PAGES) & F.expr(f"(place + 1) * {share} > place * {share}"))
    )
    pages = rows.select("row", "page").join(chosen.select("site", "row"), "row")
    for site in _collect(pages.groupBy("site").applyInArrow(learn_site, SITE_COLUMNS)):
        snapshot = [(site.number, bytes(site.snapshot))]
        yield StoredSite(bytes(site.key), site.number, site.number, 0, bytes(site.counts), snapshot)
