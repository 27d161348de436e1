"""Pages of seven kinds with their main content, as people have checked it: articles, forums, products, listings and others.

They are stored beside the saved sites, in ``wcxb``, and do not belong to this project.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from zlib import crc32

from tests.support.data import DATA, saved

KINDS_OF_PAGES = DATA.parent / "wcxb"
KINDS = ("article", "documentation", "service", "product", "forum", "collection", "listing")

_ALONE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{_ALONE}]|[^\W{_ALONE}]+")
"""A word, or a character of Chinese and Japanese."""


@dataclass(frozen=True)
class KnownPage:
    """A page whose main content is known.

    Attributes:
        kind: one of :data:`KINDS`.
        url: the address from which it was saved; ``""`` for a few pages.
        reference: its main content as text; ``""`` if it is not known, or if there is none.
        needed: snippets that are in the main content.
        foreign: snippets that are not in the main content.
        half: 0 or 1; all pages of a site are in the same half.
    """

    id: str
    kind: str
    url: str
    reference: str
    needed: Sequence[str]
    foreign: Sequence[str]
    half: int
    body: bytes = field(repr=False)


def read_pages(folder: Path, half: int | None = None) -> list[KnownPage]:
    """Read all pages in *folder*, or one half of them. Exit with a message if they are absent."""
    if not (folder / "pages.jsonl").is_file():
        sys.exit(f"No pages of many kinds in {folder}.")
    pages = []
    for line in (folder / "pages.jsonl").read_bytes().splitlines():
        page = json.loads(line)
        own_half = crc32((urlsplit(page["url"]).netloc.removeprefix("www.") or page["id"]).encode()) % 2
        if half in (None, own_half):
            pages.append(
                KnownPage(
                    page["id"],
                    page["type"],
                    page["url"],
                    (page["main_content"] or "").strip(),
                    page["with"],
                    page["without"],
                    own_half,
                    saved(folder / page["html"]),
                )
            )
    return pages


def split_words(text: str) -> list[str]:
    """Return the words of *text*, in small letters."""
    return WORD.findall(text.lower())


def has_snippet(snippet: str, text: str) -> bool:
    """Return whether *text* contains *snippet*, regardless of case and white space."""
    return " ".join(snippet.lower().split()) in " ".join(text.lower().split())


def by_kind(pages: Iterable[KnownPage]) -> dict[str, list[KnownPage]]:
    """Return the pages by kind, and all pages under ``all``."""
    chosen = list(pages)
    kinds = {kind: [page for page in chosen if page.kind == kind] for kind in KINDS}
    return {kind: members for kind, members in kinds.items() if members} | {"all": chosen}
