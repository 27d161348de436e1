"""Inputs whose pages are compared with a library: files, addresses and indexes, in parts that several processes read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from crawler_dedup.errors import BeyondLimits, DedupError
from crawler_dedup.index.opening import has_index, open_index
from crawler_dedup.inspection.fetching import fetch_page, is_address
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.parsing import decode_text
from crawler_dedup.signing.text import unpack_text
from crawler_dedup.system.extras import require_extra
from crawler_dedup.system.processes import raise_if_stopped
from crawler_dedup.works.documents import MAX_BYTES, is_document, read_content, read_document
from crawler_dedup.works.library import Library
from crawler_dedup.works.matches import Match, Matches

_SNIFFED = 1 << 10


@dataclass(frozen=True)
class Part:
    """A part of an input: every *parts*-th record, beginning with number *part*.

    Attributes:
        source: an address, a file or the directory of an index.
        kind: ``url``, ``file``, ``index`` or a format of files of pages.
    """

    source: str
    kind: str
    part: int = 0
    parts: int = 1


@dataclass(frozen=True)
class Checked:
    """What became of a part of an input: its number of pages, its matches (and whether each is new), and errors."""

    pages: int
    matches: list[tuple[Match, bool]]
    errors: list[str]


def list_parts(name: str, jobs: int) -> list[Part]:
    """Return the parts of an input, which *jobs* processes can read at the same time.

    Raises :class:`DedupError` if there is no such input.
    """
    from crawler_dedup.batch.formats import find_format  # noqa: PLC0415  (reading needs an extra)

    if is_address(name):
        return [Part(name, "url")]
    path = Path(name)
    if not path.exists():
        raise DedupError(f"{name} does not exist, and is not an address (http://…, https://…).")
    if path.is_dir() and has_index(path):
        return [Part(name, "index", part, jobs) for part in range(jobs)]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and (is_document(file) or find_format(file)))
        return [part for file in files for part in list_parts(str(file), jobs)]
    if input_format := find_format(path):
        require_extra("batch", "reading files of pages")
        return [Part(name, input_format, part, jobs) for part in range(jobs)]
    with path.open("rb") as file:
        begins_with_address = is_address(file.read(_SNIFFED).decode("utf-8", "replace").strip())
    lines = path.read_text("utf-8", "replace").split() if begins_with_address else []
    if lines and all(map(is_address, lines)):
        return [Part(line, "url") for line in lines]
    return [Part(str(path.absolute()), "file")]


def check_part(part: Part, *, library: Path, max_bytes: int) -> Checked:
    """Compare the pages of a part with the library in a directory, and store the matches of each at once.

    Args:
        max_bytes: maximum size of a page that is fetched.
    """
    pages, matches, errors = 0, list[tuple[Match, bool]](), list[str]()
    with closing(Library(library)) as opened, closing(Matches(library)) as stored:
        try:
            for address, text in _read_pages(part, max_bytes):
                raise_if_stopped()
                pages += 1
                try:
                    matches += stored.store(address, text, opened.compare(text))
                except BeyondLimits as limit:
                    errors.append(f"{address} has {limit}.")
        except DedupError as error:
            errors.append(str(error))
    return Checked(pages, matches, errors)


def _read_pages(part: Part, max_bytes: int) -> Iterator[tuple[str, str]]:
    """Yield the address and the text of each page of a part."""
    if part.kind == "url":
        page = fetch_page(part.source, max_bytes)
        read = decode_text if page.is_plain_text else partial(extract_text, whole=True)
        yield page.url, read(page.body, page.encoding)
    elif part.kind == "file":
        yield part.source, read_document(part.source, read_content(Path(part.source))).text
    elif part.kind == "index":
        yield from _read_index(part)
    else:
        yield from _read_records(part)


def _read_records(part: Part) -> Iterator[tuple[str, str]]:
    from crawler_dedup.batch.formats import module_of  # noqa: PLC0415  (it needs the extra)
    from crawler_dedup.batch.formats.records import DEFAULT_COLUMNS, PassedOver  # noqa: PLC0415

    bad: PassedOver | None = None
    for record in module_of(part.kind).read_pages(Path(part.source), DEFAULT_COLUMNS, MAX_BYTES):
        if isinstance(record, PassedOver):
            bad = record if record.is_bad and bad is None and not part.part else bad
        elif record.record % part.parts == part.part:
            yield record.url, extract_text(record.body, record.encoding, whole=True)
    if bad is not None:
        raise DedupError(f"{part.source}, record {bad.record:,}: {bad.detail or bad.reason}.")


def _read_index(part: Part) -> Iterator[tuple[str, str]]:
    count = stored = 0
    with closing(open_index(Path(part.source))) as pages:
        for count, record in enumerate(pages.records(handled_only=True), 1):
            stored += bool(record.page.text)
            if count % part.parts == part.part and (text := unpack_text(record.page.text)):
                yield record.page.url, text
    if count and not stored:
        raise DedupError(f"{part.source} holds no texts: it was not made with DEDUP_STORE_TEXT = True.")
