"""What review and judge work on: drops, their pages side by side, the answers of a person, and the index."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_dedup.config import Config
from crawler_dedup.errors import BeyondLimits, DedupError
from crawler_dedup.evaluation.answers import Answers, Label, PageContent
from crawler_dedup.evaluation.labelled import Share
from crawler_dedup.index.location import Location
from crawler_dedup.index.opening import open_index, open_to_write
from crawler_dedup.index.overrides import Override, OverrideKind, make_override
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.comparison import Lack, PairSites, find_drop_lacks, find_sites_then
from crawler_dedup.inspection.difference import Aligned, Omission, compare_lines, compare_words, omit_equal, split_lines
from crawler_dedup.inspection.dropped import StoredPages, id_of, restore
from crawler_dedup.inspection.droptable import Drop, DropTable, Search
from crawler_dedup.inspection.fetching import as_fetched, fetch_page
from crawler_dedup.inspection.journals import Journals, Selection
from crawler_dedup.journal.entry import DUPLICATES
from crawler_dedup.signing import parsing
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.signing.text import unpack_text
from crawler_dedup.system.callbacks import Advance, ignore_progress

if TYPE_CHECKING:
    from crawler_dedup.warc.droppedpage import DroppedPage

_MAX_FETCHED = 8  # pairs of pages that are kept in memory: each page may have ten million bytes
_SHARE_OF_TIME = 50  # reading the index again takes at most this part of the time

Contents = tuple[PageContent, PageContent]
"""The contents of a dropped page and of its representative."""


class Review:
    """The drops of an index, and what a person says about them. Safe for threads.

    Args:
        index: where the index is; it is opened for each use, so that crawls and commands can use it, too.
        find_journals: finds the journals, of which a running crawl adds one.
        config: the settings.
        directory: the directory of the WARC files with dropped pages.
        answers: the folder of the answers.
    """

    def __init__(
        self, index: Location, find_journals: Callable[[], Journals], config: Config, directory: Path, answers: Path
    ) -> None:
        self._index = index
        self._find_journals = find_journals
        with closing(open_index(index)) as pages:
            self.signer = Signer(config_from_spec(pages.header.spec, config))
        self._lock = threading.RLock()
        self.answers = Answers(answers)
        self._stored = StoredPages(directory)
        self._fetched: OrderedDict[int, Contents] = OrderedDict()
        self._next_reading = 0.0
        self.table = DropTable(config.max_distance)
        self.choices: dict[str, list[str]] = {}

    def refresh(self, advance: Advance = ignore_progress) -> None:
        """Read what running crawls have added. A large index is read again only now and then.

        *advance* is called with numbers of bytes of the journals that were read.
        """
        with self._lock, closing(open_index(self._index)) as pages:
            began = time.monotonic()
            if began >= self._next_reading:
                self.table.read_index(pages)
                ended = time.monotonic()
                self._next_reading = ended + _SHARE_OF_TIME * (ended - began)
            self._stored.refresh()
            has_changed = self.table.read_journals(self._find_journals(), pages, advance)
            self.table.find_last()
            if has_changed or not self.choices:
                self.choices = {column: self.table.names(column) for column in ("rule", "spider", "run")}

    def find(self, search: Search, first: int, size: int, *, doubtful_first: bool) -> tuple[int, Sequence[Drop]]:
        """Return the number of drops that are searched for, and *size* of them from the one with the number *first* on."""
        with self._lock:
            return self.table.count_drops(search), self.table.find(search, first, size, doubtful_first=doubtful_first)

    def find_unanswered(self, search: Search, *, doubtful_first: bool) -> Drop | None:
        """Return the first of the drops that are searched for about which nothing was said."""
        with self._lock:
            drops = self.table.find(search, 0, 1, doubtful_first=doubtful_first, is_left_out=self.answers.has)
        return next(iter(drops), None)

    def get(self, number: int) -> Drop:
        """Return a drop by its id. Raises :class:`DedupError` if this is no longer the last drop of its page."""
        with self._lock:
            drop = self.table.get(number)
        if drop is None:
            raise DedupError("There is no such drop, or it was replaced: the page was dropped again later.")
        return drop

    def contents(self, drop: Drop) -> Contents:
        """Return the known contents of both pages: as they were fetched, or else as they are stored, or their texts."""
        if (fetched := self._fetched.get(drop.id)) is not None:
            return fetched
        record, dropped, _ = self.find_stored(drop)
        new = PageContent(text=unpack_text(drop.entry.text), title=drop.entry.title)
        if dropped:
            new = PageContent(html=as_fetched(dropped).self_describing_body)
        return new, PageContent(
            text=unpack_text(record.page.text), title=record.page.title
        ) if record else PageContent()

    def find_stored(self, drop: Drop) -> tuple[Record | None, DroppedPage | None, PairSites]:
        """Return the representative and the dropped page, if they are stored, and what was known about their sites."""
        with self._lock, closing(open_index(self._index)) as pages:
            record = pages.find(drop.entry.scope, drop.kept_key) if drop.kept_key else None
            return record, self._stored.find(id_of(drop.entry)), find_sites_then(pages, drop.entry)

    def is_stored(self, drop: Drop) -> bool:
        """Return whether the dropped page is in a WARC file, as it was."""
        return id_of(drop.entry) in self._stored

    def find_lacks(self, drop: Drop) -> list[Lack]:
        """Return what the representative lacks of a page that is stored, or of a pair that was fetched."""
        new, kept = self.contents(drop)
        record, _, sites = self.find_stored(drop)
        representative = kept.html or (record and record.page)
        if not (new.html and representative):
            return []
        return find_drop_lacks(drop.entry, new.html, representative, self.signer, sites)

    def fetch(self, drop: Drop) -> None:
        """Fetch both pages, the dropped one only if it is not stored, and remember them.

        Raises:
            DedupError: one of them cannot be fetched.
        """
        stored, limit = self._stored.find(id_of(drop.entry)), self.signer.config.max_bytes
        new_page = as_fetched(stored) if stored else fetch_page(drop.entry.url, limit)
        pages = new_page, fetch_page(drop.entry.duplicate_of, limit)
        new, kept = (PageContent(html=page.self_describing_body) for page in pages)
        with self._lock:
            self._fetched[drop.id] = new, kept
            while len(self._fetched) > _MAX_FETCHED:
                self._fetched.popitem(last=False)

    def label_of(self, drop: Drop) -> Label | None:
        """Return what was said about a drop: 1 if it is right, 0 if not."""
        return self.answers.label_of(drop.entry)

    def answer(self, drop: Drop, label: Label) -> None:
        """Write down whether a drop is right."""
        contents = self.contents(drop)
        with self._lock:
            self.answers.add(drop.entry, *contents, label)

    def restore(self, drop: Drop) -> None:
        """Write down that a drop is wrong, and have the page crawled again, as `crawler-dedup restore` does.

        A page that passed, because it was only marked, or that has been kept since then needs no restoration.

        Raises:
            DedupError: the page cannot be restored; the answer is stored all the same.
        """
        self.answer(drop, 0)
        if drop.entry.event == "mark" or drop.is_kept:
            return
        with self._lock, closing(open_to_write(self._index)) as pages:
            is_stored = self.is_stored(drop)
            refused = restore(pages, [drop.entry], int(time.time()), is_stored=lambda _: is_stored).refused
        if refused:
            raise DedupError(f"Your answer is stored, but the page cannot be restored: {refused[0][1]}")

    def overrides_of(self, drop: Drop) -> dict[OverrideKind, list[Override]]:
        """Return the overrides that are about the dropped page, by their kind: of ``separate`` those for this pair."""
        overrides: dict[OverrideKind, list[Override]] = {}
        with self._lock, closing(open_index(self._index)) as pages:
            for override in pages.list_overrides():
                is_of_pair = override.kind != "separate" or override.concerns(drop.entry.duplicate_of)
                if is_of_pair and override.concerns(drop.entry.url):
                    overrides.setdefault(override.kind, []).append(override)
        return overrides

    def override(self, drop: Drop, kind: OverrideKind, *, undo: bool = False) -> None:
        """Say that a page is never dropped, or never because of this representative, as the commands do; or take it back."""
        urls = [drop.entry.url, drop.entry.duplicate_of] if kind == "separate" else [drop.entry.url]
        try:
            override = make_override(kind, urls, int(time.time()))
        except ValueError as error:
            raise DedupError(str(error)) from error
        with self._lock, closing(open_to_write(self._index)) as pages:
            pages.remove_overrides([override]) if undo else pages.add_overrides([override])

    def precision(self) -> list[tuple[str, Share]]:
        """Return the share of right drops among the answers: of all rules as ``""``, and then of each rule."""
        with self._lock:
            rules = ["", *self.choices.get("rule", ())]
            return [(rule, self.answers.precision(Selection(DUPLICATES, rule=rule))) for rule in rules]

    def close(self) -> None:
        """Delete the table of drops."""
        with self._lock:
            self.table.close()


MAX_ROWS = 500
"""Largest number of rows that are shown of a pair."""

Words = Sequence[tuple[str, bool]]
"""Parts of a block, each with whether the other side lacks it."""


@dataclass(frozen=True)
class Cell:
    """A block of one page: its words, and whether it is a heading or a link."""

    words: Words = ()
    kind: str = ""


@dataclass(frozen=True)
class Row:
    """Two blocks side by side, or a number of equal blocks that are left out.

    Attributes:
        state: ``equal``, ``changed``, ``new`` (only the dropped page has it), ``kept`` or ``omitted``.
    """

    state: str
    new: Cell = Cell()
    kept: Cell = Cell()
    omitted: int = 0


@dataclass(frozen=True)
class Sides:
    """Two pages side by side.

    Attributes:
        rows: at most :data:`MAX_ROWS`.
        counts: number of all rows in each state.
    """

    rows: Sequence[Row]
    counts: Mapping[str, int]


def compare_sides(new: PageContent, kept: PageContent, signer: Signer) -> Sides:
    """Compare two pages by the blocks that a reader sees, or by their main texts if only that of one is known."""
    read = _read_blocks if new.html and kept.html else partial(_read_lines, signer=signer)
    new_blocks, kept_blocks = read(new), read(kept)
    lines = list(compare_lines([text for text, _ in new_blocks], [text for text, _ in kept_blocks]))
    rows = _make_rows(omit_equal(lines), dict(new_blocks), dict(kept_blocks))
    return Sides(list(islice(rows, MAX_ROWS)), Counter(map(_state, lines)))


def _read_blocks(content: PageContent) -> list[tuple[str, str]]:
    """Return text and kind of each block."""
    try:
        blocks = read_outline(parsing.parse(content.html, None)).blocks
    except BeyondLimits as limit:
        return [(f"({limit})", "")]
    kinds = (
        (block.text, "heading" if block.level else "link" if 2 * block.linked > block.size else "") for block in blocks
    )
    return [(line, kind) for text, kind in kinds for line in split_lines(text)]


def _read_lines(content: PageContent, signer: Signer) -> list[tuple[str, str]]:
    return [(line, "") for line in split_lines(read_main_text(content, signer))]


def read_main_text(content: PageContent, signer: Signer) -> str:
    """Return the main text of a page; of a page beyond a limit, the limit in parentheses."""
    try:
        return content.text or signer.main_text(content.html)
    except BeyondLimits as limit:
        return f"({limit})"


def _state(line: Aligned) -> str:
    return "equal" if line.is_equal else "changed" if line.new and line.kept else "new" if line.new else "kept"


def _make_rows(
    lines: Iterator[Aligned | Omission], new_kinds: Mapping[str, str], kept_kinds: Mapping[str, str]
) -> Iterator[Row]:
    for line in lines:
        if isinstance(line, Omission):
            yield Row("omitted", omitted=line.lines)
            continue
        state = _state(line)
        parts = list(compare_words(line.new, line.kept)) if state == "changed" else [line]
        differs = state != "equal"
        new = [(part.new, differs and not part.is_equal) for part in parts if part.new]
        kept = [(part.kept, differs and not part.is_equal) for part in parts if part.kept]
        yield Row(state, Cell(new, new_kinds.get(line.new, "")), Cell(kept, kept_kinds.get(line.kept, "")))
