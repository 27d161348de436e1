"""Pages that represent other pages with no word in common: ``python -m benchmarks.forged_pages [FOLDER] [--pages 20]``.

For each saved page a page of another host is forged: it has the title of the saved page and made-up words, one for each bin
of the sketch, and others that steer the simhash. It is offered before the saved page, in one scope and in scopes by domain.

Then the hashes of words get a seed that the forger does not know, as if an index had a secret key. The forged pages are
offered again. And a forger who sees which pages are dropped replaces the words of a copy one after the other: each trial
publishes a copy and the page itself, on a host of the forger's own and under a new title.
"""

from __future__ import annotations

import argparse
import random
import string
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup import Config, Deduplicator, SignedPage
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.sketch import BINS
from crawler_dedup.urls import registered_domain
from tests.support.data import DATA, documents, require_data, saved

_POOL, _LEAST_WORDS, _PARAGRAPH = 200_000, 100, 50
_TRIES = 3  # words that are tried in the place of one word of a copy


class Victim(NamedTuple):
    """A saved page, signed, with the tokens of its main text."""

    url: str
    body: bytes
    page: SignedPage
    tokens: list[str]


def find_victims(folder: Path, signer: Signer, count: int) -> Iterator[Victim]:
    """Yield the first *count* saved English pages with a title and a main text of 100 different words or more."""
    for document in documents(folder, "gold/gold.jsonl"):
        if document["lang"] == "en" and document["url"] and count:
            body = saved(folder / document["html"])
            page, text = signer.sign(document["url"], body, encoding=None, key=None, scope="")
            if page.kind is PageKind.TEXT and page.title and page.features >= _LEAST_WORDS and text is not None:
                count -= 1
                yield Victim(document["url"], body, page, signer.text_of(text).tokens)


def make_words(number: int, random_source: random.Random) -> list[str]:
    """Make up words of eight letters."""
    return ["".join(random_source.choices(string.ascii_lowercase, k=8)) for _ in range(number)]


def page_of(title: str, words: Sequence[str]) -> bytes:
    """Lay out *words* as paragraphs of an article."""
    paragraphs = (" ".join(words[at : at + _PARAGRAPH]) for at in range(0, len(words), _PARAGRAPH))
    body = "".join(f"<p>{escape(paragraph)}.</p>" for paragraph in paragraphs)
    return f"<html><head><title>{escape(title)}</title></head><body><article>{body}</article></body></html>".encode()


def forge(victim: SignedPage, random_source: random.Random) -> list[str]:
    """Return made-up words that have the signature, the sketch and the number of words of *victim*."""
    words = [*dict.fromkeys(make_words(_POOL, random_source))]
    hashes = np.array([xxh3_64_intdigest(word.encode()) for word in words], dtype=np.uint64)
    bins, order = hashes >> np.uint64(58), hashes >> np.uint64(48)
    codes = (hashes & np.uint64(0xFF)) % np.uint64(255) + np.uint64(1)
    wanted = np.frombuffer(victim.sketch, dtype=np.uint8)
    chosen: list[int] = []
    is_free = wanted[bins] != 0
    for number in range(BINS):
        fitting = np.flatnonzero((bins == number) & (codes == wanted[number]))
        if len(fitting):
            least = fitting[np.argmin(order[fitting])]
            chosen.append(int(least))
            is_free &= (bins != number) | (order > order[least])
    common_bits = np.bitwise_count(~(hashes ^ np.uint64(victim.signature)))
    steering = np.argsort(np.where(is_free, common_bits, 0))[::-1][: victim.features - len(chosen)]
    forged = [words[at] for at in (*chosen, *steering.tolist())]
    return forged * (1 + victim.chars // (9 * len(forged)))


def count_drops(victims: Sequence[Victim], forged: Sequence[bytes], config: Config, *, by_domain: bool = False) -> int:
    """Return how many saved pages are dropped if the forged pages are offered before."""
    with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, config) as deduplicator:

        def is_dropped(url: str, body: bytes) -> bool:
            return not deduplicator.check(url, body, scope=registered_domain(url) if by_domain else "").passes

        for number, body in enumerate(forged):
            is_dropped(f"http://{number}.forger.example/", body)
        return sum(is_dropped(victim.url, victim.body) for victim in victims)


def replace_words(victim: Victim, deduplicator: Deduplicator, random_source: random.Random) -> tuple[float, int]:
    """Replace words of a copy as long as it represents the page; return the share that is left, and the number of trials."""
    words, trials = {token: token for token in victim.tokens}, 0
    page = deduplicator.sign("http://forger.example/page", page_of("A title", victim.tokens))

    def represents(changed: dict[str, str]) -> bool:
        body = page_of("A title", [changed[token] for token in victim.tokens])
        return deduplicator.compare(page, deduplicator.sign("http://forger.example/copy", body)) is not None

    for token in random_source.sample([*words], len(words)):
        for other in make_words(_TRIES, random_source):
            trials += 1
            if represents({**words, token: other}):
                words[token] = other
                break
    return sum(word == token for token, word in words.items()) / len(words), trials


def main() -> None:
    """Forge, offer and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--pages", type=int, default=20)
    given = parser.parse_args()
    require_data(given.folder)
    config, random_source = Config(tokenizer="bigrams"), random.Random(1)
    victims = [*find_victims(given.folder, Signer(config), given.pages)]
    begun = time.process_time()
    words = [forge(victim.page, random_source) for victim in victims]
    seconds = (time.process_time() - begun) / len(victims)
    common = sum(len({*forged} & {*victim.tokens}) for forged, victim in zip(words, victims, strict=True))
    print(f"{len(victims)} pages forged, {seconds:.1f} s of processor time each; words in common: {common}")
    forged = [page_of(victim.page.title, chosen) for victim, chosen in zip(victims, words, strict=True)]
    print(f"one scope: {count_drops(victims, forged, config)} dropped")
    print(f"scopes by domain: {count_drops(victims, forged, config, by_domain=True)} dropped")
    seeded = partial(xxh3_64_intdigest, seed=random_source.getrandbits(64))
    with patch("crawler_dedup.signing.features.xxh3_64_intdigest", seeded):
        print(f"one scope, hashes with a seed: {count_drops(victims, forged, config)} dropped")
        with tempfile.TemporaryDirectory() as folder, Deduplicator.open(folder, config) as deduplicator:
            changed = [replace_words(victim, deduplicator, random_source) for victim in victims]
    for name, results in zip(("share of words left", "trials"), zip(*changed, strict=True), strict=True):
        print(f"by trials, {name}: {min(results):,.4g} to {max(results):,.4g}, {median(results):,.4g} in the median")


if __name__ == "__main__":
    main()
