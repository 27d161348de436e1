"""What a person says of drops: right or wrong. Kept in a folder that ``crawler-dedup calibrate`` reads."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import msgspec
from xxhash import xxh3_64_hexdigest

from crawler_dedup.errors import DedupError
from crawler_dedup.evaluation.counts import Share
from crawler_dedup.evaluation.labelled import Document, LabelledPair
from crawler_dedup.journal.entry import Entry
from crawler_dedup.journal.reader import Selection
from crawler_dedup.urls import host_of

_ANSWERS = "answers.jsonl"


class Answer(msgspec.Struct, frozen=True):
    """What a person says of one drop.

    Attributes:
        entry: the line of the journal, without the text.
        right: whether the page is a duplicate.
    """

    entry: Entry
    right: bool


class Copy(msgspec.Struct, frozen=True):
    """What is there of a page: its HTML as it is now, or its stored main text, or neither."""

    html: bytes = b""
    text: str = ""

    def __bool__(self) -> bool:
        return bool(self.html or self.text)


class Answers:
    """The answers in a folder.

    ``answers.jsonl`` has all of them; ``docs.jsonl`` and ``pairs.jsonl`` (docs/evaluation.md) those of pairs of which both
    pages are there.
    """

    def __init__(self, folder: Path) -> None:
        """Raises :class:`DedupError` if *folder* holds something else."""
        self.folder = folder
        if (folder / "pairs.jsonl").exists() and not (folder / _ANSWERS).exists():
            raise DedupError(f"{folder} holds labelled pages that are no answers of `judge`: name another folder.")
        self._answers = list(_read(folder / _ANSWERS))
        self._judged = {_pair(one.entry) for one in self._answers}

    def __contains__(self, entry: Entry) -> bool:
        """Whether the two pages of *entry* were judged."""
        return _pair(entry) in self._judged

    def precision(self, asked: Selection) -> Share:
        """How many of those that were *asked* for and judged are right."""
        right = [one.right for one in self._answers if one.entry in asked]
        return Share(sum(right), len(right))

    def add(self, entry: Entry, new: Copy, kept: Copy, *, right: bool) -> bool:
        """Note an answer, on disk at once; returns whether `calibrate` can use it, because both pages are there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        answer = Answer(msgspec.structs.replace(entry, text=b""), right)
        self._append(_ANSWERS, answer)
        if new and kept:
            one, other = self._document(entry.url, new), self._document(entry.kept_url, kept)
            self._append("pairs.jsonl", LabelledPair(one, other, 1 if right else 0, source=host_of(entry.url)))
        self._answers.append(answer)
        self._judged.add(_pair(entry))
        return bool(new and kept)

    def _document(self, url: str, copy: Copy) -> str:
        content = copy.html or copy.text.encode("utf-8", "replace")
        name = xxh3_64_hexdigest(url.encode("utf-8", "replace") + b"\0" + content)
        file = ""
        if copy.html:
            file = f"html/{name}.html.gz"
            (self.folder / "html").mkdir(exist_ok=True)
            (self.folder / file).write_bytes(gzip.compress(copy.html, mtime=0))
        self._append("docs.jsonl", Document(name, url, html=file, text="" if file else copy.text.replace("\n", "\n\n")))
        return name

    def _append(self, name: str, line: msgspec.Struct) -> None:
        with (self.folder / name).open("ab", buffering=0) as file:  # one write, whole or not at all
            file.write(msgspec.json.encode(line) + b"\n")


def _pair(entry: Entry) -> tuple[str, str]:
    return entry.url, entry.kept_url


def _read(path: Path) -> Iterator[Answer]:
    if path.exists():
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            yield _decoded(line, f"{path}, line {number}")


def _decoded(line: bytes, where: str) -> Answer:
    try:
        return msgspec.json.decode(line, type=Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DedupError(f"{where}: {error}; remove the line.") from None
