"""Outline → own text: the main text in reading order, without the blocks that the site repeats on many pages.

The main text by which pages are compared leaves out short blocks, so that an article is the same in any template. An own
text, which is to be read or stored, has more: the heading that names the page; where the main text is the smaller part of a
page of many sections, all texts outside of elements that are marked as something else; short blocks between two blocks of
the text, except labels that the page repeats; the heading of each entry; and all entries of a list if the main text has half
of them or more, or the heading above the list. A long text that is there twice, for wide and for narrow screens, is left
out the second time.

What the site repeats is left out, unless hardly anything else remains: then the page itself is the text that other pages
repeat, such as an imprint or a licence. Short repeated blocks stay between blocks of the page's own: the headings and labels
of many pages are the same.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from functools import lru_cache, partial
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from lxml.html import HtmlElement

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.owntext.elements import Elements
from crawler_dedup.owntext.markdown import write_markdown
from crawler_dedup.pagetext import OwnText, OwnTextJob
from crawler_dedup.signing.blockreader import LISTS
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.lines import is_number_sequence
from crawler_dedup.signing.maintext import MainBlocks, ReadPage, find_main_blocks, read_page
from crawler_dedup.signing.outline import Outline
from crawler_dedup.signing.pagelines import compared_lines, hashes_of_lines

if TYPE_CHECKING:
    from crawler_dedup.signing.signer import Signer

_MAIN_SHARE, _LONG_MAIN = 0.6, 4_000
"""A shorter main text with a smaller share of the page's text is one section of several."""
_SECTION = 200
_GAP, _GAP_LINKED = 100, 0.1
_SERIES = 4
_COPY = 100
_LABEL, _LABELS, _CELLS = 40, 3, frozenset(("td", "th"))
_OWN = 20
_KEPT_BYTES, _OBJECT_BYTES = 16 << 20, 512  # of pages that were signed last; of each element, and each line of code
_SITES = 64  # whose hashes are cached; of a hostile site they take 400 KB


read_with_elements = partial(read_page, elements=Elements)
"""Reads a page as signing does, and notes what own texts are made of."""


def make_own_text(signer: Signer, body: bytes, job: OwnTextJob) -> OwnText:
    """Read a page, and return its own text. A page beyond a limit has its whole visible text."""
    try:
        tree, page = signer.read_page(body, job.encoding, read=read_with_elements)
        if _is_mostly_hidden(page):
            page = read_with_elements(tree, revealed=True)
    except BeyondLimits:
        return OwnText(extract_text(body, job.encoding, whole=True))
    return own_text_of(page, job)


def own_text_of(page: ReadPage, job: OwnTextJob) -> OwnText:
    """Return the own text of a *page* that was read with elements."""
    elements = page.outline.elements
    assert elements is not None
    blocks, repeated = page.outline.blocks, job.repeated
    selector = _Selector(page, elements)
    chosen = selector.select(page.main)
    kept = selector.leave_out(_unpack(repeated.hashes), chosen) if repeated.hashes else chosen
    left_out = sorted(set(chosen).difference(kept))
    size = selector.size_of(left_out)
    return OwnText(
        write_markdown(page.outline, elements, kept)
        if job.format == "markdown"
        else "\n".join([elements.lines.get(place) or blocks[place].shown for place in kept]),
        bool(repeated.snapshot),
        repeated.snapshot,
        size / (size + selector.size_of(kept)) if size else 0.0,
        tuple([blocks[place].text for place in left_out]) if job.with_removed else (),
    )


def _is_mostly_hidden(page: ReadPage) -> bool:
    """Return whether most of the main text is hidden. Signing leaves such a page out; here it may fade in."""
    blocks = page.main.blocks if page.outline.hides else ()
    return 2 * sum(len(block.shown) for block in blocks) < sum(len(block.text) for block in blocks)


class OwnTexts:
    """Makes the own texts of a crawl's pages. Recently signed pages are kept, not to be read again."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._pages: OrderedDict[tuple[bytes, str | None], tuple[ReadPage, int]] = OrderedDict()
        self._size = 0  # of these pages

    def reader_of(self, body: bytes, encoding: str | None) -> Callable[[HtmlElement], ReadPage]:
        """Return a function that reads a page to sign it, and keeps it."""

        def read(tree: HtmlElement) -> ReadPage:
            page = read_with_elements(tree)
            self._keep((body, encoding), page)
            return page

        return read

    def make(self, body: bytes, job: OwnTextJob) -> OwnText:
        """Return the own text of a page."""
        page, _ = self._pages.get((body, job.encoding), (None, 0))
        return make_own_text(self._signer, body, job) if page is None else own_text_of(page, job)

    def _keep(self, key: tuple[bytes, str | None], page: ReadPage) -> None:
        if _is_mostly_hidden(page):
            return  # an own text is made of another reading
        outline = page.outline
        objects = len(outline.parents) + sum([len(block.lines) for block in outline.blocks])
        size = len(key[0]) + _OBJECT_BYTES * objects
        self._size += size - self._pages.pop(key, (page, 0))[1]
        self._pages[key] = page, size
        while self._size > _KEPT_BYTES:
            self._size -= self._pages.popitem(last=False)[1][1]


@lru_cache(maxsize=_SITES)
def _unpack(hashes: bytes) -> frozenset[int]:
    return frozenset(np.frombuffer(hashes, dtype="<u4").tolist())


class _Selector:
    """Selects the blocks of a page that are its text, by their places among its blocks."""

    def __init__(self, page: ReadPage, elements: Elements) -> None:
        self._page, self._elements, self._blocks = page, elements, page.outline.blocks
        beside = _find_beside(page.outline, elements)
        self._texts = [
            place
            for place, block in enumerate(self._blocks)
            if block.shown and not (block.text[0].isdigit() and is_number_sequence(block.text))
        ]
        self._times = Counter([block.text for block in self._blocks])
        self._content = [
            place
            for place in self._texts
            if elements.marks[elements.owners[place]] not in beside and not self._is_label(place)
        ]

    def _is_label(self, place: int) -> bool:
        """Return whether a block is a short link, such as 'back to top', that the page repeats outside of tables."""
        block, tag = self._blocks[place], self._elements.tags[self._elements.owners[place]]
        is_link = block.size <= _LABEL and 2 * block.linked >= block.size and not block.level
        return is_link and self._times[block.text] >= _LABELS and tag not in _CELLS

    def size_of(self, places: Iterable[int]) -> int:
        """Return the size of the blocks at *places*."""
        return sum([self._blocks[place].size for place in places])

    def select(self, main: MainBlocks, left_out: Container[int] = ()) -> list[int]:
        """Return the text of the page without the blocks *left_out*; *main* is the main text among the other blocks."""
        blocks = self._blocks
        content = [place for place in self._content if place not in left_out]
        chosen = self._places_of(main, self._texts)
        if not chosen:
            return content or [place for place in self._texts if place not in left_out]
        if 2 * self.size_of(chosen.intersection(content)) < self.size_of(chosen):  # comments, for example
            begin = min(chosen)
            above = Outline([blocks[place] for place in content if place < begin], self._page.outline.parents)
            chosen |= self._places_of(find_main_blocks(above, self._page.title), content)
        others = [place for place in content if 2 * blocks[place].linked < blocks[place].size]
        if self.size_of(chosen) < min(_MAIN_SHARE * self.size_of(chosen.union(others)), _LONG_MAIN):
            chosen |= self._find_sections(others)
        if 2 * self.size_of(inside := chosen.intersection(content)) >= self.size_of(chosen):
            chosen = inside
        begin, end = min(chosen), max(chosen)
        if blocks[begin].level != 1:  # otherwise the text has a name of its own
            chosen.update(place for place in content if place < end and blocks[place] is self._page.main.name)
        others = [place for place in content if blocks[place].level or self._times[blocks[place].text] < _LABELS]
        chosen.update(self._find_gaps(sorted(chosen), others))
        chosen.update(self._find_headings(sorted(chosen), content))
        chosen |= self._find_series(chosen, content)
        return self._without_copies(sorted(chosen | self._find_lists(chosen, content)))

    def _places_of(self, main: MainBlocks, places: Iterable[int]) -> set[int]:
        """Return those *places* whose blocks are the main text."""
        of_main = set(map(id, main.blocks))
        return {place for place in places if id(self._blocks[place]) in of_main}

    def leave_out(self, repeated: Container[int], chosen: list[int]) -> list[int]:
        """Return the text without blocks whose hashes are in *repeated*.

        *chosen*, the text with such blocks, is returned if hardly anything else is there.
        """
        page, blocks = self._page, self._blocks
        left_out = self._find_repeated(repeated)
        kept = [place for place in chosen if place not in left_out]
        if 2 * self.size_of(kept) < self.size_of(chosen):  # the text of the page may be elsewhere
            rest = [block for place, block in enumerate(blocks) if place not in left_out]
            main = find_main_blocks(Outline(rest, page.outline.parents), page.title)
            if main.blocks or max([blocks[place].size for place in chosen]) <= _LABEL:  # labels are no imprint
                kept = self.select(main, left_out)
            own = self.size_of([place for place in kept if not blocks[place].level])
            if page.main.blocks and (own < _OWN or (main.are_links and not page.main.are_links)):
                return chosen
        return sorted({*kept, *self._find_gaps(kept, chosen, _LABEL)})

    def _find_repeated(self, repeated: Container[int]) -> set[int]:
        """Return the blocks that the site repeats: of a preformatted text, all of its lines."""
        hashes = self._elements.hashes or hashes_of_lines(self._page.outline)
        are_repeated = map(repeated.__contains__, map(hashes.get, count()))  # of all lines
        return {
            place
            for place, block in enumerate(self._blocks)
            if False not in [next(are_repeated) for _ in compared_lines(block)]
        }

    def _group(self, places: Iterable[int], attribute: Literal["group", "place"]) -> dict[int, list[int]]:
        """Return *places* by this attribute of their blocks."""
        groups = defaultdict[int, list[int]](list)
        for place in places:
            groups[getattr(self._blocks[place], attribute)].append(place)
        return groups

    def _find_sections(self, places: Iterable[int]) -> set[int]:
        """Return those *places* that are in texts with more than a label."""
        texts = self._group(places, "group").values()
        return {place for text in texts if self.size_of(text) >= _SECTION for place in text}

    def _find_gaps(self, chosen: Sequence[int], content: Iterable[int], most: int = _GAP) -> Iterator[int]:
        """Yield those of *content* between two *chosen* blocks, if all between these has little text, and few links.

        Links in headings do not count.
        """
        blocks, candidates = self._blocks, set(content)
        for before, after in pairwise(chosen):
            if between := range(before + 1, after):
                size, links = self.size_of(between), [blocks[at].linked for at in between if not blocks[at].level]
                if size <= most and sum(links) <= _GAP_LINKED * size:
                    yield from candidates.intersection(between)

    def _find_headings(self, chosen: Sequence[int], content: Iterable[int]) -> Iterator[int]:
        """Yield the last heading before each *chosen* block, with little text between the two.

        It is a link, as the title of an entry is, or in the same place as another *chosen* heading.
        """
        blocks, candidates = self._blocks, {place for place in content if self._blocks[place].level}
        places = {blocks[place].place for place in chosen if blocks[place].level}
        for before, after in pairwise([-1, *chosen]):
            for place in candidates.intersection([at for at in range(before + 1, after) if blocks[at].level][-1:]):
                is_title = blocks[place].place in places or 2 * blocks[place].linked >= blocks[place].size
                if is_title and self.size_of(range(place + 1, after)) <= _GAP:
                    yield place

    def _find_series(self, chosen: Set[int], content: Iterable[int]) -> set[int]:
        """Return the blocks of *content*, as the entries of a list, in places where half of the blocks are *chosen*."""
        begin, end = min(chosen), max(chosen)
        series = self._group([at for at in content if begin <= at <= end and self._blocks[at].place], "place").values()
        return {at for same in series if len(same) >= _SERIES and 2 * len(chosen & {*same}) >= len(same) for at in same}

    def _find_lists(self, chosen: Set[int], content: Iterable[int]) -> set[int]:
        """Return the entries of the lists and tables below *chosen* headings, which may be links."""
        headings = {place for place in chosen if self._blocks[place].level}
        texts = self._group(content, "group").items()
        lists = [text for group, text in texts if self._elements.tags[group] in LISTS and text[0] - 1 in headings]
        return set().union(*lists)

    def _without_copies(self, chosen: Iterable[int]) -> list[int]:
        """Return *chosen* without texts that are there before, for screens of another size."""
        texts = [
            (tuple([self._blocks[at].text for at in text]), text) for text in self._group(chosen, "group").values()
        ]
        first = dict(reversed(texts))
        return sorted(chain(*[text for key, text in texts if first[key] is text or self.size_of(text) < _COPY]))


def _find_beside(page: Outline, elements: Elements) -> set[int]:
    """Return the elements that are marked as beside the content.

    A mark on an element with half of the text or more says something about the page.
    """
    marks, sizes = elements.marks, Counter[int]()
    for block, owner in zip(page.blocks, elements.owners, strict=True):
        sizes[marks[owner]] += block.size - block.linked
    for mark in sorted(set(marks), reverse=True)[:-1]:  # inner elements first; the root has no mark
        sizes[marks[page.parents[mark]]] += sizes[mark]
    return {mark for mark, size in sizes.items() if mark and 2 * size < sizes[0]}
