"""Short texts without links, such as comments and messages, are found again, and no other text is taken for one."""

import random
from collections import Counter
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator, Verdict
from tests.support.cases import read_cases

WORDS = read_cases(__file__)["words"]
COPIES_FOUND = 0.98


def make_texts(language: str, count: int) -> list[str]:
    """Return different texts of 8 to 25 words of one short list."""
    source, words = random.Random(language), WORDS[language].split()
    joint, times = ("", 2) if language == "zh" else (" ", 1)
    return [joint.join(source.choices(words, k=times * source.randint(8, 25))) for _ in range(count)]


@pytest.mark.parametrize("scheme", ["simhash", "minhash"])
def test_copies_of_short_texts_are_found_in_eight_languages_and_others_are_kept(tmp_path: Path, scheme: str) -> None:
    texts = [text for language in WORDS for text in make_texts(language, 25)]
    assert len(set(texts)) == 200
    verdicts: dict[str, Counter[Verdict]] = {"first": Counter(), "copy": Counter()}
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", scheme=scheme)) as deduplicator:
        for occurrence, seen in verdicts.items():
            for number, text in enumerate(texts):
                url = f"http://{occurrence}{number % 7}.test/{number}"
                seen[deduplicator.check(url, f"<meta charset=utf-8><p>{text}</p>".encode()).verdict] += 1
    assert verdicts["first"] == {Verdict.NEW: len(texts)}
    assert verdicts["copy"][Verdict.DUPLICATE] >= COPIES_FOUND * len(texts)
