"""What a person answers in ``crawler-dedup judge``: which drops are right.

The answers stand in a folder that ``crawler-dedup calibrate`` reads.
"""

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


class PageContent(msgspec.Struct, frozen=True):
    """What is available of a page: its HTML as it is now, or its stored main text, or neither."""

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
        """Read the answers in *folder*. Raises :class:`DedupError` if it holds something else."""
        self.folder = folder
        if (folder / "pairs.jsonl").exists() and not (folder / _ANSWERS).exists():
            raise DedupError(f"{folder} holds labelled pages that are no answers of `judge`: name another folder.")
        self._answers = list(_read(folder / _ANSWERS))
        self._answered = {_pair_of(answer.entry) for answer in self._answers}

    def __contains__(self, entry: Entry) -> bool:
        """Return whether there is an answer about the two pages of *entry*."""
        return _pair_of(entry) in self._answered

    def precision(self, selection: Selection) -> Share:
        """Count how many of the answers about selected drops say that they are right."""
        right = [answer.right for answer in self._answers if answer.entry in selection]
        return Share(sum(right), len(right))

    def add(self, entry: Entry, new: PageContent, kept: PageContent, *, right: bool) -> bool:
        """Write an answer to disk at once; return whether `calibrate` can use it, because both pages are there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        answer = Answer(msgspec.structs.replace(entry, text=b""), right)
        self._append(_ANSWERS, answer)
        if new and kept:
            id_new, id_kept = self._add_document(entry.url, new), self._add_document(entry.duplicate_of, kept)
            self._append("pairs.jsonl", LabelledPair(id_new, id_kept, 1 if right else 0, source=host_of(entry.url)))
        self._answers.append(answer)
        self._answered.add(_pair_of(entry))
        return bool(new and kept)

    def _add_document(self, url: str, content: PageContent) -> str:
        identifying = content.html or content.text.encode("utf-8", "replace")
        name = xxh3_64_hexdigest(url.encode("utf-8", "replace") + b"\0" + identifying)
        file = ""
        if content.html:
            file = f"html/{name}.html.gz"
            (self.folder / "html").mkdir(exist_ok=True)
            (self.folder / file).write_bytes(gzip.compress(content.html, mtime=0))
        self._append(
            "docs.jsonl", Document(name, url, html=file, text="" if file else content.text.replace("\n", "\n\n"))
        )
        return name

    def _append(self, name: str, line: msgspec.Struct) -> None:
        with (self.folder / name).open("ab", buffering=0) as file:  # one write, whole or not at all
            file.write(msgspec.json.encode(line) + b"\n")


def _pair_of(entry: Entry) -> tuple[str, str]:
    return entry.url, entry.duplicate_of


def _read(path: Path) -> Iterator[Answer]:
    if path.exists():
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            yield _decode(line, f"{path}, line {number}")


def _decode(line: bytes, where: str) -> Answer:
    try:
        return msgspec.json.decode(line, type=Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DedupError(f"{where}: {error}; remove the line.") from None
