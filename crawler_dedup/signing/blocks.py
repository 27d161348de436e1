"""The blocks of a page as short hashes, which site profiles count and by which pages are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial, reduce
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.signedpage import Trait
from crawler_dedup.signing.features import normalise, split_units, unify
from crawler_dedup.signing.limits import MAX_BLOCKS
from crawler_dedup.signing.lines import hash_line, hash_text, is_number_sequence
from crawler_dedup.signing.links import hash_target
from crawler_dedup.signing.pagelines import SHORT, SYMBOLS, Line, count_read, read_lines, split_into_lines
from crawler_dedup.signing.textblocks import find_joined
from crawler_dedup.signing.titles import find_named, letters_of, split_title

if TYPE_CHECKING:
    from crawler_dedup.signing.maintext import MainBlocks
    from crawler_dedup.signing.outline import Outline
    from crawler_dedup.signing.textblocks import Block

MAX_ADDRESS_LINE = 120
"""Letters of a line that says where the page is: its label, and an address."""
IS_ADDRESS = int(Trait.EMBEDDED | Trait.NAME)
"""The traits of the address that the block before it ends with: no picture repeats a title."""
LEAST_WEEK = 5
"""Cells of a row with consecutive numbers: a week of a calendar."""
MAX_ROW = 500
"""Letters: the cells of a longer row are those of a layout."""

_PACKED = np.dtype([("hash", "<u4"), ("traits", "u1"), ("size", "u1")])
_SIZE_UNIT = 4
DATA_UNITS = SHORT // _SIZE_UNIT + 1
"""Size of a value in the data of a script, in units: it counts as a longer block."""
_REMEMBERED = 128  # pages whose unpacked blocks are cached, because a new page is compared with several kept pages
_MAX_UNITS = 255
_FILE, _ADDRESS = 0xFFFF0000, 1  # in the hash of a picture: the bits of the file's name, and the bit of an address
_CELL_END = b"\x1f"
_ADDRESS_AT_END = re.compile(r"(?:https?://|(?<!\S)/)[^\s/]\S*$")
_BEGINS_DATA = ("{", "[", '"')  # JSON without white space, which may contain addresses


_ENTRY, _HEADING, _NUMBER, _NAME, _MAIN, _HIDDEN, _EMBEDDED, _LINKED = map(int, Trait)


class PackedBlock(NamedTuple):
    """The data that is kept of a block.

    Attributes:
        hash: 32 bits of xxh3 of its normalised text without white space and punctuation (:func:`pack_blocks`); a different
            hash if the text is repeated. For a picture or the like, 16 bits of the name of its file (:func:`hash_of_file`)
            and 15 of its address; for the text of an aside or a dialog, 31 bits of it.
        traits: bits of :class:`Trait`.
        size: its size in Latin letters: a multiple of 4, up to 1,020. A line without letters, digits and symbols has 0.
    """

    hash: int
    traits: int
    size: int


# The same as PackedBlock._make, without calling a function in Python for each block.
_make_block = partial(tuple.__new__, PackedBlock)


class PageBlocks(NamedTuple):
    """The blocks of a page, and the parts of its title that it names.

    Attributes:
        packed: each block, in reading order (:func:`unpack_blocks`).
        named: which parts of the title are also in a heading or in the main text: as bits, the lowest for the first
            part in alphabetical order.
        texts: the text of each block by its hash, to explain a decision.
    """

    packed: bytes
    named: int
    texts: Mapping[int, str]


def pack_blocks(
    page: Outline,
    main: MainBlocks,
    title: str,
    url: str,
    embedded: Mapping[str, bool] | None = None,
    data: Iterable[int] = (),
) -> PageBlocks:
    """Pack the blocks of a *page*, of which *main* is the main text.

    Two blocks are the same if their texts are the same after normalising (NFKC, case and Traditional characters folded).
    Ignored are white space, punctuation outside of numbers (ASCII, full-width, typographic dashes and quotation marks), and
    phrases that count visits. Of a line that has hardly more than a date, the date counts. A repeated text makes a block for
    each occurrence, unless it is a link, hidden or the title. The cells of a row of a table, and a label with its value,
    make a further block together. Numbers of lines, and a line that only announces an advertisement, make no block. The hash
    of an address follows a block that ends with it.

    Args:
        url: the address of the page.
        embedded: content beside the text (:func:`crawler_dedup.signing.embedded.find_embedded_content`), and whether it is
            shown.
        data: hashes of data in scripts (:func:`crawler_dedup.signing.scriptdata.find_data`).
    """
    plain_title = normalise(title)
    longest_name = 2 * len(plain_title) + 2  # it may have its words twice
    title_units = split_units(plain_title)
    names = {letters_of(plain_title), *split_title(title)} - {""}
    edges = frozenset(name[at] for name in names for at in (0, -1))
    blocks, of_main = split_into_lines(page.blocks), frozenset(map(id, split_into_lines(main.blocks)))
    joined = find_joined(blocks)
    lines = [(block, line, _is_entry(block, line)) for _, block, line in read_lines(blocks)]
    rows = _Rows([line.hash for _, line, is_entry in lines if is_entry and not line.numbers])
    headings: list[tuple[str, bool]] = []
    main_texts: list[str] = []
    for block, line, is_entry in lines:
        plain = line.plain
        traits = _ENTRY if is_entry else 0
        if block.level:
            headings.append((letters_of(plain), is_entry))
            traits |= _HEADING
        if id(block) in of_main:
            if traits != _ENTRY | _HEADING:
                main_texts.append(plain)
            traits |= _MAIN
        if line.numbers:
            traits |= _NUMBER
        may_begin = plain[:1] in edges or not plain[:1].isalnum()
        # False for most blocks.
        may_be_name = block.level or (may_begin and (plain[-1:] in edges or not plain[-1:].isalnum()))
        if may_be_name and len(plain) <= longest_name:
            traits |= _NAME * _is_name(plain, plain_title, names, title_units if block.level else [])
        if block.shown != block.text:
            traits |= _HIDDEN
        if block.path_kind and (block.linked >= block.size or id(block) in joined):
            traits |= _LINKED
        rows.add(line, block, traits)
        if "/" in plain and block.size <= MAX_ADDRESS_LINE and (address := _ADDRESS_AT_END.search(block.text)):
            rows.packed.setdefault(hash_target(address[0], url), (IS_ADDRESS, 0))
    rows.end()
    rows.add_others(blocks, embedded or {}, data)
    named = find_named(headings, main_texts, split_title(title), letters_of(plain_title))
    packed = np.array([(number, *block) for number, block in _select(rows.packed).items()], dtype=_PACKED)
    return PageBlocks(packed.tobytes(), named, rows.texts)


def _is_entry(block: Block, line: Line) -> bool:
    """Return whether a block is mainly a link, without words or a value beside it."""
    has_price = bool(line.numbers) and 2 * (block.size - block.linked) > block.linked
    return 2 * block.linked >= block.size and not (block.beside or has_price)


class _Rows:
    """The blocks of a page as they are packed, and those of its tables' rows.

    Args:
        links: the hashes of links without numbers. A text with the same words counts as a repeated one: that the menu has
            an entry "Berlin" says nothing about the page. Numbers are those of pages of a list, or months of an archive.

    Attributes:
        packed: traits and size of each block, by its hash.
        texts: its text, by its hash.
    """

    def __init__(self, links: Iterable[int]) -> None:
        self.packed: dict[int, tuple[int, int]] = {}
        self.texts: dict[int, str] = {}
        self._times = dict.fromkeys(links, 1)
        self._row = self._last_day = 0
        self._dated: list[tuple[Line, Block, int]] = []
        self._cells: list[tuple[Line, Block, int]] = []

    def add(self, line: Line, block: Block, traits: int) -> None:
        """Add a block."""
        if block.row != self._row:
            self.end()
            self._row = block.row
        if self._row and not block.is_preformatted:
            self._cells.append((line, block, traits))
        size = block.size if line.says_something else 0
        if line.around:
            self._dated.append((line, block, traits))
            self._add(hash_line(line.around, ()), block.text, size, traits & ~_NUMBER)
        self._add(line.hash, block.text, size, traits)

    def end(self) -> None:
        """Add a block for the cells of the last row together."""
        cells, self._cells, self._row = self._cells, [], 0
        size = sum([block.size for _, block, _ in cells])
        if len(cells) < 2 or size > MAX_ROW:
            return
        traits = reduce(_join_traits, [traits & ~(_NAME | _HEADING | _LINKED) for *_, traits in cells])
        letters = b"".join([_CELL_END * max(block.cell, 1) + (line.letters or line.around) for line, block, _ in cells])
        numbers = [number for line, *_ in cells for number in line.numbers]
        if not self._continues_calendar(" ".join([line.plain for line, *_ in cells])):
            text = " | ".join([block.text for _, block, _ in cells])
            says_something = any(line.says_something for line, *_ in cells)
            self._add(hash_line(letters, numbers), text, size if says_something else 0, traits)

    def _continues_calendar(self, plain: str) -> bool:
        """Return whether the cells of a row are a week of a calendar, or the rest of the last one."""
        numbers = plain.split()
        if not is_number_sequence(plain):
            return False
        continues, self._last_day = int(numbers[0]) == self._last_day + 1, int(numbers[-1])
        return continues or len(numbers) >= LEAST_WEEK

    def add_others(self, blocks: Sequence[Block], embedded: Mapping[str, bool], data: Iterable[int]) -> None:
        """Add what is compared beside the lines of *blocks*: pictures and the like, data, and blocks that are not read."""
        for source, is_shown in embedded.items():
            file = _find_file(source)
            whole = hash_text(source if file else unify(source))
            if whole not in self.packed:
                number = whole & ~_ADDRESS
                number = hash_text(file) & _FILE | number & ~_FILE | _ADDRESS if file else number
                self.packed.setdefault(number, (_EMBEDDED if is_shown else _EMBEDDED | _HIDDEN, 0))
                self.texts[number] = source
        for number in data:
            self.packed.setdefault(number, (_NUMBER | _MAIN, DATA_UNITS))
            self.texts.setdefault(number, "a value in the data of a script")
        if rest := "\n".join([block.text for block in blocks[count_read(blocks) :]]):
            self.packed[xxh3_64_intdigest(rest.encode("utf-8", "replace")) >> 32] = _NUMBER | _MAIN, DATA_UNITS
        if len({line.numbers for line, *_ in self._dated}) > 1:  # each date belongs to what is around it
            for line, block, traits in self._dated:
                size = block.size if line.says_something else 0
                self._add(hash_line(line.around, line.numbers), block.text, size, traits)

    def _add(self, number: int, text: str, size: int, traits: int) -> None:
        if not traits & (_ENTRY | _HIDDEN | _NAME):
            self._times[number] = times = self._times.get(number, 0) + 1
            if times > 1:
                number = xxh3_64_intdigest(times.to_bytes(4, "little"), number) >> 32
        if number in self.packed:
            traits = _join_traits(self.packed[number][0], traits)
        self.texts[number] = text
        self.packed[number] = traits, min(-(-size // _SIZE_UNIT), _MAX_UNITS)


def _find_file(source: str) -> str:
    """Return the name of a file and its parameters, if *source* is an address."""
    path, mark, parameters = source.strip().partition("#")[0].partition("?")
    is_address = ("/" in path or "." in path) and path[:1] not in _BEGINS_DATA and len(source.split()) == 1
    return path.rstrip("/").rpartition("/")[2] + mark + parameters if is_address else ""


def hash_of_file(number: int) -> int:
    """Return the bits of the file name in a picture's hash *number*, which are the same on any host; 0 if it has none."""
    return number & _FILE if number & _ADDRESS else 0


def _is_name(plain: str, title: str, parts: AbstractSet[str], units: list[str]) -> bool:
    """Return whether a line is one of the *parts* of a *title*, perhaps twice, or has its *units*, numbers in order."""
    letters = letters_of(plain)
    half = letters[: len(letters) // 2]
    is_name = letters in parts or (half in parts and letters == 2 * half)
    if not is_name and units and (own := split_units(plain)):
        left = iter(2 * units)  # "Bears 2 Lions 1" is "Lions 1 Bears 2", and "Lions 2 Bears 1" is not
        has_digit = any(map(str.isdigit, plain))
        is_name = all(unit in left for unit in own) if has_digit else frozenset(units).issuperset(own)
    return is_name and not any(category(character) in SYMBOLS and character not in title for character in plain)


def _join_traits(first: int, second: int) -> int:
    """Return the traits of a repeated block: it is a link, or hidden, only if it is so both times."""
    always = _ENTRY | _HIDDEN | _LINKED
    return (first | second) & ~always | (first & second & always)


def _select(blocks: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return *blocks*, or if they are too many the headings, the largest of the others, and a row for the rest."""
    if len(blocks) <= MAX_BLOCKS:
        return blocks
    by_size = sorted(blocks, key=lambda number: (blocks[number][0] & _HEADING, blocks[number][1]), reverse=True)
    kept = frozenset(by_size[: MAX_BLOCKS - 1])
    left_out = [number for number in blocks if number not in kept]
    # Two pages with this many blocks are the same only if the blocks left out are the same, too.
    hash_of_others = xxh3_64_intdigest(np.array(left_out, dtype="<u4").tobytes()) >> 32
    selected = {number: block for number, block in blocks.items() if number in kept}
    return selected | {hash_of_others: (_NUMBER | _MAIN, DATA_UNITS)}


@lru_cache(maxsize=_REMEMBERED)
def unpack_blocks(packed: bytes) -> tuple[PackedBlock, ...]:
    """Return the blocks that :attr:`PageBlocks.packed` holds."""
    rows = np.frombuffer(packed, dtype=_PACKED)
    sizes = rows["size"].astype(np.uint16) * _SIZE_UNIT
    return tuple(map(_make_block, zip(rows["hash"].tolist(), rows["traits"].tolist(), sizes.tolist(), strict=True)))


def read_rows(packed: bytes) -> NDArray[np.void]:
    """Return packed blocks as an array with the fields of :class:`PackedBlock`; *size* is in units of 4 letters."""
    return np.frombuffer(packed, dtype=_PACKED)
