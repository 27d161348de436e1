"""Which scheme finds excerpts of a kept text: ``python -m benchmarks.excerpts [FOLDER] [--texts 200]``.

A labelled main text of 1,000 characters or more is kept, and an excerpt of it is offered: from the beginning, the middle and
the end in turn. The table shows the share of the excerpts that a scheme alone finds and calls duplicates, and in
parentheses, if the scheme measures coverage, the mean coverage of all excerpts, found or not. The last column shows the same
for the whole text with its sentences in a random order.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from crawler_dedup import Config
from crawler_dedup.cli.terminal import progress_bars
from crawler_dedup.evaluation.labelled import read_folder
from crawler_dedup.evaluation.pairs import sign_documents
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.schemes import NAMES, Scheme, scheme_of
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA, require_data

SHARES = range(10, 100, 10)
"""Lengths of the excerpts, in hundredths of the text."""
LEAST_CHARS = 1_000
_VARIANTS = (
    "shingling lookup=minima",
    "shingling lookup=mod",
    "sentences unit=stops",
    "sentences most=100",
    "pinyin resemblance=0",
    "winnowing resemblance=0",
    "ddw lead=100",
)


class Found(NamedTuple):
    """The results of a scheme for excerpts of one length: the share that it calls duplicates, and its mean coverage."""

    share: float
    coverage: float | None


def cut_excerpt(text: str, hundredths: int, number: int) -> str:
    """Cut an excerpt from the beginning, the middle or the end of *text*, by its *number*."""
    length = len(text) * hundredths // 100
    start = (len(text) - length) * (number % 3) // 2
    return text[start : start + length]


def shuffle_sentences(text: str, number: int) -> str:
    """Return *text* with its sentences in another order, always the same for one *number*."""
    sentences = re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n", text)
    return "\n".join(random.Random(number).sample(sentences, len(sentences)))


def main_texts(folder: Path, config: Config, count: int) -> list[str]:
    """Return *count* main texts of labelled pages with 1,000 characters or more, always the same choice."""
    with progress_bars() as start:
        documents = sign_documents(folder, read_folder(folder), config, 1, start("reading", None))
    texts = sorted({document.text for document in documents.values() if len(document.text) >= LEAST_CHARS})
    return texts[:: max(1, len(texts) // count)][:count]


def measure(scheme: Scheme, texts: Sequence[str], signer: Signer) -> Iterator[Found]:
    """Yield the results of the scheme for excerpts of each length, and for the sentences in another order."""
    whole = [scheme.sign(signer.text_of(text)) for text in texts]
    changes: list[Callable[..., str]] = [partial(cut_excerpt, hundredths=hundredths) for hundredths in SHARES]
    for change in (*changes, shuffle_sentences):
        changed = [scheme.sign(signer.text_of(change(text, number=number))) for number, text in enumerate(texts)]
        pairs = [*zip(changed, whole, strict=True)]
        measured = [scheme.measure(new, kept) for new, kept in pairs]
        coverages = [agreement.coverage or 0.0 if agreement else 0.0 for agreement in measured]
        says = any(agreement is not None and agreement.coverage is not None for agreement in measured)
        share = mean(_is_found(scheme, new, kept, signer.config) for new, kept in pairs)
        yield Found(share, mean(coverages) if says else None)


def _is_found(scheme: Scheme, new: Signature, kept: Signature, config: Config) -> bool:
    agreement = scheme.compare(new, kept)
    if agreement is None or (agreement.distance or 0) > config.max_distance:
        return False
    return scheme.finds(new, kept)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--tokenizer", default="rjieba" if find_spec("rjieba") else "jieba")
    given = parser.parse_args()
    require_data(given.folder)
    config = Config(tokenizer=given.tokenizer)
    signer, texts = Signer(config), main_texts(given.folder, config, given.texts)
    table = Table(title=f"excerpts of {len(texts)} texts of {LEAST_CHARS:,} characters and more")
    for column in ("scheme", *(f"{hundredths} %" for hundredths in SHARES), "other order"):
        table.add_column(column, no_wrap=True)
    for name in (*NAMES, *_VARIANTS):
        cells = (
            f"{figures.share:.2f}" + ("" if figures.coverage is None else f" ({figures.coverage:.2f})")
            for figures in measure(scheme_of(name, config), texts, signer)
        )
        table.add_row(name, *cells)
    Console(width=1000).print(table)


if __name__ == "__main__":
    main()
