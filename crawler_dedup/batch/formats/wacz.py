"""WACZ files (Web Archive Collection Zipped, version 1.1.1): the pages of the WARC files in their folder ``archive``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO
from zipfile import ZipFile

from crawler_dedup.batch.formats import Added, Copied, LeftOut
from crawler_dedup.batch.formats.records import REST_IS_DAMAGED, Columns, InputPage, PassedOver
from crawler_dedup.batch.formats.warc import read_stream
from crawler_dedup.batch.formats.warcrecords import DAMAGE
from crawler_dedup.errors import DedupError

_FOLDER = "archive/"
_SUFFIXES = (".warc", ".warc.gz")


def read_pages(path: Path, columns: Columns, max_bytes: int) -> Iterator[InputPage | PassedOver]:
    """Yield the pages of a file, those of each WARC file in it in turn."""
    number = 0
    try:
        with ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith(_FOLDER) and name.lower().endswith(_SUFFIXES):
                    with archive.open(name) as file:
                        for record in read_stream(file, number, f"{path}/{name}", columns, max_bytes):
                            yield record
                            number = record.record + 1
    except FileNotFoundError:
        raise
    except (*DAMAGE, NotImplementedError, RuntimeError):  # the last: a part is encrypted
        yield PassedOver(number, REST_IS_DAMAGED, str(path), is_bad=True)


def copy_input(source: Path, target: IO[bytes], left_out: Mapping[int, LeftOut], added: Added) -> Copied:  # noqa: ARG001
    """Raise :class:`DedupError`: no such files are written."""
    raise DedupError(
        f"{source}: WACZ files are not written: unpack them, and use the WARC files in their folder archive."
    )
