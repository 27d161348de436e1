"""Near-duplicates of a DataFrame of Spark: signed and searched by the executors, decided by the driver.

The decisions are those of :func:`crawler_dedup.batch.find.find_duplicates` about the same pages in the same order.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812  (as everybody imports it)
from pyspark.sql.window import Window

from crawler_dedup.batch.candidates import Candidates, looks_up_by_keys
from crawler_dedup.batch.certain import find_certain, measure_pages
from crawler_dedup.batch.decide import PickedPages, PlacedDecision, RememberingMatcher, decide_pages
from crawler_dedup.batch.executors import (
    SIGNED_COLUMNS,
    SITE_COLUMNS,
    Signing,
    flag_partition,
    learn_site,
    list_keys,
    spread_by_table,
)
from crawler_dedup.batch.learning import COPIES, LEARNED_PAGES
from crawler_dedup.batch.membership import is_repeated
from crawler_dedup.batch.neighbours import tables_for
from crawler_dedup.batch.readers.records import Columns
from crawler_dedup.batch.rows import ORDERS, Rows, StoredPages
from crawler_dedup.batch.shard import TEXT, THIN, UNSIGNED
from crawler_dedup.config import Config
from crawler_dedup.decision import Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.profiles import FrozenProfiles, StoredSite
from crawler_dedup.rules.bounds import Measures
from crawler_dedup.rules.sites import MIN_PAGES
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.signing.segmentation import resolve_tokenizer
from crawler_dedup.signing.signer import Signer

MEMORY = 4 << 30
"""Bytes that the driver may take for pages that are kept, unless others are asked for."""

_SPEC = "crawler_dedup"  # metadata of the column with the signed pages: what they depend on
_ALL_BITS = (1 << 64) - 1
_READ_ROWS = 1_000
_DECISIONS = pa.schema(
    [
        ("row", pa.int64()),
        ("verdict", pa.string()),
        ("representative", pa.string()),
        ("rule", pa.string()),
        ("distance", pa.int16()),
        ("resemblance", pa.float32()),
        ("coverage", pa.float32()),
    ]
)


def signatures(
    pages: DataFrame,
    config: Config | None = None,
    *,
    html: str = "html",
    text: str = "",
    url: str = "url",
    id: str = "",
    time: str = "",
    scope: str = "global",
) -> DataFrame:
    """Sign the rows of a DataFrame.

    The result has the columns of :data:`~crawler_dedup.batch.executors.SIGNED_COLUMNS` and ``row``, a number that ascends
    in the order of *pages*. A row that cannot be read is there, unsigned, with the reason. Signing costs most of the time:
    write the result as Parquet, and read it again for :func:`duplicates`.

    Args:
        config: the settings of the filter.
        html, text, url, id, time, scope: as the options of ``crawler-dedup batch sign``.

    Raises:
        DedupError: a column is missing.
    """
    columns = Columns(html, text, url, id, time)
    wanted = dict.fromkeys(filter(None, [columns.content, id, time, url if not id or url in pages.columns else ""]))
    if missing := [name for name in wanted if name not in pages.columns]:
        raise DedupError(f"The DataFrame has no column {', '.join(missing)}; it has {', '.join(pages.columns)}.")
    signer = Signer(resolve_tokenizer(config or Config()))
    signed = pages.select(*wanted).mapInArrow(Signing(signer.config, columns, scope).__call__, SIGNED_COLUMNS)
    return signed.withMetadata("page", {_SPEC: signer.spec}).withColumn("row", F.monotonically_increasing_id())


def duplicates(
    signed: DataFrame,
    config: Config | None = None,
    *,
    order: str = "",
    profiles: FrozenProfiles | None = None,
    memory: int = MEMORY,
) -> DataFrame:
    """Find the near-duplicates among signed rows.

    The result has a row for each, with the columns ``row``, ``id``, ``url``, ``verdict``, ``reason``, and for those for
    which a kept page stands ``representative`` (its identifier), ``rule``, ``distance``, ``resemblance`` and ``coverage``.
    *signed* is read several times.

    Args:
        signed: what :func:`signatures` has returned.
        config: the settings with which it was signed, and the thresholds.
        order: in which order pages are decided (:data:`~crawler_dedup.batch.rows.ORDERS`, with a minus the largest first);
            ``""``: by ``row``.
        profiles: what is known about sites; ``None``: it is learned.
        memory: bytes that the driver may take for kept pages.

    Raises:
        DedupError: *memory* does not suffice, or there is no such order.
        IndexMismatch: *signed* was signed with other settings.
    """
    if order and order.removeprefix("-") not in ORDERS:
        raise DedupError(f"Pages cannot be ordered by {order!r}; they can by {', '.join(ORDERS)}, also with a minus.")
    signer = Signer(resolve_tokenizer(config or Config()))
    if spec := signed.schema["page"].metadata.get(_SPEC):
        require_same_spec("The DataFrame", spec, signer.spec)
    matcher = RememberingMatcher(signer)
    known = FrozenProfiles.of(learn_sites(signed)) if profiles is None else profiles
    wanted = signed.join(_candidates(signed, matcher, known), "row", "left_semi").orderBy("row")
    decisions = _decide(wanted, order, matcher, known, memory)
    decided = signed.sparkSession.createDataFrame(decisions).withColumnRenamed("verdict", "decided")
    verdict = F.when(F.col("kind") == UNSIGNED, str(Verdict.UNCHECKED)).otherwise(str(Verdict.NEW))
    return (
        signed.select("row", "id", "url", "kind", "reason")
        .join(decided, "row", "left")
        .withColumn("verdict", F.coalesce("decided", verdict))
        .select("row", "id", "url", "verdict", "reason", *_DECISIONS.names[2:])
    )


def learn_sites(signed: DataFrame) -> Iterator[StoredSite]:
    """Yield what signed rows say about their sites: see :func:`~crawler_dedup.batch.learning.learn_profiles`."""
    by_site, same = Window.partitionBy("site"), Window.partitionBy("site", "signature")
    place, count = F.row_number().over(by_site.orderBy("row")) - 1, F.count("*").over(by_site)
    share = f"{LEARNED_PAGES} div greatest(count, {LEARNED_PAGES})"
    chosen = (
        signed.where((F.col("kind") != UNSIGNED) & (F.col("site") != 0))
        .select("site", "row", F.row_number().over(same.orderBy("row")).alias("copy"))
        .where(F.col("copy") <= COPIES)
        .select("row", place.alias("place"), count.alias("count"))
        .where((F.col("count") >= MIN_PAGES) & F.expr(f"(place + 1) * {share} > place * {share}"))
    )
    pages = signed.select("site", "row", "page").join(chosen.select("row"), "row")
    for site in pages.groupBy("site").applyInArrow(learn_site, SITE_COLUMNS).toLocalIterator():
        snapshot = [(site.number, bytes(site.snapshot))]
        yield StoredSite(bytes(site.key), site.number, site.number, 0, bytes(site.counts), snapshot)


def _candidates(signed: DataFrame, matcher: RememberingMatcher, profiles: FrozenProfiles) -> DataFrame:
    """Return the numbers of the rows that a look-up can find, or that find others: see
    :func:`~crawler_dedup.batch.candidates.find_candidates`."""
    scheme, kind = matcher.scheme, F.col("kind")
    is_signed = signed.where(kind != UNSIGNED)
    candidates = _sharing(is_signed, F.col("name")).union(_sharing(is_signed.where("title != 0"), F.col("title")))
    if isinstance(scheme, SimHash):
        texts = is_signed.where(kind == TEXT)
        near = _near(texts.select("signature"), scheme.max_distance)
        candidates = candidates.union(texts.join(near, "signature", "left_semi").select("row"))
    by_key = is_signed if looks_up_by_keys(scheme) else is_signed.where(kind == THIN)
    keys = by_key.select("row", "page").mapInArrow(partial(list_keys, matcher, profiles), "row long, number long")
    return candidates.union(_sharing(keys, F.col("number"))).distinct()


def _sharing(rows: DataFrame, number: Column) -> DataFrame:
    """Return the numbers of the rows whose *number* another one has."""
    repeated = rows.groupBy(number.alias("shared")).count().where("count > 1").select("shared")
    return rows.select("row", number.alias("shared")).join(repeated, "shared", "left_semi").select("row")


def _near(texts: DataFrame, max_distance: int) -> DataFrame:
    """Return the signatures that another row has, or that another one is near: those that agree in the leading bits of a
    permuted table are brought into one partition, and compared there."""
    counted = texts.groupBy("signature").count()
    repeated = counted.where("count > 1").select("signature")
    if not max_distance:
        return repeated
    tables = tables_for(max_distance, max(1, counted.count()))
    spread = counted.select("signature").mapInArrow(partial(spread_by_table, tables), "part long, permuted long")
    near = spread.repartition("part").mapInArrow(partial(flag_partition, tables, max_distance), "signature long")
    return repeated.union(near).distinct()


def _decide(
    wanted: DataFrame, order: str, matcher: RememberingMatcher, profiles: FrozenProfiles, memory: int
) -> pa.Table:
    """Decide about the *wanted* rows, which ascend, in their order."""
    rows = _WantedRows(order)
    with TemporaryFile() as picked, TemporaryFile() as kept:
        measures: list[Measures] = []
        pages = PickedPages(picked, measure_pages(rows.read(wanted), measures))
        chosen = rows.make_rows()
        places = chosen.sort(np.arange(len(chosen)))
        every = np.ones(len(chosen), dtype=bool)
        candidates = Candidates(every, is_repeated(chosen.names), every[:0], chosen.signatures[:0])
        measured, limits = Measures.join(measures), matcher.limits
        certain = find_certain(chosen, np.arange(len(chosen)), places, candidates, matcher.scheme, measured, limits)
        decided = decide_pages(pages, places, certain, (), matcher, profiles, kept, memory)
        values = [_values_of(decision, pages) for decision in decided]
    columns = zip(*values, strict=True) if values else [()] * len(_DECISIONS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _DECISIONS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_DECISIONS)


class _WantedRows:
    """Collects what is held in memory of rows."""

    def __init__(self, order: str) -> None:
        self._order = order
        self._numbers: dict[str, array[int]] = {name: array("Q") for name in ("signature", "name", "title", "site")}
        self._kinds: list[str] = []
        self._keys = array("q")

    def read(self, wanted: DataFrame) -> Iterator[StoredPages]:
        """Yield the rows of a DataFrame, some at a time."""
        read = wanted.toLocalIterator(prefetchPartitions=True)
        while some := [*islice(read, _READ_ROWS)]:
            yield self._collect(some)

    def _collect(self, read: Sequence[Row]) -> StoredPages:
        for row in read:
            for name, numbers in self._numbers.items():
                numbers.append(row[name] & _ALL_BITS)
            self._kinds.append(row.kind)
            if self._order:
                key = row[self._order.removeprefix("-")]
                self._keys.append(-key if self._order.startswith("-") else key)
        places = np.array([row.row for row in read], dtype=np.int64)
        signatures_, titles = (
            np.array(self._numbers[name][-len(read) :], dtype=np.uint64) for name in ("signature", "title")
        )
        ids, contents = [row.id.encode() for row in read], [bytes(row.page) for row in read]
        return StoredPages(places, places, ids, signatures_, titles, contents)

    def make_rows(self) -> Rows:
        """Return the rows that were read."""
        kinds = np.array(self._kinds, dtype=object)
        signatures_, names, titles, sites = (np.array(numbers, dtype=np.uint64) for numbers in self._numbers.values())
        return Rows(
            (),
            np.array([0, len(kinds)]),
            signatures_,
            names,
            titles,
            sites,
            np.array(kinds == TEXT, dtype=bool),
            np.array(kinds == THIN, dtype=bool),
            np.array(self._keys, dtype=np.int64) if self._order else None,
        )


def _values_of(decided: PlacedDecision, pages: PickedPages) -> tuple[Any, ...]:
    """Return what stands in the columns of a decision."""
    match = decided.decision.match if decided.is_left_out else None
    verdict = str(decided.decision.verdict)
    row = pages.rows[decided.place]
    if match is None or decided.representative is None:
        return row, verdict, None, None, None, None, None
    representative = pages.read_id(decided.representative)
    return row, verdict, representative, match.rule, match.distance, match.resemblance, match.coverage
