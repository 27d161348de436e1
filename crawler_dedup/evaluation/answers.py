"""A person's answers in ``crawler-dedup judge``, which say for each drop whether it was right.

They are stored in a folder that ``crawler-dedup evaluate`` reads.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from xxhash import xxh3_64_hexdigest

from crawler_dedup.errors import DedupError
from crawler_dedup.evaluation.labelled import ANSWERS, Document, LabelledPair, LabelledSet, Share, read_folder
from crawler_dedup.inspection.journals import Selection
from crawler_dedup.journal.entry import VERSION, Entry
from crawler_dedup.system.files import open_replacement

Label = Literal[0, 1]
"""The same values as the label of a labelled pair: 1 for a duplicate, 0 for any other page."""


class Answer(msgspec.Struct, frozen=True):
    """The answer of a person about one drop.

    Attributes:
        entry: the journal entry of the drop, without the text of the page.
        label: whether the page is a duplicate.
    """

    entry: Entry
    label: Label


class PageContent(msgspec.Struct, frozen=True):
    """The available content of a page: its HTML, or its stored main text and title, or neither."""

    html: bytes = b""
    text: str = ""
    title: str = ""

    def __bool__(self) -> bool:
        return bool(self.html or self.text)


class Answers:
    """The answers in a folder.

    ``answers.jsonl`` has all answers; ``docs.jsonl`` and ``pairs.jsonl`` (docs/reference/evaluation.md) have those of pairs
    whose pages are both available.
    """

    def __init__(self, folder: Path) -> None:
        """Read the answers in *folder*. Raises :class:`DedupError` if it has labelled pairs, but no answers."""
        self.folder = folder
        has_pairs = (folder / "pairs.jsonl").exists()
        if has_pairs and not (folder / ANSWERS).exists():
            raise DedupError(f"{folder} holds labelled pages that are no answers of `judge`: name another folder.")
        self._answers = {_pair_of(answer.entry): answer for answer in _read(folder / ANSWERS)}
        sets = read_folder(folder) if has_pairs else ()
        self._with_pages = {_addresses_of(labelled, pair) for labelled in sets for pair in labelled.pairs}

    def has(self, url: str, kept: str) -> bool:
        """Return whether a person has answered about the drop of the page at *url* because of that at *kept*."""
        return (url, kept) in self._answers

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self._answers)

    @property
    def without_pages(self) -> list[Answer]:
        """The answers whose pages are not in the folder, so that `evaluate` cannot use them."""
        return [answer for pair, answer in self._answers.items() if pair not in self._with_pages]

    def precision(self, selection: Selection) -> Share:
        """Return the share of the answers about selected drops that call the drop right."""
        labels = [answer.label for answer in self._answers.values() if answer.entry in selection]
        return Share(sum(labels), len(labels))

    def add(self, entry: Entry, new: PageContent, kept: PageContent, label: Label) -> None:
        """Write an answer to disk at once, and the two pages if both are available.

        It replaces an earlier answer about the two pages; the same answer once more changes nothing.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        answer = Answer(msgspec.structs.replace(entry, text=b""), label)
        earlier = self._answers.get(_pair_of(entry))
        if earlier is None or earlier.label != label:
            self._append(ANSWERS, answer)
            self._answers[_pair_of(entry)] = answer
            self._remove_pages(answer)
        if _pair_of(entry) not in self._with_pages:
            self.add_pages(answer, new, kept)

    def label_of(self, entry: Entry) -> Label | None:
        """Return the answer about the two pages of *entry*; ``None`` if there is none."""
        answer = self._answers.get(_pair_of(entry))
        return None if answer is None else answer.label

    def _remove_pages(self, answer: Answer) -> None:
        """Remove the labelled pairs of an earlier answer about the same pages: a pair has one label."""
        pair = _pair_of(answer.entry)
        if pair not in self._with_pages:
            return
        (labelled,) = (each for each in read_folder(self.folder) if each.name == self.folder.resolve().name)
        with open_replacement(self.folder / "pairs.jsonl") as file:
            for line in labelled.pairs:
                if _addresses_of(labelled, line) != pair:
                    file.write(msgspec.json.encode(line) + b"\n")
        self._with_pages.discard(pair)

    def add_pages(self, answer: Answer, new: PageContent, kept: PageContent) -> None:
        """Write the two pages of *answer*, if both are available."""
        if not (new and kept):
            return
        entry = answer.entry
        id_new, id_kept = self._add_document(entry.url, new), self._add_document(entry.duplicate_of, kept)
        self._append("pairs.jsonl", LabelledPair(id_new, id_kept, answer.label))
        self._with_pages.add(_pair_of(entry))

    def _add_document(self, url: str, content: PageContent) -> str:
        identifying = content.html or content.text.encode("utf-8", "replace")
        name = xxh3_64_hexdigest(url.encode("utf-8", "replace") + b"\0" + identifying)
        if content.html:
            file = f"html/{name}.html.gz"
            (self.folder / "html").mkdir(exist_ok=True)
            (self.folder / file).write_bytes(gzip.compress(content.html, mtime=0))
            document = Document(name, url, html=file)
        else:
            document = Document(name, url, text=content.text.replace("\n", "\n\n"), title=content.title)
        self._append("docs.jsonl", document)
        return name

    def _append(self, name: str, line: msgspec.Struct) -> None:
        with (self.folder / name).open("ab", buffering=0) as file:  # unbuffered, so that a line is one write
            file.write(msgspec.json.encode(line) + b"\n")


def _pair_of(entry: Entry) -> tuple[str, str]:
    return entry.url, entry.duplicate_of


def _read(path: Path) -> Iterator[Answer]:
    if path.exists():
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            yield _decode(line, f"{path}, line {number}")


def _decode(line: bytes, line_name: str) -> Answer:
    try:
        answer = msgspec.json.decode(line, type=Answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DedupError(f"{line_name}: {error}; remove the line.") from None
    version = answer.entry.version
    if version != VERSION:
        raise DedupError(f"{line_name}: another version of crawler-dedup has written it (schema {version}).")
    return answer


def _addresses_of(labelled: LabelledSet, pair: LabelledPair) -> tuple[str, str]:
    return labelled.documents[pair.id_a].url or "", labelled.documents[pair.id_b].url or ""
