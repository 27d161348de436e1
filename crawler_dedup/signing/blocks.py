"""The blocks of a page as short hashes, which site profiles count and by which thin pages are compared."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from crawler_dedup.signedpage import Trait
from crawler_dedup.signing.cover import LONG, CoverBlock, encode_cover, key_of_fact, keys_of_texts
from crawler_dedup.signing.features import MAX_CHARS, normalise, split_units, unify
from crawler_dedup.signing.lines import (
    BEGINS_NO_DIGIT,
    find_facts,
    hash_line,
    hash_text,
    is_number_sequence,
    numbers_in,
    without_punctuation,
    without_visits,
)
from crawler_dedup.signing.names import find_names
from crawler_dedup.signing.tables import read_patterns
from crawler_dedup.signing.titles import Heading, describe_page, read_heading

if TYPE_CHECKING:
    from crawler_dedup.signing.maintext import MainBlocks
    from crawler_dedup.signing.outline import Outline
    from crawler_dedup.signing.textblocks import Block

MAX_BLOCKS = 512
"""Maximum number of blocks of a page that are kept; if there are more, headings and the largest blocks are kept."""

_PACKED = np.dtype([("hash", "<u4"), ("traits", "u1"), ("size", "u1")])
_ROW = struct.Struct("<IBB")
_SIZE_UNIT = 4
_REMEMBERED = 128  # pages whose unpacked blocks are cached, because a new page is compared with several kept pages
_MAX_UNITS = 255
# Lines that only announce an advertisement, which differs on each visit.
_ADVERTISING = frozenset(map(str.encode, read_patterns("advertising")))
_FILE, _ADDRESS = 0xFFFF0000, 1  # in the hash of a picture: the bits of the file's name, and the bit of an address
_BEGINS_DATA = ("{", "[", '"')  # JSON without white space, which may contain addresses


_ENTRY, _HEADING, _NUMBER, _NAME, _MAIN, _HIDDEN, _EMBEDDED, _LINKED = map(int, Trait)


class PackedBlock(NamedTuple):
    """The data that is kept of a block.

    Attributes:
        hash: 32 bits of xxh3 of its normalised text without white space and punctuation (:func:`pack_blocks`); a different
            hash if the text is repeated. For a picture or the like, 16 bits of the name of its file (:func:`hash_of_file`)
            and 15 of its address; for a button or a text field, 31 bits of its text.
        traits: bits of :class:`Trait`.
        size: its size in Latin letters: a multiple of 4, up to 1,020. A line without letters and digits has 0.
    """

    hash: int
    traits: int
    size: int


# The same as PackedBlock._make, without calling a function in Python for each block.
_make_block = partial(tuple.__new__, PackedBlock)


class PageBlocks(NamedTuple):
    """The blocks of a page, its heading, and the parts of its title that it names.

    Attributes:
        packed: each block, in reading order (:func:`unpack_blocks`).
        heading: hash of the last ``<h1>`` shortly before the main text, or else of the first in it; links do not count. 0
            if there is none, or if any ``<h1>`` is in the title or contains a part of the title.
        named: which parts of the title are also in a heading or in the main text: as bits, the lowest for the first
            part in alphabetical order.
        cover: the same blocks, in the same order, in the form that is kept of text pages
            (:mod:`crawler_dedup.signing.cover`). Empty if there is content beside the text.
    """

    packed: bytes
    heading: int
    named: int
    cover: bytes


def pack_blocks(
    page: Outline, main: MainBlocks, title: str, embedded: Mapping[str, bool] | None = None, data: Iterable[int] = ()
) -> PageBlocks:
    """Pack the blocks of a *page*, of which *main* is the main text.

    Two blocks are the same if their texts are the same after normalising (NFKC, case and Traditional characters folded).
    Ignored are white space, punctuation outside of numbers (ASCII, full-width, typographic dashes and quotation marks), and
    phrases that count visits. A repeated text makes a block for each occurrence, unless it is a link, hidden or the title.
    A line that only announces an advertisement makes no block.

    Args:
        embedded: content beside the text (:func:`crawler_dedup.signing.embedded.find_embedded_content`), and whether it is
            shown.
        data: hashes of data in scripts (:func:`crawler_dedup.signing.scriptdata.find_data`).
    """
    plain_title = normalise(title)
    longest_name = 2 * len(plain_title) + 2  # it may have its words twice
    title_units = frozenset(split_units(plain_title))
    beginnings = frozenset(unit[0] for unit in title_units)
    blocks, of_main = _compared(page.blocks), frozenset(map(id, _compared(main.blocks)))
    packed: dict[int, tuple[int, int]] = {}
    times: dict[int, int] = {}
    lines_of: dict[int, _Line] = {}
    headings: list[Heading] = []
    main_texts: list[str] = []
    noted = {} if page.elements is None else page.elements.hashes
    first_main = next((place for place, block in enumerate(blocks) if id(block) in of_main), len(blocks))
    lines = _lines(blocks)
    numbered = enumerate(zip(blocks, lines, strict=False))
    for place, (block, (plain, letters, digits)) in (row for row in numbered if row[1][1][1] not in _ADVERTISING):
        traits = _ENTRY if 2 * block.linked >= block.size else 0
        is_main = id(block) in of_main
        if block.level:
            headings.append(read_heading(block.level, plain, bool(traits), is_main, place))
            traits |= _HEADING
        if is_main:
            if traits != _ENTRY | _HEADING:
                main_texts.append(plain)
            traits |= _MAIN
        numbers = numbers_in(plain) if digits else []
        if numbers:
            traits |= _NUMBER
        begins_alike = plain[:1] in beginnings or not plain[:1].isalnum()  # false for most blocks
        if begins_alike and len(plain) <= longest_name and _repeats(plain, title_units):
            traits |= _NAME
        if block.shown != block.text:
            traits |= _HIDDEN
        noted[place] = number = number_of_text = hash_line(letters, numbers)
        if not traits & (_ENTRY | _HIDDEN | _NAME):
            times[number] = count = times.get(number, 0) + 1
            if count > 1:
                number = _hash_again(number, count)
        if number in packed:
            traits = _join_traits(packed[number][0], traits)
        lines_of[number] = _Line(block, plain, letters, times.get(number_of_text, 1))
        units = min(-(-block.size // _SIZE_UNIT), _MAX_UNITS)
        packed[number] = traits, units if plain[:1].isalnum() or any(map(str.isalnum, plain)) else 0
    for source, is_shown in (embedded or {}).items():
        file = _find_file(source)
        whole = hash_text(source if file else unify(source))
        if whole not in packed:
            packed.setdefault(_hash_source(file, whole), (_EMBEDDED if is_shown else _EMBEDDED | _HIDDEN, 0))
    # The data of a thin page are marks, like its lines with numbers. The blocks of a text contain no pictures.
    traits_of_data = _NUMBER if embedded is not None else _NUMBER | _EMBEDDED
    packed |= {number: (traits_of_data, 0) for number in data if number not in packed}
    rows = _select(packed)
    description = describe_page(headings, main_texts, title, plain_title, first_main)
    return PageBlocks(_pack(rows), *description, b"" if embedded is not None else _pack_cover(rows, lines_of))


def _compared(blocks: Sequence[Block]) -> list[Block]:
    return [line for block in blocks for line in compared_lines(block)]


def compared_lines(block: Block) -> Sequence[Block]:
    """Return *block*; for a preformatted text its lines, unless they are only line numbers."""
    return block.lines if block.lines and not is_number_sequence(block.text) else (block,)


class _Line(NamedTuple):
    """A block with its normalised text, the bytes of the text that are hashed, and how many times it has occurred."""

    block: Block
    plain: str
    letters: bytes
    times: int

    def find_numbers(self, traits: int) -> list[str]:
        """Return the numbers in the text. In a repeated text, the number of the occurrence is one of them."""
        return (find_facts(self.plain) if traits & _NUMBER else []) + ([f"\n{self.times}"] if self.times > 1 else [])


def _pack_cover(rows: Mapping[int, tuple[int, int]], lines: Mapping[int, _Line]) -> bytes:
    """Pack *rows* as they are kept of a text page."""
    counting = {
        number
        for number, (traits, _) in rows.items()
        if traits & _NUMBER and number in lines and is_number_sequence(lines[number].plain)
    }
    long = {
        number: line
        for number, line in lines.items()
        if line.block.size > LONG and number in rows and number not in counting
    }
    names = {number: _names_of(line.block) for number, line in long.items()}
    keys_of_long = keys_of_texts(
        [(line.letters, line.find_numbers(rows[number][0]), names[number][1]) for number, line in long.items()]
    )
    keys = dict(zip(long, keys_of_long, strict=True))
    blocks = []
    for number, (traits, units) in rows.items():
        key = keys.get(number, key_of_fact(number))
        if number in lines:
            block = lines[number].block
            linked = _LINKED if block.linked >= block.size and block.place else 0
            size = block.size if units and number not in counting else 0
            blocks.append(CoverBlock(key, traits | linked, size, names.get(number, (0, 0))[0]))
        else:  # data, and the row for the blocks that are left out, have to be the same on the kept page, too
            blocks.append(CoverBlock(key, traits, LONG if traits & _EMBEDDED else 1))
    return encode_cover(blocks, is_new=True)


def _names_of(block: Block) -> tuple[int, int]:
    """Return the names of a block. In a heading, words may have capital letters for its style."""
    if block.level:
        return 0, 0
    return find_names(block.text if block.prose is None else block.prose)


def _lines(blocks: Sequence[Block]) -> Iterator[tuple[str, bytes, bytes]]:
    """Return the normalised texts of the first blocks that together have up to :data:`MAX_CHARS` characters.

    Each text comes with the bytes of it that are hashed, and with bytes that are empty if it has no digit.
    """
    texts = [block.text for block in blocks]
    ends = list(accumulate(map(len, texts)))
    del texts[bisect_right(ends, MAX_CHARS) :]
    if not texts:
        return iter(())
    # All lines are normalised in one call, because for a short text the call costs more than the work.
    plain = without_visits(normalise("\n".join(texts)))
    content = plain.encode("utf-8", "replace")
    letters, digits = without_punctuation(content), content.translate(None, BEGINS_NO_DIGIT)
    return zip(plain.split("\n"), letters.split(b"\n"), digits.split(b"\n"), strict=True)


def hashes_of_lines(page: Outline) -> dict[int, int]:
    """Return the hash that :func:`pack_blocks` computes of each compared line of *page*, by its place among these lines."""
    lines = enumerate(_lines(_compared(page.blocks)))
    return {place: hash_line(letters, numbers_in(plain) if digits else []) for place, (plain, letters, digits) in lines}


def texts_of_blocks(page: Outline) -> dict[int, str]:
    """Return the text of each block of *page* by its hash in :func:`pack_blocks`, to explain a decision."""
    texts: dict[int, str] = {}
    times: dict[int, int] = {}
    blocks = _compared(page.blocks)
    for block, (plain, letters, digits) in zip(blocks, _lines(blocks), strict=False):
        number = hash_line(letters, numbers_in(plain) if digits else [])
        times[number] = count = times.get(number, 0) + 1
        texts[number if count == 1 else _hash_again(number, count)] = block.text
    return texts


def _hash_again(number: int, times: int) -> int:
    """Return the hash of a block with the hash *number* at its second occurrence on the page, its third, and so on."""
    return xxh3_64_intdigest(times.to_bytes(4, "little"), number) >> 32


def _hash_source(file: str, whole: int) -> int:
    """Return the hash that a block has for an embedded text, or for an address of *file*, with the full hash *whole*.

    The hash of an address has 16 bits of the name of its file, before 15 bits of the full hash.
    """
    whole &= ~_ADDRESS
    return hash_text(file) & _FILE | whole & ~_FILE | _ADDRESS if file else whole


def _find_file(source: str) -> str:
    """Return the name of a file and its parameters, if *source* is an address."""
    path, mark, parameters = source.strip().partition("#")[0].partition("?")
    is_address = ("/" in path or "." in path) and path[:1] not in _BEGINS_DATA and len(source.split()) == 1
    return path.rstrip("/").rpartition("/")[2] + mark + parameters if is_address else ""


def hash_of_file(number: int) -> int:
    """Return the bits of the file name in a picture's hash *number*, which are the same on any host; 0 if it has none."""
    return number & _FILE if number & _ADDRESS else 0


def _repeats(plain: str, title_units: frozenset[str]) -> bool:
    units = split_units(plain)
    return bool(units) and title_units.issuperset(units)


def _join_traits(first: int, second: int) -> int:
    """Return the traits of a repeated block: it is a link, or hidden, only if it is so both times."""
    always = _ENTRY | _HIDDEN
    return (first | second) & ~always | (first & second & always)


def _pack(rows: Mapping[int, tuple[int, int]]) -> bytes:
    return b"".join([_ROW.pack(number, traits, units) for number, (traits, units) in rows.items()])


def _select(blocks: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return *blocks*, or if they are too many the headings, the largest of the others, and a row for the rest."""
    if len(blocks) <= MAX_BLOCKS:
        return blocks
    by_size = sorted(blocks, key=lambda number: (blocks[number][0] & _HEADING, blocks[number][1]), reverse=True)
    kept = frozenset(by_size[: MAX_BLOCKS - 1])
    left_out = [number for number in blocks if number not in kept]
    # Two pages with this many blocks are the same only if the blocks left out are the same, too.
    hash_of_others = xxh3_64_intdigest(np.array(left_out, dtype="<u4").tobytes()) >> 32
    return {**{number: block for number, block in blocks.items() if number in kept}, hash_of_others: (_NUMBER, 0)}


def unpack_blocks(packed: bytes) -> list[PackedBlock]:
    """Return the blocks that :attr:`PageBlocks.packed` holds."""
    return list(_read_blocks(packed))


@lru_cache(maxsize=_REMEMBERED)
def _read_blocks(packed: bytes) -> tuple[PackedBlock, ...]:
    """Return the blocks that :attr:`PageBlocks.packed` holds."""
    rows = np.frombuffer(packed, dtype=_PACKED)
    sizes = rows["size"].astype(np.uint16) * _SIZE_UNIT
    return tuple(map(_make_block, zip(rows["hash"].tolist(), rows["traits"].tolist(), sizes.tolist(), strict=True)))


def block_traits(packed: bytes) -> bytes:
    """Return the traits of packed blocks, a byte each."""
    return packed[_ROW.size - 2 :: _ROW.size]


def block_hashes(packed: bytes) -> NDArray[np.uint32]:
    """Return the hashes of packed blocks."""
    hashes: NDArray[np.uint32] = np.frombuffer(packed, dtype=_PACKED)["hash"]
    return hashes
