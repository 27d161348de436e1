"""How much is found of works that were copied and changed, and what it costs: ``python -m benchmarks.works [FOLDER]``.

The works are the texts of saved sites. Excerpts of them are changed, and put into pages of sites that have nothing to do
with them. ``--books FOLDER`` takes a book in Chinese and in English, and unrelated texts, from packages of Debian, which are
free to use, unpacked in the folder with ``dpkg -x``: ``apt-get download debian-handbook fortunes fortunes-min fortunes-zh``.

The table has the share of the characters of the excerpts that lie in passages that are found; above it are the passages
that are found in the unrelated pages (``--show`` prints them).

The costs are those of works that are made of dictionary words (``--chars``), a million characters each. datasketch, an index
in memory, and rapidfuzz, which compares a page with the whole library, are given windows of 500 characters.
"""

from __future__ import annotations

import argparse
import pickle
import random
import re
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from datasketch import MinHash, MinHashLSH
from opencc import OpenCC
from rapidfuzz.fuzz import partial_ratio
from rich.console import Console
from rich.progress import track
from rich.table import Table

from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.wordtables import READ_CODES, read_readings
from crawler_dedup.works.documents import Document
from crawler_dedup.works.library import FILE, Library, sign_work
from tests.support.data import DATA, require_data

LENGTHS = (200, 300, 1_000, 5_000)
"""Lengths of the excerpts in characters."""
WORKS = ("gopl-zh-2024", "adrianmejia-2022")
UNRELATED = ("devtang-2018", "debian-faq-zh-cn", "whileydave-2024", "debian-faq")
LONG = 100
_WORK, _PAGES, _WINDOW = 1_000_000, 50, 500
_ALIKE = 60  # of 100: unrelated windows have less than 20
_GB2312 = [bytes((row, cell)).decode("gb2312") for row in range(0xB0, 0xD7) for cell in range(0xA1, 0xFA)]
_SENTENCES = re.compile(r"[^。.!?！？\n]*[。.!?！？\n]*")
_CONSOLE = Console(width=140)

Change = Callable[[str, random.Random], str]


def make_work(chars: int, seed: int) -> str:
    """Make a text of *chars* characters of the words of jieba's dictionary, by their frequency, with punctuation."""
    words, counts = _vocabulary()
    source, parts, size = random.Random(seed), list[str](), 0
    while size < chars:
        for word in source.choices(words, counts, k=1_000):
            parts.append(word + source.choices(("", "，", "。", "。\n"), (86, 8, 4, 2))[0])
            size += len(parts[-1])
    return "".join(parts)[:chars]


@cache
def _vocabulary() -> tuple[list[str], list[int]]:
    rows = (line.split(" ") for line in (files("jieba") / "dict.txt").read_text("utf-8").splitlines())
    known = [(word, int(count)) for word, count, *_ in rows if int(count) >= 50]
    return [word for word, _ in known], [count for _, count in known]


# Changes


def _exchange(share: float, *, homophones: bool) -> Change:
    readings, by_sound = read_readings(), defaultdict(list)
    for character in _GB2312:
        by_sound[readings[ord(character) - READ_CODES.start]].append(character)
    alike = {character: group if homophones else _GB2312 for group in by_sound.values() for character in group}
    return lambda text, source: "".join(
        source.choice(alike[character]) if character in alike and source.random() < share else character
        for character in text
    )


def _shuffle(text: str, source: random.Random) -> str:
    parts = [text[at : at + 200] for at in range(0, len(text), 200)]
    source.shuffle(parts)
    return "".join(parts)


CHANGES: dict[str, Change] = {
    "none": lambda text, _: text,
    "10 % homophones": _exchange(0.1, homophones=True),
    "30 % homophones": _exchange(0.3, homophones=True),
    "Traditional characters": lambda text, _: str(OpenCC("s2t").convert(text)),
    "other punctuation": lambda text, source: re.sub(r"[\s，。,.、：；“”]+", lambda _: source.choice(" ,;\n…"), text),
    "one sentence in five dropped": lambda text, source: "".join(
        sentence for sentence in _SENTENCES.findall(text) if source.random() > 0.2
    ),
    "paragraphs of 200 shuffled": _shuffle,
    "5 % other characters": _exchange(0.05, homophones=False),
}


# What is found


class Texts(NamedTuple):
    """A work in Chinese and in English, and texts that have nothing to do with them."""

    works: list[str]
    unrelated: list[str]


def read_sites(folder: Path) -> Texts:
    """Return the texts of the pages of saved sites."""
    sites = folder / "sites"
    works = ["\n".join(_read_pages(sites / name)) for name in WORKS]
    return Texts(works, [text for name in UNRELATED for text in _read_pages(sites / name)])


def read_books(folder: Path) -> Texts:
    """Return the texts of packages of Debian that are unpacked in a folder."""
    share = folder / "usr" / "share"
    works = ["\n".join(_read_pages(share / "doc/debian-handbook/html" / language)) for language in ("zh-CN", "en-US")]
    files = sorted(file for file in (share / "games/fortunes").iterdir() if file.is_file() and "." not in file.name)
    fortunes = [re.sub(r"\x1b\[\d*m", "", file.read_text("utf-8", "replace")) for file in files]  # without colours
    return Texts(works, [text[at : at + 5_000] for text in fortunes for at in range(0, len(text) - 2 * LONG, 5_000)])


def _read_pages(folder: Path) -> list[str]:
    texts = (extract_text(page.read_bytes(), None, whole=True) for page in sorted(folder.rglob("*.html")))
    return [text for text in texts if len(text) > 2 * LONG]


def measure_recall(library: Library, works: Sequence[str], unrelated: Sequence[str], count: int) -> Table:
    """Measure the share of the characters of changed excerpts that is found."""
    table = Table(title=f"share of {count} excerpts that is found, by character; Chinese / English")
    for column in ("changed", *map(str, LENGTHS)):
        table.add_column(column, justify="right")
    for name, change in track(CHANGES.items(), "excerpts", console=Console(stderr=True)):
        row = []
        for length in LENGTHS:
            shares = [
                mean(_share_found(library, work, unrelated, change, random.Random(f"{length} {number}"), length)
                     for number in range(count))
                for work in works
            ]  # fmt: skip
            row.append(" / ".join(f"{share:.3f}" for share in shares))
        table.add_row(name, *row)
    return table


def _share_found(
    library: Library, work: str, unrelated: Sequence[str], change: Change, source: random.Random, length: int
) -> float:
    start = source.randrange(len(work) - length)
    copy = change(work[start : start + length], source)
    before, after = (source.choice(unrelated)[:1_000] + "\n" for _ in range(2))
    begin, found = len(before), set[int]()
    for match in library.compare(before + copy + after):
        for passage in match.comparison.passages:
            found.update(range(max(begin, passage.start), min(begin + len(copy), passage.end)))
    return len(found) / max(1, len(copy))


def measure_false(library: Library, unrelated: Sequence[str], *, show: bool) -> None:
    """Print how many passages are found in unrelated pages."""
    lengths = []
    for text in unrelated:
        for match in library.compare(text):
            for passage, work_text in zip(match.comparison.passages, match.work_texts, strict=True):
                lengths.append(passage.end - passage.start)
                if show:
                    _CONSOLE.print(repr(text[passage.start : passage.end]), repr(work_text), sep="\n", markup=False)
    millions = sum(map(len, unrelated)) / 1e6
    long = sum(length >= LONG for length in lengths)
    _CONSOLE.print(f"{millions:.2f} million unrelated characters: {len(lengths)} passages, {long} of {LONG} and more")


# Costs


class Cost(NamedTuple):
    """What a way to find copies costs: processor time in seconds, and bytes.

    Attributes:
        library: number of characters of the works.
        checked: number of characters of the pages.
        found: number of the pages, each of which has 1,000 characters of a work with 30 % homophones, that are found.
    """

    library: int
    adding: float
    size: int
    checked: int
    checking: float
    found: int


def measure_costs(chars: int) -> None:
    """Print the costs of a library of *chars* characters, beside those of datasketch and rapidfuzz for 100,000 of them."""
    own = _measure_works(chars)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sample = make_work(_WORK, 0)[:100_000]
    costs = {"works": own, "datasketch": _measure_datasketch(sample), "rapidfuzz": _measure_rapidfuzz(sample)}
    table = Table(title=f"characters a second and core; peak of memory of works: {peak:,} MB")
    for column in ("", "library", "added", "checked", "bytes/character", "pages found"):
        table.add_column(column, justify="right")
    for name, cost in costs.items():
        added = f"{cost.library / cost.adding:,.0f}" if cost.adding else "–"
        speeds = f"{cost.library:,}", added, f"{cost.checked / cost.checking:,.0f}"
        table.add_row(name, *speeds, f"{cost.size / cost.library:.1f}", f"{cost.found} of {_PAGES}")
    _CONSOLE.print(table)


def _make_page(copied: str, number: int) -> str:
    before, after = (make_work(1_000, seed) for seed in (10_000 + number, 20_000 + number))
    return before + CHANGES["30 % homophones"](copied, random.Random(number)) + after


def _measure_works(chars: int) -> Cost:
    with tempfile.TemporaryDirectory() as directory, closing(Library(Path(directory), writable=True)) as library:
        adding, copied = 0.0, []
        for number in range(max(1, chars // _WORK)):
            document = Document(make_work(_WORK, number))
            begun = time.process_time()
            library.add(sign_work(str(number), b"", document, None))
            adding += time.process_time() - begun
            copied.append(document.text[5_000:6_000])
        pages = [_make_page(copied[number % len(copied)], number) for number in range(_PAGES)]
        begun = time.process_time()
        found = sum(len(library.compare(page)) == 1 for page in pages)
        checking = time.process_time() - begun
        size = (Path(directory) / FILE).stat().st_size
    return Cost(len(copied) * _WORK, adding, size, sum(map(len, pages)), checking, found)


def _windows(text: str) -> list[str]:
    return [text[at : at + _WINDOW] for at in range(0, len(text) - _WINDOW + 1, _WINDOW // 2)]


def _measure_datasketch(work: str) -> Cost:
    begun = time.process_time()
    index = MinHashLSH(threshold=0.5, num_perm=128)
    for number, window in enumerate(_windows(work)):
        index.insert(number, _min_hash(window))
    adding = time.process_time() - begun
    pages = [_make_page(work[5_000:6_000], number) for number in range(_PAGES)]
    begun = time.process_time()
    found = sum(any(index.query(_min_hash(window)) for window in _windows(page)) for page in pages)
    checking = time.process_time() - begun
    return Cost(len(work), adding, len(pickle.dumps(index)), sum(map(len, pages)), checking, found)


def _min_hash(text: str) -> MinHash:
    signature = MinHash(128)
    signature.update_batch([text[at : at + 5].encode() for at in range(len(text) - 4)])
    return signature


def _measure_rapidfuzz(work: str) -> Cost:
    pages = [_make_page(work[5_000:6_000], number) for number in range(_PAGES)]
    begun = time.process_time()
    found = sum(max(partial_ratio(window, work) for window in _windows(page)) >= _ALIKE for page in pages)
    checking = time.process_time() - begun
    return Cost(len(work), 0, sys.getsizeof(work), sum(map(len, pages)), checking, found)


def measure_quality(texts: Texts, count: int, *, show: bool) -> None:
    """Print what is found of works, and in unrelated pages."""
    with tempfile.TemporaryDirectory() as directory, closing(Library(Path(directory), writable=True)) as library:
        for name, work in zip(("Chinese", "English"), texts.works, strict=True):
            library.add(sign_work(name, b"", Document(work), None))
        _CONSOLE.print([(work.title, work.scheme, work.chars) for work in library.works()])
        measure_false(library, texts.unrelated, show=show)
        if count:
            _CONSOLE.print(measure_recall(library, texts.works, texts.unrelated, count))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--books", type=Path, help="folder of unpacked packages, instead of the sites")
    parser.add_argument("--excerpts", type=int, default=50)
    parser.add_argument("--chars", type=int, default=10_000_000, help="size of the library; 0: no costs")
    parser.add_argument("--costs", action="store_true", help="only the costs")
    parser.add_argument("--show", action="store_true", help="print the passages that are found in unrelated pages")
    given = parser.parse_args()
    if not given.costs:
        if not given.books:
            require_data(given.folder)
        texts = read_books(given.books) if given.books else read_sites(given.folder)
        measure_quality(texts, given.excerpts, show=given.show)
    if given.chars:
        measure_costs(given.chars)


if __name__ == "__main__":
    main()
