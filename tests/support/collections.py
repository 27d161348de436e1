"""Collections of pages in files, signed and decided."""

import gzip
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq

from crawler_dedup import Config, Decision, Deduplicator, Verdict
from crawler_dedup.batch.apply import Applied, apply_decisions
from crawler_dedup.batch.find import Report, find_duplicates
from crawler_dedup.batch.formats.records import DEFAULT_COLUMNS, Columns
from crawler_dedup.batch.output import CLUSTERS, KEPT
from crawler_dedup.batch.sign import Signing, sign_collection
from crawler_dedup.system.callbacks import Advance, ignore_progress
from crawler_dedup.system.compression import zstd
from tests.support.crawling import article
from tests.support.labelled import write_lines
from tests.support.sitepages import listing, story

CONFIG = Config(tokenizer="bigrams")
HOSTS = ("http://a.example", "https://www.a.example", "http://b.example", "http://c.example")
SHELL = '<!doctype html><title>App</title><div id="root"></div>'


class Page(NamedTuple):
    """A page of a collection."""

    url: str
    html: str
    id: str | None = None


class Answer(NamedTuple):
    """The parts of a decision about a page that can be compared."""

    verdict: str
    duplicate_of: str = ""
    rule: str = ""
    distance: int | None = None


def body_of(kind: int, content: int, change: int) -> str:
    """Return the HTML of a page of one of several kinds, with changes of its content or of its frame."""
    stories = [f"/story/{number}" for number in range(content, content + 6 + change)]
    return (
        article(content, count=60, frame=f"frame {change}", links=["/", f"/{content}"]),
        article(content, count=60, changed=4 * change, links=["/", f"/{content}"]),
        story(content, 60 - 15 * change),
        listing(f"tag {content % 3}", stories, heading=f"tag {content % 3}"),
        listing(f"tag {content}", stories),
        SHELL,
    )[kind]


def make_pages(seed: int, size: int) -> list[Page]:
    """Return pages of a few sites, including copies, changed copies, and pages that are visited again."""
    source = random.Random(seed)
    contents = source.randint(1, 20)
    pages: list[Page] = []
    for _ in range(size):
        url = f"{source.choice(HOSTS)}/{source.randrange(2 * size)}"
        page = Page(url, body_of(source.randrange(6), source.randrange(contents), source.randrange(3)))
        pages.append(source.choice(pages) if pages and source.random() < 0.1 else page)
    return pages


@contextmanager
def example_folder(parent: Path) -> Iterator[Path]:
    """Yield a folder for an example of a property, which is removed afterwards."""
    with TemporaryDirectory(dir=parent) as name:
        yield Path(name)


def start(_: str, __: int | None) -> Advance:
    return ignore_progress


def write_pages(path: Path, pages: Iterable[Page]) -> Path:
    return write_lines(
        path, ({key: value for key, value in page._asdict().items() if value is not None} for page in pages)
    )


def write_record(
    url: str | None,
    content: bytes,
    *,
    number: int = 0,
    kind: str = "response",
    content_type: str = "application/http; msgtype=response",
    version: str = "WARC/1.1",
    length: object = None,
    headers: str = "",
    date: str = "2026-11-22T10:00:00Z",
    line_end: str = "\r\n",
    end: str | None = None,
) -> bytes:
    """Write a record of a WARC file, which need not keep to the standard.

    Args:
        number: its identifier.
        headers: more lines of its head.
        length: another length than that of *content*; ``""``: none.
        end: what ends the record, instead of two ends of lines.
    """
    lines = [version, f"WARC-Type: {kind}", f"WARC-Record-ID: <urn:uuid:{number}>", f"WARC-Date: {date}"]
    lines += [f"WARC-Target-URI: {url}"] if url is not None else []
    lines += [f"Content-Type: {content_type}", *headers.splitlines()]
    lines += [f"Content-Length: {len(content) if length is None else length}"] if length != "" else []
    head = "".join(f"{line}{line_end}" for line in [*lines, ""])
    return head.encode("utf-8", "surrogateescape") + content + (2 * line_end if end is None else end).encode()


def warc_record(
    url: str,
    body: bytes,
    *,
    status: str = "200 OK",
    content_type: str = "text/html; charset=utf-8",
    **record: Any,
) -> bytes:
    """Write a record of a response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n\r\n"
    return write_record(url, head.encode() + body, **record)


def pack(path: Path, content: bytes) -> bytes:
    match path.suffix:
        case ".gz":
            return gzip.compress(content)
        case ".zst":
            return zstd.compress(content)
    return content


def write_warc(path: Path, pages: list[Page]) -> Path:
    path.write_bytes(b"".join(pack(path, warc_record(page.url, page.html.encode())) for page in pages))
    return path


def write_wacz(path: Path, pages: list[Page], compression: int = ZIP_STORED) -> Path:
    """Write an archive with two WARC files, the second of which is not compressed."""
    half = len(pages) // 2
    first, second = path.with_name("data.warc.gz"), path.with_name("more.warc")
    with ZipFile(path, "w", compression) as archive:
        archive.writestr("datapackage.json", "{}")
        archive.write(write_warc(first, pages[:half]), "archive/data.warc.gz")
        archive.writestr("pages/pages.jsonl", '{"format": "json-pages-1.0"}\n')
        archive.write(write_warc(second, pages[half:]), "archive/more.warc")
    first.unlink()
    second.unlink()
    return path


def write_parquet(path: Path, pages: list[Page]) -> Path:
    pq.write_table(pa.table({"url": [page.url for page in pages], "html": [page.html for page in pages]}), path)
    return path


def sign(
    inputs: Sequence[Path], directory: Path, config: Config = CONFIG, columns: Columns = DEFAULT_COLUMNS, **options: Any
) -> Signing:
    return sign_collection(inputs, directory, config, start, columns=columns, **options)


def find(directory: Path, output: Path, config: Config = CONFIG, **options: Any) -> Report:
    return find_duplicates(directory, output, config, start, **options)


def table(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def job(inputs: Sequence[Path], folder: Path, mark: str = "", own_text: Any = None) -> Applied:
    """Run a batch job with its steps: sign, find and apply."""
    sign(inputs, folder / "signed")
    find(folder / "signed", folder / "decisions")
    return apply_decisions(inputs, folder / "decisions", folder / "clean", start, mark=mark, own_text=own_text)


def answers(output: Path) -> dict[tuple[str, int], Answer]:
    """Return the decision about each page, by input and record."""
    decided = {(row["input"], row["record"]): Answer(row["verdict"]) for row in table(output / KEPT)}
    for row in table(output / CLUSTERS):
        place = row["input"], row["record"]
        assert place not in decided
        decided[place] = Answer(row["verdict"], row["representative"], row["rule"], row["distance"])
    return decided


def decide(directory: Path, profiles: Path, pages: Iterable[Page], config: Config = CONFIG) -> list[Decision]:
    """Return the decisions of a crawl with the site profiles *profiles* about *pages*, on a new index."""
    with Deduplicator.open(directory, config, profiles=profiles) as deduplicator:
        signed = [deduplicator.sign(page.url, page.html.encode(), encoding="utf-8", key=page.id) for page in pages]
        return deduplicator.decide(signed)


def crawl_answers(directory: Path, profiles: Path, pages: Iterable[Page], config: Config = CONFIG) -> list[Answer]:
    """Return the parts of the decisions of :func:`decide` that a batch job has, too."""
    return [
        Answer(
            str(decision.verdict),
            decision.key if decision.verdict is Verdict.UNCHANGED else decision.duplicate_of,
            decision.match.rule if decision.match else "",
            decision.match.distance if decision.match else None,
        )
        for decision in decide(directory, profiles, pages, config)
    ]
