"""How much is found of works that were copied and changed, and what it costs: ``python -m benchmarks.works [FOLDER]``.

The works are the texts of saved sites. Excerpts of them are changed, and put into pages of sites that have nothing to do
with them. The first table has the share of the characters of the excerpts that lie in passages that are found, the second
the passages that are found in the unrelated pages (``--show`` prints them). The costs are those of made works of dictionary
words (``--chars``), beside those of datasketch, which is given windows of 500 characters.
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import mean

from datasketch import MinHash, MinHashLSH
from opencc import OpenCC
from rich.console import Console
from rich.progress import track
from rich.table import Table

from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.tables import READ_CODES, read_readings
from crawler_dedup.works.documents import Document
from crawler_dedup.works.library import FILE, Library, sign_work
from tests.support.data import DATA, require_data

LENGTHS = (200, 300, 1_000, 5_000)
"""Lengths of the excerpts in characters."""
WORKS = ("gopl-zh-2024", "adrianmejia-2022")
UNRELATED = ("devtang-2018", "debian-faq-zh-cn", "whileydave-2024", "debian-faq")
LONG = 100
_WINDOW = 500
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


def read_sites(folder: Path, names: Sequence[str]) -> list[str]:
    """Return the texts of the pages of sites."""
    pages = (page for name in names for page in sorted((folder / "sites" / name).rglob("*.html")))
    return [text for page in pages if len(text := extract_text(page.read_bytes(), None, whole=True)) > 2 * LONG]


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


def measure_costs(chars: int) -> None:
    """Print the costs of a library of *chars* characters, and those of datasketch for 100,000."""
    first = make_work(1_000_000, 0)
    page = make_work(1_000, 999) + first[5_000:6_000] + make_work(1_000, 998)
    with tempfile.TemporaryDirectory() as directory, closing(Library(Path(directory), writable=True)) as library:
        added = 0.0
        for number in range(max(1, chars // len(first))):
            document = Document(make_work(len(first), number))
            begun = time.process_time()
            library.add(sign_work(str(number), b"", document, None))
            added += time.process_time() - begun
        size = (Path(directory) / FILE).stat().st_size
        begun = time.process_time()
        assert all(len(library.compare(page)) == 1 for _ in range(50))
        checked = (time.process_time() - begun) / 50
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sample = first[:100_000]
    begun = time.process_time()
    index = MinHashLSH(threshold=0.5, num_perm=128)
    for at in range(0, len(sample), _WINDOW // 2):
        index.insert(at, _min_hash(sample[at : at + _WINDOW]))
    peer_added = time.process_time() - begun
    begun = time.process_time()
    for at in range(0, len(page), _WINDOW // 2):
        index.query(_min_hash(page[at : at + _WINDOW]))
    peer_checked = time.process_time() - begun
    table = Table(title=f"a library of {chars:,} characters; peak of memory: {peak:,} MB")
    for column in ("", "added, characters/s", "checked, characters/s", "bytes/character"):
        table.add_column(column, justify="right")
    own = f"{chars / added:,.0f}", f"{len(page) / checked:,.0f}", f"{size / chars:.2f}"
    table.add_row("works", *own)
    table.add_row("datasketch", f"{len(sample) / peer_added:,.0f}", f"{len(page) / peer_checked:,.0f}", "in memory")
    _CONSOLE.print(table)


def _min_hash(text: str) -> MinHash:
    signature = MinHash(128)
    signature.update_batch([text[at : at + 5].encode() for at in range(len(text) - 4)])
    return signature


def measure_quality(folder: Path, count: int, *, show: bool) -> None:
    """Print what is found of works, and in unrelated pages."""
    require_data(folder)
    works = ["\n".join(read_sites(folder, [name])) for name in WORKS]
    unrelated = read_sites(folder, UNRELATED)
    with tempfile.TemporaryDirectory() as directory, closing(Library(Path(directory), writable=True)) as library:
        for name, work in zip(WORKS, works, strict=True):
            library.add(sign_work(name, b"", Document(work), None))
        _CONSOLE.print([(work.title, work.scheme, work.chars) for work in library.works()])
        measure_false(library, unrelated, show=show)
        _CONSOLE.print(measure_recall(library, works, unrelated, count))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--excerpts", type=int, default=50)
    parser.add_argument("--chars", type=int, default=10_000_000)
    parser.add_argument("--costs", action="store_true", help="only the costs")
    parser.add_argument("--show", action="store_true", help="print the passages that are found in unrelated pages")
    given = parser.parse_args()
    if not given.costs:
        measure_quality(given.folder, given.excerpts, show=given.show)
    measure_costs(given.chars)


if __name__ == "__main__":
    main()
