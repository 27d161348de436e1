"""Check the file that a feed is appended to, because an earlier crawl may have been cut off in the middle of an item.

That crawl was killed, or its disk was full. The incomplete item does not count as stored, but an item that Scrapy appends
to it cannot be read either.
"""

from __future__ import annotations

import pickle
from codecs import BOM_UTF8
from io import BufferedWriter
from os import SEEK_END, PathLike
from pathlib import Path

from scrapy import exporters
from scrapy.extensions.feedexport import FeedSlot

_TAIL_BYTES = 16
"""Number of bytes to read at the end of a file: at least the length of a line end."""

_CUT_LINE = "the last line has no line end: an earlier crawl was probably cut off there. This crawl begins a new line"
_CUT_ITEM = "an earlier crawl was cut off within an item, and items that follow it cannot be read. Use another file"
_CUT_DOCUMENT = (
    "the file has content already, and with the items of this crawl it is no valid document. Use another file"
)


def continue_file(slot: FeedSlot) -> str:
    """Begin a new line after an incomplete line, and describe what is wrong with the file; ``""`` if it is in order.

    Scrapy has just opened the file of *slot*. The line end goes into the buffer of the file, before the first item, so that
    it is written if the item is written. Compressed files and files of unknown storages are not checked.
    """
    exporter, file = slot.exporter, slot.file
    if not isinstance(file, BufferedWriter) or not (end := _end_of(file)):
        return ""
    if isinstance(exporter, exporters.JsonLinesItemExporter):
        return _end_line(file, end, "\n", encoding=exporter.encoding)
    if isinstance(exporter, exporters.CsvItemExporter):
        # The quote ends a quoted field. After the space it is an ordinary character in every other place.
        dialect = exporter.csv_writer.dialect
        closing = f" {dialect.quotechar or ''}"
        return _end_line(file, end, dialect.lineterminator, closing=closing, encoding=exporter.encoding)
    if isinstance(exporter, exporters.JsonItemExporter | exporters.XmlItemExporter):
        return _CUT_DOCUMENT
    is_cut = (isinstance(exporter, exporters.PickleItemExporter) and not end.endswith(pickle.STOP)) or (
        isinstance(exporter, exporters.MarshalItemExporter) and not end.endswith(b"0")  # the end of a dictionary
    )
    return _CUT_ITEM if is_cut else ""


def _end_of(file: BufferedWriter) -> bytes:
    """Return the last bytes of the content that *file* appends to; nothing if that is not known."""
    if file.mode != "ab" or not isinstance(file.name, str | PathLike):
        return b""
    path = Path(file.name)
    try:
        if not path.is_file():  # reading from a pipe would wait
            return b""
        with path.open("rb") as content:
            content.seek(-min(_TAIL_BYTES, content.seek(0, SEEK_END)), SEEK_END)
            return content.read()
    except OSError:
        return b""


def _end_line(file: BufferedWriter, end: bytes, line_end: str, *, closing: str = "", encoding: str | None) -> str:
    """Write *closing* and *line_end* to *file* unless *end* has a line end, or the encoding does not extend ASCII."""
    encoded = line_end.encode(encoding or "utf-8").removeprefix(BOM_UTF8)
    if encoded != line_end.encode() or end.endswith(encoded):
        return ""
    file.write(closing.encode() + encoded)
    return _CUT_LINE
