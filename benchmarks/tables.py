"""The permuted tables of Manku, Jain and Das Sarma (WWW 2007, §3.1): ``python -m benchmarks.tables``.

First the fewest tables for a number of candidates a probe (X(f, k, d) of §3.1.2), and in reverse the longest prefixes for a
number of tables, both by arithmetic for 2^34 signatures. Then look-ups in tables in memory, of the paper's designs and the
filter's (four tables, with probes of neighbours from k = 4 on), compared with brute force.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from math import ceil, comb, log2

import numpy as np

from benchmarks.index.data import clustered, neighbours, questions
from benchmarks.index.report import Report
from crawler_dedup.hashes import Numbers
from crawler_dedup.permutedtables import BITS, MAX_DISTANCE, near, probes

PAGES = 2.0**34
"""8 billion, as the paper counts them."""


def split_bits(number: int, bits: Sequence[int] = range(BITS - 1, -1, -1)) -> list[tuple[int, ...]]:
    """Cut *bits* into *number* blocks as equal as possible."""
    cuts = [len(bits) * index // number for index in range(number + 1)]
    return [tuple(bits[start:end]) for start, end in pairwise(cuts)]


def _choose(blocks: int, chosen: int) -> list[tuple[int, ...]]:
    return [sum(choice, ()) for choice in combinations(split_bits(blocks), chosen)]


def _two_levels() -> list[tuple[int, ...]]:
    """Return the leading bits of the third design: one of four blocks, then one of four in the other 48 bits."""
    return [
        outer + inner
        for outer in split_bits(4)
        for inner in split_bits(4, [bit for bit in reversed(range(BITS)) if bit not in outer])
    ]


DESIGNS = {20: _choose(6, 3), 16: _two_levels(), 10: _choose(5, 2), 4: _choose(4, 1)}
"""For each number of tables in §3.1 the leading bits of each table, the most significant first. All are for k = 3."""


# §3.1.2


@dataclass(frozen=True)
class LeastTables:
    """The design with the fewest tables among those made by a recursive split.

    Attributes:
        tables: number of tables, by their prefix bits.
        blocks: into how many blocks the bits are cut, then the remaining bits, and so on.
    """

    tables: Mapping[int, int]
    blocks: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of tables."""
        return sum(self.tables.values())


def find_least_tables(bits: int, max_distance: int, signatures: float, candidates: float) -> LeastTables | None:
    """Find the fewest tables whose probes find at most *candidates* of *signatures* each; ``None`` if there are none.

    Cut the bits into r blocks and let each choice of r - k of them lead; cut the remaining bits in the same way as long as
    too few bits lead. Blocks have whole numbers of bits here, and every choice is counted by itself.
    """
    return _find_least(bits, max_distance, max(0, ceil(log2(signatures / candidates))))


def find_longest_prefix(bits: int, max_distance: int, tables: int) -> LeastTables:
    """Find the design of 1 to *tables* tables whose shortest prefix is longest."""
    designs = (_find_least(bits, max_distance, prefix) for prefix in range(bits, -1, -1))
    return next(design for design in designs if design is not None and design.count <= tables)


@cache
def _find_least(bits: int, max_distance: int, prefix: int) -> LeastTables | None:
    if prefix <= 0:
        return LeastTables({0: 1}, ())
    best: LeastTables | None = None
    for blocks in range(max_distance + 1, bits + 1):
        if best is not None and comb(blocks, max_distance) >= best.count:
            break
        split = _split(bits, max_distance, prefix, blocks)
        if split is not None and (best is None or split.count < best.count):
            best = split
    return best


def _split(bits: int, max_distance: int, prefix: int, blocks: int) -> LeastTables | None:
    """Return the fewest tables if the bits are first cut into *blocks* blocks."""
    tables: Counter[int] = Counter()
    further: tuple[int, ...] = ()
    for leading, ways in _choices(bits, max_distance, blocks):
        remaining = _find_least(bits - leading, max_distance, prefix - leading)
        if remaining is None:
            return None
        further = remaining.blocks
        for remaining_prefix, count in remaining.tables.items():
            tables[leading + remaining_prefix] += ways * count
    return LeastTables(tables, (blocks, *further))


def _choices(bits: int, max_distance: int, blocks: int) -> Iterator[tuple[int, int]]:
    """Yield (prefix length, number of block combinations with that length): some blocks are one bit longer than others."""
    size, longer = divmod(bits, blocks)
    chosen = blocks - max_distance
    for of_longer in range(max(0, chosen - (blocks - longer)), min(chosen, longer) + 1):
        yield chosen * size + of_longer, comb(longer, of_longer) * comb(blocks - longer, chosen - of_longer)


# Look-ups


class Table:
    """Signatures in the order of their leading bits."""

    def __init__(self, leading: Sequence[int], signatures: Numbers) -> None:
        self._leading = leading
        prefixes = self._prefixes(signatures)
        order = np.argsort(prefixes, kind="stable")
        self._prefixes_in_order, self._signatures = prefixes[order], signatures[order]

    def candidates(self, prefix: int) -> Numbers:
        """Return the signatures with *prefix*."""
        start, end = np.searchsorted(self._prefixes_in_order, np.array([prefix, prefix + 1], dtype=np.uint64))
        return self._signatures[start:end]

    def prefix_of(self, signature: int) -> int:
        """Return the leading bits of *signature*."""
        return int(self._prefixes(np.array([signature], dtype=np.uint64))[0])

    def _prefixes(self, signatures: Numbers) -> Numbers:
        prefixes = np.zeros(len(signatures), dtype=np.uint64)
        for bit in self._leading:
            prefixes = prefixes << np.uint64(1) | signatures >> np.uint64(bit) & np.uint64(1)
        return prefixes


class Tables:
    """An index in memory with the tables of a design."""

    def __init__(self, design: Iterable[Sequence[int]], signatures: Numbers) -> None:
        self._tables = [Table(leading, signatures) for leading in design]

    def candidates(self, signature: int, max_distance: int) -> list[Numbers]:
        """Return the signatures of each probe: one in each table up to distance 3; beyond, those of the filter."""
        if max_distance <= 3:
            return [table.candidates(table.prefix_of(signature)) for table in self._tables]
        return [self._tables[probe >> 40].candidates(probe & 0xFFFF) for probe in probes(signature, max_distance)]


def _plan_rows() -> Iterator[list[str]]:
    for tables, leading in DESIGNS.items():
        candidates = PAGES / 2 ** min(map(len, leading))
        least = find_least_tables(BITS, 3, PAGES, candidates)
        assert least is not None
        longest = find_longest_prefix(BITS, 3, tables)
        for asked, design in ((f"≤ {candidates:,.0f} candidates", least), (f"≤ {tables} tables", longest)):
            prefixes = sorted(design.tables)
            most = PAGES / 2 ** prefixes[0]
            blocks = ", then ".join(map(str, design.blocks))
            prefix_bits = "–".join(map(str, dict.fromkeys([prefixes[0], prefixes[-1]])))
            yield [asked, f"{design.count}", blocks, prefix_bits, f"{most:,.0f}"]


def _measured_rows(signatures: Numbers, asked: Sequence[int]) -> Iterator[list[str]]:
    truths = {signature: neighbours(signatures, signature, MAX_DISTANCE) for signature in asked}
    for tables, design in DESIGNS.items():
        index = Tables(design, signatures)
        for k in (3, *(range(4, MAX_DISTANCE + 1) if tables == 4 else ())):
            compared = answered = read = 0
            for signature in asked:
                candidates = index.candidates(signature, k)
                read += len(candidates)
                compared += sum(map(len, candidates))
                answered += len(near(signature, np.concatenate(candidates), k))
            expected = sum(distance <= k for truth in truths.values() for distance in truth.values())
            counts = [f"{read / len(asked):.0f}", f"{compared / len(asked):,.1f}", f"{answered:,} of {expected:,}"]
            yield [str(tables), str(k), *counts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=lambda text: int(float(text)), default=1_000_000, help="signatures in memory")
    parser.add_argument("--look-ups", type=int, default=200)
    given = parser.parse_args()
    report = Report()
    columns = ("asked for", "tables", "blocks", "prefix bits", "candidates a probe")
    report.table("2^34 signatures of 64 bits, k = 3", columns, _plan_rows())
    signatures = np.unique(clustered(given.n, 1))
    rows = _measured_rows(signatures, questions(signatures, given.look_ups, 2))
    columns = ("tables", "k", "probes", "candidates compared", "found")
    report.table(f"{len(signatures):,} signatures in memory", columns, rows)


if __name__ == "__main__":
    main()
