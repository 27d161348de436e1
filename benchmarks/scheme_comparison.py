"""Compare schemes on the same texts: how often each is right, and its cost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import lmdb
import msgspec
import numpy as np

from benchmarks.edits import EditedPair, edited_sets, is_chinese
from benchmarks.evaluate import PARTS
from crawler_dedup.config import MAP_SIZE, Config
from crawler_dedup.evaluation.labelled import Counts, LabelledSet
from crawler_dedup.evaluation.pairs import (
    DocumentKey,
    PairResult,
    SignedDocument,
    count_outcomes,
    evaluate_pairs,
    sign_documents,
)
from crawler_dedup.hashes import Numbers
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.environment import Environment
from crawler_dedup.signedpage import PageKind, Signature
from crawler_dedup.signing.schemes import Scheme, scheme_of
from crawler_dedup.signing.signer import cached_signer
from crawler_dedup.signing.text import Text
from crawler_dedup.system.callbacks import Advance, Start
from crawler_dedup.system.processes import map_in_processes

_MAX_PASSAGES = 20_000
_PASSAGES_A_PAGE = 8
_BLOCK = 500
_QUERIES_A_BLOCK = 5
_MICRO = 1e6
_SCOPE = 0


class Detector(Protocol):
    """A method that decides whether two texts are duplicates."""

    def sign(self, text: Text) -> Any:
        """Return the signature of a text."""

    def is_duplicate(self, new: Any, kept: Any) -> bool:
        """Return whether *new* is found and called a duplicate if *kept* is kept."""

    def size_of(self, signature: Any) -> int:
        """Return the size of a signature in bytes."""


class SchemeDetector:
    """A scheme of this package or of another installed package, without the rules."""

    def __init__(self, name: str, config: Config) -> None:
        self.scheme = scheme_of(name, config)
        self._max_distance = config.max_distance

    def sign(self, text: Text) -> Signature:
        """See :class:`Detector`."""
        return self.scheme.sign(text)

    def is_duplicate(self, new: Signature, kept: Signature) -> bool:
        """See :class:`Detector`."""
        likeness = self.scheme.compare(new, kept)
        if likeness is None or (likeness.distance is not None and likeness.distance > self._max_distance):
            return False
        return self.scheme.finds(new, kept)

    def size_of(self, signature: Signature) -> int:
        """See :class:`Detector`."""
        return 8 + len(signature.value)


MakeDetector = Callable[[str, Config], Detector]


class SetCounts(NamedTuple):
    """The results for one set of pairs.

    Attributes:
        name: the set.
        alone: the outcomes if the detector alone decides.
        with_rules: the outcomes if the rules of the crawl decide; ``None`` for a detector that is not a scheme, and for
            texts that are not pages.
    """

    name: str
    alone: Counts
    with_rules: Counts | None


@dataclass(frozen=True)
class SchemeResult:
    """The measurements of one detector.

    Attributes:
        name: the name of the detector.
        sets: the results for the labelled sets, for parts of all of them, and for edited texts.
        sign_micros: mean processor time from a main text to its signature, in microseconds.
        signature_bytes: mean size of a signature.
        lookup_micros: median time of a look-up in an index of many pages, in microseconds; ``None``: not measured.
    """

    name: str
    sets: Sequence[SetCounts]
    sign_micros: float
    signature_bytes: float
    lookup_micros: float | None


class _TimedSignature(NamedTuple):
    signature: Any
    seconds: float


def compare_schemes(
    folder: Path,
    sets: Sequence[LabelledSet],
    names: Sequence[str],
    config: Config,
    jobs: int,
    lookups: int,
    start: Start,
    make: MakeDetector = SchemeDetector,
) -> Iterator[SchemeResult]:
    """Measure the detectors with *names*, one after another.

    Args:
        config: all settings but the scheme.
        jobs: the number of processes.
        lookups: number of pages in the index in which look-ups are timed, rounded up to a multiple of 500; 0: no look-ups.
        make: makes a detector from its name, in each process.
    """
    count = sum(len(labelled_set.documents) for labelled_set in sets)
    documents = sign_documents(folder, sets, config, jobs, start("reading", count))
    edited = list(edited_sets(document.text for document in documents.values()))
    texts = list(dict.fromkeys([document.text for document in documents.values()] + [*_texts_of(edited)]))
    passages = _passages(document.text for document in documents.values())
    for name in names:
        sign = partial(_sign, name, config, make)
        timed = map_in_processes(sign, texts, jobs, start(f"signing: {name}", len(texts)), chunk_size=50)
        signatures = dict(zip(texts, timed, strict=True))
        detector = make(name, config)
        labelled_counts = _count_labelled(sets, documents, signatures, detector, config, name)
        set_counts = [*labelled_counts, *_count_edited(edited, signatures, detector)]
        not_empty = [signature for signature in signatures.values() if signature is not None]
        lookup_micros = None
        if lookups and passages and isinstance(detector, SchemeDetector):
            advance = start(f"looking up: {name}", -(-lookups // _BLOCK))
            make_pages = partial(_make_pages, name, config, passages)
            lookup_micros = _measure_lookup(detector.scheme, make_pages, lookups, jobs, advance)
        yield SchemeResult(
            name,
            set_counts,
            _MICRO * sum(timed.seconds for timed in not_empty) / max(1, len(not_empty)),
            sum(detector.size_of(timed.signature) for timed in not_empty) / max(1, len(not_empty)),
            lookup_micros,
        )


def _texts_of(edited: Sequence[tuple[str, Sequence[EditedPair]]]) -> Iterator[str]:
    for _, pairs in edited:
        for pair in pairs:
            yield from (pair.new, pair.kept)


# Functions that run in the processes


@lru_cache(maxsize=1)
def _cached_detector(name: str, config: Config, make: MakeDetector) -> Detector:
    detector = make(name, config)
    warm_up = "One text, 一个句子, so that dictionaries are loaded before the clock runs."
    detector.sign(cached_signer(config).text_of(warm_up))
    return detector


def _sign(name: str, config: Config, make: MakeDetector, raw: str) -> _TimedSignature | None:
    """Sign a text; return ``None`` if it has no words."""
    detector, text = _cached_detector(name, config, make), cached_signer(config).text_of(raw)
    begun = time.process_time()
    signature = detector.sign(text)
    seconds = time.process_time() - begun
    return _TimedSignature(signature, seconds) if text.units else None


class _MadePages(NamedTuple):
    """The signatures of generated pages.

    Attributes:
        numbers: for each key of each page, the number of the page's signature.
        keys: the keys of all pages, in the order of ``numbers``.
        queries: the signatures of some of the pages.
    """

    numbers: Numbers
    keys: Numbers
    queries: list[Signature]


def _make_pages(name: str, config: Config, passages: Sequence[str], first: int) -> _MadePages:
    """Make and sign pages, each from a random choice of *passages*; *first* is the seed."""
    scheme, source = scheme_of(name, config), random.Random(first)
    signatures = [
        scheme.sign(cached_signer(config).text_of("\n".join(source.choices(passages, k=_PASSAGES_A_PAGE))))
        for _ in range(_BLOCK)
    ]
    keys = [scheme.keys(signature) for signature in signatures]
    numbers = np.array([signature.number for signature in signatures], dtype=np.uint64)
    return _MadePages(
        np.repeat(numbers, [len(of_page) for of_page in keys]),
        np.array([key for of_page in keys for key in of_page], dtype=np.uint64),
        signatures[:_QUERIES_A_BLOCK],
    )


# How often a detector is right


def _count_labelled(
    sets: Sequence[LabelledSet],
    documents: Mapping[DocumentKey, SignedDocument],
    signatures: Mapping[str, _TimedSignature | None],
    detector: Detector,
    config: Config,
    name: str,
) -> list[SetCounts]:
    is_scheme = isinstance(detector, SchemeDetector)
    if is_scheme:
        config = replace(config, scheme=name)
        documents = {
            key: _replace_signature(document, signatures[document.text]) for key, document in documents.items()
        }
    results = evaluate_pairs(sets, documents, config if is_scheme else replace(config, scheme="simhash"))
    called = {
        id(result): _is_duplicate_either_way(detector, signatures[result.a.text], signatures[result.b.text])
        for result in results
    }
    chinese = {text: is_chinese(text) for text in signatures}

    def count(part: str, belongs: Callable[[PairResult], bool]) -> SetCounts:
        of_part = [result for result in results if belongs(result)]
        alone = count_outcomes(of_part, lambda result: called[id(result)])
        return SetCounts(part, alone, count_outcomes(of_part) if is_scheme else None)

    names = dict.fromkeys(result.set_name for result in results)
    set_counts = [count(part, partial(lambda part, result: result.set_name == part, part)) for part in names]
    set_counts.append(count("all", lambda _: True))
    set_counts.extend(count(part, belongs) for part, belongs in PARTS)
    set_counts.append(count("Chinese", lambda result: chinese[result.a.text] and chinese[result.b.text]))
    return [counts for counts in set_counts if counts.alone != Counts()]


def _replace_signature(document: SignedDocument, timed: _TimedSignature | None) -> SignedDocument:
    if document.page.unsigned or document.page.kind is not PageKind.TEXT or timed is None:
        return document
    number, value = timed.signature
    return replace(document, page=msgspec.structs.replace(document.page, signature=number, value=value))


def _is_duplicate_either_way(detector: Detector, a: _TimedSignature | None, b: _TimedSignature | None) -> bool:
    if a is None or b is None:
        return False
    return detector.is_duplicate(a.signature, b.signature) or detector.is_duplicate(b.signature, a.signature)


def _count_edited(
    edited: Sequence[tuple[str, Sequence[EditedPair]]],
    signatures: Mapping[str, _TimedSignature | None],
    detector: Detector,
) -> list[SetCounts]:
    set_counts = []
    for name, pairs in edited:
        counts = Counts()
        for pair in pairs:
            new, kept = signatures[pair.new], signatures[pair.kept]
            called = new is not None and kept is not None and detector.is_duplicate(new.signature, kept.signature)
            counts += _OUTCOMES[pair.label, called]
        if pairs:
            set_counts.append(SetCounts(name, counts, None))
    return set_counts


_OUTCOMES = {
    (1, True): Counts(found=1),
    (1, False): Counts(missed=1),
    (0, True): Counts(false=1),
    (0, False): Counts(apart=1),
}


# The time of a look-up


def _passages(texts: Iterator[str]) -> list[str]:
    passages = sorted({line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 20})
    random.Random(0).shuffle(passages)
    return passages[:_MAX_PASSAGES]


def _insert(buckets: Buckets, block: _MadePages, txn: lmdb.Transaction) -> None:
    for key, number in zip(block.keys.tolist(), block.numbers.tolist(), strict=True):
        buckets.insert(txn, _SCOPE, [key], number)


def _measure_lookup(
    scheme: Scheme, make: Callable[[int], _MadePages], pages: int, jobs: int, advance: Advance
) -> float:
    """Return the median time of a look-up in microseconds: probes, buckets, candidates in order. No record is read."""
    queries: list[Signature] = []
    seconds = []
    with (
        TemporaryDirectory() as directory,
        closing(Environment.open(Path(directory), map_size=MAP_SIZE)) as environment,
    ):
        buckets = environment.make_databases(lambda env, txn: Buckets(env, txn, b"tables"))
        for block in map_in_processes(make, range(-(-pages // _BLOCK)), jobs, advance, chunk_size=1):
            environment.write(partial(_insert, buckets, block))
            queries += block.queries
        with environment.read() as txn:
            for signature in queries:
                begun = time.perf_counter()
                scheme.near(signature, buckets.query(txn, _SCOPE, scheme.probes(signature), scheme.bucket_limit))
                seconds.append(time.perf_counter() - begun)
    return _MICRO * median(seconds)
