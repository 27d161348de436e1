"""Our schemes and other packages on the same texts: ``python -m benchmarks.schemes [FOLDER] [--scheme NAME] [--jobs 2]``.

The tables show how often each is right about labelled pages and about texts with known changes, and its cost; the time of
min-wise signatures of given shingles; and the recall of ``minhash`` and datasketch at equal precision.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import numpy as np
from datasketch import MinHash as TheirMinHash
from rensa import RMinHash
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks import peers
from benchmarks.evaluate import KnownPair
from benchmarks.peers import PERMUTATIONS, SEED
from benchmarks.scheme_comparison import SchemeResult, compare_schemes
from crawler_dedup import Config
from crawler_dedup.cli.terminal import progress_bars
from crawler_dedup.evaluation.labelled import Counts, read_folder
from crawler_dedup.evaluation.pairs import sign_documents
from crawler_dedup.hashes import Numbers
from crawler_dedup.signing import schemes
from crawler_dedup.signing.schemes.minhash import MinHash
from crawler_dedup.signing.schemes.shingling import Shingling
from crawler_dedup.signing.text import Text as SignedText
from tests.support.data import DATA, require_data

_VARIANTS = ("shingling lookup=minima", "shingling lookup=mod", "winnowing resemblance=0", "sentences unit=stops")
_NAMES = (*schemes.NAMES, *_VARIANTS, *peers.NAMES)

_TURN = 25
"""Number of texts that a package signs before the next package takes its turn."""
_LEAST_SHINGLES = (50, 1000)

_THRESHOLDS = [at / 100 for at in range(50, 91, 5)]
_SWEPT = ("minhash", "minhash coverage=0", "datasketch", "datasketch confirm=1")
_LABELLED = ("all", "page–page")
_SUMMARY = {
    "pages": "page–page",
    "Chinese": "Chinese",
    "short": "short, 2 words exchanged",
    "excerpts": "excerpt of 60 %",
}
"""The sets of a shorter table, by its columns."""

_CONSOLE = Console(width=1000)  # tables take the width they need, whatever the terminal has


class Prepared(NamedTuple):
    """The shingles of a text, in the form that each package takes."""

    hashes: Numbers
    strings: list[bytes]
    numbers: list[int]


def _prepared(text: str) -> Prepared:
    hashes = SignedText(text, list).shingles(Shingling.shingle)
    return Prepared(hashes, peers.strings(hashes), (hashes >> np.uint64(32)).tolist())


def _datasketch(texts: Sequence[Prepared]) -> None:
    for text in texts:
        TheirMinHash(num_perm=PERMUTATIONS).update_batch(text.strings)


def _rensa(texts: Sequence[Prepared]) -> None:
    for text in texts:
        RMinHash(PERMUTATIONS, SEED).update(text.strings)


def _ours(scheme: MinHash | Shingling, texts: Sequence[Prepared]) -> None:
    for text in texts:
        scheme.of_shingles(text.hashes)


def _rensa_hashes(texts: Sequence[Prepared]) -> None:
    for text in texts:
        ends = np.array([0, len(text.hashes)], dtype=np.uint64)
        RMinHash.digest_matrix_from_flat_token_hashes(text.hashes, ends, PERMUTATIONS, SEED)


_SIGN: dict[str, Callable[[Sequence[Prepared]], object]] = {
    f"datasketch {version('datasketch')}: MinHash().update_batch, strings": _datasketch,
    "datasketch: MinHash.bulk, strings": lambda texts: TheirMinHash.bulk(
        [text.strings for text in texts], num_perm=PERMUTATIONS
    ),
    "datasketch: MinHash.bulk, numbers (hashfunc=int)": lambda texts: TheirMinHash.bulk(
        [text.numbers for text in texts], num_perm=PERMUTATIONS, hashfunc=int
    ),
    f"rensa {version('rensa')}: RMinHash().update, strings": _rensa,
    "rensa: digest_matrix_from_flat_token_hashes": _rensa_hashes,
    "minhash": partial(_ours, MinHash()),
    "shingling": partial(_ours, Shingling()),
}
"""Signing functions by name. The others are compared with the first."""


def _print_times(texts: Sequence[Prepared], rounds: int, least: int) -> None:
    micros: dict[str, list[float]] = {name: [] for name in _SIGN}
    for number in range(rounds + 1):
        spent = dict.fromkeys(_SIGN, 0.0)
        for at in range(0, len(texts), _TURN):
            for name, sign in _SIGN.items():
                begun = time.process_time()
                sign(texts[at : at + _TURN])
                spent[name] += time.process_time() - begun
        if number:  # the first round is a warm-up
            for name, seconds in spent.items():
                micros[name].append(1e6 * seconds / len(texts))
    sizes = [len(text.hashes) for text in texts]
    has = f"{least} shingles and more (median {median(sizes):,.0f}, mean {mean(sizes):,.0f})"
    title = f"time to sign, shingles given: {len(texts):,} texts of {has}; {rounds} rounds"
    table = _table(title, "", "µs of processor time a text", "times faster (least … most)")
    first = next(iter(micros.values()))
    for name, taken in micros.items():
        ratios = sorted(peer_time / own_time for peer_time, own_time in zip(first, taken, strict=True))
        table.add_row(name, f"{median(taken):,.0f}", f"{median(ratios):.2f} ({ratios[0]:.2f} … {ratios[-1]:.2f})")
    _CONSOLE.print(table)


def _print_schemes(results: Sequence[SchemeResult]) -> None:
    measures = ("P", "R", "F1", "P rules", "R rules", "F1 rules", "sign µs", "bytes", "look-up µs")
    table = _table(
        "precision, recall and F1 of the scheme alone, and with the rules of the crawl", "scheme", "set", *measures
    )
    for result in results:
        table.add_section()
        lookup = "–" if result.lookup_micros is None else f"{result.lookup_micros:,.0f}"
        costs = [f"{result.sign_micros:,.0f}", f"{result.signature_bytes:,.0f}", lookup]
        for number, row in enumerate(result.sets):
            with_rules = [""] * 3 if row.with_rules is None else _score_cells(row.with_rules)
            first, last = ("", [""] * 3) if number else (result.name, costs)
            table.add_row(Text(first), Text(row.name), *_score_cells(row.alone), *with_rules, *last)
    _CONSOLE.print(table)
    table = _table(
        "precision / recall of the scheme alone; recall with the rules", "scheme", *_SUMMARY, "rules", "bytes"
    )
    for result in results:
        counts = {row.name: row for row in result.sets}
        alone = (counts[name].alone for name in _SUMMARY.values())
        cells = (f"{_figure(of_set.precision.value)} / {_figure(of_set.recall.value)}" for of_set in alone)
        ruled = counts["all"].with_rules
        recall = "–" if ruled is None else _figure(ruled.recall.value)
        table.add_row(Text(result.name), *cells, recall, f"{result.signature_bytes:,.0f}")
    _CONSOLE.print(table)


def _score_cells(counts: Counts) -> list[str]:
    called = 2 * counts.found + counts.false + counts.missed
    f1 = 2 * counts.found / called if counts.found + counts.missed else None
    return [_figure(counts.precision.value), _figure(counts.recall.value), _figure(f1)]


def _print_recall(results: Sequence[SchemeResult]) -> None:
    rows = {result.name: {row.name: row.alone for row in result.sets} for result in results}
    # The sets of edited texts have no results with the rules of the crawl.
    parts = [row.name for row in results[0].sets if row.name in _LABELLED or row.with_rules is None]
    table = _table("precision and recall without rules", "", *parts)
    for number, (name, counts) in enumerate(rows.items()):
        if number % len(_THRESHOLDS) == 0:
            table.add_section()
        pairs = ((counts[part].precision.value, counts[part].recall.value) for part in parts)
        table.add_row(name, *(" ".join(map(_figure, pair)) for pair in pairs))
    _CONSOLE.print(table)
    for basis in _LABELLED:
        _print_matched(rows, basis, parts)


def _print_matched(rows: Mapping[str, Mapping[str, Counts]], basis: str, parts: Sequence[str]) -> None:
    """Print each row of datasketch beside minhash with the lowest threshold at which it is as precise on *basis*.

    One threshold is used for all sets: a user can choose it by labelled pages only, and all packages distinguish edited
    texts from other texts.
    """
    ours, forms = _SWEPT[:2], _SWEPT[2:]
    title = f"recall of datasketch, {', '.join(ours)}, these at the lowest threshold with no less precision on: {basis}"
    table = _table(title, "", "precision", "their thresholds", *parts)
    for name in (f"{form} threshold={at}" for form in forms for at in _THRESHOLDS):
        least = _precision(rows[name][basis])
        precise = [
            [at for at in _THRESHOLDS if _precision(rows[f"{our} threshold={at}"][basis]) >= least] for our in ours
        ]
        matched = [rows[f"{name} threshold={ats[0]}"] if ats else None for name, ats in zip(ours, precise, strict=True)]
        cells = (
            " ".join(_figure(None if row is None else row[part].recall.value) for row in (rows[name], *matched))
            for part in parts
        )
        chosen = " ".join(str(ats[0]) if ats else "–" for ats in precise)
        table.add_row(name, _figure(least), chosen, *cells)
    _CONSOLE.print(table)


def _table(title: str, first: str, *columns: str) -> Table:
    table = Table(title=title)
    table.add_column(first, no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _precision(counts: Counts) -> float:
    """Return the precision, which is 1 without any duplicates."""
    return 1.0 if counts.precision.value is None else counts.precision.value


def _figure(share: float | None) -> str:
    return "–" if share is None else f"{share:.3f}"


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--lookups", type=int, default=100_000, help="pages of the index that look-ups are timed in")
    parser.add_argument("--scheme", action="append", help="only this scheme, named as in DEDUP_SCHEME; can be repeated")
    parser.add_argument("--extractor", default=Config.extractor, help="as DEDUP_EXTRACTOR")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokenizer", default="rjieba" if find_spec("rjieba") else "jieba")
    given = parser.parse_args()
    require_data(given.folder)
    sets, config = read_folder(given.folder, KnownPair), Config(tokenizer=given.tokenizer, extractor=given.extractor)
    with progress_bars() as start:

        def compare(names: Sequence[str], lookups: int) -> list[SchemeResult]:
            return list(compare_schemes(given.folder, sets, names, config, given.jobs, lookups, start, peers.make))

        _print_schemes(compare(given.scheme or _NAMES, given.lookups))
        if given.scheme:
            return
        reading = start("reading", None)
        documents = sign_documents(given.folder, sets, config, given.jobs, reading)
        texts = [_prepared(text) for text in dict.fromkeys(document.text for document in documents.values())]
        for least in _LEAST_SHINGLES:
            _print_times([text for text in texts if len(text.hashes) >= least], given.rounds, least)
        _print_recall(compare([f"{name} threshold={at}" for name in _SWEPT for at in _THRESHOLDS], 0))


if __name__ == "__main__":
    main()
