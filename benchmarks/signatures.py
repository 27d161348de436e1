"""Time to sign a text, beside other packages: ``python -m benchmarks.signatures [--words 1000] [--rounds 5]``.

The texts consist of random words whose frequencies follow a power law, as in a language. The time of this package includes
all steps from text to signature: normalising, tokenising, stop words, weights, hashes, bits. datasketch and rensa get the
words that ``str.split`` returns, and compute 128 min-wise hashes of them.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version

import simhash
from datasketch import MinHash
from rensa import RMinHash
from rich.console import Console
from rich.table import Table

from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.signing.segmentation import han_cutter
from crawler_dedup.signing.text import Text

_TEXTS = 20
_HASHES, _SEED = 128, 42


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    texts = [_text(seed, given.words) for seed in range(_TEXTS)]
    scheme, cut_han = SimHash(), han_cutter("bigrams")

    def ours(text: str) -> object:
        return scheme.sign(Text(text, cut_han))

    rows: dict[str, Callable[[str], object]] = {
        f"PyPI simhash {version('simhash')}, its defaults": lambda text: simhash.Simhash(text).value,
        f"datasketch {version('datasketch')}, MinHash, update_batch": lambda text: MinHash(_HASHES).update_batch(
            [word.encode() for word in text.split()]
        ),
        f"rensa {version('rensa')}, RMinHash": lambda text: RMinHash(_HASHES, _SEED).update(text.split()),
        "crawler-dedup": ours,
    }
    times: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(given.rounds + 1):
        for name, sign in rows.items():
            start = time.perf_counter()
            for text in texts:
                sign(text)
            times[name].append((time.perf_counter() - start) / _TEXTS * 1000)
    table = Table(title=f"one text of {given.words} words, {given.rounds} rounds (the first, warming, left out)")
    for column in ("", "median ms", "least", "most", "times faster"):
        table.add_column(column, justify="left" if not column else "right")
    peer = statistics.median(next(iter(times.values()))[1:])
    for name, (_, *measured) in times.items():
        median = statistics.median(measured)
        table.add_row(name, f"{median:.3f}", f"{min(measured):.3f}", f"{max(measured):.3f}", f"{peer / median:.1f}")
    Console().print(table)


def _text(seed: int, words: int) -> str:
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(3, 9))) for _ in range(5000)]
    # Shifted by 20 ranks, as if the commonest words were stop words: the peer fails if a feature occurs over 255 times.
    return " ".join(chance.choices(vocabulary, weights=[1 / (rank + 20) for rank in range(5000)], k=words))


if __name__ == "__main__":
    main()
