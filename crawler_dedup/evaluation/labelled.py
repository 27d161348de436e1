"""Read a folder of labelled pages: the pages, and the labels of pairs of them.

``docs/reference/evaluation.md`` describes the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from crawler_dedup.errors import DedupError
from crawler_dedup.signing.text import write_html
from crawler_dedup.system.files import GZIP_ERRORS, open_maybe_gzipped, read_maybe_gzipped

_Z = 1.959964  # 95 % of a normal distribution lie within this number of standard deviations


@dataclass(frozen=True)
class Share:
    """The share of *hits* in *total*."""

    hits: int
    total: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1; ``None`` if *total* is 0."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share, from 0 to 1.

        Wilson's score interval ("Probable inference, the law of succession, and statistical inference", Journal of the
        American Statistical Association 22, 1927), which is valid for shares near 0 and 1 and for small numbers too.
        """
        if not self.total:
            return 0.0, 1.0
        share, z2 = self.hits / self.total, _Z * _Z
        middle = (share + z2 / (2 * self.total)) / (1 + z2 / self.total)
        half = _Z * sqrt(share * (1 - share) / self.total + z2 / (4 * self.total * self.total)) / (1 + z2 / self.total)
        # The ends 0 and 1 are exact: rounding must not move them.
        low = middle - half if self.hits else 0.0
        high = middle + half if self.hits < self.total else 1.0
        return low, high


@dataclass(frozen=True)
class Counts:
    """Labelled pairs by the outcome.

    Attributes:
        found: duplicates that are called duplicates.
        missed: duplicates that are not called duplicates.
        false: other pairs that are called duplicates.
        apart: other pairs that are not called duplicates.
    """

    found: int = 0
    missed: int = 0
    false: int = 0
    apart: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.found + other.found, self.missed + other.missed, self.false + other.false, self.apart + other.apart
        )

    @property
    def precision(self) -> Share:
        """The share of duplicates among the pairs that are called duplicates."""
        return Share(self.found, self.found + self.false)

    @property
    def recall(self) -> Share:
        """The share of the duplicates that are found."""
        return Share(self.found, self.found + self.missed)


ANSWERS = "answers.jsonl"
"""The file of a person's answers in ``crawler-dedup judge``, including pairs whose pages are not in the folder."""
_PAIRS = "pairs.jsonl"
_DOCUMENTS = "docs.jsonl"


class Document(msgspec.Struct, frozen=True):
    """A page.

    Attributes:
        id: its identifier, unique in the file.
        url: its address, against which relative links are resolved.
        html: its HTML file, relative to the folder; a file whose name ends in ``.gz`` is gunzipped.
        text: its plain text in place of an HTML file, with empty lines between paragraphs.
        title: the title of a page that has only a text; an HTML file has its own title.
    """

    id: str
    url: str | None = None
    html: str = ""
    text: str = ""
    title: str = ""

    def __post_init__(self) -> None:
        if bool(self.html) == bool(self.text):
            raise ValueError("A document needs either `html`, the name of a file, or `text`.")


class LabelledPair(msgspec.Struct, frozen=True):
    """Two pages, and whether a crawl may drop one because the other is kept.

    Attributes:
        id_a: identifier of one page.
        id_b: identifier of the other.
        label: 1 for duplicates, 0 for other pairs, "grey" for pairs on which people would disagree: they are not counted.
        category: a part of the file for which results are reported separately.
    """

    id_a: str
    id_b: str
    label: Literal[0, 1, "grey"]
    category: str = ""


@dataclass(frozen=True)
class LabelledSet:
    """The pairs of one file, and the documents that occur in them, by identifier."""

    name: str
    documents: Mapping[str, Document]
    pairs: tuple[LabelledPair, ...]


def read_folder(folder: Path, pair_type: type[LabelledPair] = LabelledPair) -> list[LabelledSet]:
    """Read every set in *folder*, then every set in its direct subfolders, in the order of their paths.

    Args:
        pair_type: decodes a pair, perhaps with more fields.

    Raises:
        DedupError: there is no set, or a set cannot be used; the message names file and line.
    """
    pairs_files = [path for below in ("", "*/") for path in sorted(folder.glob(f"{below}*{_PAIRS}*")) if path.is_file()]
    sets: dict[str, LabelledSet] = {}
    for path in pairs_files:
        stem = _stem(path)
        if stem is None:
            continue
        name = "/".join([*path.parent.relative_to(folder).parts, *filter(None, [stem.rstrip(".")])])
        name = name or folder.resolve().name
        if name in sets:
            raise DedupError(f"{path}: the set {name} exists twice, uncompressed and gzipped.")
        sets[name] = _read_set(folder, name, path, path.with_name(f"{stem}{_DOCUMENTS}"), pair_type)
    if not sets and (folder / ANSWERS).exists():
        raise DedupError(
            f"The answers of `crawler-dedup judge` in {folder} have no pages to evaluate: `crawler-dedup judge --fetch`"
            " fetches and saves the pages of all answers."
        )
    if not sets:
        raise DedupError(
            f"{folder} holds no labelled pages: neither it nor a folder in it has a {_DOCUMENTS} beside a {_PAIRS},"
            f" or a NAME.{_DOCUMENTS} beside a NAME.{_PAIRS}."
        )
    return list(sets.values())


def read_body(folder: Path, document: Document) -> bytes:
    """Return the HTML of a document.

    Raises:
        DedupError: its file cannot be read.
    """
    if document.text:
        return write_html(document.text, document.title)
    return read_maybe_gzipped(folder / document.html)


def _stem(pairs: Path) -> str | None:
    """Return the part of a file name before ``pairs.jsonl``, ``""`` or ``NAME.``; ``None`` for any other file."""
    stem, _, end = pairs.name.rpartition(_PAIRS)
    return stem if end in ("", ".gz") and (not stem or stem.endswith(".")) else None


def _read_set(
    folder: Path, name: str, pairs_file: Path, documents_file: Path, pair_type: type[LabelledPair]
) -> LabelledSet:
    if not documents_file.is_file():
        documents_file = documents_file.with_name(f"{documents_file.name}.gz")
    if not documents_file.is_file():
        raise DedupError(f"{pairs_file} has no {documents_file.stem} beside it.")
    documents: dict[str, tuple[int, Document]] = {}
    for number, document in _read_lines(documents_file, Document):
        before = documents.setdefault(document.id, (number, document))[1]
        if (before.html, before.text) != (document.html, document.text):
            raise DedupError(f"{documents_file}, line {number}: {document.id!r} is the identifier of another page too.")
    pairs, used = [], {}
    for number, pair in _read_lines(pairs_file, pair_type):
        for identifier in (pair.id_a, pair.id_b):
            if identifier not in documents:
                raise DedupError(f"{pairs_file}, line {number}: {documents_file.name} has no document {identifier!r}.")
            used[identifier] = documents[identifier][1]
        pairs.append(pair)
    for number, document in (documents[identifier] for identifier in used):
        if document.html:
            _check_path(folder, document, f"{documents_file}, line {number}")
    return LabelledSet(name, used, tuple(pairs))


def _check_path(folder: Path, document: Document, line_name: str) -> None:
    path = folder / document.html
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DedupError(f"{line_name}: the HTML file {document.html} is not in {folder}.")
    if not path.is_file():
        raise DedupError(f"{line_name}: there is no HTML file {path}.")


_Line = TypeVar("_Line", bound=msgspec.Struct)


def _read_lines(path: Path, kind: type[_Line]) -> Iterator[tuple[int, _Line]]:
    """Yield (number from 1, decoded line) of the lines of a file that are not empty."""
    decoder = msgspec.json.Decoder(kind)
    number = 0
    try:
        with open_maybe_gzipped(path) as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DedupError(f"{path}, line {number}: {error}") from None
    except GZIP_ERRORS as error:
        raise DedupError(f"{path} cannot be read: {error}") from None
