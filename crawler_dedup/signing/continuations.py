"""Which texts continue a text: those around its element, and those in other elements of the same kind."""

from __future__ import annotations

from collections.abc import Container, Mapping

from crawler_dedup.signing.outline import Outline
from crawler_dedup.signing.textblocks import Block

ENOUGH = 100
"""Letters of the shortest text that is content by itself."""
LONG = 40
"""Letters of the shortest paragraph."""
_SAME_KIND = 2 / 3


def find_text_around(page: Outline, main: range, element: int, texts: Container[int]) -> set[int]:
    """Return the groups around the element *main*, a list or a section in the middle of a text, and those between them.

    The text has a paragraph of a hundred letters directly in *element*, which contains more than *main*.
    """
    paragraphs = {block.group for block in page.blocks if block.size >= ENOUGH and not block.level}
    around = set[int]()
    while element not in main and element in texts and element in paragraphs and element not in around:
        around.add(element)
        element = page.parents[element]
    if not around:
        return around
    groups = [block.group for block in page.blocks]
    places = [at for at, group in enumerate(groups) if group in around or group in main]
    return {group for group in groups[places[0] : places[-1] + 1] if group not in main}


def find_continuations(page: Outline, main: range, texts: Mapping[int, int], name: Block | None) -> set[int]:
    """Return the groups of those *texts* outside of the element *main* that continue the main text, which is in it.

    Together they are shorter than it, and each has a paragraph that is hardly shorter than its paragraphs are on average.
    They are below the name of the page, and above the heading of something else, which is unlike the headings within the
    main text. They have the same kind of path as a part of it, or are above it in elements around it, or below it in
    siblings.
    """
    if all(group in main for group in texts):
        return set()
    blocks, parents = page.blocks, page.parents
    inside = [at for at, block in enumerate(blocks) if block.group in main]
    first, last, own = inside[0], inside[-1], [blocks[at] for at in inside]
    begin = next((at for at in range(last, -1, -1) if blocks[at] is name or blocks[at].level == 1), None)
    if begin is None:
        return set()
    kinds = {block.path_kind for block in own if block.group in texts} - {0}
    known = {block.path_kind for block in own[1:] if block.level}
    above = {block.path_kind for block in blocks[begin + 1 : first] if block.level}
    if own[0].level and own[0].path_kind in above - known:
        begin = first  # above are other articles
    else:
        known |= above
    rest = range(last + 1, len(blocks))
    end = next((at for at in rest if blocks[at].level and blocks[at].path_kind not in known), len(blocks))
    around, parent = elements_around(main.start, parents), parents[main.start]
    paragraphs = [block.size for block in own if block.size >= LONG and not block.level]
    least = max(ENOUGH, _SAME_KIND * sum(paragraphs) / max(1, len(paragraphs)))
    groups = {
        group
        for at, (_, size, _, group, _, _, kind, *_) in enumerate(blocks[begin:end], begin)
        if size >= least and group in texts and group not in main
        if kind in kinds
        or (at < first and group in around)
        or (at > last and parent in (parents[group], parents[parents[group]]))
    }
    return groups if sum([texts[group] for group in groups]) < sum([block.size for block in own]) else set()


def end_of(main: int, parents: list[int]) -> int:
    """Return the number that follows the last element inside of *main*."""
    return next((number for number in range(main + 1, len(parents)) if parents[number] < main), len(parents))


def elements_around(number: int, parents: list[int]) -> list[int]:
    """Return an element and those around it, except the root, from the inside to the outside."""
    around = []
    while number:
        around.append(number)
        number = parents[number]
    return around
