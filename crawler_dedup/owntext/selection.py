"""Select the blocks of a page that are its own text.

The main text by which pages are compared leaves out short blocks, so that an article is the same in any template. An own
text, which is to be read or stored, has more: the heading that names the page; where the main text is the smaller part of a
page of many sections, all texts with few links outside of elements that are marked as something else; short blocks between
two blocks of the text, except labels that the page repeats; the heading of each entry, and the headings of entries without a
text; and the entries of a list or a series of different texts between blocks of the text, and of a list after a colon or
below a paragraph. If the page has a main element, blocks outside of it are added only if they are main text. A text that is
there twice, for wide and for narrow screens, is left out the second time.

What the site repeats is left out, unless hardly anything else remains: then the page itself is the text that other pages
repeat, such as an imprint or a licence. Short repeated blocks stay between blocks of the page's own: the headings and labels
of many pages are the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence, Set
from itertools import chain, count, pairwise
from math import inf
from typing import Literal

from crawler_dedup.owntext.elements import COMMENTS, Elements
from crawler_dedup.signing.blockreader import LISTS
from crawler_dedup.signing.lines import is_number_sequence
from crawler_dedup.signing.maintext import MainBlocks, ReadPage, find_main_blocks
from crawler_dedup.signing.outline import Outline
from crawler_dedup.signing.pagelines import compared_lines, hashes_of_lines

_MAIN_SHARE, _NAMED_SHARE, _LONG_MAIN = 0.7, 0.4, 4_000
"""A shorter main text with a smaller share of the page's text is one section of several: the second share counts if it is
directly below the name of the page, as an article is."""
_BELOW = 150
_SECTION, _SECTION_LINKED = 100, 0.2
_GAP, _GAP_LINKED = 100, 0.1
_SERIES = 4
_TITLES_SHARE = 1 / 3
_COPY = 40
_PAGE_SHARE = 0.6  # of the page's text: a mark on more says something about the page, unless it is that of comments
_LABEL, _LABELS, _CELLS = 40, 3, frozenset(("td", "th"))
_COLONS = (":", "：")
_OWN = 20


class Selector:
    """Selects the blocks of a page that are its text, by their places among its blocks."""

    def __init__(self, page: ReadPage, elements: Elements) -> None:
        self._page, self._elements, self._blocks = page, elements, page.outline.blocks
        self._are_links = page.main.are_links
        self._marks = [elements.marks[owner] for owner in elements.owners]  # of the blocks
        self._texts = [
            place
            for place, block in enumerate(self._blocks)
            if block.shown and not (block.text[0].isdigit() and is_number_sequence(block.text))
        ]
        self._times = Counter([block.text for block in self._blocks])
        beside = _find_beside(page, elements)
        content = [place for place in self._texts if self._marks[place] not in beside and not self._is_label(place)]
        inside = [place for place in content if "main" in elements.words[self._marks[place]]]
        main = self._places_of(page.main, content)
        outside = [place for place in main.difference(inside) if not self._marks[place]]
        is_main = inside and self.size_of(main.intersection(inside)) >= self.size_of(outside)
        self._content = sorted({*inside, *outside}) if is_main else content

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
        if 2 * self.size_of(chosen.intersection(content)) < self.size_of(chosen):  # comments or notices, for example
            rest = Outline([blocks[place] for place in content], self._page.outline.parents)
            comments = {at for at in chosen if not COMMENTS.isdisjoint(self._elements.words[self._marks[at]])}
            chosen = comments | self._places_of(find_main_blocks(rest, self._page.title), content) or chosen
            if max([blocks[at].size for at in chosen]) <= _LABEL:  # dates beside a short text, for example
                longer = [at for at in content if blocks[at].size > _LABEL]
                chosen = {at for at in longer if 2 * blocks[at].linked < blocks[at].size} or chosen
        rare = [at for at in content if blocks[at].level or self._times[blocks[at].text] < _LABELS]
        texts = [at for at in rare if 2 * blocks[at].linked < blocks[at].size]
        share = _NAMED_SHARE if self._is_below_name(min(chosen)) else _MAIN_SHARE
        if self.size_of(chosen) < min(share * self.size_of(chosen.union(texts)), _LONG_MAIN):
            chosen |= self._find_sections(rare)
        if 2 * self.size_of(inside := chosen.intersection(content)) >= self.size_of(chosen):
            chosen = inside
        begin, end = min(chosen), max(chosen)
        if blocks[begin].level != 1:  # otherwise the text has a name of its own
            chosen.update(place for place in content if place < end and blocks[place] is self._page.main.name)
        chosen.update(self._find_gaps(sorted(chosen), rare))
        chosen.update(self._find_headings(sorted(chosen), content))
        chosen |= self._find_titles(chosen, content)
        chosen |= self._find_series(chosen, content)
        return self._without_copies(sorted(chosen | self._find_lists(chosen, content)))

    def _is_below_name(self, begin: int) -> bool:
        """Return whether there is little text between the heading that names the page and the block at *begin*."""
        name = next((at for at in self._content if self._blocks[at] is self._page.main.name), begin)
        return name < begin and self.size_of(range(name + 1, begin)) <= _BELOW

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
            if page.main.blocks and (own < _OWN or (main.are_links and not self._are_links)):
                return chosen
        return sorted({*kept, *self._find_gaps(kept, chosen, _LABEL)})

    def _find_repeated(self, repeated: Container[int]) -> set[int]:
        """Return the blocks that the site repeats: of a preformatted text, all of its lines."""
        hashes = hashes_of_lines(self._page.outline)
        are_repeated = map(repeated.__contains__, map(hashes.get, count()))  # of all lines
        return {
            place
            for place, block in enumerate(self._blocks)
            if False not in [next(are_repeated) for _ in compared_lines(block)]
        }

    def _group(self, places: Iterable[int], attribute: Literal["group", "path_kind"]) -> dict[int, list[int]]:
        """Return *places* by this attribute of their blocks."""
        groups = defaultdict[int, list[int]](list)
        for place in places:
            groups[getattr(self._blocks[place], attribute)].append(place)
        return groups

    def _find_sections(self, places: Iterable[int]) -> set[int]:
        """Return those *places* that are in texts with more than a label and hardly any links, without mere links."""
        sections = set[int]()
        for text in self._group(places, "group").values():
            section = [at for at in text if 2 * self._blocks[at].linked < self._blocks[at].size]
            linked = sum([self._blocks[at].linked for at in text])
            if self.size_of(section) >= _SECTION and linked <= _SECTION_LINKED * self.size_of(text):
                sections.update(section)
        return sections

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

        It is a link, as the title of an entry is, or has the same kind of path as another *chosen* heading.
        """
        blocks, candidates = self._blocks, {place for place in content if self._blocks[place].level}
        kinds = {blocks[place].path_kind for place in chosen if blocks[place].level}
        for before, after in pairwise([-1, *chosen]):
            for place in candidates.intersection([at for at in range(before + 1, after) if blocks[at].level][-1:]):
                is_title = blocks[place].path_kind in kinds or 2 * blocks[place].linked >= blocks[place].size
                if is_title and self.size_of(range(place + 1, after)) <= _GAP:
                    yield place

    def _find_series(self, chosen: Set[int], content: Iterable[int]) -> set[int]:
        """Return the blocks of *content* between *chosen* ones, in places whose blocks belong to these."""
        begin, end = min(chosen), max(chosen)
        series = self._group(
            [at for at in content if begin <= at <= end and self._blocks[at].path_kind], "path_kind"
        ).values()
        return set().union(*[same for same in series if len(same) >= _SERIES and self._belong_to(chosen, same)])

    def _belong_to(self, chosen: Set[int], same: Sequence[int]) -> bool:
        """Return whether half of the *same* (one kind of path) are *chosen*, or they are different texts or links."""
        size, linked = self.size_of(same), sum([self._blocks[at].linked for at in same])
        is_list = self._elements.tags[self._blocks[same[0]].group] in LISTS and not self._are_links
        is_kind = is_list if 2 * linked >= size else size >= _LABEL * len(same)
        is_series = is_kind and len({self._blocks[at].text for at in same}) >= _SERIES
        return is_series or 2 * len(chosen & {*same}) >= len(same)

    def _find_titles(self, chosen: Set[int], content: Iterable[int]) -> set[int]:
        """Return series of headings that are links, as the titles of a list are, if they are a third of the *chosen* text.

        They directly follow a *chosen* block: below another heading they would be links to something else.
        """
        blocks, least = self._blocks, _TITLES_SHARE * self.size_of(chosen)
        links = [at for at in content if blocks[at].level and 2 * blocks[at].linked >= blocks[at].size]
        ends = pairwise([*sorted(chosen), len(blocks)])
        first = {next((at for at in range(begin + 1, end) if blocks[at].level), -1) for begin, end in ends}
        titles = set[int]()
        for same in self._group(links, "path_kind").values():
            if same[0] in first and len({blocks[at].text for at in same}) >= _SERIES and self.size_of(same) >= least:
                titles.update(same)
        return titles

    def _find_lists(self, chosen: Set[int], content: Iterable[int]) -> set[int]:
        """Return the entries of the lists and tables directly below *chosen* blocks to which they belong."""
        lists = [
            text
            for group, text in self._group(content, "group").items()
            if self._elements.tags[group] in LISTS and text[0] - 1 in chosen and self._continues(group, text)
        ]
        return set().union(*lists)

    def _continues(self, group: int, text: Sequence[int]) -> bool:
        """Return whether a list belongs to the block before it: a heading, text with a colon, or, unless it is mainly links,
        a paragraph beside it or with notes.
        """
        before = self._blocks[text[0] - 1]
        are_notes = not any(self._blocks[at].path_kind for at in text)  # their links lead back into the text
        is_text = 2 * sum([self._blocks[at].linked for at in text]) < self.size_of(text)
        is_beside = before.group == self._page.outline.parents[group]
        return (is_text and (is_beside or are_notes)) or before.level > 0 or before.text.endswith(_COLONS)

    def _without_copies(self, chosen: Iterable[int]) -> list[int]:
        """Return *chosen* without texts that are there before, for screens of another size."""
        texts = [
            (tuple([self._blocks[at].text for at in text]), text) for text in self._group(chosen, "group").values()
        ]
        first = dict(reversed(texts))
        return sorted(chain(*[text for key, text in texts if first[key] is text or self.size_of(text) < _COPY]))


def _find_beside(page: ReadPage, elements: Elements) -> set[int]:
    """Return the elements that are marked as beside the content.

    A mark on an element with most of the text, without labels, or with the name of the page, says something about the page;
    but comments may be most of its text.
    """
    marks, words, parents = elements.marks, elements.words, page.outline.parents
    main = [mark for mark in words if "main" in words[mark] - words[marks[parents[mark]]]]
    sizes, total = defaultdict[int, float](float, dict.fromkeys(main, inf)), 0
    for block, owner in zip(page.outline.blocks, elements.owners, strict=True):
        size = block.size - block.linked if block.size > _LABEL else 0
        total += size
        sizes[marks[owner]] += inf if block is page.main.name and block.level == 1 else size
    for mark in sorted(words, reverse=True)[:-1]:  # inner elements first; the root has no mark
        sizes[marks[parents[mark]]] += sizes[mark]
    most = _PAGE_SHARE * total
    return {at for at, size in sizes.items() if at and size < (most if COMMENTS.isdisjoint(words[at]) else inf)}
