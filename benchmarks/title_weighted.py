"""An extractor for ``DEDUP_EXTRACTOR`` that prefers blocks that agree with the title, after DDW (Cao et al. 2009).

``python -m benchmarks.schemes --extractor benchmarks.title_weighted.extract --scheme ddw`` measures it on labelled
pairs, ``python -m benchmarks.stability --extractor benchmarks.title_weighted.extract`` on pages in other frames. Blocks and
texts are the same as those of ``paragraphs``. But to choose the element that contains most of the text, the size of each
text is multiplied by a factor from 1 to 2, which grows with the share of the title's pairs of letters that the text has.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from unicodedata import normalize

from lxml.html import HtmlElement

from crawler_dedup.signing.characters import simplify_han
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.parsing import find_title

_AGREEMENT = 1
_MAX_TITLE = 200
_ENOUGH = 100
_LINK_SHARE = 1 / 3
_MAIN_SHARE = 3 / 5
_NOTICE = 200


def extract(tree: HtmlElement) -> str:
    """Return the main text of *tree*, a line for each block."""
    outline = read_outline(tree)
    title = pairs_of_letters(find_title(tree)[:_MAX_TITLE])
    size, linked = Counter[int](), Counter[int]()
    texts: dict[int, list[str]] = defaultdict(list)
    for block in outline.blocks:
        size[block.group] += block.size
        linked[block.group] += block.linked
        texts[block.group].append(block.text)
    chosen = {group for group in size if size[group] >= _ENOUGH and linked[group] <= _LINK_SHARE * size[group]}
    held = [0.0] * len(outline.parents)
    for group in chosen:
        shared = len(title & pairs_of_letters(" ".join(texts[group]))) / len(title) if title else 0.0
        held[group] = (size[group] * (1 + _AGREEMENT * shared)) ** 1.5
    for number in range(len(held) - 1, 0, -1):
        held[outline.parents[number]] += held[number]
    main = max(number for number, weight in enumerate(held) if weight >= _MAIN_SHARE * held[0]) if chosen else 0
    descendants = {main}
    for number, parent in enumerate(outline.parents):  # parents come before their children
        if number > main and parent in descendants:
            descendants.add(number)
    blocks = (block for block in outline.blocks if block.group in chosen & descendants)
    return "\n".join(block.text for block in blocks if "©" not in block.text or block.size >= _NOTICE)


def pairs_of_letters(text: str) -> set[str]:
    """Return the pairs of neighbouring letters of *text*, without case, spaces and punctuation."""
    letters = re.sub(r"\W+", "", simplify_han(normalize("NFKC", text).casefold()))
    return {letters[at : at + 2] for at in range(len(letters) - 1)}
