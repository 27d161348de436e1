"""How sensitive simhash is to its features and weights: ``python -m benchmarks.sensitivity [FOLDER] [--texts 400]``.

Each option of ``simhash`` is measured alone, and some together: precision and recall on labelled pairs, by the signatures
alone and with the rules; and the share of main texts whose signature stays near if advertisements, a time stamp, a counter
or a number of visitors is inserted. Then, for each site, the options that are best on all other sites are measured on it.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.edits import is_chinese
from benchmarks.evaluate import KnownPair, are_content_pages, site_of
from crawler_dedup import Config
from crawler_dedup.cli.terminal import progress_bars
from crawler_dedup.evaluation.labelled import Counts, LabelledSet, read_folder
from crawler_dedup.evaluation.pairs import (
    DocumentKey,
    PairResult,
    SignedDocument,
    count_outcomes,
    evaluate_pairs,
    sign_documents,
)
from crawler_dedup.permutedtables import MAX_DISTANCE, distance
from crawler_dedup.signedpage import PageKind, SignedPage
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA, require_data

DEFAULT = "simhash"
OPTIONS = ("weight=tf", "weight=tf-idf", "stem=english", "phrases=yes", "title=2")
TOGETHER = (
    "stem=english phrases=yes",
    "weight=tf-idf stem=english",
    "weight=tf-idf phrases=yes",
    "weight=tf-idf stem=english phrases=yes title=2",
)
VARIANTS = (DEFAULT, *(f"{DEFAULT} {options}" for options in (*OPTIONS, *TOGETHER)))
DISTANCES = (3, MAX_DISTANCE)
LEAST_CHARS = 500

_CONSOLE = Console(width=170)

Insert = Callable[[random.Random, bool, Sequence[str]], list[str]]
"""Makes the lines to insert in a text, from a random source, whether the text is Chinese, and lines of other texts."""


def _advertisements(source: random.Random, _: bool, lines: Sequence[str]) -> list[str]:
    return source.sample(lines, 2)


def _time_stamp(source: random.Random, chinese: bool, _: Sequence[str]) -> list[str]:
    year, month, day = source.randint(2005, 2026), source.randint(1, 12), source.randint(1, 28)
    clock = f"{source.randint(0, 23):02}:{source.randint(0, 59):02}:{source.randint(0, 59):02}"
    return [
        f"发布时间:{year}年{month}月{day}日 {clock}" if chinese else f"Last updated: {year}-{month:02}-{day:02} {clock}"
    ]


def _counter(source: random.Random, chinese: bool, _: Sequence[str]) -> list[str]:
    views, comments, shares = (source.randint(2, 50_000) for _ in range(3))
    if chinese:
        return [f"阅读 {views} 评论 {comments} 转发 {shares}"]
    return [f"{views:,} views, {comments:,} comments, {shares:,} shares"]


def _visitors(source: random.Random, chinese: bool, _: Sequence[str]) -> list[str]:
    number, online = source.randint(1_000, 9_999_999), source.randint(2, 5_000)
    if chinese:
        return [f"您是第 {number} 位访客,当前在线 {online} 人"]
    return [f"You are visitor number {number:,}. Users online: {online:,}"]


INSERTS: dict[str, Sequence[Insert]] = {
    "advertisements": (_advertisements,),
    "time stamp": (_time_stamp,),
    "counter": (_counter,),
    "visitors": (_visitors,),
    "all four": (_advertisements, _time_stamp, _counter, _visitors),
}


def insert(text: str, inserts: Sequence[Insert], source: random.Random, lines: Sequence[str]) -> str:
    """Insert lines at random places between the lines of *text*."""
    changed = text.split("\n")
    for make in inserts:
        for line in make(source, is_chinese(text), lines):
            changed.insert(source.randint(0, len(changed)), line)
    return "\n".join(changed)


@dataclass(frozen=True)
class Measured:
    """The measurements of one variant.

    Attributes:
        results: labelled pairs, decided at the largest distance.
        stays_near: (kind of insertion, distance) → share of texts whose signatures stay within the distance.
    """

    results: Sequence[PairResult]
    stays_near: Mapping[tuple[str, int], float]

    def alone(self, k: int, belongs: Callable[[PairResult], bool] = lambda _: True) -> Counts:
        """Count the outcomes if the distance of two signatures decides."""
        return count_outcomes(filter(belongs, self.results), lambda result: _is_near(result, k))

    def with_rules(self, k: int, belongs: Callable[[PairResult], bool] = lambda _: True) -> Counts:
        """Count the outcomes if the rules decide."""
        return count_outcomes(filter(belongs, self.results), lambda result: _is_decided(result, k))


def _is_near(result: PairResult, k: int) -> bool:
    pages = (result.a.page, result.b.page)
    are_texts = all(page.kind is PageKind.TEXT and not page.unsigned for page in pages)
    return are_texts and distance(*(page.signature for page in pages)) <= k


def _is_decided(result: PairResult, k: int) -> bool:
    are_texts = result.a.page.kind is result.b.page.kind is PageKind.TEXT
    return result.is_duplicate and (
        not are_texts or _is_near(result, k) or result.a.page.digest == result.b.page.digest
    )


def measure(
    scheme: str,
    sets: Sequence[LabelledSet],
    documents: Mapping[DocumentKey, SignedDocument],
    perturbed: Sequence[tuple[DocumentKey, Mapping[str, str]]],
    tokenizer: str,
) -> Measured:
    """Sign all texts anew by *scheme*, and measure it.

    Args:
        perturbed: documents, each with its changed copies by kind of insertion.
    """
    signer = Signer(Config(scheme=scheme, tokenizer=tokenizer))  # type: ignore[arg-type]
    signer.load()

    def sign(key: DocumentKey, text: str) -> int:
        of_page = signer.text_of(text, title=documents[key].page.title)
        return signer.scheme.sign(of_page).number

    def resign(key: DocumentKey, page: SignedPage) -> SignedPage:
        if page.unsigned or page.kind is not PageKind.TEXT:
            return page
        return msgspec.structs.replace(page, signature=sign(key, documents[key].text))

    signed = {key: replace(document, page=resign(key, document.page)) for key, document in documents.items()}
    apart: dict[str, list[int]] = defaultdict(list)
    for key, copies in perturbed:
        for name, text in copies.items():
            apart[name].append(distance(signed[key].page.signature, sign(key, text)))
    return Measured(
        evaluate_pairs(sets, signed, signer.config),
        {
            (name, k): sum(bits <= k for bits in of_name) / len(of_name)
            for name, of_name in apart.items()
            for k in DISTANCES
        },
    )


def perturb(documents: Mapping[DocumentKey, SignedDocument], count: int) -> list[tuple[DocumentKey, Mapping[str, str]]]:
    """Choose main texts at random, and change copies of each. Advertisements are lines of other texts."""
    of_text = {document.text: key for key, document in sorted(documents.items())}
    texts = [text for text in sorted(of_text) if len(text) >= LEAST_CHARS and _is_text(documents[of_text[text]])]
    source = random.Random(1)
    lines: dict[bool, list[str]] = {True: [], False: []}
    for text in texts:
        lines[is_chinese(text)] += [line for line in text.split("\n") if 20 <= len(line) <= 100]
    return [
        (
            of_text[text],
            {name: insert(text, inserts, source, lines[is_chinese(text)]) for name, inserts in INSERTS.items()},
        )
        for text in source.sample(texts, min(count, len(texts)))
    ]


def _is_text(document: SignedDocument) -> bool:
    return document.page.kind is PageKind.TEXT and not document.page.unsigned


def leave_one_out(
    measured: Mapping[str, Measured], decide: Callable[[PairResult], bool]
) -> tuple[Counts, Counts, dict[str, int]]:
    """For each site, choose the best variant by the other sites, and evaluate it on the site.

    The best variant has the most right results; of equal variants, the first is chosen.

    Returns:
        The outcomes of the chosen variants, the outcomes of the default, and how often each variant was chosen.
    """
    right = {
        name: {
            site: count_outcomes([result for result in of_variant.results if site_of(result) == site], decide)
            for site in {site_of(result) for result in of_variant.results}
        }
        for name, of_variant in measured.items()
    }
    chosen, default, times = Counts(), Counts(), dict.fromkeys(measured, 0)
    for site in right[DEFAULT]:
        best = max(
            right,
            key=lambda name: sum(c.found + c.apart for other_site, c in right[name].items() if other_site != site),
        )
        times[best] += 1
        chosen += right[best][site]
        default += right[DEFAULT][site]
    return chosen, default, times


def _cell(counts: Counts) -> str:
    return " / ".join(
        "–" if value is None else f"{value:.3f}" for value in (counts.precision.value, counts.recall.value)
    )


def print_tables(measured: Mapping[str, Measured]) -> None:
    """Print the tables of labelled pairs, of changed copies, and of sites left out."""
    table = Table(title=f"precision / recall on labelled pairs; k = {MAX_DISTANCE} but where another is named")
    parts = [f"pages, alone, k = {k}" for k in DISTANCES]
    for column in ("options", *parts, "all, with the rules", "false", "missed"):
        table.add_column(column, justify="left" if column == "options" else "right", no_wrap=True)
    copies = Table(
        title="share of main texts of which a changed copy is within " + " / ".join(f"k = {k}" for k in DISTANCES)
    )
    for column in ("options", *INSERTS):
        copies.add_column(column, justify="left" if column == "options" else "right", no_wrap=True)
    for name, of_variant in measured.items():
        alone = [_cell(of_variant.alone(k, are_content_pages)) for k in DISTANCES]
        ruled = of_variant.with_rules(MAX_DISTANCE)
        options = name.removeprefix(DEFAULT).strip() or "(default)"
        table.add_row(options, *alone, _cell(ruled), str(ruled.false), str(ruled.missed))
        near = (" / ".join(f"{of_variant.stays_near[kind, k]:.3f}" for k in DISTANCES) for kind in INSERTS)
        copies.add_row(options, *near)
    _CONSOLE.print(table, copies)
    for k in DISTANCES:
        for rules, decide in (("alone", _is_near), ("with the rules", _is_decided)):
            chosen, default, times = leave_one_out(measured, lambda result, k=k, decide=decide: decide(result, k))  # type: ignore[misc]
            choices = ", ".join(f"{name} {number} times" for name, number in times.items() if number)
            _CONSOLE.print(
                f"each site left out, {rules}, k = {k}: chosen on the others {_cell(chosen)}"
                f" ({chosen.false} false, {chosen.missed} missed), default {_cell(default)}"
                f" ({default.false} false, {default.missed} missed). Chosen: {choices}"
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--tokenizer", default="rjieba" if find_spec("rjieba") else "jieba")
    given = parser.parse_args()
    require_data(given.folder)
    sets = read_folder(given.folder, KnownPair)
    with progress_bars() as start:
        documents = sign_documents(given.folder, sets, Config(tokenizer=given.tokenizer), 1, start("reading", None))
        perturbed = perturb(documents, given.texts)
        advance = start("measuring", len(VARIANTS))
        measured = {}
        for name in VARIANTS:
            measured[name] = measure(name, sets, documents, perturbed, given.tokenizer)
            advance(1)
    _CONSOLE.print(f"{len(documents):,} pages; {len(perturbed):,} texts with copies")
    print_tables(measured)


if __name__ == "__main__":
    main()
