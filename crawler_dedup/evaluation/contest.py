"""Schemes side by side: how often each is right about the same texts, and what it costs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Protocol

import msgspec
import numpy as np

from crawler_dedup.config import Config
from crawler_dedup.evaluation.counts import Counts
from crawler_dedup.evaluation.edits import Edited, edited_sets, is_chinese
from crawler_dedup.evaluation.labelled import LabelledSet
from crawler_dedup.evaluation.pairs import (
    PARTS,
    DocumentKey,
    Judged,
    SignedDocument,
    count,
    in_processes,
    judge_all,
    sign_documents,
    signer_of,
)
from crawler_dedup.hamming import Numbers
from crawler_dedup.index.trial import Query, open_trial
from crawler_dedup.signedpage import Kind, Signature
from crawler_dedup.signing.schemes import Scheme, scheme_of
from crawler_dedup.signing.text import Text
from crawler_dedup.system.callbacks import Advance, Start

_PASSAGES = 20_000
_PASSAGES_A_PAGE = 8
_BLOCK = 500
_QUERIES_A_BLOCK = 5
_MICRO = 1e6


class Contestant(Protocol):
    """A way to call two texts duplicates."""

    def sign(self, text: Text) -> Any:
        """What is kept of a text."""

    def calls(self, new: Any, kept: Any) -> bool:
        """Whether *new* is found and called a duplicate while *kept* is kept."""

    def size(self, signature: Any) -> int:
        """Its bytes."""


class OfScheme:
    """A scheme of this package, or of another one that is installed, by itself: without the rules."""

    def __init__(self, name: str, config: Config) -> None:
        self.scheme = scheme_of(name, config)
        self._max_distance = config.max_distance

    def sign(self, text: Text) -> Signature:
        """See :class:`Contestant`."""
        return self.scheme.sign(text)

    def calls(self, new: Signature, kept: Signature) -> bool:
        """See :class:`Contestant`."""
        found = self.scheme.compare(new, kept)
        if found is None or (found.distance is not None and found.distance > self._max_distance):
            return False
        return self.scheme.finds(new, kept)

    def size(self, signature: Signature) -> int:
        """See :class:`Contestant`."""
        return 8 + len(signature.value)


Make = Callable[[str, Config], Contestant]


class Row(NamedTuple):
    """One set of pairs: what the scheme calls duplicates by itself, and with the rules of the crawl (where it has pages)."""

    name: str
    alone: Counts
    ruled: Counts | None


@dataclass(frozen=True)
class Standing:
    """What was found out about one contestant.

    Attributes:
        name: as it was asked for.
        rows: sets, parts of all of them, edited texts.
        sign_micros: mean processor time from a main text to its signature, in microseconds.
        size: mean bytes of a signature.
        lookup_micros: median time of a look-up in an index of many pages, in microseconds; ``None``: not measured.
    """

    name: str
    rows: Sequence[Row]
    sign_micros: float
    size: float
    lookup_micros: float | None


class _Timed(NamedTuple):
    signature: Any
    seconds: float


def stand(
    folder: Path,
    sets: Sequence[LabelledSet],
    names: Sequence[str],
    config: Config,
    jobs: int,
    lookups: int,
    start: Start,
    make: Make = OfScheme,
) -> Iterator[Standing]:
    """Measure the contestants with *names*, one after the other.

    Args:
        config: all settings but the scheme.
        jobs: processes.
        lookups: pages of the index that look-ups are timed in, rounded up to 500; 0: none are.
        make: makes a contestant of its name, in each process.
    """
    count = sum(len(one.documents) for one in sets)
    documents = sign_documents(folder, sets, config, jobs, start("reading", count))
    edited = list(edited_sets(document.text for document in documents.values()))
    texts = list(dict.fromkeys([document.text for document in documents.values()] + [*_texts_of(edited)]))
    passages = _passages(document.text for document in documents.values())
    for name in names:
        work = partial(_sign, name, config, make)
        timed = in_processes(work, texts, jobs, start(f"signing: {name}", len(texts)), together=50)
        signed = dict(zip(texts, timed, strict=True))
        contestant = make(name, config)
        labelled = _labelled_rows(sets, documents, signed, contestant, config, name)
        rows = [*labelled, *_edited_rows(edited, signed, contestant)]
        has_words = [one for one in signed.values() if one is not None]
        lookup = None
        if lookups and passages and isinstance(contestant, OfScheme):
            advance = start(f"looking up: {name}", -(-lookups // _BLOCK))
            lookup = _lookup_micros(
                contestant.scheme, partial(_sign_made, name, config, passages), lookups, jobs, advance
            )
        yield Standing(
            name,
            rows,
            _MICRO * sum(one.seconds for one in has_words) / max(1, len(has_words)),
            sum(contestant.size(one.signature) for one in has_words) / max(1, len(has_words)),
            lookup,
        )


def _texts_of(edited: Sequence[tuple[str, Sequence[Edited]]]) -> Iterator[str]:
    for _, pairs in edited:
        for pair in pairs:
            yield from (pair.new, pair.kept)


# In the processes


@lru_cache(maxsize=1)
def _contestant(name: str, config: Config, make: Make) -> Contestant:
    contestant = make(name, config)
    warm_up = "One text, 一个句子, so that dictionaries are loaded before the clock runs."
    contestant.sign(signer_of(config).text_of(warm_up))
    return contestant


def _sign(name: str, config: Config, make: Make, raw: str) -> _Timed | None:
    """The signature of a text; ``None`` if it has no words."""
    contestant, text = _contestant(name, config, make), signer_of(config).text_of(raw)
    begun = time.process_time()
    signature = contestant.sign(text)
    seconds = time.process_time() - begun
    return _Timed(signature, seconds) if text.units else None


class _Made(NamedTuple):
    numbers: Numbers
    keys: Numbers
    queries: list[Signature]


def _sign_made(name: str, config: Config, passages: Sequence[str], first: int) -> _Made:
    """The signatures of a block of pages, each made of some of the *passages*, with one number for each of their keys."""
    scheme, source = scheme_of(name, config), random.Random(first)  # noqa: S311  (the same every time)
    signatures = [
        scheme.sign(signer_of(config).text_of("\n".join(source.choices(passages, k=_PASSAGES_A_PAGE))))
        for _ in range(_BLOCK)
    ]
    keys = [scheme.keys(one) for one in signatures]
    numbers = np.array([one.number for one in signatures], dtype=np.uint64)
    return _Made(
        np.repeat(numbers, [len(one) for one in keys]),
        np.array([key for one in keys for key in one], dtype=np.uint64),
        signatures[:_QUERIES_A_BLOCK],
    )


# Being right


def _labelled_rows(
    sets: Sequence[LabelledSet],
    documents: Mapping[DocumentKey, SignedDocument],
    signed: Mapping[str, _Timed | None],
    contestant: Contestant,
    config: Config,
    name: str,
) -> list[Row]:
    is_scheme = isinstance(contestant, OfScheme)
    if is_scheme:
        config = replace(config, scheme=name)
        documents = {key: _signed_by(document, signed[document.text]) for key, document in documents.items()}
    judged = judge_all(sets, documents, config if is_scheme else replace(config, scheme="simhash"))
    called = {id(one): _calls(contestant, signed[one.a.text], signed[one.b.text]) for one in judged}
    chinese = {text: is_chinese(text) for text in signed}

    def row(part: str, belongs: Callable[[Judged], bool]) -> Row:
        inside = [one for one in judged if belongs(one)]
        alone = count(inside, lambda one: called[id(one)])
        return Row(part, alone, count(inside) if is_scheme else None)

    names = dict.fromkeys(one.set_name for one in judged)
    rows = [row(part, partial(lambda part, one: one.set_name == part, part)) for part in names]
    rows.append(row("all", lambda _: True))
    for part, belongs in PARTS:
        rows.append(row(part, partial(lambda belongs, one: belongs(one.labelled), belongs)))
    rows.append(row("Chinese", lambda one: chinese[one.a.text] and chinese[one.b.text]))
    return [one for one in rows if one.alone != Counts()]


def _signed_by(document: SignedDocument, timed: _Timed | None) -> SignedDocument:
    if document.page.unsigned or document.page.kind is not Kind.TEXT or timed is None:
        return document
    number, value = timed.signature
    return replace(document, page=msgspec.structs.replace(document.page, signature=number, value=value))


def _calls(contestant: Contestant, a: _Timed | None, b: _Timed | None) -> bool:
    if a is None or b is None:
        return False
    return contestant.calls(a.signature, b.signature) or contestant.calls(b.signature, a.signature)


def _edited_rows(
    edited: Sequence[tuple[str, Sequence[Edited]]], signed: Mapping[str, _Timed | None], contestant: Contestant
) -> list[Row]:
    rows = []
    for name, pairs in edited:
        counts = Counts()
        for pair in pairs:
            new, kept = signed[pair.new], signed[pair.kept]
            called = new is not None and kept is not None and contestant.calls(new.signature, kept.signature)
            counts += _OUTCOME[pair.label, called]
        if pairs:
            rows.append(Row(name, counts, None))
    return rows


_OUTCOME = {
    (1, True): Counts(found=1),
    (1, False): Counts(missed=1),
    (0, True): Counts(false=1),
    (0, False): Counts(apart=1),
}


# Being looked up


def _passages(texts: Iterator[str]) -> list[str]:
    found = sorted({line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 20})
    random.Random(0).shuffle(found)  # noqa: S311  (the same every time)
    return found[:_PASSAGES]


def _lookup_micros(scheme: Scheme, make: Callable[[int], _Made], pages: int, jobs: int, advance: Advance) -> float:
    """Median microseconds of a look-up: probes, buckets, candidates in their order. No record is read."""
    queries: list[Signature] = []
    with open_trial() as trial:
        for made in in_processes(make, range(-(-pages // _BLOCK)), jobs, advance, together=1):
            trial.insert(made.keys, made.numbers)
            queries += made.queries
        with trial.reading() as query:
            seconds = [_timed_lookup(scheme, query, signature) for signature in queries]
    return _MICRO * median(seconds)


def _timed_lookup(scheme: Scheme, query: Query, signature: Signature) -> float:
    begun = time.perf_counter()
    scheme.near(signature, query(scheme.probes(signature), scheme.bucket_limit))
    return time.perf_counter() - begun
