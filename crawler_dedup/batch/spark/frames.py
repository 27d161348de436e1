"""Near-duplicates of a DataFrame of Spark: signed, searched and decided by the executors.

The decisions are those of :func:`crawler_dedup.batch.find.find_duplicates` about the same pages in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (as everybody imports it)

from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.readers.records import Columns
from crawler_dedup.batch.rows import require_order
from crawler_dedup.batch.shard import TEXT, THIN, UNSIGNED
from crawler_dedup.batch.spark.exchange import Batches
from crawler_dedup.batch.spark.executors import SIGNED_COLUMNS, Signing
from crawler_dedup.batch.spark.search import Search, learn_sites
from crawler_dedup.config import Config
from crawler_dedup.config.scopes import default_scope
from crawler_dedup.decision import Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.index.header import require_same_spec
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.signing.segmentation import resolve_tokenizer
from crawler_dedup.signing.signer import Signer

MEMORY = 4 << 30
"""Default of the bytes of memory that a task may take for kept pages."""

_SPEC = "crawler_dedup"  # metadata of the column with the signed pages: what they depend on
_AGREEMENT = ("representative", "rule", "distance", "resemblance", "coverage")


def signatures(
    pages: DataFrame,
    config: Config | None = None,
    *,
    html: str = "html",
    text: str = "",
    url: str = "url",
    id: str = "",
    time: str = "",
    scope: str = "",
) -> DataFrame:
    """Sign the rows of a DataFrame.

    The result has the columns of :data:`~crawler_dedup.batch.spark.executors.SIGNED_COLUMNS` and ``row``, a number that
    ascends in the order of *pages*. A row that cannot be read is unsigned, with the reason. Signing costs most of the
    time: write the result as Parquet, and read it again for :func:`duplicates`.

    Args:
        config: the settings of the filter.
        html, text, url, id, time, scope: as the options of ``crawler-dedup batch sign``.

    Raises:
        ConfigError: ``config.scope`` is a callable, and *scope* is empty.
        DedupError: a column is missing.
    """
    columns = Columns(html, text, url, id, time)
    wanted = dict.fromkeys(filter(None, [columns.content, id, time, url if not id or url in pages.columns else ""]))
    if missing := [name for name in wanted if name not in pages.columns]:
        raise DedupError(f"The DataFrame has no column {', '.join(missing)}; it has {', '.join(pages.columns)}.")
    signer = Signer(resolve_tokenizer(config or Config()))
    signed = pages.select(*wanted).mapInArrow(
        Signing(signer.config, columns, scope or default_scope(signer.config)).__call__, SIGNED_COLUMNS
    )
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

    The result has a row for each signed row: ``row``, ``id``, ``url``, ``verdict``, ``reason``; and where the page has a
    representative, ``representative`` (its identifier), ``rule``, ``distance``, ``resemblance`` and ``coverage``.
    *signed* is read several times, and pages are decided whenever the result is read.

    Args:
        signed: what :func:`signatures` has returned.
        config: the settings with which it was signed, and the thresholds.
        order: in which order pages are decided (:data:`~crawler_dedup.batch.rows.ORDERS`, with a minus the largest first);
            ``""``: by ``row``.
        profiles: what is known about sites; ``None``: it is learned.
        memory: bytes that a task may take for kept pages. If they do not suffice, the task fails.

    Raises:
        DedupError: there is no such order.
        IndexMismatch: *signed* was signed with other settings.
    """
    require_order(order)
    signer = Signer(resolve_tokenizer(config or Config()))
    if spec := signed.schema["page"].metadata.get(_SPEC):
        require_same_spec("The DataFrame", spec, signer.spec)
    rows = FrameRows(signed)
    known = FrozenProfiles.of(learn_sites(rows)) if profiles is None else profiles
    search = Search(rows, RememberingMatcher(signer), known)
    decided = search.decide(search.find_groups(), order, memory)
    verdict = F.when(F.col("kind") == UNSIGNED, str(Verdict.UNCHECKED)).otherwise(str(Verdict.NEW))
    return (
        signed.select("row", "id", "url", "kind", "reason")
        .join(decided.select("row", F.col("verdict").alias("decided"), *_AGREEMENT), "row", "left")
        .withColumn("verdict", F.coalesce("decided", verdict))
        .select("row", "id", "url", "verdict", "reason", *_AGREEMENT)
    )


@dataclass(frozen=True)
class FrameRows:
    """The rows of a DataFrame that :func:`signatures` has returned."""

    signed: DataFrame

    def count(self) -> int:
        return int(self.signed.count())

    def select(self, columns: Sequence[str], kinds: Sequence[str] = (TEXT, THIN, UNSIGNED)) -> DataFrame:
        wanted = self.signed.where(F.col("kind").isin(*kinds))
        return wanted.select(*(F.col("row").alias(name) if name == "record" else name for name in columns))

    def map(
        self,
        function: Callable[[Batches], Iterator[pa.RecordBatch]],
        schema: str,
        columns: Sequence[str],
        kinds: Sequence[str] = (TEXT, THIN, UNSIGNED),
    ) -> DataFrame:
        return self.select(columns, kinds).mapInArrow(function, schema)
