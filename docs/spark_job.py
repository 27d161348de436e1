"""Drop the near-duplicates among pages on Spark: ``spark-submit docs/spark_job.py INPUT OUTPUT``.

INPUT is a folder of WARC files, or a Parquet file with the columns url and html. OUTPUT gets the folders signed, decisions
and kept; all are addresses that Spark can read and write, such as hdfs:// or s3a://.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO

from pyspark.sql import DataFrame, SparkSession

from crawler_dedup import Config
from crawler_dedup.batch import spark
from crawler_dedup.batch.formats.records import DEFAULT_COLUMNS, InputPage
from crawler_dedup.batch.formats.warc import read_stream

CONFIG = Config()
PAGES = "path string, record long, url string, html binary, encoding string, time long"


def read_warc(file: tuple[str, bytes]) -> Iterator[tuple[str, int, str, bytes, str | None, int]]:
    """Yield the pages of a WARC file."""
    path, content = file
    for page in read_stream(BytesIO(content), 0, path, DEFAULT_COLUMNS, CONFIG.max_bytes):
        if isinstance(page, InputPage):
            yield path, page.record, page.url, page.body, page.encoding, page.time


def read_pages(session: SparkSession, source: str) -> tuple[DataFrame, dict[str, str]]:
    """Return the pages of *source*, and which of their columns are signed."""
    if source.endswith(".parquet"):
        return session.read.parquet(source), {}
    files = session.sparkContext.binaryFiles(source)
    pages = session.createDataFrame(files.flatMap(read_warc), PAGES).orderBy("path", "record")
    return pages, {"time": "time", "encoding": "encoding"}


def main(source: str, output: str) -> None:
    """Sign the pages, write the decisions, and write the pages that are not left out."""
    session = SparkSession.builder.appName("near-duplicates").getOrCreate()
    pages, columns = read_pages(session, source)
    spark.sign(pages, CONFIG, **columns).write.parquet(f"{output}/signed")
    signed = session.read.parquet(f"{output}/signed")
    decided = spark.find_duplicates(signed, CONFIG)
    decided.write.parquet(f"{output}/decisions")
    spark.drop_duplicates(signed, CONFIG).write.parquet(f"{output}/kept")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
