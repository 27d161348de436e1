"""Items that are appended to a file in which a crawl was cut off can be read, or a warning says that they cannot."""

import csv
import json
import marshal
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.crawling import Crawl, article, crawl_pages, html

SCRIPT = """
import bz2
from scrapy.extensions.feedexport import FileFeedStorage
from tests.support.walker import Walker

class Bz2(FileFeedStorage):
    def open(self, spider):
        return bz2.open(self.path.removeprefix("bz2:"), "ab")

class Spider(Walker):
    def parse(self, response):
        yield {"number": "1", "text": 'b, "c"\\n d'}
        yield {"number": "2", "text": "e"}
"""

ITEMS = [{"number": "1", "text": 'b, "c"\n d'}, {"number": "2", "text": "e"}]


GZIP = "scrapy.extensions.postprocessing.GzipPlugin"


@dataclass(frozen=True, eq=False)
class Appended:
    """A file before a crawl appends to it, what the crawl has to warn of, and the URI and options of the feed."""

    name: str
    content: bytes
    warning: str = ""
    uri: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def crawl(directory: Path, files: Sequence[Appended]) -> Crawl:
    """Crawl one page into all files, and check the warnings."""
    feeds: dict[str, dict[str, Any]] = {}
    for file in files:
        (directory / file.name).write_bytes(file.content)
        kind = file.name.partition(".")[2].replace("jsonl", "jsonlines")
        feeds[file.uri.format(directory) or str(directory / file.name)] = {"format": kind, **file.options}
    settings = {"FEEDS": feeds, "FEED_STORAGES": {"bz2": "script.Bz2"}}
    done = crawl_pages(directory / "crawl", {"/": html(article("page"))}, SCRIPT, settings)
    assert not done.lines("ERROR", "")
    assert "dedup/not_stored" not in done.stats
    for file in files:
        lines = done.lines("WARNING", f"/{file.name}: ")
        assert len(lines) == bool(file.warning), file.name
        assert all(file.warning in line for line in lines)
    return done


def test_rows_can_be_read_wherever_a_csv_file_was_cut_off(tmp_path: Path) -> None:
    row = b'7,"a ""b"", c\nd",e\r\n'
    cuts = range(len(row) + 1)
    is_whole = (0, len(row))
    files = [Appended(f"{cut}.csv", row[:cut], "" if cut in is_whole else "no line end") for cut in cuts]
    crawl(tmp_path, files)
    for cut in cuts:
        with (tmp_path / f"{cut}.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[-3:] == [["number", "text"], *(list(item.values()) for item in ITEMS)], row[:cut]


def test_lines_can_be_read_after_a_line_that_was_cut_off(tmp_path: Path) -> None:
    cut, warning = b'{"number": "7"}\n{"numb', "no line end"
    batches = "{}/%(batch_id)d.jsonl", {"batch_item_count": 1}  # one warning a minute for all batches of a feed
    files = {
        Appended("new.jsonl", b""): ITEMS,
        Appended("whole.jsonl", b'{"number": "7"}\n'): ITEMS,
        Appended("cut.jsonl", cut, warning): ITEMS,
        Appended("replaced.jsonl", cut, options={"overwrite": True}): ITEMS,
        Appended("marked.jsonl", cut, warning, options={"encoding": "utf-8-sig"}): ITEMS,
        Appended("addressed.jsonl", cut, warning, "file://{}/addressed.jsonl"): ITEMS,
        Appended("1.jsonl", cut, warning, *batches): ITEMS[:1],
        Appended("2.jsonl", cut, "", *batches): ITEMS[1:],
    }
    crawl(tmp_path, list(files))
    for file, items in files.items():
        before = b"" if "overwrite" in file.options else file.content
        before += b"" if before[-1:] in (b"", b"\n") else b"\n"
        content = (tmp_path / file.name).read_bytes()
        assert content.startswith(before)
        appended = content.removeprefix(before)
        assert [json.loads(line.decode("utf-8-sig")) for line in appended.splitlines()] == items


def test_only_files_in_which_items_surely_cannot_be_read_are_named_and_none_is_repaired(tmp_path: Path) -> None:
    item = {"number": "7"}
    document, cut = "no valid document", "cut off within an item"
    files = [
        Appended("whole.json", b"[]", document),
        Appended("replaced.json", b"[", options={"overwrite": True}),
        Appended("cut.xml", b"<items>", document),
        Appended("whole.pickle", pickle.dumps(item)),
        Appended("cut.pickle", pickle.dumps(item)[:-1], cut),
        Appended("whole.marshal", marshal.dumps(item)),
        Appended("cut.marshal", marshal.dumps(item)[:-1], cut),
        Appended("wide.jsonl", b"{", options={"encoding": "utf-16"}),
        Appended("packed.jsonl", b"\x1f\x8b", options={"postprocessing": [GZIP]}),
        Appended("sent.jsonl", b"{", uri="bz2:{}/sent.jsonl"),
    ]
    crawl(tmp_path, files)
    for file in files:
        if "overwrite" not in file.options:
            content = (tmp_path / file.name).read_bytes()
            assert content.startswith(file.content)
            assert not content.removeprefix(file.content).startswith(b"\n")
